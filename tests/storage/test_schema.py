"""The version of a database: known ones are opened, all others refused."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.errors import StorageError
from noregret.storage import SQLStorage, schema, upgrade

SPACE = {"x": nr.Float(0, 1)}


def changed(path: Path, *statements: str) -> Sequence[Any]:
    """Runs statements on a file that holds a study, and returns the last one's rows."""
    if not path.exists():
        nr.Study.create("s", SPACE, "maximize", storage=path).ask()
    database = sqlite3.connect(path)
    rows: Sequence[Any] = ()
    for statement in statements:
        rows = database.execute(statement).fetchall()
    database.commit()
    database.close()
    return rows


def test_a_row_names_the_schema_and_the_library(tmp_path: Path) -> None:
    query = "SELECT goal, seed, library, version FROM noregret_studies"
    assert changed(tmp_path / "s.db", query) == [("maximize", "0", nr.__version__, schema.VERSION)]


@pytest.mark.parametrize(("version", "words"), [("99", "newer version"), ("'zz'", "is damaged")])
def test_another_schema_is_refused(version: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    changed(path, f"UPDATE noregret_studies SET version = {version}")
    with pytest.raises(StorageError, match=words):
        nr.Study.open("s", storage=path)
    with pytest.raises(StorageError, match=words):
        upgrade(path)


def test_tables_without_a_column_are_refused(tmp_path: Path) -> None:
    changed(tmp_path / "s.db", "ALTER TABLE noregret_trials DROP COLUMN transient")
    with pytest.raises(StorageError, match=r"no column noregret_trials\.transient.*upgrade"):
        SQLStorage(tmp_path / "s.db")
    changed(tmp_path / "t.db", "DROP TABLE noregret_lists")
    with pytest.raises(StorageError, match=r"no column noregret_lists\.digest"):
        SQLStorage(tmp_path / "t.db")


def test_upgrading_what_holds_no_studies(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no file"):
        upgrade(tmp_path / "s.db")
    sqlite3.connect(tmp_path / "s.db").close()
    with pytest.raises(StorageError, match="no studies"):
        upgrade(tmp_path / "s.db")


def test_an_upgrade_goes_version_by_version_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fails = tmp_path / "s.db", True

    def to_2(database: Any, connection: Any) -> None:
        connection.exec_driver_sql("ALTER TABLE noregret_trials ADD COLUMN colour TEXT")

    def to_3(database: Any, connection: Any) -> None:
        if fails:
            raise KeyboardInterrupt
        connection.exec_driver_sql("UPDATE noregret_trials SET colour = 'blue'")

    changed(path)
    assert upgrade(path) == (schema.VERSION, schema.VERSION)
    first = schema.VERSION
    monkeypatch.setattr(schema, "VERSION", first + 2)
    monkeypatch.setattr(schema, "MIGRATIONS", {first: to_2, first + 1: to_3})
    with pytest.raises(KeyboardInterrupt):
        upgrade(path)
    assert changed(path, "SELECT version FROM noregret_studies") == [(first,)]
    fails = False
    assert upgrade(path) == (first, first + 2)
    assert upgrade(path) == (first + 2, first + 2)
    assert changed(path, "SELECT colour FROM noregret_trials") == [("blue",)]
    assert len(nr.Study.open("s", storage=path).trials) == 1
