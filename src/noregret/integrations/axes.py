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
from noregret.space import Choice, Float, Int, Parameter, Space

CUT = 1e-3  # probability left out at an end of a distribution that has no end there
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

    @property
    def space(self) -> Space:
        if not self.named:
            raise SpaceError(
                f"every parameter has a single value, {dict(self.fixed)!r}: there is nothing to"
                " optimise"
            )
        return Space({name: axis.parameter for name, axis in self.named.items()})

    def ours(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Raises SpaceError for a value that the axis does not have."""
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
    quick = {Float: (float, int), Int: (int,), Choice: ()}[type(parameter)]

    def ours(value: Any) -> Any:
        if type(value) not in quick or not parameter.low <= value <= parameter.high:  # type: ignore[union-attr]
            # SpaceError outside; histories are long, so what is plainly inside is not encoded
            parameter.encode(value)
        return value

    return Axis(parameter, ours, lambda value: value)


def listed(values: Sequence[Any]) -> Axis:
    """A list of values: three or more numbers in increasing order are ordered levels, anything else
    are options without order.
    """
    items = [value.item() if isinstance(value, np.generic) else value for value in values]
    if (
        len(items) > 2
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in items)
        and all(a < b for a, b in pairwise(items))
    ):
        return _by_position(Int(0, len(items) - 1), items)
    try:
        return plain(Choice(items))
    except SpaceError:  # objects such as estimators, or equal values
        return _by_position(Choice(range(len(items))), items)


def _by_position(parameter: Parameter, items: Sequence[Any]) -> Axis:
    def ours(value: Any) -> int:
        for index, item in enumerate(items):
            if item is value or (
                isinstance(item, bool) == isinstance(value, bool) and bool(item == value)
            ):
                return index
        raise SpaceError(f"{value!r} is not one of {list(items)!r}")

    return Axis(parameter, ours, lambda index: items[index])


def stepped(low: float, high: float, step: float) -> Axis:
    """low, low + step, … up to high; whole numbers stay whole."""
    return _multiples(Int(0, round((high - low) / step)), low, step, high)


def multiples(low: float, high: float, step: float, *, log: bool) -> Axis:
    """The multiples of step from low to high."""
    return _multiples(
        Int(math.ceil(low / step - TOLERANCE), math.floor(high / step + TOLERANCE), log),
        0,
        step,
        high,
    )


def _multiples(parameter: Int, origin: float, step: float, high: float) -> Axis:
    def ours(value: Any) -> int:
        position = (value - origin) / step
        if (
            abs(position - round(position)) > TOLERANCE
            or not parameter.low <= round(position) <= parameter.high
        ):
            raise SpaceError(
                f"{value!r} is not {origin!r} plus {parameter.low} to {parameter.high} times"
                f" {step!r}"
            )
        return round(position)

    return Axis(parameter, ours, lambda index: min(origin + index * step, high))


def quantiles(distribution: Any) -> Axis:
    """A continuous scipy.stats distribution: its own probabilities as the scale, without the last
    CUT of a tail that has no end.
    """
    low, high = distribution.support()
    ends = Float(0.0 if math.isfinite(low) else CUT, 1.0 if math.isfinite(high) else 1 - CUT)

    def ours(value: Any) -> float:
        u = float(distribution.cdf(value))
        nearest = min(max(u, ends.low), ends.high)
        if abs(u - nearest) > TOLERANCE:
            raise SpaceError(f"{value!r} is beyond the last {CUT} of the distribution's tail")
        return nearest

    return Axis(ends, ours, lambda u: float(distribution.ppf(u)))
