"""Random spaces, values and sequences of calls: no error outside our tree, no warning, no hang.

A short version runs with the tests; ``make fuzz`` runs 10,000 (NOREGRET_FUZZ=10000).
"""

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import noregret as nr
from noregret.errors import NoRegretError

EXAMPLES = int(os.environ.get("NOREGRET_FUZZ", "25"))

BOUNDS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, -1, 1e308, -1e308, 5e-324, 2**53, 1e16]),
)
OPTION = st.one_of(
    st.text(max_size=4), st.integers(), st.floats(allow_nan=False), st.booleans(), st.none()
)
PARAMETERS = st.one_of(
    st.tuples(st.just("float"), BOUNDS, BOUNDS, st.booleans()),
    st.tuples(st.just("int"), BOUNDS, BOUNDS, st.booleans()),
    st.tuples(st.just("choice"), st.lists(OPTION, max_size=5)),
    st.tuples(st.just("long"), st.integers(100, 300)),
)
VALUES = st.one_of(
    st.floats(),
    st.sampled_from([1.7e308, -1.7e308, 0.0, 5e-324, 1e9]),
    st.none(),
    st.text(max_size=2),
    st.integers(-(10**400), 10**400),
)
STRATEGIES = st.sampled_from(
    [None, nr.GPUCB(initial_points=2), nr.LogEI(initial_points=2), nr.RandomSearch()]
)


def made(kind: tuple[Any, ...]) -> Any:
    match kind:
        case ("float", low, high, log):
            return nr.Float(low, high, log)
        case ("int", low, high, log):
            return nr.Int(low, high, log)
        case ("choice", options):
            return nr.Choice(options)
        case (_, count):
            return nr.Choice([f"o{index}" for index in range(count)])


class Calls(RuleBasedStateMachine):
    """A study in memory; what the calls refuse with an error of ours is right."""

    study: nr.Study | None = None

    @initialize(kinds=st.lists(PARAMETERS, min_size=1, max_size=3), strategy=STRATEGIES)
    def start(self, kinds: list[tuple[Any, ...]], strategy: Any) -> None:
        try:
            space = {f"p{index}": made(kind) for index, kind in enumerate(kinds)}
            self.study = nr.Study(space, strategy=strategy)
        except NoRegretError:
            self.study = None

    def tried(self, call: Any) -> Any:
        try:
            return call()
        except NoRegretError:
            return None

    @rule(value=VALUES, noise=st.one_of(st.none(), VALUES))
    def ask_and_tell(self, value: Any, noise: Any) -> None:
        if self.study is not None:
            trial = self.study.ask()
            self.tried(lambda: self.study and self.study.tell(trial, value, noise))

    @rule(count=st.integers(1, 3))
    def ask(self, count: int) -> None:
        if self.study is not None:
            self.study.ask(count)

    @rule(data=st.data(), value=VALUES)
    def tell_any(self, data: st.DataObject, value: Any) -> None:
        if self.study is not None and self.study.trials:
            number = data.draw(st.integers(-1, len(self.study.trials)))
            self.tried(lambda: self.study and self.study.tell(number, value))

    @rule(number=st.integers(0, 5))
    def fail(self, number: int) -> None:
        if self.study is not None:
            self.tried(lambda: self.study and self.study.tell(number, state="failed"))

    @rule(number=st.integers(0, 5), value=VALUES)
    def correct(self, number: int, value: Any) -> None:
        if self.study is not None:
            self.tried(lambda: self.study and self.study.correct(number, value))

    @rule()
    def again(self) -> None:
        if self.study is not None and self.study.trials:
            self.study.enqueue(self.study.trials[0].params)

    @rule()
    def answer(self) -> None:
        if self.study is not None:
            self.tried(lambda: self.study and self.study.result())

    @invariant()
    def numbers_have_no_gaps(self) -> None:
        if self.study is not None:
            trials = self.study.trials
            assert [trial.number for trial in trials] == list(range(len(trials)))

    def teardown(self) -> None:
        if self.study is not None:
            assert self.study.replay().number is None


Calls.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=12,
    deadline=None,
    derandomize=EXAMPLES < 1000,
    suppress_health_check=list(HealthCheck),
)


TestCalls = Calls.TestCase
