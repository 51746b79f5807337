"""What every strategy, kernel and storage must do. Subclass a contract in your tests, define its
``make_`` method, and pytest runs it:

    class TestMyStrategy(StrategyContract):
        def make_strategy(self):
            return MyStrategy()
"""

from __future__ import annotations

import pickle
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from noregret.errors import StorageError
from noregret.gp import Kernel, condition, covariance
from noregret.space import Candidates, Choice, Float, Forbidden, Int, Linear, Space
from noregret.storage import UNLIMITED, Storage, StudyRecord, codec
from noregret.strategies import InsuredGPUCB, RandomSearch, Strategy
from noregret.study import Study, minimize
from noregret.trials import Decision, Ending, History, ModelDecision, Trial

T = TypeVar("T")


def spaces() -> dict[str, Space | Candidates]:
    """One search space of each kind."""
    rows = [{"t": t, "s": s} for t in (20, 40, 60, 80) for s in ("water", "dmf")]
    return {
        "line": Space.from_bounds([(0.0, 1.0)]),
        "box": Space({"a": Float(-5, 5), "b": Float(1e-3, 10, log=True)}),
        "mixed": Space({"a": Float(0, 1), "n": Int(1, 9), "c": Choice(["x", "y", "z"])}),
        "list": Candidates(rows),
        "mixture": Space(
            {"a": Float(0, 1), "b": Float(0, 1), "c": Float(0, 0.7), "k": Choice(["x", "y"])},
            constraints=[
                Linear({"a": 1, "b": 1, "c": 1}, equals=1.0),
                Linear({"a": 1, "b": -1}, at_most=0.5),
            ],
        ),
        "forbidden": Space(
            {"n": Int(1, 5), "k": Choice(["x", "y", "z"]), "t": Float(0, 1)},
            constraints=[Forbidden({"k": "x", "n": 2}), Linear({"n": 1, "t": 4}, at_most=6)],
        ),
    }


def height(params: Any) -> float:
    """An objective to maximise in any space."""
    values = params.values() if isinstance(params, dict) else list(params)
    numbers = [float(len(v)) if isinstance(v, str) else float(v) for v in values]
    return float(-sum((v / 10 - 0.3) ** 2 for v in numbers))


def played(strategy: Strategy, space: Space | Candidates) -> Study:
    """A study with running trials, failures, known noise and a point measured elsewhere."""
    study = Study(space, "minimize", strategy, seed=3)
    running: list[Trial] = []
    for number in range(14):
        trial = study.ask()
        running.append(trial)
        if number % 6 == 4:
            study.tell(running.pop(0), state="failed")
        if len(running) > 1 or number < 2:
            oldest = running.pop(0)
            noise_std = 0.05 if oldest.number % 3 == 1 else None
            study.tell(oldest, -height(oldest.params), noise_std)
        if number == 3:
            study.add(trial.params, -height(trial.params))
    return study


class StrategyContract(ABC):
    """A strategy is a frozen value, and its proposals depend on its arguments alone."""

    @abstractmethod
    def make_strategy(self) -> Strategy:
        """A strategy with settings for values between −1 and 1, in any of ``spaces()``."""

    def test_it_is_a_frozen_value_that_can_be_stored(self) -> None:
        strategy = self.make_strategy()
        assert isinstance(strategy, Strategy)
        assert strategy == self.make_strategy()
        assert isinstance(strategy.proved, bool)
        assert strategy.theorem.strip(), "name the theorem, or say that there is none"
        settings = getattr(strategy, "__dataclass_params__", None)
        assert settings is not None, "a strategy is a dataclass: its fields are stored"
        assert settings.frozen, "a strategy must be frozen: its memory is the history"
        assert codec.from_json(codec.to_json(strategy)) == strategy

    def test_it_works_in_every_space_and_the_study_can_be_derived_again(self) -> None:
        """Its belief is finite in every space, and states its condition."""
        strategy = self.make_strategy()
        for name, space in spaces().items():
            study = played(strategy, space)
            replayed = study.replay(tolerance=0.0)
            assert replayed.number is None, f"{name}: proposal {replayed.number} came out otherwise"
            assert replayed.agreed > 0
            for trial in study.trials:
                u = space.encode(trial.params)
                assert np.all((u >= 0) & (u <= 1)), f"{name}: {trial.params} is outside"
                np.testing.assert_allclose(space.snap(u[None, :])[0], u, rtol=0, atol=1e-12)
                space.canonical(trial.params)  # raises for a point that violates a constraint
            belief = study.belief()
            if belief is not None:
                points = np.random.default_rng(1).random((50, space.dimension))
                lower, upper = belief.band(space.snap(points))
                assert np.all(np.isfinite(lower)), name
                assert np.all(lower <= upper), name
                assert belief.condition
                assert belief.proved <= strategy.proved, "no more is proved than it says"

    def test_equal_arguments_give_equal_proposals(self) -> None:
        strategy, space = self.make_strategy(), spaces()["mixed"]
        study = played(strategy, space)
        history = study._history(study.trials)
        one, two = (strategy.propose(space, history, np.random.default_rng(5)) for _ in range(2))
        np.testing.assert_array_equal(one.x, two.x)
        assert one.decision == two.decision

    def test_it_starts_from_nothing(self) -> None:
        strategy = self.make_strategy()
        for space in spaces().values():
            nothing = History.empty(space.dimension)
            x = strategy.propose(space, nothing, np.random.default_rng(0)).x
            assert x.shape == (space.dimension,)
            assert strategy.belief(space, nothing) is None

    def test_a_failed_design_of_a_list_is_not_proposed_again(self) -> None:
        strategy, space = self.make_strategy(), spaces()["list"]
        study = Study(space, "maximize", strategy)
        failed = []
        for number in range(8):
            trial = study.ask()
            assert trial.params not in failed
            if number % 2:
                failed.append(trial.params)
                study.tell(trial, state="failed")
            else:
                study.tell(trial, height(trial.params))


class KernelContract(ABC):
    """A stationary kernel of unit variance as a function of the squared scaled distance."""

    @abstractmethod
    def make_kernel(self) -> Kernel:
        """The kernel."""

    def test_it_has_unit_variance_and_falls(self) -> None:
        kernel = self.make_kernel()
        assert isinstance(kernel, Kernel)
        s = np.linspace(0.0, 25.0, 400)
        value = kernel.value(s.copy())
        assert np.isclose(value[0], 1.0)
        assert np.all(np.isfinite(value))
        assert np.all(np.abs(value) <= 1 + 1e-12)

    def test_its_slope_is_the_derivative(self) -> None:
        kernel = self.make_kernel()
        s = np.linspace(0.05, 16.0, 200)
        step = 1e-6
        difference = (kernel.value(s + step) - kernel.value(s - step)) / (2 * step)
        np.testing.assert_allclose(kernel.slope(s.copy()), difference, rtol=1e-4, atol=1e-7)

    def test_it_is_positive_definite(self) -> None:
        kernel, rng = self.make_kernel(), np.random.default_rng(0)
        for d in (1, 2, 5):
            X = rng.random((40, d))
            K = covariance(kernel, np.full(d, 0.3), X, X)
            np.testing.assert_allclose(K, K.T, atol=1e-12)
            assert np.linalg.eigvalsh(K).min() > -1e-8

    def test_a_posterior_can_be_conditioned(self) -> None:
        kernel, rng = self.make_kernel(), np.random.default_rng(1)
        X = rng.random((12, 2))
        y = np.sin(5 * X[:, 0])
        nothing = np.empty((0, 2))
        posterior = condition(kernel, np.full(2, 0.4), X, y, np.full(12, 1e-4), nothing, 1e-4)
        mean, std = posterior.predict(X)
        np.testing.assert_allclose(mean, y, atol=0.1)
        assert np.all((std >= 0) & (std <= 1))

    def test_it_can_be_stored_and_its_capacity_exponent_is_a_number(self) -> None:
        kernel = self.make_kernel()
        assert codec.from_json(codec.to_json(kernel)) == kernel
        assert isinstance(kernel.decreasing_spectrum, bool)
        for d in (1, 3):
            assert kernel.capacity_exponent(d) > 0


def record(name: str) -> StudyRecord:
    return StudyRecord(name, Space({"x": Float(0, 1)}), "minimize", RandomSearch(), 7)


def refused(call: Callable[[], Any], text: str) -> None:
    """Checks that a call raises a StorageError with this text."""
    import pytest  # it runs the contracts, and only they need it

    with pytest.raises(StorageError, match=re.escape(text)):
        call()


def present(value: T | None) -> T:
    """The value, which must not be None."""
    assert value is not None
    return value


class StorageContract(ABC):
    """Trials are keyed by (study, number), gap-free from 0; a finished one never changes."""

    @abstractmethod
    def make_storage(self) -> Storage:
        """A new, empty storage."""

    def filled(self, *trials: Trial, worker: str | None = None) -> Storage:
        """A storage with one study, "s", and its trials."""
        storage = self.make_storage()
        storage.create(record("s"))
        storage.append("s", trials, worker)
        return storage

    def test_trials_are_appended_under_the_next_numbers(self) -> None:
        storage = self.filled()
        first = present(storage.append("s", [Trial(9, {"x": 0.1}, "complete", 1.0)]))
        two = [Trial(0, {"x": 0.2}, "waiting"), Trial(0, {"x": 0.3})]
        more = present(storage.append("s", two, "w"))
        assert [trial.number for trial in [*first, *more]] == [0, 1, 2]
        assert [trial.worker for trial in more] == [None, "w"]  # whoever runs one is its worker
        assert storage.trials("s") == [*first, *more]
        assert all(trial.created is not None for trial in storage.trials("s"))
        assert storage.append("s", []) == []

    def test_appending_stops_at_a_limit_with_all_or_none(self) -> None:
        storage = self.filled()
        two = [Trial(0, {"x": 0.1}, "complete", 1.0), Trial(0, {"x": 0.2}, "complete", 2.0)]
        assert storage.append("s", two, below=1) is None
        assert storage.trials("s") == []
        assert storage.append("s", two, below=2) is not None
        assert storage.append("s", two[:1], below=2) is None
        assert len(storage.trials("s")) == 2

    def test_appending_looks_first_at_what_came_meanwhile(self) -> None:
        storage, looked = self.filled(), list[list[Trial]]()

        def refuses(others: Sequence[Trial]) -> bool:
            looked.append(list(others))
            return True

        two = [Trial(0, {"x": 0.1}), Trial(0, {"x": 0.2})]
        there = present(storage.append("s", two, unless=refuses))
        assert looked == []  # nothing came
        assert storage.append("s", [Trial(1, {"x": 0.3})], unless=refuses) is None
        assert looked == [there[1:]]
        assert storage.trials("s") == there
        more = storage.append("s", [Trial(1, {"x": 0.3})], "w", unless=lambda others: not others)
        assert present(more)[0].number == 2

    def test_many_append_at_once_without_a_gap(self) -> None:
        storage = self.filled()

        def add(index: int) -> list[int]:
            trial = Trial(0, {"x": 0.5}, "complete", 1.0)
            return [present(storage.append("s", [trial]))[0].number for _ in range(5)]

        with ThreadPoolExecutor(4) as pool:
            numbers = [number for each in pool.map(add, range(4)) for number in each]
        assert sorted(numbers) == list(range(20))

    def test_a_key_is_one_study_and_a_name_is_whichever_has_it(self) -> None:
        storage = self.make_storage()
        made = storage.create(record("s"))
        assert (storage.key("s"), storage.key("s").identity) == ("s", made.identity)
        assert storage.open("s").key == made
        assert storage.append(made, [Trial(0, {"x": 0.1})])
        assert len(storage.trials(made)) == 1
        storage.delete(made)
        refused(lambda: storage.key("s"), "no study named 's'")
        again = storage.create(record("s"))
        assert again.identity != made.identity
        refused(lambda: storage.trials(made), "made anew")
        refused(lambda: storage.append(made, [Trial(0, {"x": 0.1})]), "made anew")
        assert storage.trials(again) == []
        assert pickle.loads(pickle.dumps(again)).identity == again.identity

    def test_whether_a_failure_was_transient_comes_back(self) -> None:
        running = [Trial(n, {"x": n / 10}) for n in (1, 2, 3)]
        storage = self.filled(Trial(0, {"x": 0.1}, "failed", transient=True), *running)
        assert present(storage.finish("s", 1, Ending("failed", transient=True))).transient
        storage.finish("s", 2, Ending("failed"))
        storage.reclaim("s", 0, numbers=[3])  # nothing is known of the point
        assert [trial.transient for trial in storage.trials("s")] == [True, True, False, True]

    def test_records_come_back_under_names_that_are_taken_once(self) -> None:
        storage = self.filled()
        assert storage.open("s") == record("s")
        storage.create(record("other"))
        assert storage.names() == ["other", "s"]
        refused(lambda: storage.create(record("s")), "exists already")
        refused(lambda: storage.open("nope"), "no study named 'nope'")
        refused(lambda: storage.trials("nope"), "no study named 'nope'")

    def test_a_number_is_taken_once_and_many_are_added_or_none(self) -> None:
        storage = self.filled()
        three = [Trial(n, {"x": n / 10}, "complete", float(n)) for n in range(3)]
        assert storage.append("s", three[:1], unless=bool) == three[:1]
        assert storage.append("s", three[:1], unless=bool) is None
        assert storage.append("s", three, unless=bool) is None
        assert storage.append("s", three[1:], unless=bool) == three[1:]
        assert storage.trials("s") == three

    def test_of_two_finishes_one_wins(self) -> None:
        storage = self.filled(Trial(0, {"x": 0.1}), Trial(1, {"x": 0.2}, "waiting"))
        finished = present(storage.finish("s", 0, Ending("complete", 3.0, 0.1)))
        assert finished == Trial(0, {"x": 0.1}, "complete", 3.0, 0.1)
        assert present(finished.created) <= present(finished.finished)
        assert storage.finish("s", 0, Ending("complete", 4.0)) is None
        assert storage.finish("s", 0, Ending("failed")) is None
        assert storage.finish("s", 2, Ending("failed")) is None  # there is no such trial
        # a waiting trial may be told too
        assert storage.finish("s", 1, Ending("complete", 5.0)) is not None
        assert [t.value for t in storage.trials("s")] == [3.0, 5.0]

    def test_an_outcome_brings_its_remarks(self) -> None:
        storage = self.filled(Trial(0, {"x": 0.1}), Trial(1, {"x": 0.2}), Trial(2, {"x": 0.3}))
        attributes = {"who": "anna", "list": [1, None]}
        told = Ending(value=3.0, params={"x": 0.4}, note="a note", attributes=attributes)
        storage.finish("s", 0, told)
        storage.finish("s", 1, Ending("failed", error="no gas"))
        storage.finish("s", 2, Ending("complete", 1.0))
        moved, failed, plain = storage.trials("s")
        assert (moved.params, moved.asked) == ({"x": 0.4}, {"x": 0.1})
        assert (moved.note, moved.attributes) == ("a note", attributes)
        assert (failed.error, failed.params, failed.asked) == ("no gas", {"x": 0.2}, None)
        assert (plain.error, plain.note, plain.attributes) == (None, None, {})

    def test_remarks_may_be_written_later_and_nothing_else_changes(self) -> None:
        storage = self.filled(Trial(0, {"x": 0.1}, "complete", 2.0), Trial(1, {"x": 0.2}))
        before = storage.trials("s")
        storage.annotate("s", 0, "seen again", {"who": "anna"})
        storage.annotate("s", 1, None, {"cell": 4})
        after = storage.trials("s")
        assert [t.note for t in after] == ["seen again", None]
        assert [t.attributes for t in after] == [{"who": "anna"}, {"cell": 4}]
        assert [replace(t, note=None, attributes={}) for t in after] == before
        storage.finish("s", 1, Ending("complete", 3.0, attributes={"lid": "shut"}))
        storage.annotate("s", 0, None, {"batch": 2})  # other attributes stay
        storage.annotate("s", 0, "", {"who": None})  # "" and None delete
        said = [(t.note, t.attributes) for t in storage.trials("s")]
        assert said == [(None, {"batch": 2}), (None, {"cell": 4, "lid": "shut"})]
        storage.annotate("s", None, "of the study", {"project": "x"})
        storage.annotate("s", None, None, {"unit": "g"})
        opened = storage.open("s")
        assert (opened.note, opened.attributes) == ("of the study", {"project": "x", "unit": "g"})
        refused(lambda: storage.annotate("nope", None, "a", {}), "no study named 'nope'")

    def test_remarks_of_many_at_once_are_all_kept(self) -> None:
        storage = self.filled(Trial(0, {"x": 0.1}))
        jobs = [(number, f"{index}") for index in range(10) for number in (0, None)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda job: storage.annotate("s", job[0], None, {job[1]: 1}), jobs))
        every = {f"{index}": 1 for index in range(10)}
        assert storage.trials("s")[0].attributes == every
        assert storage.open("s").attributes == every

    def test_a_study_is_made_with_all_its_trials_or_not_at_all(self) -> None:
        storage = self.make_storage()
        two = [Trial(0, {"x": 0.1}, "complete", 1.0), Trial(1, {"x": 0.2}, "waiting")]
        refused(lambda: storage.create(record("s"), two[1:]), "from 0 without gaps")
        assert storage.names() == []
        assert storage.trials(storage.create(record("s"), two)) == two
        refused(lambda: storage.create(record("s"), two), "exists already")

    def test_when_a_trial_was_given_out_is_known(self) -> None:
        done = Trial(1, {"x": 0.1}, "complete", 1.0)
        storage = self.filled(Trial(0, {"x": 0.1}, "waiting"), done, Trial(2, {"x": 0.2}))
        waiting, added, running = storage.trials("s")
        assert (waiting.started, added.started, added.duration) == (None, None, None)
        assert running.started is not None
        assert present(storage.claim("s", 0)).started is not None
        assert present(storage.finish("s", 0, Ending("complete", 1.0))).duration is not None
        assert [t.started for t in storage.reclaim("s", 3, numbers=[2])] == [None]

    def test_a_waiting_trial_is_claimed_once(self) -> None:
        enqueued = Decision("enqueued")
        waiting = Trial(0, {"x": 0.1}, "waiting", decision=enqueued)
        storage = self.filled(waiting, Trial(1, {"x": 0.2}))
        assert storage.claim("s", 1) is None
        assert storage.claim("s", 7) is None
        claimed = present(storage.claim("s", 0, "w"))
        assert (claimed, claimed.worker) == (Trial(0, {"x": 0.1}, decision=enqueued), "w")
        assert storage.claim("s", 0) is None
        assert [t.state for t in storage.trials("s")] == ["running", "running"]

    def test_only_dead_workers_lose_their_trials(self) -> None:
        """Of four running trials one has no worker, one is silent, one gives signs of life, one is
        finished.
        """
        storage = self.filled()
        for number, worker in enumerate([None, "silent", "alive", "done"]):
            assert storage.append("s", [Trial(number, {"x": number / 10})], worker)
        assert storage.finish("s", 3, Ending("complete", 1.0), "done") is not None
        assert storage.reclaim("s", 3, grace=60.0) == []
        time.sleep(0.3)
        storage.heartbeat("s", [1, 2, 3], "alive")  # counts for its own trials only
        assert [(t.number, t.state) for t in storage.reclaim("s", 3, grace=0.2)] == [(1, "waiting")]
        states = [t.state for t in storage.trials("s")]
        assert states == ["running", "waiting", "running", "complete"]
        assert [t.worker for t in storage.trials("s")] == [None, None, "alive", None]

    def test_a_trial_is_given_out_only_so_often(self) -> None:
        """What a worker gives back on purpose does not count."""
        storage = self.filled(Trial(0, {"x": 0.1}), worker="a")
        for most, expected in [*4 * [(UNLIMITED, "waiting")], *2 * [(3, "waiting")], (3, "failed")]:
            assert [t.state for t in storage.reclaim("s", most, numbers=[0])] == [expected]
            storage.claim("s", 0, "b")
        assert storage.reclaim("s", 3, numbers=[0]) == []
        assert storage.trials("s")[0].finished is not None

    def test_a_worker_gives_back_and_fails_only_what_is_its_own(self) -> None:
        storage = self.filled(Trial(0, {"x": 0.1}), worker="a")
        assert storage.reclaim("s", 3, numbers=[0], worker="b") == []
        assert storage.finish("s", 0, Ending("failed"), "b") is None
        assert len(storage.reclaim("s", 3, numbers=[0], worker="a")) == 1
        # it is waiting again
        assert storage.finish("s", 0, Ending("failed"), "a") is None
        storage.claim("s", 0, "b")
        # any worker may tell a value
        assert storage.finish("s", 0, Ending("complete", 2.0)) is not None

    def test_studies_are_deleted_with_their_trials(self) -> None:
        storage = self.filled(Trial(0, {"x": 0.1}))
        storage.delete("s")
        assert storage.names() == []
        refused(lambda: storage.delete("s"), "no study named 's'")
        refused(lambda: storage.trials("s"), "no study named 's'")
        refused(lambda: storage.open("s"), "no study named 's'")
        storage.create(record("s"))
        assert storage.trials("s") == []

    def test_summaries(self) -> None:
        storage = self.filled()
        storage.create(record("empty"))
        corrected = Trial(5, {"x": 0.1}, "complete", 3.0, None, Decision("correction"), 0)
        complete = [Trial(n, {"x": 0.1}, "complete", value) for n, value in enumerate((-5.0, 2.0))]
        failed, waiting = Trial(2, {"x": 0.3}, "failed"), Trial(4, {"x": 0.5}, "waiting")
        storage.append("s", [*complete, failed, Trial(3, {"x": 0.4}), waiting, corrected])
        empty, full = storage.summaries()
        assert (empty.name, empty.trials, empty.best) == ("empty", 0, None)
        assert empty.last_activity == empty.created
        assert (full.name, full.goal, full.trials) == ("s", "minimize", 5)
        assert (full.waiting, full.running, full.complete, full.failed) == (1, 1, 2, 1)
        assert full.best == 2.0  # −5 was corrected
        assert full.last_activity >= full.created

    def test_trials_come_back_bit_for_bit(self) -> None:
        storage = self.filled()
        model = ModelDecision(t=1, mean=0.1 + 0.2, std=1e-17)
        decision = Decision("model", model, (3, 5), {"x": 0.1}, {"own": [1, 2]})
        trial = Trial(0, {"x": 0.1 + 0.2}, "complete", 1e-17, 0.1, decision)
        storage.append("s", [trial])
        listed = storage.trials("s")
        assert listed == [trial]
        listed.clear()
        assert len(storage.trials("s")) == 1  # values out: the caller's list is its own

    def test_a_study_resumes_from_its_rows_alone(self) -> None:
        """Opened anew after every trial it proposes bit for bit what it proposes in one go."""

        def f(x: Any) -> float:
            return float((x["x"] - 0.3) ** 2)

        storage, space = self.make_storage(), Space({"x": Float(0, 1)})
        Study(space, "minimize", InsuredGPUCB(), 5, name="stepwise", storage=storage)
        for _ in range(9):
            study = Study.open("stepwise", storage=storage)
            trial = study.ask()
            study.tell(trial, f(trial.params))
        whole = minimize(f, space, 9, InsuredGPUCB(), 5)
        stepwise = Study.open("stepwise", storage=storage).trials
        assert [t.params for t in stepwise] == [t.params for t in whole.trials]
        assert [t.decision for t in stepwise] == [t.decision for t in whole.trials]
