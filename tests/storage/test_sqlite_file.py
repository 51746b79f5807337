"""One SQLite file: set up by many at once, deleted or replaced while open, copied without its log,
read where it cannot be written.
"""

import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

import noregret as nr
from noregret.errors import StorageError, UnavailableError
from noregret.storage import SQLStorage, backup, database, schema
from tests.openings import KINDS, open_together, prepared
from tests.storage.test_failures import hold_lock

SPACE = {"x": nr.Float(0, 1)}


@contextmanager
def opened(path: Path) -> Iterator[SQLStorage]:
    storage = SQLStorage(path)
    yield storage
    storage.close()


def made(storage: SQLStorage, trials: int = 3) -> nr.Study:
    study = nr.Study(SPACE, "maximize", nr.RandomSearch(), name="lab", storage=storage)
    study.run(lambda params: 1.0, trials, progress=False)
    return study


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_another_process_writes_is_waited_for_before_wal(
    kind: str, tmp_path: Path
) -> None:
    """SQLite does not call its busy handler when the journal mode changes."""
    prepared(kind, tmp_path / "s.db")
    with hold_lock(tmp_path / "s.db", 0.3), opened(tmp_path / "s.db") as storage:
        assert storage.names() == []
    with sqlite3.connect(tmp_path / "s.db") as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()


def test_the_message_says_how_long_was_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noregret.storage.database.LOCK_SECONDS", 0.3)
    with hold_lock(tmp_path / "s.db", 60) as holder:
        with pytest.raises(UnavailableError, match="held the lock") as caught:
            SQLStorage(tmp_path / "s.db")
        holder.kill()
    waited = re.search(r"waited ([\d.]+) s", str(caught.value))
    assert waited is not None
    assert float(waited[1]) > 0.1
    assert not caught.value.passing


def test_a_queue_of_writers_that_moves_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that is taken for longer than is waited at most, by writers that get on."""
    path = tmp_path / "s.db"
    with opened(path) as storage:
        study = made(storage)
        monkeypatch.setattr("noregret.storage.database.LOCK_SECONDS", 0.5)
        end = time.monotonic() + 2.0

        def write() -> None:
            other = sqlite3.connect(path, timeout=30, isolation_level=None)
            while time.monotonic() < end:
                other.execute("BEGIN IMMEDIATE")
                other.execute("CREATE TABLE IF NOT EXISTS busy (n)")
                other.execute("INSERT INTO busy VALUES (1)")
                time.sleep(0.2)
                other.execute("COMMIT")
                other.execute("BEGIN IMMEDIATE")
                other.execute("ROLLBACK")
            other.close()

        with opened(path) as impatient:  # its connections wait 0.5 s inside SQLite
            reopened = nr.Study.open(study.name, storage=impatient)
            writers = [threading.Thread(target=write) for _ in range(6)]
            for writer in writers:
                writer.start()
            try:
                reopened.enqueue({"x": 0.25})
            finally:
                for writer in writers:
                    writer.join()
        assert len(study.trials) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_processes_create_studies_in_one_new_file(kind: str, tmp_path: Path) -> None:
    assert open_together(tmp_path / "s.db", 8, kind) == []


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_file_that_is_gone_takes_no_value(how: str, tmp_path: Path) -> None:
    path, other = tmp_path / "s.db", tmp_path / "other.db"
    with opened(path) as storage, opened(other) as replacement:
        study, trial = made(storage), made(replacement).ask()
        assert study.ask().number == trial.number
        if how == "deleted":
            path.unlink()
        else:
            path.rename(tmp_path / "away.db")
        if how == "replaced":
            other.rename(path)
        for change in (
            lambda: study.tell(trial.number, 2.0),
            study.ask,
            lambda: study.add({"x": 0.5}, 1.0),
            lambda: study.trials,
        ):
            with pytest.raises(UnavailableError, match="deleted or replaced while it was open"):
                change()
        assert path.exists() == (how == "replaced")
        if how == "moved":
            (tmp_path / "away.db").rename(path)
            assert study.tell(trial.number, 2.0).value == 2.0


def test_a_file_that_goes_during_a_change_takes_no_value(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as storage:
        study = made(storage)
        counted = storage._database.counted

        def late(what: str, action: Any) -> Any:
            def change(connection: Any) -> Any:
                result = action(connection)
                if what == "append":
                    (tmp_path / "s.db").unlink()
                return result

            return counted(what, change)

        storage._database.counted = late  # type: ignore[method-assign]
        with pytest.raises(UnavailableError, match="deleted or replaced"):
            study.ask()


def test_a_copy_without_its_log_is_said_and_a_backup_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "SET_UP_PAUSE", 0.0)
    copy = tmp_path / "copy.db"
    with opened(tmp_path / "s.db") as storage:
        study = made(storage)
        shutil.copy(tmp_path / "s.db", copy)
        for _ in range(2):  # it stays as it is
            with pytest.raises(StorageError, match=r"without copy\.db-wal.*database backup"):
                SQLStorage(copy)
        backup(tmp_path / "whole.db", tmp_path / "s.db")
        with opened(tmp_path / "whole.db") as whole:
            assert whole.trials("lab") == study.trials
        with pytest.raises(StorageError, match="exists already"):
            backup(copy, tmp_path / "s.db")
        with pytest.raises(StorageError, match="could not write"):
            backup(tmp_path / "no" / "copy.db", tmp_path / "s.db")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "s.db", "whole.db"]


def test_a_set_up_that_is_under_way_is_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA journal_mode=WAL")

    def go_on(seconds: float) -> None:
        engine = sqlalchemy.create_engine(f"sqlite:///{path}")
        schema.tables(sqlalchemy).create_all(engine)
        engine.dispose()

    monkeypatch.setattr("noregret.storage.schema.time.sleep", go_on)
    with opened(path) as storage:
        assert storage.names() == []
    other.close()


def test_a_set_up_that_was_interrupted_or_killed_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sqlalchemy.MetaData, "create_all", interrupt)
        with pytest.raises(KeyboardInterrupt):
            SQLStorage(tmp_path / "interrupted.db")
    with sqlite3.connect(tmp_path / "killed.db") as killed:  # it leaves its log behind
        killed.execute("PRAGMA journal_mode=WAL")
        killed.execute("PRAGMA user_version").fetchone()
        for name in ("interrupted.db", "killed.db"):
            with opened(tmp_path / name) as storage:
                assert storage.names() == []
    killed.close()


def test_who_cannot_write_sees_what_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "s.db") as storage:
        made(storage, 2)
    with monkeypatch.context() as patched:
        patched.setattr(database, "can_write", lambda file: False)
        viewer = nr.Study.open("lab", storage=SQLStorage(tmp_path / "s.db"))
    assert len(viewer.trials) == 2
    for count in (4, 6):
        with opened(tmp_path / "s.db") as storage:
            nr.Study.open("lab", storage=storage).run(lambda params: 1.0, 2, progress=False)
            assert len(viewer.trials) == count  # while it is written
        assert len(viewer.trials) == count  # and afterwards
