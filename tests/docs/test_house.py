"""``make house``: the building is within its limits, and a limit that is broken is noticed."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.making import house
from docs.making.references import ROOT


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A project with two rooms, within every limit."""
    for folder in ("src/noregret/gp", "tests", "docs/decisions"):
        (tmp_path / folder).mkdir(parents=True)
    for file, text in {
        "src/noregret/__init__.py": "__all__ = ['f']\n",
        "src/noregret/errors.py": "class Error(Exception): ...\n",
        "src/noregret/gp/__init__.py": "def f(): ...  # theory.md" + "#grid\n",
        "docs/theory.md": "## A grid {#grid}\n",
    }.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def broken(root: Path) -> list[str]:
    return [measure.name for measure in house.measures(root) if measure.is_broken]


def test_the_command_prints_everything_and_no_limit_is_broken() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "docs.making.house"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("room", "strategies", "import layers", "longest line", "members of Study"):
        assert word in done.stdout
    assert "broken" not in done.stdout


def test_every_room_is_measured() -> None:
    measured = {room.name for room in house.rooms()}
    assert {"(root)", "space", "gp", "rkhs", "search", "trials", "study", "web"} <= measured
    assert all(room.lengths and room.most for room in house.rooms())
    assert {room.name for room in house.rooms() if room.exported} > {"gp", "trials", "study"}


def test_the_guide_for_contributors_has_the_layers_of_the_contract() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|", guide, flags=re.M)
    assert [int(number) for number, _ in rows] == list(range(1, len(contract) + 1))
    for (_, rooms), layer in zip(rows, contract, strict=True):
        assert set(re.findall(r"`(\w+)`", rooms)) == set(re.findall(r"\w+", layer))


def long_line(root: Path) -> None:
    (root / "tests" / "wide.py").write_text("x = 1  #" + 100 * "-", encoding="utf-8")


def stranger(root: Path) -> None:
    (root / "src" / "noregret" / "utils.py").write_text("", encoding="utf-8")


def skips(root: Path) -> None:
    path = root / "src" / "noregret" / "gp" / "skipped.py"
    path.write_text(6 * "x = 1  # fmt: skip\n", encoding="utf-8")


def layer(root: Path) -> None:
    path = root / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('    "study",\n', '    "study",\n    "x",\n'), encoding="utf-8")


def lost(root: Path) -> None:
    comment = "# theory.md" + "#nowhere\n"
    (root / "src" / "noregret" / "gp" / "lost.py").write_text(comment, encoding="utf-8")


def torn(root: Path) -> None:
    text = "<" * 7 + " HEAD\none\n=======\nother\n" + ">" * 7 + " theirs\n"
    (root / "CHANGELOG.md").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (long_line, "longest line"),
        (stranger, "other files there"),
        (skips, "fmt: skip in src"),
        (layer, "import layers"),
        (lost, "dangling references"),
        (torn, "undecided merges"),
    ],
)
def test_a_broken_limit_is_noticed(spoil: Callable[[Path], None], name: str, small: Path) -> None:
    assert broken(small) == []
    spoil(small)
    assert name in broken(small)
