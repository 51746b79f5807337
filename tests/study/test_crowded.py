"""Many workers on one study: an ask ends, nothing is proposed twice, everything is derived
again.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, StorageError, UnknownStudyError
from noregret.space import SearchSpace
from noregret.storage import MemoryStorage, SQLStorage, Storage
from noregret.strategies import InsuredGPUCB, RandomSearch, Strategy
from noregret.trials import Decision, History, Proposal, Trial
from tests.databases import KINDS, make_storage, make_url

THOUGHTS: list[int] = []


@dataclass(frozen=True, slots=True)
class Counted(InsuredGPUCB):
    """The default, which counts how often it is asked."""

    noise_std: float | None = None
    initial_points: int | None = None
    name: str = field(default="counted")

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        THOUGHTS.append(len(history.X))
        assert len(THOUGHTS) < 50, "it thinks again and again"
        return InsuredGPUCB.propose(self, space, history, rng)


class Busy(MemoryStorage):
    """Another process adds a point whenever somebody asks: the number is always taken."""

    taken = 0
    repeats = False

    def append(self, name: str, trials: Sequence[Trial], *args: Any, **named: Any) -> Any:
        first_attempt = trials[0].state == "running" and bool in args
        if first_attempt and self.taken < 1000:
            self.taken += 1
            first = len(self.trials(name))
            params = trials[0].params if self.repeats else {"x": 0.001 * self.taken}
            other = Trial(first, params, "complete", 0.5, None, Decision("added"))
            assert super().append(name, [other])
        return super().append(name, trials, *args, **named)


@pytest.mark.parametrize("repeats", [False, True])
def test_an_ask_ends_although_its_number_is_always_taken(repeats: bool) -> None:
    """Today's code asked for ever. With the same point taken too it thinks once more, not
    oftener.
    """
    storage = Busy()
    storage.repeats = repeats
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", strategy=Counted(), storage=storage)
    for _ in range(8):
        THOUGHTS.clear()
        trial = study.ask()
        assert len(THOUGHTS) == (2 if repeats else 1)
        assert trial == study.trials[trial.number]
        assert trial.decision.seen == trial.number - (0 if repeats else 1)
        study.tell(trial, float(np.sin(5 * trial.params["x"])))
    assert [trial.number for trial in study.trials] == list(range(8 * 2))
    THOUGHTS.clear()
    replay = study.replay()
    assert (replay.agreed, replay.number) == (8, None)


def test_a_replay_that_takes_what_came_later_differs() -> None:
    """The record is needed: without it another point is derived."""
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", strategy=InsuredGPUCB(), storage=Busy())
    for _ in range(8):
        trial = study.ask()
        study.tell(trial, float(np.sin(5 * trial.params["x"])))
    forgetful = [
        Trial(
            trial.number,
            trial.params,
            trial.state,
            trial.value,
            decision=replace(trial.decision, pending=(), seen=None, draw=None),
        )
        for trial in study.trials
    ]
    again = nr.Study({"x": nr.Float(0, 1)}, "maximize", strategy=InsuredGPUCB(), trials=forgetful)
    assert again.replay().number is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", [RandomSearch(), InsuredGPUCB()], ids=["random", "default"])
def test_workers_that_ask_at_once_get_points_of_their_own(
    kind: str, strategy: Strategy, request: pytest.FixtureRequest
) -> None:
    storage = make_storage(kind, request)
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", strategy=strategy, storage=storage)
    start = threading.Barrier(8)

    def work(_: int) -> None:
        mine = nr.Study.open("study", storage=storage)
        start.wait()
        for _ in range(4):
            trial = mine.ask()
            mine.tell(trial, float(np.sin(5 * trial.params["x"])))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    trials = study.trials
    assert [trial.number for trial in trials] == list(range(32))
    points = [trial.params["x"] for trial in trials]
    if isinstance(strategy, RandomSearch):
        assert len(set(points)) == 32
    replay = study.replay()
    assert (replay.agreed, replay.number) == (32, None)


def test_whoever_waits_for_a_number_of_postgresql_is_not_overtaken(
    request: pytest.FixtureRequest,
) -> None:
    """A trial under a number of its own takes its turn as well. It used not to, and who waited lost
    the number again and again: for seconds, with 32 processes.
    """
    storage = SQLStorage(make_url("postgresql", request))
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", strategy=RandomSearch(), storage=storage)
    database, asked = storage._database, list[Trial]()
    asking = threading.Thread(target=lambda: asked.append(study.ask()))
    with database.engine.connect() as connection:
        with database.transaction(connection):
            turn = storage._turn(storage._id(study._key))
            connection.execute(database.sql.select(turn))
            asking.start()
            asking.join(0.5)
            assert asking.is_alive()
            assert storage.trials("study") == []
        asking.join(240)
    assert [trial.number for trial in asked] == [0]


def test_what_was_known_survives_storage(tmp_path: Path) -> None:
    decision = Decision("model", None, (1, 2), None, {}, 7, 123)
    assert Decision.from_json(decision.to_json()) == decision
    assert "seen" not in Decision("model").to_json()
    storage = SQLStorage(tmp_path / "s.db")
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", storage=storage)
    assert study.ask().decision.seen is None  # nobody was in the way: as ever


@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_of_trials_holds_in_a_crowd(kind: str, request: pytest.FixtureRequest) -> None:
    storage = make_storage(kind, request)
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", strategy=RandomSearch(), storage=storage)

    def work(_: int) -> None:
        nr.Study.open("study", storage=storage).run(lambda params: params["x"], total=40)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(study.trials) == 40


# -- identity --


@pytest.mark.parametrize("kind", KINDS)
def test_a_handle_on_a_deleted_study_never_touches_another_of_its_name(
    kind: str, request: pytest.FixtureRequest
) -> None:
    storage = make_storage(kind, request)
    space = {"x": nr.Float(0, 1)}
    old = nr.Study(space, "maximize", storage=storage)
    trial = old.ask()
    old.tell(trial, 1.0)
    open_trial = old.ask()
    storage.delete("study")
    with pytest.raises(UnknownStudyError):
        _ = old.trials
    new = nr.Study(space, "maximize", storage=storage)
    assert storage.key("study").identity != old._key.identity  # type: ignore[attr-defined]
    calls: list[Any] = [
        lambda: old.trials,
        old.ask,
        lambda: old.tell(open_trial, 2.0),
        lambda: old.add({"x": 0.1}, 1.0),
        lambda: old.enqueue({"x": 0.1}),
        lambda: old.reclaim(numbers=[1]),
        lambda: old.run(lambda params: 0.0, trials=1),
    ]
    for call in calls:
        with pytest.raises(StorageError, match="made anew"):
            call()
    assert new.trials == []
    assert nr.Study.open("study", storage=storage).record().key == new.record().key


def test_a_name_given_anew_in_the_same_storage_is_another_study(tmp_path: Path) -> None:
    """Two handles of one process: the storage once remembered an id by its name."""
    storage: Storage = SQLStorage(tmp_path / "s.db")
    first = nr.Study({"x": nr.Float(0, 1)}, "maximize", storage=storage)
    first.add({"x": 0.5}, 1.0)
    elsewhere = SQLStorage(tmp_path / "s.db")
    elsewhere.delete("study")
    second = nr.Study({"y": nr.Float(5, 6)}, "maximize", storage=elsewhere)
    second.add({"y": 5.5}, 1.0)
    assert nr.Study.open("study", storage=storage).trials[0].params == {"y": 5.5}
    with pytest.raises(StorageError, match="made anew"):
        first.ask()


@pytest.mark.parametrize("place", ["s.db", Path("s.db")])
def test_a_file_is_not_taken_for_a_storage(place: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"got 's\.db'.*Study\.create"):
        nr.Study({"x": nr.Float(0, 1)}, "maximize", storage=place)
