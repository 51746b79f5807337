"""How a database is set up and what its refusals become, by the driver's codes."""

import sqlite3
import threading
from pathlib import Path
from unittest.mock import patch

import pytest

import noregret as nr
from noregret.errors import (
    StudyExistsError,
    UnavailableError,
    UnknownStudyError,
    UnknownTrialError,
)
from noregret.storage import SQLStorage
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
    assert "noregret recover" in refusal(tmp_path / "full locked password.db")


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
    study = nr.Study(SPACE, name="s", storage=storage)
    with pytest.raises(StudyExistsError):
        nr.Study(SPACE, name="s", storage=storage)
    with pytest.raises(UnknownStudyError):
        nr.Study.open("t", storage=storage)
    with pytest.raises(UnknownStudyError):
        nr.Study.delete("t", storage=storage)
    with pytest.raises(UnknownTrialError):
        study.tell(0, 1.0)
    with pytest.raises(UnknownTrialError):
        study.correct(0, 1.0)
    if isinstance(storage, SQLStorage):
        storage.close()
