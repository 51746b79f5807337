"""How a database is set up and what its refusals become, by the driver's codes."""

import sqlite3
import threading
from pathlib import Path
from unittest.mock import patch

import pytest

import noregret as nr
from noregret.errors import (
    StorageError,
    StudyExistsError,
    UnavailableError,
    UnknownStudyError,
    UnknownTrialError,
)
from noregret.storage import SQLStorage, recover
from tests.databases import KINDS, make_storage, make_url

SPACE = {"x": nr.Float(0, 1)}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_many_may_set_up_a_new_database_at_once(kind: str, request: pytest.FixtureRequest) -> None:
    url, together = make_url(kind, request), threading.Barrier(6)
    opened: list[SQLStorage] = []

    def set_up() -> None:
        together.wait()
        opened.append(SQLStorage(url))

    threads = [threading.Thread(target=set_up) for _ in range(together.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [storage.names() for storage in opened] == [[]] * len(threads)
    for storage in opened:
        storage.close()


def refusal(url: str | Path) -> str:
    """Found out at once: trying again would be no use."""
    with (
        patch("noregret.storage.database.time.sleep") as waits,
        pytest.raises(UnavailableError) as caught,
    ):
        SQLStorage(url)
    assert not caught.value.passing
    assert waits.call_count == 0
    return str(caught.value)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    assert "the folder does not exist or cannot be read" in refusal(tmp_path / "no" / "s.db")
    (tmp_path / "full locked password.db").write_text("no database, whatever its name says")
    assert "noregret database recover" in refusal(tmp_path / "full locked password.db")


def test_a_database_that_the_server_does_not_have(server: str) -> None:
    assert "nowhere" in refusal(server.replace("/postgres?", "/nowhere?"))


def test_a_table_that_was_dropped(tmp_path: Path) -> None:
    storage = SQLStorage(tmp_path / "s.db")
    with sqlite3.connect(tmp_path / "s.db") as other:
        other.execute("DROP TABLE noregret_studies")
    other.close()
    with pytest.raises(UnavailableError, match="no such table") as caught:
        storage.names()
    assert not caught.value.passing
    storage.close()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_there_and_what_is_there_have_types(
    kind: str, request: pytest.FixtureRequest
) -> None:
    storage = make_storage(kind, request)
    study = nr.Study(SPACE, "maximize", name="s", storage=storage)
    with pytest.raises(StudyExistsError):
        nr.Study(SPACE, "maximize", name="s", storage=storage)
    with pytest.raises(UnknownStudyError):
        nr.Study.open("t", storage=storage)
    with pytest.raises(UnknownStudyError):
        nr.delete_study("t", storage)
    with pytest.raises(UnknownTrialError):
        study.tell(0, 1.0)
    with pytest.raises(UnknownTrialError):
        study.correct(0, 1.0)
    if isinstance(storage, SQLStorage):
        storage.close()


@pytest.mark.parametrize(
    "url", ["mysql://anna:secret@host/db", "redis://host", "mongodb+srv://h/d"]
)
def test_what_is_supported_is_said(url: str) -> None:
    with pytest.raises(StorageError, match="is not supported") as caught:
        nr.Study.create("s", [(0, 1)], "minimize", storage=url)
    assert "SQLite" in str(caught.value)
    assert "postgresql://" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a URL reads as its query or as an escape is part of a file's name."""
    names = ["a?1.db", "a?2.db", "50%20.db", "50 .db", "a#b.db"]
    for name in names:
        storage = SQLStorage(tmp_path / name)
        nr.Study.create(name, SPACE, "maximize", storage=storage).add({"x": 0.5}, 1.0)
        assert SQLStorage(storage.url).names() == [name]  # as another process opens it
        storage.close()
    assert sorted(path.name for path in tmp_path.glob("*.db")) == sorted(names)
    monkeypatch.setattr("noregret.storage.database.can_write", lambda file: False)
    for name in names:
        assert SQLStorage(tmp_path / name, must_exist=True).names() == [name]
        assert [each["name"] for each in recover(tmp_path / name).studies] == [name]
    with pytest.raises(StorageError, match="there is no file"):
        SQLStorage(tmp_path / "a", must_exist=True)
