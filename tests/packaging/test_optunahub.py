"""The package for OptunaHub: its layout, and its example with the package loaded from the folder
instead of the network.
"""

import importlib.util
import runpy
import sys
from pathlib import Path
from types import ModuleType

import optuna
import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "packaging" / "optunahub" / "package" / "samplers" / "noregret"


def load_module(package: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "optunahub_registry.package", PACKAGE.parents[1] / package / "__init__.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_layout() -> None:
    assert {path.name for path in PACKAGE.iterdir() if path.is_file()} == {
        "README.md",
        "LICENSE",
        "__init__.py",
        "example.py",
        "requirements.txt",
    }
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    start, front, body = (PACKAGE / "README.md").read_text().split("---\n", 2)
    assert start == ""
    assert [line.split(":")[0] for line in front.splitlines()] == [
        "author",
        "title",
        "description",
        "tags",
        "optuna_versions",
        "license",
    ]
    assert optuna.__version__ in front
    assert [line for line in body.splitlines() if line.startswith("## ")] == [
        "## Abstract",
        "## APIs",
        "## Installation",
        "## Example",
        "## Others",
    ]


def test_the_example_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub = ModuleType("optunahub")
    hub.load_module = load_module  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "optunahub", hub)
    runpy.run_path(str(PACKAGE / "example.py"), run_name="__main__")
    best, kinds = capsys.readouterr().out.strip().splitlines()
    assert "kind" in best
    assert kinds.startswith("['promise'")
