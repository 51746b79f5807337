"""Search spaces of other libraries in terms of ours: an axis is one of our parameters and the way
to their values and back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space import ActiveWhen, Choice, Constraint, Float, Int, Parameter, Space

CUT = 1e-3  # probability left out at an end of a distribution that has no end there
EDGE = 1e-6  # probability left out at an end that the distribution has
TOLERANCE = 1e-8  # of a step: by how much a rounded multiple may miss


@dataclass(frozen=True, slots=True)
class Axis:
    """Our parameter; ``ours`` turns their value into a value of it, ``theirs`` turns that back."""

    parameter: Parameter
    ours: Callable[[Any], Any]
    theirs: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Axes:
    """Named axes. ``fixed`` are parameters with one value only: they have no axis."""

    named: Mapping[str, Axis]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    branches: tuple[ActiveWhen, ...] = ()

    @property
    def space(self) -> Space:
        if not self.named:
            raise SpaceError(
                f"every parameter has a single value, {dict(self.fixed)!r}: there is nothing to"
                " optimise"
            )
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
            **{name: axis.theirs(params[name]) for name, axis in self.named.items()},
            **self.fixed,
        }


def plain(parameter: Parameter) -> Axis:
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


def listed(values: Sequence[Any]) -> Axis:
    """A list of values: three or more numbers in increasing order are ordered levels, anything else
    are options without order. Objects such as estimators go by their names.
    """
    items = [value.item() if isinstance(value, np.generic) else value for value in values]
    ordered = (
        len(items) > 2
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in items)
        and all(a < b for a, b in pairwise(items))
    )
    try:
        return plain(Choice(items, ordered=ordered))
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


def stepped(low: float, high: float, step: float) -> Axis:
    """low, low + step, … up to high; whole numbers stay whole."""
    return _levels(low, round((high - low) / step), step, log=False)


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
    return plain(made)
