"""Search spaces of other libraries in terms of ours: an axis is one of our parameters and the way to their values and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from noregret.errors import SpaceError
from noregret.parameters import Choice, Int, Parameter
from noregret.space import Space

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
            raise SpaceError(f"every parameter has a single value, {dict(self.fixed)!r}: there is nothing to optimise")
        return Space({name: axis.parameter for name, axis in self.named.items()})

    def ours(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Raises SpaceError for a value that the axis does not have."""
        missing = [name for name in self.named if name not in params]
        if missing:
            raise SpaceError(f"the point {dict(params)!r} lacks {missing!r}")
        return {name: axis.ours(params[name]) for name, axis in self.named.items()}

    def theirs(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {**{name: axis.theirs(params[name]) for name, axis in self.named.items()}, **self.fixed}


def plain(parameter: Parameter) -> Axis:
    """A parameter that both sides mean in the same way."""

    def ours(value: Any) -> Any:
        parameter.encode(value)  # raises SpaceError for a value outside
        return value

    return Axis(parameter, ours, lambda value: value)


def options(values: Sequence[Any]) -> Axis:
    """Unordered options of any type, by their position."""
    listed = list(values)

    def ours(value: Any) -> int:
        for index, option in enumerate(listed):
            if option is value or (type(option) is type(value) and bool(option == value)):
                return index
        for index, option in enumerate(listed):
            if not isinstance(option, bool) and not isinstance(value, bool) and bool(option == value):  # 1 for 1.0
                return index
        raise SpaceError(f"{value!r} is not one of the options {listed!r}")

    return Axis(Choice(range(len(listed))), ours, lambda index: listed[index])


def levels(values: Sequence[float]) -> Axis:
    """Numbers in increasing order, equally far apart."""
    listed = list(values)

    def ours(value: Any) -> int:
        if value not in listed:
            raise SpaceError(f"{value!r} is not one of the levels {listed!r}")
        return listed.index(value)

    return Axis(Int(0, len(listed) - 1), ours, lambda index: listed[index])


def stepped(low: float, high: float, step: float) -> Axis:
    """low, low + step, … up to high; whole numbers stay whole."""
    count = round((high - low) / step)

    def ours(value: Any) -> int:
        position = (value - low) / step
        if not -TOLERANCE < position < count + TOLERANCE or abs(position - round(position)) > TOLERANCE:
            raise SpaceError(f"{value!r} is not one of the values from {low!r} to {high!r} in steps of {step!r}")
        return round(position)

    return Axis(Int(0, count), ours, lambda index: min(low + index * step, high))
