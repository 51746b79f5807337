"""A study is not its name, and is there with all its trials or not at all."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.errors import StorageError
from noregret.storage import SQLStorage

SPACE = {"x": nr.Float(0, 1)}


def test_a_handle_on_a_deleted_study_says_nothing_of_the_new_one(tmp_path: Path) -> None:
    storage = SQLStorage(tmp_path / "s.db")
    old = nr.Study.create("lab", SPACE, "maximize", nr.RandomSearch(), storage=storage)
    nr.delete_study("lab", storage)
    new = nr.Study.create("lab", SPACE, "maximize", nr.RandomSearch(), storage=storage)
    new.annotate(note="the new one")
    calls: list[Callable[[], Any]] = [
        lambda: old.annotate(note="meant for the old one"),
        lambda: old.record().note,
        lambda: old.record().attributes,
        lambda: old.record().origin,
        lambda: old.derived("lab, wider"),
    ]
    for call in calls:
        with pytest.raises(StorageError, match="made anew"):
            call()
    assert new.record().note == "the new one"


def test_a_study_made_from_another_has_its_trials_or_is_not_made(tmp_path: Path) -> None:
    storage = SQLStorage(tmp_path / "s.db")
    study = nr.Study.create("lab", SPACE, "maximize", nr.RandomSearch(), storage=storage)
    study.add({"x": 0.5}, 1.0)
    raw = sqlite3.connect(tmp_path / "s.db")
    raw.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON noregret_trials"
        " BEGIN SELECT RAISE(ABORT, 'house rule'); END"
    )
    raw.commit()
    raw.close()
    with pytest.raises(StorageError, match="house rule"):
        study.derived("lab, wider")
    assert storage.names() == ["lab"]
