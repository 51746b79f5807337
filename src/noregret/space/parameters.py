"""The parameters a space is made of, each with its coordinates on the unit cube."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.errors import SpaceError
from noregret.space import code
from noregret.space.array import Array

SHOWN = 20  # options in an error message
LARGEST_INT = 2**53  # a float tells all smaller whole numbers apart


def is_finite(number: Any) -> bool:
    """Of a whole number too, if a float can hold it."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def shortened(number: Any) -> str:
    """A number as an error message has room for it: Python writes 4,300 digits at most."""
    if isinstance(number, int) and abs(number) > 10**30:
        return f"a whole number of {number.bit_length()} bits"
    return repr(number)


def _check_bounds(kind: str, low: float, high: float, log: bool) -> None:
    for name, bound in (("low", low), ("high", high)):
        if isinstance(bound, bool) or not isinstance(bound, (int, float, np.integer, np.floating)):
            raise SpaceError(f"{kind} {name} must be a number, got {bound!r}")
        if not is_finite(bound):
            raise SpaceError(
                f"{kind} {name} must be finite, got {shortened(bound)}: the search needs a bounded"
                " box; choose the widest values you would accept"
            )
    if low >= high:
        raise SpaceError(
            f"{kind} needs low < high, got low={low!r}, high={high!r}: swap them, or drop a"
            " parameter that cannot vary"
        )
    if log and low <= 0:
        raise SpaceError(
            f"{kind} on a log scale needs low > 0, got low={low!r}: use a small positive bound, or"
            " log=False"
        )


@dataclass(frozen=True, slots=True)
class Float:
    """A real parameter in ``[low, high]``, on a log scale if ``log``."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _check_bounds("Float", self.low, self.high, self.log)
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    @property
    def width(self) -> int:
        return 1

    @property
    def size(self) -> float:
        return math.inf

    def encode(self, value: Any) -> list[float]:
        number = _number(value, self)
        if not self.low <= number <= self.high:
            raise SpaceError(
                f"{value!r} is outside [{self.low}, {self.high}]: widen the space or correct the"
                " value"
            )
        if self.log:
            return [
                (math.log(number) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
            ]
        if self.high - self.low == math.inf:  # nearly all numbers there are
            return [(number / 2 - self.low / 2) / (self.high / 2 - self.low / 2)]
        return [number / (self.high - self.low) - self.low / (self.high - self.low)]

    def decode(self, u: Array) -> float:
        if self.log:
            value = math.exp(
                math.log(self.low) + float(u[0]) * (math.log(self.high) - math.log(self.low))
            )
        else:
            value = self.low * (1 - float(u[0])) + self.high * float(u[0])
        return min(max(value, self.low), self.high)

    def snap(self, U: Array) -> Array:
        return U

    def levels(self) -> Array:
        raise SpaceError("a Float has no list of levels")


@dataclass(frozen=True, slots=True)
class Int:
    """A whole number in ``[low, high]``, both ends included, on a log scale if ``log``."""

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_bounds("Int", self.low, self.high, self.log)
        if max(abs(self.low), abs(self.high)) > LARGEST_INT:
            raise SpaceError(
                f"Int needs bounds within ±2^53, beyond which neighbouring whole numbers are one"
                f" number to the model, got low={shortened(self.low)},"
                f" high={shortened(self.high)}: count in larger units, or search the exponent"
            )
        if int(self.low) != self.low or int(self.high) != self.high:
            raise SpaceError(
                f"Int needs whole bounds, got low={self.low!r}, high={self.high!r}: round them or"
                " use Float"
            )
        object.__setattr__(self, "low", int(self.low))
        object.__setattr__(self, "high", int(self.high))

    @property
    def width(self) -> int:
        return 1

    @property
    def size(self) -> float:
        return self.high - self.low + 1

    def _position(self, value: Array) -> Array:
        if self.log:
            return np.asarray(
                np.log(value / self.low) / math.log(self.high / self.low), dtype=np.float64
            )
        return np.asarray((value - self.low) / (self.high - self.low), dtype=np.float64)

    def _nearest(self, u: Array) -> Array:
        value = (
            self.low * (self.high / self.low) ** u
            if self.log
            else self.low + u * (self.high - self.low)
        )
        return np.clip(np.rint(value), self.low, self.high)

    def encode(self, value: Any) -> list[float]:
        number = _number(value, self)
        if number != round(number):
            raise SpaceError(f"{value!r} is not a whole number: this parameter is an Int")
        if not self.low <= number <= self.high:
            raise SpaceError(
                f"{value!r} is outside [{self.low}, {self.high}]: widen the space or correct the"
                " value"
            )
        return [float(self._position(np.float64(number)))]  # type: ignore[arg-type]

    def decode(self, u: Array) -> int:
        return int(self._nearest(np.asarray(u[0])))

    def snap(self, U: Array) -> Array:
        return self._position(self._nearest(U))

    def levels(self) -> Array:
        return self._position(np.arange(self.low, self.high + 1, dtype=np.float64))[:, None]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several unordered options.

    Two options take one coordinate, more take one coordinate each (so that all are equally far
    apart), from 128 on they share 127 (see ``space.code``), a single option takes none. Options
    must be JSON values, so that a study can be stored.
    """

    options: tuple[Any, ...]
    _places: dict[tuple[type, Any], int] = field(init=False, repr=False, compare=False)

    def __init__(self, options: Sequence[Any]) -> None:
        if isinstance(options, str) or not isinstance(options, Sequence):
            raise SpaceError(
                f"Choice needs a list of options, got {options!r}: write Choice([...])"
            )
        listed = tuple(options)
        if not listed:
            raise SpaceError("Choice needs at least one option, got an empty list")
        for option in listed:
            if not isinstance(option, (str, int, float, bool, type(None))):
                raise SpaceError(
                    f"a Choice option must be a string, number, bool or None, got {option!r}: name"
                    " it by a string and look it up in the objective"
                )
        if len(listed) > code.LARGEST:
            raise SpaceError(
                f"a Choice has at most {code.LARGEST} options, got {len(listed)}: describe them by"
                " numbers (Float, Int), or several choices"
            )
        places = {(type(option), option): index for index, option in enumerate(listed)}
        if len(places) < len(listed):
            raise SpaceError(f"Choice has the same option twice: {_shown(listed)}")
        object.__setattr__(self, "options", listed)
        object.__setattr__(self, "_places", places)

    @property
    def width(self) -> int:
        return {1: 0, 2: 1}.get(len(self.options), min(len(self.options), code.LENGTH))

    @property
    def _coded(self) -> bool:
        return len(self.options) > code.LENGTH

    @property
    def size(self) -> float:
        return len(self.options)

    def levels(self) -> Array:
        if self.width <= 1:
            return np.arange(len(self.options), dtype=np.float64)[:, None][:, : self.width]
        return code.words(len(self.options)) if self._coded else np.eye(self.width)

    def place(self, u: Array) -> int:
        """The index of the option at a point of the cube."""
        return int(self._index(np.asarray(u, dtype=np.float64)[None, :])[0])

    def _index(self, U: Array) -> NDArray[np.intp]:
        if self.width == 0:
            return np.zeros(len(U), dtype=np.intp)
        if self.width == 1:
            return (U[:, 0] > 0.5).astype(np.intp)
        if self._coded:
            return code.nearest(U, len(self.options))
        return np.argmax(U, axis=1)

    def encode(self, value: Any) -> list[float]:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, (str, int, float, bool, type(None))):
            other = {int: float, float: int}.get(type(plain), type(plain))  # 1 for 1.0
            for kind in (type(plain), other):
                index = self._places.get((kind, plain))
                if index is not None:
                    return self._coordinates(index)
        raise SpaceError(f"{value!r} is not one of the options {_shown(self.options)}")

    def _coordinates(self, index: int) -> list[float]:
        if self._coded or self.width <= 1:
            return [float(v) for v in self.levels()[index]]
        return [float(place == index) for place in range(self.width)]

    def decode(self, u: Array) -> Any:
        return self.options[self.place(u)]

    def snap(self, U: Array) -> Array:
        return self.levels()[self._index(U)]


Parameter = Float | Int | Choice


def _shown(options: Sequence[Any]) -> str:
    """The options as an error message has room for them."""
    if len(options) <= SHOWN:
        return repr(list(options))
    return f"{list(options[:SHOWN])!r} and {len(options) - SHOWN} more"


def _number(value: Any, parameter: Parameter) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise SpaceError(f"{parameter} needs a number, got {value!r}")
    if not is_finite(value):
        raise SpaceError(f"{parameter} needs a finite number, got {shortened(value)}")
    return float(value)
