"""Random spaces, values and sequences of calls: no error outside our tree, no warning, no hang.

A short version runs with the tests; ``make fuzz`` runs 10,000 (NOREGRET_FUZZ=10000).
"""

import io
import os
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import noregret as nr
from noregret.errors import NoRegretError
from noregret.trials import standing

EXAMPLES = int(os.environ.get("NOREGRET_FUZZ", "15"))

BOUNDS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, -1, 1e308, -1e308, 5e-324, 2**53, 1e16]),
)
FAR = st.floats(10, 1e300)
OPTION = st.one_of(
    st.text(max_size=4), st.integers(), st.floats(allow_nan=False), st.booleans(), st.none()
)
ORDERED = st.tuples(BOUNDS, BOUNDS).map(lambda pair: sorted(pair, key=float))
WHOLE = st.lists(st.integers(-(2**53), 2**53), min_size=2, max_size=2, unique=True).map(sorted)
PARAMETERS = st.one_of(  # most of them make sense: what is refused at once tries nothing
    st.builds(lambda pair, log: ("float", *pair, log), ORDERED, st.booleans()),
    st.builds(lambda pair: ("float", *sorted(pair), False), st.tuples(st.floats(0, 9), FAR)),
    st.builds(lambda pair, log: ("int", *pair, log), WHOLE, st.booleans()),
    st.tuples(
        st.just("choice"), st.lists(st.text(max_size=3), min_size=2, max_size=4, unique=True)
    ),
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
PLAIN = {"x": nr.Float(0, 1), "n": nr.Int(1, 5), "c": nr.Choice(["a", "b"])}
STRATEGIES = st.sampled_from(
    [
        nr.InsuredGPUCB(initial_points=2),
        nr.GPUCB(initial_points=2),
        nr.LogEI(initial_points=2),
        nr.RandomSearch(),
    ]
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

    @initialize(
        kinds=st.lists(PARAMETERS, min_size=1, max_size=3),
        strategy=STRATEGIES,
        values=st.lists(VALUES, max_size=6),
    )
    def start(self, kinds: list[tuple[Any, ...]], strategy: Any, values: list[Any]) -> None:
        """A space that is refused makes room for one that is not, so that the calls try
        something; a few values, so that there is a model.
        """
        try:
            space = {f"p{index}": made(kind) for index, kind in enumerate(kinds)}
            self.study = nr.Study(space, "maximize", strategy=strategy)
        except NoRegretError:
            self.study = nr.Study(PLAIN, "maximize", strategy=strategy)
        for value in values:
            trial = self.study.ask()
            self.tried(
                lambda trial=trial, value=value: self.study and self.study.tell(trial, value)
            )

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

    @rule(number=st.integers(0, 5), transient=st.booleans())
    def fail(self, number: int, transient: bool) -> None:
        if self.study is not None:
            self.tried(
                lambda: self.study and self.study.tell(number, state="failed", transient=transient)
            )

    @rule(number=st.integers(0, 5))
    def retry(self, number: int) -> None:
        if self.study is not None:
            self.tried(lambda: self.study and self.study.retry(number))

    @rule(number=st.integers(0, 5), then=st.sampled_from(["retry", "fail"]))
    def reclaim(self, number: int, then: Any) -> None:
        if self.study is not None:
            self.tried(lambda: self.study and self.study.reclaim(then=then, numbers=[number]))

    @rule(number=st.integers(0, 5), note=st.text(max_size=5), extra=VALUES)
    def annotate(self, number: int, note: str, extra: Any) -> None:
        if self.study is not None:
            with suppress(NoRegretError):
                self.study.annotate(number, note=note, attributes={"extra": extra})

    @rule()
    def held(self) -> None:
        if self.study is not None and self.study.trials:
            name, value = next(iter(self.study.trials[0].params.items()))
            self.tried(lambda: self.study and self.study.ask(fixed={name: value}))

    @rule()
    def out_and_in(self) -> None:
        """What is exported comes back as it was."""
        if self.study is not None and self.study.trials:
            file = io.StringIO(newline="")
            self.study.export(file, "csv")
            file.seek(0)
            back = nr.Study(self.study.space, "maximize").import_csv(file)
            assert [(t.params, t.value, t.noise_std, t.transient) for t in back] == [
                (t.params, t.value, t.noise_std, t.transient) for t in standing(self.study.trials)
            ]

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
    derandomize="NOREGRET_FUZZ" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


TestCalls = Calls.TestCase
