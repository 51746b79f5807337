"""What every storage must do. A new implementation joins by adding itself to ``make_storage``."""

import itertools
import json
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import noregret as nr
from noregret.classes import Schedule
from noregret.errors import StorageError
from noregret.storage import SQLStorage, Storage, StudyRecord, storage_url
from noregret.trials import STATES, Decision, ModelDecision, State, Trial
from tests.databases import KINDS, make_storage

fresh = itertools.count()


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
    assert storage.insert("s", [Trial(0, {"x": 0.1})])
    assert not storage.insert("s", [Trial(0, {"x": 0.2})])
    assert not storage.insert("s", [Trial(2, {"x": 0.2})])
    assert storage.insert("s", [Trial(1, {"x": 0.3}, "complete", 1.0)])
    assert [t.params for t in storage.trials("s")] == [{"x": 0.1}, {"x": 0.3}]


def test_many_are_inserted_at_once_or_none(storage: Storage) -> None:
    three = [Trial(n, {"x": n / 10}, "complete", float(n)) for n in range(3)]
    assert storage.insert("s", three)
    assert not storage.insert("s", [Trial(2, {"x": 0.5}), Trial(3, {"x": 0.6})])
    assert not storage.insert("s", [Trial(3, {"x": 0.5}), Trial(5, {"x": 0.6})])
    assert not storage.insert("s", [Trial(4, {"x": 0.5}), Trial(5, {"x": 0.6})])
    assert storage.insert("s", [])
    assert storage.trials("s") == three


def test_of_two_finishes_one_wins(storage: Storage) -> None:
    storage.insert("s", [Trial(0, {"x": 0.1}), Trial(1, {"x": 0.2}, "waiting")])
    finished = storage.finish("s", 0, "complete", 3.0, 0.1)
    assert finished == Trial(0, {"x": 0.1}, "complete", 3.0, 0.1)
    assert finished.finished is not None
    assert finished.created is not None
    assert finished.created <= finished.finished
    assert storage.finish("s", 0, "complete", 4.0, None) is None
    assert storage.finish("s", 0, "failed", None, None) is None
    assert storage.finish("s", 2, "failed", None, None) is None  # there is no such trial
    assert (
        storage.finish("s", 1, "complete", 5.0, None) is not None
    )  # a waiting trial may be told too
    assert [t.value for t in storage.trials("s")] == [3.0, 5.0]


def test_a_waiting_trial_is_claimed_once(storage: Storage) -> None:
    storage.insert(
        "s", [Trial(0, {"x": 0.1}, "waiting", decision=Decision("enqueued")), Trial(1, {"x": 0.2})]
    )
    assert storage.claim("s", 1) is None
    assert storage.claim("s", 7) is None
    claimed = storage.claim("s", 0, "w")
    assert claimed == Trial(0, {"x": 0.1}, decision=Decision("enqueued"))
    assert claimed.worker == "w"
    assert storage.claim("s", 0) is None
    assert [t.state for t in storage.trials("s")] == ["running", "running"]


def test_only_dead_workers_lose_their_trials(storage: Storage) -> None:
    """Of four running trials one has no worker, one is silent, one gives signs of life, one is
    finished.
    """
    for number, worker in enumerate([None, "silent", "alive", "done"]):
        assert storage.insert("s", [Trial(number, {"x": number / 10})], worker)
    assert storage.finish("s", 3, "complete", 1.0, None, worker="done") is not None
    assert storage.reclaim("s", 3, grace=60.0) == []
    time.sleep(0.3)
    storage.heartbeat("s", [1, 2, 3], "alive")  # it speaks for its own trials only
    assert [(t.number, t.state) for t in storage.reclaim("s", 3, grace=0.2)] == [(1, "waiting")]
    assert [t.state for t in storage.trials("s")] == ["running", "waiting", "running", "complete"]
    assert [t.worker for t in storage.trials("s")] == [None, None, "alive", None]


def test_a_trial_is_given_out_only_so_often(storage: Storage) -> None:
    storage.insert("s", [Trial(0, {"x": 0.1})], "a")
    for expected in ("waiting", "waiting", "failed"):
        assert [t.state for t in storage.reclaim("s", 3, numbers=[0])] == [expected]
        storage.claim("s", 0, "b")
    assert storage.reclaim("s", 3, numbers=[0]) == []
    assert storage.trials("s")[0].finished is not None


def test_a_worker_gives_back_and_fails_only_what_is_its_own(storage: Storage) -> None:
    storage.insert("s", [Trial(0, {"x": 0.1})], "a")
    assert storage.reclaim("s", 3, numbers=[0], worker="b") == []
    assert storage.finish("s", 0, "failed", None, None, worker="b") is None
    assert len(storage.reclaim("s", 3, numbers=[0], worker="a")) == 1
    assert (
        storage.finish("s", 0, "failed", None, None, worker="a") is None
    )  # it waits for somebody else now
    storage.claim("s", 0, "b")
    assert storage.finish("s", 0, "complete", 2.0, None) is not None  # a value counts from whomever


def test_studies_are_deleted_with_their_trials(storage: Storage) -> None:
    storage.insert("s", [Trial(0, {"x": 0.1})])
    storage.delete("s")
    assert storage.names() == []
    for call in (storage.delete, storage.trials, storage.open):
        with pytest.raises(StorageError, match="no study named 's'"):
            call("s")
    storage.create(record("s"))
    assert storage.trials("s") == []


def test_summaries(storage: Storage) -> None:
    storage.create(record("empty"))
    states: list[Trial] = [
        Trial(0, {"x": 0.1}, "complete", -5.0),
        Trial(1, {"x": 0.2}, "complete", 2.0),
        Trial(2, {"x": 0.3}, "failed"),
        Trial(3, {"x": 0.4}),
        Trial(4, {"x": 0.5}, "waiting"),
        Trial(5, {"x": 0.1}, "complete", 3.0, None, Decision("correction"), 0),
    ]
    storage.insert("s", states)
    empty, full = storage.summaries()
    assert (empty.name, empty.trials, empty.best, empty.last_activity) == (
        "empty",
        0,
        None,
        empty.created,
    )
    assert (
        full.name,
        full.goal,
        full.trials,
        full.waiting,
        full.running,
        full.complete,
        full.failed,
    ) == ("s", "minimize", 5, 1, 1, 2, 1)
    assert full.best == 2.0  # −5 was corrected
    assert full.last_activity >= full.created


def test_trials_come_back_bit_for_bit(storage: Storage) -> None:
    trial = Trial(
        0,
        {"x": 0.1 + 0.2},
        "complete",
        1e-17,
        0.1,
        Decision("model", ModelDecision(1, (1 / 3,), np.pi, 0.1 + 0.2), (3,), {"x": 0.3}),
    )
    storage.insert("s", [trial])
    assert storage.trials("s") == [trial]
    listed = storage.trials("s")
    listed.clear()
    assert len(storage.trials("s")) == 1  # values out: the caller's list is its own


def test_many_threads_share_one_study(storage: Storage) -> None:
    def insert(value: int) -> None:
        while not storage.insert(
            "s", [Trial(len(storage.trials("s")), {"x": value / 100}, "complete", float(value))]
        ):
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
    assert [t.params for t in nr.Study.open("stepwise", storage=storage).trials] == [
        t.params for t in whole.trials
    ]
    assert [t.decision for t in nr.Study.open("stepwise", storage=storage).trials] == [
        t.decision for t in whole.trials
    ]


WORKERS = st.sampled_from([None, "a", "b"])
HANDLES = st.integers(0, 1)
PICKS = st.integers(0, 50)


class Machine(RuleBasedStateMachine):
    """Everything a storage does, at random through two handles on one study, against lists in
    memory.
    """

    handles: tuple[Storage, Storage]

    def __init__(self) -> None:
        super().__init__()
        self.name = f"m{next(fresh)}"
        self.handles[0].create(record(self.name))
        self.model: list[Trial] = []
        self.given_out: list[int] = []
        self.holder: list[str | None] = []

    def is_over(self, number: int) -> bool:
        return self.model[number].state in ("complete", "failed")

    @rule(
        handle=HANDLES,
        ahead=st.integers(-1, 1),
        xs=st.lists(st.floats(0, 1), min_size=1, max_size=3),
        state=st.sampled_from(STATES),
        worker=WORKERS,
    )
    def insert(
        self, handle: int, ahead: int, xs: list[float], state: State, worker: str | None
    ) -> None:
        first = len(self.model) + ahead
        value = xs[0] if state == "complete" else None
        trials = [
            Trial(first + i, {"x": x}, state, value, None, Decision(memory={"h": 1 / 3}))
            for i, x in enumerate(xs[: 1 if worker else 3])
        ]
        taken = self.handles[handle].insert(self.name, trials, worker)
        assert taken == (ahead == 0)
        if taken:
            self.model += trials
            self.given_out += [int(state == "running")] * len(trials)
            self.holder += [worker if state == "running" else None] * len(trials)

    @rule(handle=HANDLES, pick=PICKS, worker=WORKERS)
    def claim(self, handle: int, pick: int, worker: str | None) -> None:
        if not self.model:
            return
        number = pick % len(self.model)
        claimed = self.handles[handle].claim(self.name, number, worker)
        assert (claimed is not None) == (self.model[number].state == "waiting")
        if claimed is not None:
            self.model[number] = replace(self.model[number], state="running")
            self.given_out[number] += 1
            self.holder[number] = worker
            assert claimed == self.model[number]

    @rule(
        handle=HANDLES,
        pick=PICKS,
        value=st.floats(-1e300, 1e300),
        failed=st.booleans(),
        worker=WORKERS,
    )
    def finish(
        self, handle: int, pick: int, value: float, failed: bool, worker: str | None
    ) -> None:
        if not self.model:
            return
        number = pick % len(self.model)
        old = self.model[number]
        new = replace(
            old, state="failed" if failed else "complete", value=None if failed else value
        )
        allowed = not self.is_over(number) and (
            worker is None or (old.state == "running" and self.holder[number] == worker)
        )
        finished = self.handles[handle].finish(
            self.name, number, new.state, new.value, None, worker=worker
        )
        assert finished == (new if allowed else None)
        if allowed:
            self.model[number] = new
            self.holder[number] = None

    @rule(handle=HANDLES, pick=PICKS, worker=st.sampled_from(["a", "b"]))
    def heartbeat(self, handle: int, pick: int, worker: str) -> None:
        if self.model:
            self.handles[handle].heartbeat(self.name, [pick % len(self.model)], worker)

    @rule(
        handle=HANDLES,
        picks=st.one_of(st.none(), st.lists(PICKS, max_size=3)),
        worker=WORKERS,
        attempts=st.integers(0, 3),
        dead=st.booleans(),
    )
    def reclaim(
        self, handle: int, picks: list[int] | None, worker: str | None, attempts: int, dead: bool
    ) -> None:
        if not self.model:
            return
        numbers = None if picks is None else sorted({pick % len(self.model) for pick in picks})
        taken = self.handles[handle].reclaim(
            self.name, attempts, grace=-60.0 if dead else 600.0, numbers=numbers, worker=worker
        )
        expected = []
        for number, trial in enumerate(self.model):
            meant = (
                (self.holder[number] is not None and dead) if numbers is None else number in numbers
            )
            if trial.state == "running" and meant and worker in (None, self.holder[number]):
                state: State = "failed" if self.given_out[number] >= attempts else "waiting"
                self.model[number] = replace(trial, state=state)
                self.holder[number] = None
                expected.append(self.model[number])
        assert taken == expected

    @invariant()
    def both_see_all(self) -> None:
        for handle in self.handles:
            trials = handle.trials(self.name)
            assert trials == self.model
            assert [t.worker for t in trials] == self.holder
            summary = next(summary for summary in handle.summaries() if summary.name == self.name)
            assert [summary.waiting, summary.running, summary.complete, summary.failed] == [
                sum(t.state == state for t in self.model) for state in STATES
            ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_storage_behaves_like_a_list(kind: str, request: pytest.FixtureRequest) -> None:
    one = make_storage(kind, request)
    two = SQLStorage(one.url) if isinstance(one, SQLStorage) else one
    machine = type("Bound", (Machine,), {"handles": (one, two)})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=15, stateful_step_count=25, deadline=None)
    )
    for handle in (one, two):
        if isinstance(handle, SQLStorage):
            handle.close()


# -- what only databases can get wrong --


def test_where_a_study_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOREGRET_STORAGE", raising=False)
    nr.Study.create("a", {"x": nr.Float(0, 1)}, "maximize")
    assert (tmp_path / "noregret.db").exists()
    monkeypatch.setenv("NOREGRET_STORAGE", str(tmp_path / "other.db"))
    nr.Study.create("a", {"x": nr.Float(0, 1)}, "maximize")
    assert nr.Study.open("a", storage=tmp_path / "other.db").name == "a"
    assert (
        storage_url("postgresql://h/db")
        == storage_url("postgres://h/db")
        == "postgresql+psycopg://h/db"
    )
    assert storage_url("sqlite:///x.db") == "sqlite:///x.db"
    for bad, words in (
        ("nosuch://x", "not supported"),
        (tmp_path / "missing" / "x.db", "folder does not exist"),
    ):
        with pytest.raises(StorageError, match=words):
            nr.Study.create("a", {"x": nr.Float(0, 1)}, "maximize", storage=bad)
    for look in (
        nr.Study.names,
        nr.Study.summaries,
        lambda storage: nr.Study.open("a", storage=storage),
    ):
        with pytest.raises(StorageError, match="there is no file"):
            look(storage=tmp_path / "typo.db")
    assert not (tmp_path / "typo.db").exists()
    with pytest.raises(StorageError, match="cannot be stored"):
        nr.Study.create(
            "b",
            {"x": nr.Float(0, 1)},
            "maximize",
            strategy=nr.AdaptiveGPUCB(noise_std=0.4, widening=Schedule(lambda t: 1.0, "log")),
        )


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("these are my notes, not a database" * 100)
    with pytest.raises(StorageError, match="not a database"):
        SQLStorage(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text().startswith("these are my notes")


def test_a_deleted_study_is_said(tmp_path: Path) -> None:
    study = nr.Study.create("s", {"x": nr.Float(0, 1)}, "maximize", storage=tmp_path / "s.db")
    trial = study.ask()
    database = sqlite3.connect(tmp_path / "s.db")
    database.execute("PRAGMA foreign_keys=ON")
    database.execute("DELETE FROM noregret_studies")
    database.commit()
    database.close()
    with pytest.raises(StorageError, match="no study named"):
        study.tell(trial, 1.0)
    nr.Study.create("s", {"x": nr.Float(0, 1)}, "maximize", storage=tmp_path / "s.db")
    assert nr.Study.open("s", storage=tmp_path / "s.db").trials == []
    for _ in range(2):  # a handle on the old study never touches the new one
        with pytest.raises(StorageError, match="made anew"):
            study.ask()


def test_rows_are_plain_json(tmp_path: Path) -> None:
    study = nr.Study.create("s", {"x": nr.Float(0, 1)}, "maximize", storage=tmp_path / "s.db").run(
        lambda x: x["x"], 6
    )
    database = sqlite3.connect(tmp_path / "s.db")
    rows = database.execute(
        "SELECT number, state, params, value, decision, created, finished FROM noregret_trials"
        " ORDER BY number"
    ).fetchall()
    database.close()
    assert [json.loads(row[2]) for row in rows] == [t.params for t in study.trials]
    assert all(
        row[1] == "complete" and row[5].endswith("+00:00") and row[6] >= row[5] for row in rows
    )
    decision = json.loads(rows[-1][4])
    assert (decision["version"], decision["source"]) == (1, "model")
    assert decision["model"]["h"] >= 1
