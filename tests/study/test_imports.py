"""What ``import noregret`` and a study in memory load: a budget that only falls."""

import json
import subprocess
import sys

import pytest

import noregret as nr
from noregret import storage, study

ASK = """
import noregret as nr
study = nr.Study({"x": nr.Float(0, 1)}, "maximize")
for value in range(5):
    study.tell(study.ask(), float(value))
"""


def loaded(program: str) -> list[str]:
    """The modules that a program loads in a fresh Python."""
    show = "\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program + show], capture_output=True, text=True, check=True
    )
    names: list[str] = json.loads(done.stdout)
    return names


@pytest.mark.parametrize(
    ("program", "most"), [("import noregret", 1), (ASK, 68)], ids=["import", "ask"]
)
def test_few_modules_are_loaded(program: str, most: int) -> None:
    modules = loaded(program)
    own = [name for name in modules if name.split(".")[0] == "noregret"]
    assert len(own) <= most, own
    assert "scipy.stats" not in modules
    assert "sqlalchemy" not in modules


@pytest.mark.parametrize("room", [nr, study, storage], ids=lambda room: room.__name__)
def test_every_public_name_is_found(room: object) -> None:
    names = room.__all__  # type: ignore[attr-defined]
    assert all(getattr(room, name) is not None for name in names)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        room.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_package_lists_its_names() -> None:
    assert set(nr.__all__) <= set(dir(nr))
