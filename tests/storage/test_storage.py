"""Storages at random against lists in memory, and where studies are kept. What every storage must
do is the contract, run in tests/testing.
"""

import itertools
import json
import math
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import noregret as nr
from noregret.errors import StorageError
from noregret.rkhs import Schedule
from noregret.storage import SQLStorage, Storage, StudyRecord, storage_url
from noregret.storage.protocol import DIED
from noregret.trials import STATES, Decision, Ending, Limit, State, Trial
from tests.databases import KINDS, make_storage, make_url

fresh = itertools.count()


def record(name: str) -> StudyRecord:
    return StudyRecord(name, nr.Space({"x": nr.Float(0, 1)}), "minimize", nr.RandomSearch(), 7)


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
        return self.model[number].state in ("complete", "failed", "withdrawn")

    @rule(
        handle=HANDLES,
        behind=st.integers(0, 1),
        xs=st.lists(st.floats(0, 1), min_size=1, max_size=3),
        state=st.sampled_from(STATES),
        worker=WORKERS,
    )
    def append(
        self, handle: int, behind: int, xs: list[float], state: State, worker: str | None
    ) -> None:
        first = max(len(self.model) - behind, 0)
        value = xs[0] if state == "complete" else None
        trials = [
            Trial(first + i, {"x": x}, state, value, None, Decision(payload={"h": 1 / 3}))
            for i, x in enumerate(xs[: 1 if worker else 3])
        ]
        added = self.handles[handle].append(self.name, trials, worker, unless=bool)
        assert added == (trials if first == len(self.model) else None)
        if added is not None:
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
        ending = Ending(new.state, new.value)
        finished = self.handles[handle].finish(self.name, number, ending, worker)
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
                over = self.given_out[number] >= attempts
                self.model[number] = replace(
                    trial,
                    state="failed" if over else "waiting",
                    error=DIED if over else None,
                    transient=over and attempts == 0,
                )
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
            assert [getattr(summary, state) for state in STATES] == [
                sum(t.state == state for t in self.model) for state in STATES
            ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_storage_behaves_like_a_list(kind: str, request: pytest.FixtureRequest) -> None:
    one = make_storage(kind, request)
    two = SQLStorage(one.url) if isinstance(one, SQLStorage) else one
    machine = type("Bound", (Machine,), {"handles": (one, two)})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=8, stateful_step_count=25, deadline=None)
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
        nr.studies,
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
    assert decision["model"]["t"] >= 1
    assert decision["payload"]["g"] >= 1


DOSING = {"dose": nr.Float(0, 1), "weather": nr.Float(-10, 30)}
LIMITS: dict[str, Limit] = {"toxicity": nr.AtMost(0.3), "purity: <b>β</b>": nr.AtLeast(50)}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_limits_outcomes_and_context_are_kept(kind: str, request: pytest.FixtureRequest) -> None:
    url = make_url(kind, request)
    made = nr.Study.create(
        "s", DOSING, "maximize", storage=SQLStorage(url), outcomes=LIMITS, context=("weather",)
    )
    told: list[tuple[float | None, dict[str, Any]]] = [
        (1.5, {"toxicity": (0.1, 0.02), "purity: <b>β</b>": 60.0}),
        (None, {"toxicity": 0.9, "purity: <b>β</b>": (1e-300, 1e300)}),
        (2.0, {"toxicity": 0.3, "purity: <b>β</b>": 50.0}),  # just kept
        (9.0, {"toxicity": math.nextafter(0.3, 1), "purity: <b>β</b>": 99.0}),  # just not
    ]
    for number, (value, outcomes) in enumerate(told):
        trial = made.ask(context={"weather": 7.0 + number})
        made.tell(trial, value, outcomes=outcomes)
    with pytest.raises(nr.NoRegretError, match=r"missing \['purity"):
        made.tell(made.ask(context={"weather": 1.0}), 1.0, outcomes={"toxicity": 0.1})
    again = nr.Study.open("s", storage=SQLStorage(url))
    assert (again.outcomes, again.context) == (LIMITS, ("weather",))
    kept = again.trials
    assert [trial.value for trial in kept] == [1.5, None, 2.0, 9.0, None]
    assert [trial.feasible for trial in kept] == [True, False, True, False, None]
    assert kept[4].state == "running"
    assert kept[4].outcomes == {}
    assert kept[0].outcomes == {"toxicity": 0.1, "purity: <b>β</b>": 60.0}
    assert kept[0].outcome_noise == {"toxicity": 0.02}
    assert kept[1].outcome_noise == {"purity: <b>β</b>": 1e300}
    assert kept[3].outcomes["toxicity"] == math.nextafter(0.3, 1)  # to the last bit
    assert [trial.decision.fixed for trial in kept[:2]] == [{"weather": 7.0}, {"weather": 8.0}]
    assert again.best.number == 2
    assert again.replay().number is None
    strict = again.derived("strict", outcomes={"toxicity": nr.AtMost(0.2)})
    assert [t.feasible for t in nr.Study.open("strict", storage=SQLStorage(url)).trials[:4]] == [
        t.feasible for t in strict.trials[:4]
    ]
