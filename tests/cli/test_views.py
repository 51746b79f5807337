"""plot."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

import noregret as nr
from noregret.storage import backup
from tests.cli.conftest import Shell

SIGNS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with nine values and a trial under way, made once."""
    path = tmp_path_factory.mktemp("drawn") / "noregret.db"
    space = {
        "temperature": nr.Float(20, 90),
        "stirring": nr.Int(1, 5),
        "solvent": nr.Choice(["water", "dmf"]),
    }
    study = nr.Study.create("lab", space, "maximize", storage=path)
    for _ in range(9):
        trial = study.ask()
        study.tell(
            trial, -((trial.params["temperature"] - 60) ** 2) / 100 - trial.params["stirring"]
        )
    study.ask()
    return path


@pytest.fixture
def drawn(shell: Shell, database: Path) -> Shell:
    backup("noregret.db", str(database))
    return shell


@pytest.mark.parametrize(
    "kind",
    [
        *("convergence", "slice", "slices", "contour", "importance", "parallel", "timeline"),
        *("lengthscales", "certificate", "calibration"),
    ],
)
def test_every_kind(drawn: Shell, kind: str) -> None:
    document = drawn(f"plot {kind} --json").json
    assert document == {"study": "lab", "kind": kind, "file": f"lab-{kind}.png"}
    assert Path(document["file"]).read_bytes().startswith(SIGNS["png"])
    drawn.fails(f"plot {kind} --also lab", "--also is for")


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
        ("plot pie", "no study named 'pie'"),
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
