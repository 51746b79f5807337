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
from docs.making.readers import single_readers
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


def test_no_name_that_a_room_hands_on_is_hidden_by_a_file() -> None:
    """A file of the room takes the place of a function of its name as soon as it is imported."""
    package = ROOT / "src" / "noregret"
    hidden = [
        f"{path.parent.name}.{path.stem}"
        for path in package.rglob("*.py")
        if path.stem in house.exported(path.parent / "__init__.py")
    ]
    assert hidden == ["storage.codec"]  # it is handed on as a module


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


def test_a_file_that_only_one_other_uses_is_found(small: Path) -> None:
    """Through the names that an ``__init__`` hands on, and through the attributes of a room."""
    package = small / "src" / "noregret"
    for file, text in {
        "gp/__init__.py": "from noregret.gp.fit import fit\nfrom noregret.gp.linalg import solve\n",
        "gp/fit.py": "from noregret.gp.linalg import solve\ndef fit(): ...\n",
        "gp/linalg.py": "def solve(): ...\n",
        "gp/unused.py": "def idle(): ...\n",
        "errors.py": "from noregret import gp\nx = gp.fit, gp.solve\n",
    }.items():
        (package / file).write_text(text, encoding="utf-8")
    assert single_readers(small) == {"gp/fit.py": "errors.py"}


def test_a_constant_of_the_default_counts_once(tmp_path: Path) -> None:
    """Those of the page's table, and those of the code that it lacks; effort does not count."""
    rooms = tmp_path / "src" / "noregret" / "strategies"
    rooms.mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    table = "## Constants\n\n|name|value|\n|---|---|\n|`WIDTH`|2|\n|priors|–|\n"
    (tmp_path / "docs" / "default.md").write_text(table, encoding="utf-8")
    for file in house.DEFAULT:
        (rooms / f"{file}.py").write_text("", encoding="utf-8")
    code = 'WIDTH = 2.0\nCAUTION: float = 0.5\nDELTA = 0.1\nNAME = "x"\nsmall = 1\n'
    (rooms / "insured.py").write_text(code, encoding="utf-8")
    assert house.default_constants(tmp_path) == ["WIDTH", "priors", "CAUTION"]


def test_an_import_loads_nothing_of_the_package_but_itself() -> None:
    assert house.own_modules("pass") == ["noregret"]
    loaded = house.modules_after(house.FIRST_USE)
    assert "noregret.study.study" in loaded
    assert "scipy.stats" not in loaded
    assert "scipy.stats" in house.modules_after("import scipy.stats")
