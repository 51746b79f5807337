"""Every Python block of the README and of the documentation runs as printed, as a script of its
own; the README's first is at most ten lines. The guide to strategies names every setting and
everything that a decision records.
"""

import dataclasses
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from docs.making.printed import BLOCK, differences
from noregret.gp import MAP
from noregret.strategies.registry import names
from noregret.trials import Decision, ModelDecision

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": ROOT / "README.md"} | {
    path.relative_to(ROOT / "docs").as_posix(): path
    for path in sorted((ROOT / "docs").rglob("*.md"))
}
FOUND = {
    f"{name}-{index}": block
    for name, page in PAGES.items()
    for index, block in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")))
}
BLOCKS = {name: block["code"] for name, block in FOUND.items()}
# of blocks whose output is printed under them
OUTPUTS = {name: block["output"] for name, block in FOUND.items() if block["output"]}


@pytest.mark.parametrize("name", BLOCKS)
def test_block_runs(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("block.py").write_text(BLOCKS[name], encoding="utf-8")
    runpy.run_path("block.py", run_name="__main__")
    printed = capsys.readouterr().out
    if "print" in BLOCKS[name]:
        assert printed.strip()
    if name in OUTPUTS:
        assert differences(printed, OUTPUTS[name]) == []


def test_the_quickstart_prints_its_outputs_and_names_its_install() -> None:
    blocks = [name for name in BLOCKS if name.startswith("quickstart.md")]
    assert blocks
    assert all(name in OUTPUTS or "savefig" in BLOCKS[name] for name in blocks)
    text = PAGES["quickstart.md"].read_text(encoding="utf-8")
    assert ".[sql,plot]" in text.split("```python")[0]  # a stored study needs it
    for said in ("pip install .", "https://github.com/noregret/noregret"):
        assert said in PAGES["index.md"].read_text(encoding="utf-8")


def test_the_walkthroughs_print_their_outputs_and_show_what_they_drew() -> None:
    """Each has pictures, and each picture is one that its own code or steps make."""
    for name in ("tutorials/tuning.md", "tutorials/research.md", "quickstart.md"):
        text = PAGES[name].read_text(encoding="utf-8")
        shown = {each for each in re.findall(r"figures/([\w-]+)\.png", text) if "web-" not in each}
        drawn = set(re.findall(r'savefig\("([\w-]+)\.png"', text))
        assert shown == drawn, name
        assert shown
    for name in BLOCKS:
        if name.startswith(("tutorials/tuning", "tutorials/research")):
            assert name in OUTPUTS, name
    text = PAGES["tutorials/page.md"].read_text(encoding="utf-8")
    shown = set(re.findall(r"figures/([\w-]+)\.png", text))
    assert shown == set(re.findall(r'^picture "([\w-]+)"$', text, flags=re.MULTILINE))
    for figure in shown:
        assert (ROOT / "docs" / "figures" / f"{figure}.png").exists()


def cells(text: str, start: str) -> list[str]:
    (row,) = re.findall(rf"^\|\s*{re.escape(start)}(?!\d)[^|]*\|(.*)\|$", text, flags=re.MULTILINE)
    return [cell.replace("**", "").strip().removesuffix(" (few runs)") for cell in row.split("|")]


def test_the_comparison_of_the_readme_has_the_figures_of_the_benchmarks() -> None:
    """Each ratio to a peer, the times of a proposal, and the share of needles that are missed."""
    readme, benchmarks = (
        PAGES[name].read_text(encoding="utf-8") for name in ("README.md", "benchmarks.md")
    )
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", benchmarks, flags=re.M | re.S))
    simple = sections["Simple regret, ours over the peer's"]
    on_the_way = sections["Cumulative regret"]
    for start, suite, section in (
        ("distance to the best value in the end, 36 problems", "strangers", simple),
        ("the same, 24 COCO", "bbob-2", simple),
        ("mean distance on the way, the same", "bbob-2", on_the_way),
        ("mean distance on the way, noisy", "noisy-5", on_the_way),
    ):
        peers = [cell.strip("(").split(" ")[0] for cell in cells(section, suite)[1:4]]
        shown = ["–" if cell == "not run" else cell for cell in cells(readme, start)]
        assert shown == peers, start
    ours, gp, tpe, botorch, _ = cells(sections["Speed"], "100 ")
    assert f"ours takes {ours} ms" in readme
    assert cells(readme, "a proposal after 100 trials in 6 inputs") == [tpe, gp, botorch]
    missed = cells(sections["Verdicts"], "needle")[4]
    assert f"bump {missed} end without it" in readme


def test_the_readme_and_the_benchmarks_agree_on_large_studies() -> None:
    home = PAGES["README.md"].read_text(encoding="utf-8")
    benchmarks = PAGES["benchmarks.md"].read_text(encoding="utf-8")
    said = re.search(r"At 2,000 points in six inputs an ask takes (\S+) s, at 5,000 (\S+) s", home)
    assert said is not None
    speed = benchmarks.split("## Speed")[1]
    for points, seconds in zip((2000, 5000), said.groups(), strict=True):
        row = re.search(rf"^\| {points} \| (\S+) \|", speed, flags=re.MULTILINE)
        assert row is not None
        measured = float(row[1]) / 1000
        assert f"{measured:.1g}" == f"{float(seconds):.1g}", f"the README should say {measured}"


def test_the_comparison_links_each_of_ours_to_its_page() -> None:
    text = PAGES["comparison.md"].read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "| Ax |" not in line]
    assert len(rows) > 30
    for row in rows:
        feature, *peers, ours = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(peers) == 2, feature
        assert ours == "–" or "](" in ours, f"{feature}: ours has no link"
    for version in ("5.0.0", "0.21.0", "1.3.1"):
        assert version in text


def test_the_first_example_is_short() -> None:
    lines = [line for line in BLOCKS["README.md-0"].splitlines() if line.strip()]
    assert 0 < len(lines) <= 10  # the formatter decides how many are empty
    assert "README.md-0" in OUTPUTS
    assert sum(name.startswith("quickstart") for name in BLOCKS) >= 4
    assert any(name.startswith("storage") for name in BLOCKS)
    assert any(name.startswith("tutorials/") for name in BLOCKS)


RECORDS = (Decision, ModelDecision)
SETTINGS = (
    nr.AdaptiveGPUCB,
    nr.AdaptiveThompson,
    nr.GPUCB,
    nr.InsuredGPUCB,
    nr.LBGPUCB,
    nr.LogEI,
    nr.MarginalGPUCB,
    nr.MinimumUncertainty,
    nr.RadiusGPUCB,
    nr.RandomisedGPUCB,
    nr.Subspace,
    MAP,
)


@pytest.mark.parametrize("kind", RECORDS)
def test_every_field_of_a_decision_has_its_line_in_the_guide(kind: Any) -> None:
    """The tables of the guide name the fields of today's values, in their order, and no others."""
    guide = PAGES["strategies.md"].read_text(encoding="utf-8")
    table = guide.split(f"| field of `{kind.__name__}` |")[1].split("\n\n")[0]
    listed = re.findall(r"^\| `(\w+)` \| \S", table, flags=re.MULTILINE)
    assert listed == [field.name for field in dataclasses.fields(kind)]


def test_every_setting_has_its_line_in_the_guide() -> None:
    """The table of settings has the fields of today's strategies, and no others."""
    guide = PAGES["strategies.md"].read_text(encoding="utf-8")
    table = guide.split("| setting | of | meaning |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| \S", table, flags=re.MULTILINE)
    listed = {(name, kind) for name, kinds in rows for kind in re.findall(r"`(\w+)`", kinds)}
    fields = {
        (field.name, kind.__name__) for kind in SETTINGS for field in dataclasses.fields(kind)
    }
    assert listed == fields


def test_the_two_commands_are_named_and_ci_runs_the_tests() -> None:
    readme, ci = (
        (PAGES["README.md"].parent / name).read_text(encoding="utf-8")
        for name in ("README.md", ".ci/run")
    )
    assert "`make demo`" in readme
    assert "`make test`" in readme
    assert "make test" in ci.splitlines()


def test_every_strategy_is_in_the_guide() -> None:
    guide = PAGES["strategies.md"].read_text(encoding="utf-8")
    for name in names():
        assert f"| `{name}` |" in guide
