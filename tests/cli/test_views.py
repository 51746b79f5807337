"""plot."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

import noregret as nr
from tests.cli.conftest import Shell

SIGNS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture
def drawn(lab: Shell) -> Shell:
    study = nr.Study.open("lab")
    for _ in range(9):
        trial = study.ask()
        study.tell(
            trial, -((trial.params["temperature"] - 60) ** 2) / 100 - trial.params["stirring"]
        )
    study.ask()
    return lab


@pytest.mark.parametrize(
    "kind", ["convergence", "slice", "lengthscales", "certificate", "calibration"]
)
def test_every_kind(drawn: Shell, kind: str) -> None:
    document = drawn(f"plot {kind} --json").json
    assert document == {"study": "lab", "kind": kind, "file": f"lab-{kind}.png"}
    assert Path(document["file"]).read_bytes().startswith(SIGNS["png"])


@pytest.mark.parametrize("ending", SIGNS)
def test_every_format(drawn: Shell, ending: str) -> None:
    drawn(f"plot slice --along temperature --at solvent=dmf --at stirring=2 --out picture.{ending}")
    assert Path(f"picture.{ending}").read_bytes().startswith(SIGNS[ending])


def test_the_default_is_convergence_and_a_map_takes_two(drawn: Shell) -> None:
    assert "convergence of lab in lab-convergence.png" in drawn("plot").out
    drawn("plot slice --along temperature --along solvent --out map.svg")
    assert ElementTree.parse("map.svg").getroot().tag.endswith("svg")


def test_a_study_may_be_called_anything(shell: Shell) -> None:
    shell("create ../../etc/passwd --float x 0 1 --goal maximize")
    assert shell("plot --json").json["file"] == "etc-passwd-convergence.png"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("plot pie", "convergence"),
        ("plot --along temperature", "plot slice"),
        ("plot slice --delta 0.1", "plot certificate"),
        ("plot slice --along pressure", "no parameter 'pressure'"),
        ("plot slice --along temperature --along temperature", "different"),
        ("plot slice --at pressure=1", "no parameter 'pressure'"),
        ("plot slice --along stirring --at temperature=1e9", "outside"),
        ("plot slice --along stirring --at stirring=2", "holds other parameters"),
        ("plot --out picture.bmp", ".png, .svg or .pdf"),
        ("plot --out picture", ".png, .svg or .pdf"),
        ("plot --out absent/picture.png", "absent"),
        ("plot certificate --delta 2", "--delta"),
    ],
)
def test_mistakes(drawn: Shell, words: str, expected: str) -> None:
    drawn.fails(words, expected)


@pytest.mark.parametrize("kind", ["slice", "lengthscales", "certificate", "calibration"])
def test_too_early(lab: Shell, kind: str) -> None:
    lab.fails(f"plot {kind}")
    assert not list(Path().glob("*.png"))


@pytest.mark.parametrize("kind", ["slices", "contour", "importance", "parallel", "timeline"])
def test_overviews_are_drawn(shell: Shell, kind: str) -> None:
    shell("create s --float x 0 1 --int n 1 4 --goal maximize")
    for number in range(6):
        shell("ask")
        shell(f"tell {number} {number % 4}")
    shell(f"plot {kind} --out {kind}.png")
    assert Path(f"{kind}.png").stat().st_size > 5000
    shell.fails(f"plot {kind} --also s", "--also is for")


def test_studies_are_drawn_beside_each_other(shell: Shell) -> None:
    for name in ("a", "b"):
        shell(f"create {name} --float x 0 1 --goal maximize")
        shell(f"add x=0.5 1 --study {name}")
    shell("create loss --float x 0 1 --goal minimize")
    said = shell("plot studies --out all.png").out
    assert said == "studies of a in all.png\n"
    shell("plot studies --study a --also b --out two.png")
    shell.fails("plot studies --study a --also loss --out no.png", "one goal")
    shell.fails("plot slices --study a --along x", "--along is for")
