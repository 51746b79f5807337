"""Search spaces of other libraries as ours. An axis is one of our parameters, with the conversion
to their values and back. A space function declares its axes by running.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space import ActiveWhen, Choice, Constraint, Float, Int, Parameter, Space
from noregret.strategies import Strategy
from noregret.study import Study
from noregret.trials import Trial

CUT = 1e-3  # tail probability left out where the support of a distribution is unbounded
EDGE = 1e-6  # tail probability left out at a finite end of the support
TOLERANCE = 1e-8  # largest error of a rounded multiple, in steps


def checked(strategy: Strategy | None) -> Strategy:
    """The strategy as a study takes it: None is the default, and what is wrong with it raises."""
    return Study([(0.0, 1.0)], "maximize", strategy).strategy


def seed_from(entropy: Any) -> int:
    """A study's seed from whole numbers; None stands for fresh entropy."""
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


def tell_finite(study: Study, trial: Trial, value: Any) -> None:
    """Tells the value, or that the trial has failed where it is not finite."""
    if np.isfinite(value):
        study.tell(trial, value)
    else:
        study.tell(trial, state="failed")


@dataclass(frozen=True, slots=True)
class Axis:
    """Our parameter; ``ours`` turns their value into a value of it, ``theirs`` turns that back."""

    parameter: Parameter
    ours: Callable[[Any], Any]
    theirs: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Single:
    """A parameter with one value only: it has no axis."""

    value: Any


@dataclass(frozen=True, slots=True)
class Axes:
    """Named axes. ``fixed`` are the values of parameters with one value only."""

    named: Mapping[str, Axis]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    branches: tuple[ActiveWhen, ...] = ()

    @staticmethod
    def of(
        specs: Mapping[str, Any],
        read: Callable[[Any], Axis | Single],
        constraints: tuple[Constraint, ...] = (),
        branches: tuple[ActiveWhen, ...] = (),
    ) -> Axes:
        """Axes from another library's description of each parameter; SpaceError names it."""
        named, fixed = dict[str, Axis](), dict[str, Any]()
        for name, spec in specs.items():
            with naming(name):
                axis = read(spec)
            if isinstance(axis, Single):
                fixed[name] = axis.value
            else:
                named[name] = axis
        return Axes(named, fixed, constraints, branches)

    @property
    def space(self) -> Space:
        if not self.named:
            raise SpaceError(f"nothing to optimise: each parameter has one value, {self.fixed!r}")
        parameters = {name: axis.parameter for name, axis in self.named.items()}
        return Space(parameters, constraints=self.constraints, branches=self.branches)

    def ours(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Raises SpaceError for a value that the axis does not have. What does not exist for the
        point's choices may be missing.
        """
        if self.branches and any(name not in params for name in self.named):
            branching = self.space.branching
            params = params if branching is None else branching.filled(params)
        missing = [name for name in self.named if name not in params]
        if missing:
            raise SpaceError(f"the point {dict(params)!r} lacks {missing!r}")
        return {name: axis.ours(params[name]) for name, axis in self.named.items()}

    def theirs(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **{name: self.named[name].theirs(value) for name, value in params.items()},
            **self.fixed,
        }


@contextmanager
def naming(name: str) -> Iterator[None]:
    """A SpaceError inside says which parameter it is about."""
    try:
        yield
    except SpaceError as error:
        raise SpaceError(f"parameter {name!r}: {error}") from None


def as_is(parameter: Parameter) -> Axis:
    """A parameter that both sides mean in the same way."""
    quick = (float, int) if isinstance(parameter, Float) else (int,)

    def ours(value: Any) -> Any:
        if (
            isinstance(parameter, Choice)
            or type(value) not in quick
            or not parameter.low <= value <= parameter.high
        ):
            # SpaceError outside; histories are long, so what is plainly inside is not encoded
            parameter.encode(value)
        return value

    return Axis(parameter, ours, lambda value: value)


def listed(values: Sequence[Any]) -> Axis | Single:
    """A list of values: three or more numbers in increasing order are ordered levels, anything else
    are options without order. Objects such as estimators go by their names.
    """
    items = [value.item() if isinstance(value, np.generic) else value for value in values]
    if len(items) == 1:
        return Single(items[0])
    ordered = (
        len(items) > 2
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in items)
        and all(a < b for a, b in pairwise(items))
    )
    try:
        return as_is(Choice(items, ordered=ordered))
    except SpaceError:  # objects such as estimators, or equal values
        names = [repr(item) for item in items]
        if len(set(names)) < len(names):
            names = [f"{index}: {name}" for index, name in enumerate(names)]
        return _by_position(names, items)


def _by_position(names: Sequence[str], items: Sequence[Any]) -> Axis:
    def ours(value: Any) -> str:
        for name, item in zip(names, items, strict=True):
            if item is value or (
                isinstance(item, bool) == isinstance(value, bool) and bool(item == value)
            ):
                return name
        raise SpaceError(f"{value!r} is not one of {list(items)!r}")

    return Axis(Choice(names), ours, lambda name: items[names.index(name)])


def ranged(
    kind: type[Float | Int], low: float, high: float, *, log: bool = False, step: Any = None
) -> Axis | Single:
    """The numbers from low to high; with a step low, low + step, … (whole if all are whole)."""
    if log and step is not None:
        raise SpaceError("a log scale and a step cannot go together")
    if low == high:
        return Single(low)
    if step is not None:
        return _levels(low, round((high - low) / step), step, log=False)
    return as_is(kind(low, high, log))  # type: ignore[arg-type]


def multiples(low: float, high: float, step: float, *, log: bool) -> Axis:
    """The multiples of step from low to high."""
    first = math.ceil(low / step - TOLERANCE)
    count = math.floor(high / step + TOLERANCE) - first
    return _levels(_tidy(first * step, step), count, step, log=log)


def _levels(low: float, count: int, step: float, *, log: bool) -> Axis:
    whole = all(isinstance(each, (int, np.integer)) for each in (low, step))
    high = _tidy(low + count * step, step, low)
    parameter = Int(int(low), int(high), log, int(step)) if whole else Float(low, high, log, step)

    def ours(value: Any) -> Any:
        position = (value - low) / step
        if abs(position - round(position)) > TOLERANCE or not 0 <= round(position) <= count:
            raise SpaceError(f"{value!r} is not {low!r} plus 0 to {count} times {step!r}")
        return parameter.decode(np.array(parameter.encode(min(max(value, low), high))))

    return Axis(parameter, ours, lambda value: value)


def _tidy(number: float, *others: float) -> float:
    """Without the last bits of a product: 0.3, not 0.30000000000000004."""
    return number if isinstance(number, int) else round(number, 12)


@dataclass(frozen=True, slots=True)
class Quantiles(Float):
    """A number in the user's own scale, on which the search moves by the probabilities of a
    scipy.stats distribution.
    """

    distribution: Any = None
    share: tuple[float, float] = (0.0, 1.0)  # of the probability that is searched

    def encode(self, value: Any) -> list[float]:
        Float(self.low, self.high).encode(value)  # SpaceError outside
        first, last = self.share
        u = (float(self.distribution.cdf(value)) - first) / (last - first)
        return [min(max(u, 0.0), 1.0)]

    def decode(self, u: Any) -> float:
        first, last = self.share
        value = float(self.distribution.ppf(first + float(u[0]) * (last - first)))
        return min(max(value, self.low), self.high)


def quantiles(distribution: Any) -> Axis:
    """A continuous scipy.stats distribution: its own probabilities as the scale, without the last
    CUT of a tail that has no end, and without an end itself, which has no probability: C = 0 is no
    value of a distribution on (0, ∞).
    """
    low, high = distribution.support()
    first = CUT if not math.isfinite(low) else EDGE
    while distribution.ppf(first) <= low and first < CUT:
        first *= 10  # so close to its end that both are one number
    last = 1 - CUT if not math.isfinite(high) else 1 - EDGE
    ends = [float(distribution.ppf(each)) for each in (first, last)]
    made = Quantiles(ends[0], ends[1], distribution=distribution, share=(first, last))
    return as_is(made)


def distributed(frozen: Any) -> Axis:
    """A frozen scipy.stats distribution: its range where it is uniform on some scale, else its own
    probabilities as the scale.
    """
    low, high = (float(end) for end in frozen.support())
    kind = frozen.dist.name
    if kind in ("uniform", "loguniform", "reciprocal"):
        return as_is(Float(low, high, log=kind != "uniform"))
    if not hasattr(frozen, "pmf"):
        return quantiles(frozen)
    first = low if math.isfinite(low) else frozen.ppf(CUT)
    last = high if math.isfinite(high) else frozen.ppf(1 - CUT)
    return as_is(Int(int(first), int(last)))


# -- spaces declared by running a function --


class Suggestions:
    """The argument of a space function. Parameters that the model proposed get its value, all
    others a random one.
    """

    def __init__(
        self, proposed: Mapping[str, Any], known: Mapping[str, Axis], rng: np.random.Generator
    ) -> None:
        self._proposed, self._known, self._rng = proposed, known, rng
        self.values: dict[str, Any] = {}
        self.declared: dict[str, Axis] = {}

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        return float(self._suggest(name, lambda: ranged(Float, low, high, log=log, step=step)))

    def suggest_int(
        self, name: str, low: int, high: int, *, step: int = 1, log: bool = False
    ) -> int:
        steps = None if step == 1 else step
        return int(self._suggest(name, lambda: ranged(Int, low, high, log=log, step=steps)))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        return self._suggest(name, lambda: listed(choices))

    def _suggest(self, name: str, declare: Callable[[], Axis | Single]) -> Any:
        if name in self.values:
            return self.values[name]
        with naming(name):
            axis = declare()
        if isinstance(axis, Single):
            value = axis.value
        else:
            self.declared[name] = axis
            if name in self._proposed and same(self._known.get(name), axis):
                value = self._proposed[name]
            else:
                u = self._rng.random(axis.parameter.width)
                value = axis.theirs(axis.parameter.decode(u))
        self.values[name] = value
        return value


def same(one: Axis | None, other: Axis) -> bool:
    """Whether two runs of a space function declared a parameter in the same way."""
    return one is not None and one.parameter == other.parameter


def common(runs: Sequence[Mapping[str, Axis]]) -> dict[str, Axis]:
    """The parameters that every run declared in the same way: they can be modelled together."""
    first = runs[0] if runs else {}
    return {
        name: axis for name, axis in first.items() if all(same(run.get(name), axis) for run in runs)
    }


def evaluate(function: Callable[[Any], Any], suggestions: Suggestions) -> dict[str, Any]:
    """The parameters that a space function suggests, with the constants that it returns."""
    constants = function(suggestions)
    if constants is not None and not (
        isinstance(constants, Mapping) and all(isinstance(name, str) for name in constants)
    ):
        raise SpaceError(f"a space function returns None or a dict of constants, got {constants!r}")
    if not suggestions.values:
        raise SpaceError("the space function suggested no parameter: call trial.suggest_float")
    return {**suggestions.values, **(constants or {})}
