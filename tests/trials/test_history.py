"""What a strategy sees of trials that waited, failed, were corrected or lost their worker; and that
it can be derived again.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

import noregret as nr
from noregret.errors import ConfigurationError, TrialError
from noregret.trials import Decision, Trial
from tests.study.test_study import STRATEGIES, name, quadratic

CHEAP = nr.GPUCB(lengthscales=0.3, noise_std=0.1, width="mixture")


def test_enqueued_points_come_first_and_count_as_data() -> None:
    study = nr.Study([(0, 1)], "maximize", strategy=CHEAP)
    one, two = study.enqueue([0.25]), study.enqueue([np.float32(0.75)])
    assert (one.state, one.decision) == ("waiting", Decision("enqueued"))
    assert [t.number for t in study.ask(3)] == [0, 1, 2]
    study.tell(two, 1.0)
    history = study._history(study.trials)
    assert history.X.tolist() == [[0.75]]
    assert len(history.pending) == 2
    assert len(history.decisions) == 1
    assert (
        study.tell(study.enqueue([0.5]), 2.0).state == "complete"
    )  # it may be told without being asked for
    with pytest.raises(nr.errors.SpaceError, match="outside"):
        study.enqueue([1.5])


def test_numbers_are_kept_exactly_as_given() -> None:
    study = nr.Study(
        {"lr": nr.Float(1e-5, 1, log=True), "n": nr.Int(1, 9), "c": nr.Choice(["a", 1])}, "maximize"
    )
    for lr in (0.1, 0.3, 1e-5, 0.7):
        assert study.add({"lr": lr, "n": np.int64(3), "c": 1}, 0.0).params == {
            "lr": lr,
            "n": 3,
            "c": 1,
        }
        assert study.enqueue({"lr": lr, "n": 3.0, "c": "a"}).params == {"lr": lr, "n": 3, "c": "a"}
    assert nr.Study([(0.1, 0.7)], "maximize").add([0.3], 1.0).params.tolist() == [0.3]


def test_a_correction_replaces_a_value_and_overwrites_nothing() -> None:
    study = nr.Study([(0, 1)], "maximize", strategy=CHEAP).run(quadratic, 5)
    typo = study.tell(study.ask(), 1e6)
    assert study.best.number == typo.number
    correction = study.correct(typo, -0.5, noise_std=0.2)
    assert (correction.number, correction.corrects, correction.decision) == (
        6,
        5,
        Decision("correction"),
    )
    assert (correction.value, correction.noise_std) == (-0.5, 0.2)
    np.testing.assert_array_equal(correction.params, typo.params)
    assert study.trials[typo.number] == typo
    assert study.best.number < 5
    assert study.recommended.number != typo.number
    history = study._history(study.trials)
    assert history.y.max() <= 0
    assert len(history.X) == 6
    assert len(history.decisions) == 6
    assert history.rows[5] == 5  # the decision has the corrected value: the last row
    again = study.correct(typo, -0.25)  # by its old number
    assert again.corrects == correction.number
    assert sorted(study._history(study.trials).y.tolist())[-1] == max(
        t.value or 0.0 for t in [*study.trials[:5], again]
    )
    failed = study.correct(again, state="failed")
    assert len(study._history(study.trials).failed) == 1
    assert study._history(study.trials).rows[5] is None
    study.correct(failed, 3.0)
    assert study.best.value == 3.0
    assert len(study._history(study.trials).failed) == 0
    assert nr.studies(study._storage)[0].trials == 6


def test_what_cannot_be_corrected() -> None:
    study = nr.Study([(0, 1)], "maximize")
    trial = study.ask()
    with pytest.raises(TrialError, match="is running, there is nothing to correct"):
        study.correct(trial, 1.0)
    with pytest.raises(TrialError, match="there is no trial 7"):
        study.correct(7, 1.0)
    study.tell(trial, 1.0)
    for value in (None, "a", float("nan")):
        with pytest.raises(TrialError, match="a value must be"):
            study.correct(trial, value)
    assert len(study.trials) == 1


def test_a_reclaimed_trial_is_given_out_again_and_the_first_tell_stands() -> None:
    study = nr.Study([(0, 1)], "maximize", strategy=CHEAP)
    lost = study.ask()
    assert study.reclaim(grace=0.001) == []  # nobody promised signs of life for it
    assert [t.state for t in study.reclaim(numbers=[lost])] == ["waiting"]
    again = study.ask()
    assert again.number == lost.number
    assert again.decision == lost.decision
    study.tell(again, 1.0)
    with pytest.raises(
        TrialError, match=r"complete with value 1\.0 already: the first tell stands"
    ):
        study.tell(lost, 2.0)
    for numbers, words in (([0], "is complete"), ([5], "there is no trial")):
        with pytest.raises(TrialError, match=words):
            study.reclaim(numbers=numbers)
    assert [t.state for t in study.reclaim(numbers=[study.ask()], then="fail")] == ["failed"]
    with pytest.raises(ConfigurationError, match="then is"):
        study.reclaim(then="forget")  # type: ignore[arg-type]
    for grace in (0, -1, float("nan"), "1"):
        with pytest.raises(ConfigurationError, match="grace"):
            study.reclaim(grace)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "strategy",
    [*STRATEGIES, nr.LBGPUCB(0.4)],
    ids=lambda s: name(s) if s in STRATEGIES else "LBGPUCB",
)
def test_every_strategy_is_replayed(strategy: nr.strategies.Strategy) -> None:
    """A history with everything in it: pending, failed, added, enqueued, fixed, reclaimed,
    corrected.
    """
    study = nr.Study([(0, 1), (0, 1)], "maximize", strategy=strategy, seed=4)
    study.add([0.5, 0.5], -0.3)
    study.run(quadratic, 4)
    slow, lost, broken = study.ask(3)
    study.enqueue([0.9, 0.9])
    study.ask(fixed={"x0": 0.4})
    study.tell(broken, state="failed")
    study.run(quadratic, 3)
    study.reclaim(numbers=[lost])
    study.tell(slow, quadratic(slow.params))
    study.run(quadratic, 3)
    study.correct(2, -0.01)
    study.run(quadratic, 2)
    replay = study.replay(tolerance=0.0)
    assert (replay.number, replay.agreed) == (None, sum(t.decision.chosen for t in study.trials))
    assert replay.agreed == 14


class Machine(RuleBasedStateMachine):
    """Whatever is done to a study in whatever order, every proposal can be derived again from the
    rows, bit for bit.
    """

    def __init__(self) -> None:
        super().__init__()
        self.study = nr.Study([(0, 1)], "maximize", strategy=CHEAP, seed=1)

    def pick(self, index: int, states: tuple[str, ...]) -> Trial | None:
        fitting = [t for t in self.study.trials if t.state in states]
        return fitting[index % len(fitting)] if fitting else None

    @rule(x=st.one_of(st.none(), st.floats(0, 1)))
    def ask(self, x: float | None) -> None:
        self.study.ask(fixed=None if x is None else {"x0": x})

    @rule(index=st.integers(0, 9), value=st.floats(-10, 10), failed=st.booleans())
    def tell(self, index: int, value: float, failed: bool) -> None:
        trial = self.pick(index, ("running", "waiting"))
        if trial is not None:
            self.study.tell(
                trial, None if failed else value, state="failed" if failed else "complete"
            )

    @rule(x=st.floats(0, 1), value=st.floats(-10, 10))
    def add(self, x: float, value: float) -> None:
        self.study.add([x], value)

    @rule(x=st.floats(0, 1))
    def enqueue(self, x: float) -> None:
        self.study.enqueue([x])

    @rule(index=st.integers(0, 9), value=st.floats(-10, 10), failed=st.booleans())
    def correct(self, index: int, value: float, failed: bool) -> None:
        trial = self.pick(index, ("complete", "failed"))
        if trial is not None:
            self.study.correct(
                trial, None if failed else value, state="failed" if failed else "complete"
            )

    @rule(index=st.integers(0, 9), fail=st.booleans())
    def reclaim(self, index: int, fail: bool) -> None:
        trial = self.pick(index, ("running",))
        if trial is not None:
            self.study.reclaim(numbers=[trial], then="fail" if fail else "retry")

    def teardown(self) -> None:
        replay = self.study.replay(tolerance=0.0)
        assert replay.number is None, replay
        assert replay.agreed == sum(t.decision.chosen for t in self.study.trials)


def test_any_history_is_replayed() -> None:
    run_state_machine_as_test(Machine, settings=settings(max_examples=30, stateful_step_count=25))


def test_a_changed_row_is_found() -> None:
    study = nr.Study([(0, 1)], "maximize", strategy=CHEAP).run(quadratic, 8)
    rows: list[Any] = study.trials
    rows[6] = Trial(6, np.array([0.123]), "complete", rows[6].value, None, rows[6].decision)
    replay = nr.Study([(0, 1)], "maximize", strategy=CHEAP, trials=rows).replay()
    assert (replay.agreed, replay.number) == (6, 6)
    assert replay.recorded == [0.123]
    np.testing.assert_array_equal(replay.derived, study.trials[6].params)
    rows = study.trials
    rows[3] = Trial(
        3, rows[3].params, "complete", 5.0, None, rows[3].decision
    )  # a value changed afterwards
    assert nr.Study([(0, 1)], "maximize", strategy=CHEAP, trials=rows).replay().number == 4
    with pytest.raises(ConfigurationError, match="tolerance"):
        study.replay(tolerance=-1.0)


def test_earlier_trials_that_make_no_sense_leave_nothing_behind() -> None:
    storage = nr.storage.MemoryStorage()
    for trials, error in (
        ([Trial(1, [0.5])], TrialError),
        ([Trial(0, [0.5]), Trial(0, [0.6])], TrialError),
        ([Trial(0, [2.0])], nr.errors.SpaceError),
    ):
        with pytest.raises(error):
            nr.Study([(0, 1)], "maximize", storage=storage, trials=trials)
    assert storage.names() == []
