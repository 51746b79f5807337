"""What happens when the file cannot be written, the disk is full, another process holds the lock,
or the server goes away.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

import noregret as nr
from noregret.errors import StorageError, TrialError, UnavailableError
from noregret.storage import SQLStorage, storage_url
from tests.databases import make_storage, make_url, postgresql

SPACE = {"x": nr.Float(0, 1)}


def test_a_read_only_database_is_said(tmp_path: Path) -> None:
    trial = nr.Study.create("s", SPACE, "maximize", storage=tmp_path / "s.db").ask()
    reader = nr.Study.open("s", storage=f"sqlite:///file:{tmp_path / 's.db'}?mode=ro&uri=true")
    assert reader.trials == [trial]
    assert nr.studies(f"sqlite:///file:{tmp_path / 's.db'}?mode=ro&uri=true")[0].running == 1
    for change in (
        reader.ask,
        lambda: reader.tell(trial, 1.0),
        lambda: reader.enqueue({"x": 0.5}),
        lambda: reader.reclaim(numbers=[0]),
    ):
        with pytest.raises(UnavailableError, match="cannot be written; nothing was changed"):
            change()
    assert nr.Study.open("s", storage=tmp_path / "s.db").tell(trial, 1.0).value == 1.0


@contextmanager
def small_disk(folder: Path) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """Functions that fill the disk under a folder and free it again: a small file system where one
    may be mounted, else SQLite's own limit.
    """
    mounted = (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)],
            capture_output=True,
            check=False,
        ).returncode
        == 0
    )

    def fill() -> None:
        with open(folder / "ballast", "wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(bytes(512))
            except OSError:
                pass

    try:
        if mounted:
            yield fill, lambda: (folder / "ballast").unlink()
        else:
            yield from limited_pages()
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def limited_pages() -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    limit = {"pages": 256}  # a megabyte, like the small file system

    @sqlalchemy.event.listens_for(sqlalchemy.engine.Engine, "before_cursor_execute")
    def restrict(connection: Any, cursor: Any, *_: Any) -> None:
        cursor.execute(f"PRAGMA max_page_count={limit['pages']}")

    yield lambda: limit.update(pages=1), lambda: limit.update(pages=256)
    sqlalchemy.event.remove(sqlalchemy.engine.Engine, "before_cursor_execute", restrict)


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    with small_disk(tmp_path) as (fill, free):
        storage = SQLStorage(tmp_path / "s.db")
        study = nr.Study(SPACE, "maximize", strategy=nr.RandomSearch(), name="s", storage=storage)
        told = [study.tell(study.ask(), float(n)) for n in range(5)]
        running = study.ask()
        fill()

        def add_many() -> None:
            for _ in range(1000):  # what is allocated already may take a few more
                told.append(study.add({"x": 0.5}, 1.0))  # noqa: PERF401

        with pytest.raises(UnavailableError, match="the disk is full; nothing was changed"):
            add_many()
        with pytest.raises(UnavailableError, match="the disk is full"):
            study.import_csv(_csv(1_000))
        free()
        assert study.tell(running, 7.0).value == 7.0  # the next call works
        study.ask()
        count = len(study.trials)
        with pytest.raises(UnavailableError, match="the disk is full"):
            study.import_csv(_csv(8_000))  # it becomes full halfway
        assert len(study.trials) == count
        database = sqlite3.connect(tmp_path / "s.db")
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()
        assert [
            t for t in study.trials if t.state == "complete" and t.number != running.number
        ] == told
        assert [t.number for t in study.trials] == list(range(len(study.trials)))
        storage.close()


def _csv(rows: int) -> Any:
    import io

    return io.StringIO("x,value\n" + "".join(f"0.{row:05d},1.0\n" for row in range(rows)))


HOLDER = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
database.execute("ROLLBACK")
"""


def hold_lock(path: Path, seconds: float) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    study = nr.Study.create("s", SPACE, "maximize", storage=tmp_path / "s.db")
    trial = study.ask()
    with hold_lock(tmp_path / "s.db", 0.5):
        assert study.trials == [trial]  # readers are not held up
        assert study.tell(trial, 1.0).value == 1.0


def test_a_lock_that_does_not_go_away_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noregret.storage.database.LOCK_SECONDS", 0.1)
    study = nr.Study.create("s", SPACE, "maximize", storage=tmp_path / "s.db")
    trial = study.ask()
    with hold_lock(tmp_path / "s.db", 60) as holder:
        with pytest.raises(UnavailableError, match="another process held the lock"):
            study.tell(trial, 1.0)
        holder.kill()  # even so the lock goes with it
    assert study.tell(trial, 1.0).value == 1.0
    assert nr.Study.open("s", storage=tmp_path / "s.db").best.value == 1.0


@pytest.fixture(scope="module")
def weak_server() -> Iterator[Any]:
    """A server of its own: it will be taken away."""
    with postgresql() as running:
        yield running


def test_a_server_that_goes_away_during_a_tell_and_comes_back(
    weak_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tell hangs behind a lock, so the server dies with the statement in its hands."""
    monkeypatch.setattr("noregret.storage.database.RETRY_SECONDS", 240.0)
    storage = SQLStorage(weak_server.get_uri())
    study = nr.Study(SPACE, "maximize", name="mid-tell", storage=storage)
    trial = study.ask()
    engine = sqlalchemy.create_engine(storage_url(weak_server.get_uri()))
    blocker = engine.connect()
    blocker.execute(sqlalchemy.text("SELECT * FROM noregret_trials FOR UPDATE"))
    told: list[nr.Trial] = []
    teller = threading.Thread(target=lambda: told.append(study.tell(trial, 1.0)))
    teller.start()
    time.sleep(0.3)
    assert teller.is_alive()
    os.kill(weak_server.get_pid(), signal.SIGQUIT)  # an immediate shutdown
    teller.join(0.5)
    assert teller.is_alive()  # it tries again
    blocker.invalidate()
    engine.dispose()
    _bring_back(weak_server)
    teller.join(240)
    assert [trial.value for trial in told] == [1.0]
    assert [trial.value for trial in study.trials] == [1.0]
    assert study.ask().number == 1
    storage.close()


def test_a_server_that_stays_away_is_said(
    weak_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noregret.storage.database.RETRY_SECONDS", 0.3)
    storage = SQLStorage(weak_server.get_uri())
    study = nr.Study(SPACE, "maximize", name="away", storage=storage)
    trial = study.ask()
    weak_server.stop()
    for call in (lambda: study.tell(trial, 1.0), study.ask, lambda: study.trials):
        with pytest.raises(UnavailableError, match="call again once the database answers"):
            call()
    with pytest.raises(StorageError, match="could not set up"):
        SQLStorage(weak_server.get_uri())
    _bring_back(weak_server)
    assert study.tell(trial, 1.0).value == 1.0
    assert study.ask().number == 1
    storage.close()


def test_a_run_waits_for_a_server_with_the_value_in_its_hands(
    weak_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "noregret.storage.database.RETRY_SECONDS", 0.1
    )  # so that the run's own patience is needed
    storage = SQLStorage(weak_server.get_uri())
    study = nr.Study(SPACE, "maximize", name="patient", storage=storage)

    def objective(params: Any) -> float:
        if len(study.trials) == 2:
            weak_server.stop()
            threading.Timer(1.5, _bring_back, (weak_server,)).start()
        return 1.0

    study.run(objective, 4)
    assert [trial.state for trial in study.trials] == ["complete"] * 4
    storage.close()


def _bring_back(server: Any) -> None:
    deadline = time.monotonic() + 240
    while server.get_postmaster_info().is_running() and time.monotonic() < deadline:
        time.sleep(0.05)
    server.ensure_postgres_running()


class LostAnswers:
    """Every change is made, and the answer to the first attempt gets lost."""

    def __init__(self, storage: SQLStorage) -> None:
        self.original = storage._database.counted

    def __call__(self, what: str, action: Callable[[Any], Any]) -> Any:
        tries = 0

        def unlucky(connection: Any) -> Any:
            nonlocal tries
            tries += 1
            result = action(connection)
            if tries == 1 and what in ("append", "claim", "finish", "delete"):
                raise sqlalchemy.exc.OperationalError(
                    "", {}, Exception("server closed the connection unexpectedly")
                )
            return result

        return self.original(what, unlucky)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_change_whose_answer_was_lost_is_recognised(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = make_storage(kind, request)
    assert isinstance(storage, SQLStorage)
    study = nr.Study(SPACE, "maximize", strategy=nr.RandomSearch(), name="s", storage=storage)
    monkeypatch.setattr(storage._database, "counted", LostAnswers(storage))
    first = study.ask()
    assert first.number == 0
    assert study.tell(first, 1.0).value == 1.0
    study.enqueue({"x": 0.5})
    assert study.ask().number == 1
    study.run(lambda params: 2.0, 2)
    assert [t.state for t in study.trials] == ["complete", "running", "complete", "complete"]
    with pytest.raises(TrialError, match="already"):
        study.tell(first, 2.0)
    nr.delete_study("s", storage)
    assert storage.names() == []
    storage.close()


def test_two_workers_with_the_same_thought_do_not_share_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both propose the same point under the same number; one loses its answer and must not take the
    other's row for its own.
    """
    one, two = (SQLStorage(tmp_path / "s.db") for _ in range(2))
    study = nr.Study(SPACE, "maximize", strategy=nr.RandomSearch(), name="s", storage=one)
    original = one._database.counted
    calls: list[nr.Trial] = []

    def late(what: str, action: Callable[[Any], Any]) -> Any:
        def unlucky(connection: Any) -> Any:
            if what == "append" and not calls:
                calls.append(nr.Study.open("s", storage=two).ask())
                raise sqlalchemy.exc.OperationalError(
                    "", {}, Exception("server closed the connection unexpectedly")
                )
            return action(connection)

        return original(what, unlucky)

    monkeypatch.setattr(one._database, "counted", late)
    assert study.ask().number == 1
    assert calls[0].number == 0
    one.close()
    two.close()


def test_a_forked_child_has_connections_of_its_own(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for kind in ("sqlite", "postgresql"):
        storage = make_storage(kind, request)
        assert isinstance(storage, SQLStorage)
        study = nr.Study(SPACE, "maximize", strategy=nr.RandomSearch(), name="s", storage=storage)
        study.tell(study.ask(), 0.0)
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    for _ in range(10):
                        study.tell(study.ask(), 1.0)
                    status = 0
                finally:
                    os._exit(status)
            children.append(child)
        for _ in range(10):
            study.tell(study.ask(), 2.0)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
        assert [t.state for t in study.trials] == ["complete"] * 41
        storage.close()


def test_a_connection_lost_within_a_transaction_is_tried_again(
    request: pytest.FixtureRequest,
) -> None:
    """The soak met an error of SQLAlchemy's own here, when the server was restarted."""
    storage, calls = SQLStorage(make_url("postgresql", request)), 0

    def action(connection: Any) -> Any:
        nonlocal calls
        calls += 1
        with storage._database.transaction(connection):
            if calls == 1:
                connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
            return connection.exec_driver_sql("SELECT 7").scalar_one()

    assert storage._database.counted("try", action) == (7, 2)
