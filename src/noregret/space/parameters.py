"""The parameters a space is made of, each with its coordinates on the unit cube."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import Array
from noregret.space.choice import Choice
from noregret.space.levels import around, written

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


LARGEST_GRID = 10**9  # steps
TOLERANCE = 1e-6  # of a step: by how much the ends may miss a whole number of them


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


def _decimals(number: float) -> int:
    """Digits behind the point, as the number is written."""
    exponent = Decimal(repr(float(number))).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return max(0, -exponent)


def _check_step(kind: str, low: float, high: float, given: Any, written: str) -> None:
    """That high is a whole number of steps above low."""
    is_number = isinstance(given, (int, float, np.integer, np.floating))
    step = float(given) if is_number and not isinstance(given, bool) else math.nan
    if not 0 < step < math.inf:
        raise SpaceError(f"{kind} {written} must be a positive number, got {given!r}")
    steps = (high - low) / step
    if steps > LARGEST_GRID:
        raise SpaceError(
            f"{kind} with {written}={given!r} has {steps:.3g} levels between {low!r} and {high!r}:"
            " so fine a step is none; leave it out"
        )
    if abs(steps - round(steps)) > TOLERANCE or round(steps) < 1:
        below = round(low + math.floor(steps + TOLERANCE) * step, max(map(_decimals, (low, step))))
        above = round(low + math.ceil(steps) * step, max(map(_decimals, (low, step))))
        fitting = f"high={above:g}" if below <= low else f"high={below:g} or high={above:g}"
        raise SpaceError(
            f"{kind} needs high a whole number of steps above low, got low={low!r}, high={high!r},"
            f" step={given!r}: write {fitting}, or another step"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Float:
    """A real parameter in ``[low, high]``, on a log scale if ``log``.

    step: only low, low + step, … are proposed; digits: only numbers with so many digits behind the
    point. What was really run may lie between them.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    digits: int | None = None

    def __post_init__(self) -> None:
        _check_bounds("Float", self.low, self.high, self.log)
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if self.digits is not None:
            self._check_digits()
        if self.step is not None:
            _check_step("Float", self.low, self.high, self.step, "step")
            object.__setattr__(self, "step", float(self.step))

    def _check_digits(self) -> None:
        if self.step is not None:
            raise SpaceError(
                f"Float takes a step or digits, got step={self.step!r} and digits={self.digits!r}:"
                " leave one out"
            )
        digits: Any = self.digits
        if isinstance(digits, bool) or not isinstance(digits, (int, np.integer)) or digits < 0:
            raise SpaceError(
                f"Float digits must be a whole number of at least 0, got {digits!r}: it counts the"
                " digits behind the point"
            )
        for name, bound in (("low", self.low), ("high", self.high)):
            if _decimals(bound) > digits:
                raise SpaceError(
                    f"Float with digits={digits} has a {name} of more digits, {bound!r}: round it,"
                    " or allow more digits"
                )
        _check_step("Float", self.low, self.high, 10.0**-digits, "digits")
        object.__setattr__(self, "digits", int(digits))

    def __repr__(self) -> str:
        return written(self, {"step": None, "digits": None})

    @property
    def resolution(self) -> float | None:
        """The distance of neighbouring levels; None if the parameter may take any value."""
        return self.step if self.digits is None else 10.0**-self.digits

    @property
    def width(self) -> int:
        return 1

    @property
    def size(self) -> float:
        step = self.resolution
        return math.inf if step is None else round((self.high - self.low) / step) + 1

    def _level(self, index: Array) -> Array:
        """The numbers as a person would write them: 0.3, not 0.30000000000000004."""
        step = self.resolution
        assert step is not None
        return np.asarray(
            np.round(self.low + index * step, max(_decimals(self.low), _decimals(step)))
        )

    def _position(self, value: Array) -> Array:
        if self.log:
            return np.asarray(np.log(value / self.low) / math.log(self.high / self.low))
        return np.asarray((value - self.low) / (self.high - self.low))

    def _index(self, u: Array) -> Array:
        step = self.resolution
        assert step is not None
        value = (
            self.low * (self.high / self.low) ** u
            if self.log
            else self.low + u * (self.high - self.low)
        )
        return np.clip(np.rint((value - self.low) / step), 0, self.size - 1)

    def around(self, u: Array) -> Array:
        """The levels next to a coordinate, and a few farther away."""
        near = np.asarray(around(self.size, int(self._index(u)[0])), dtype=np.float64)
        return self._position(self._level(near))[:, None]

    def encode(self, value: Any) -> list[float]:
        number = _number(value, self)
        if not self.low <= number <= self.high:
            raise SpaceError(
                f"{value!r} is outside [{self.low}, {self.high}]: widen the space or correct the"
                " value"
            )
        if self.resolution is not None:
            return [float(self._position(np.float64(number)))]  # type: ignore[arg-type]
        if self.log:
            return [
                (math.log(number) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
            ]
        if self.high - self.low == math.inf:  # nearly all numbers there are
            return [(number / 2 - self.low / 2) / (self.high / 2 - self.low / 2)]
        return [number / (self.high - self.low) - self.low / (self.high - self.low)]

    def decode(self, u: Array) -> float:
        if self.resolution is not None:
            return float(self._level(self._index(np.asarray(u[0]))))
        if self.log:
            value = math.exp(
                math.log(self.low) + float(u[0]) * (math.log(self.high) - math.log(self.low))
            )
        else:
            value = self.low * (1 - float(u[0])) + self.high * float(u[0])
        return min(max(value, self.low), self.high)

    def snap(self, U: Array) -> Array:
        return U if self.resolution is None else self._position(self._level(self._index(U)))

    def levels(self) -> Array:
        if self.resolution is None:
            raise SpaceError("a Float without a step has no list of levels")
        return self._position(self._level(np.arange(self.size)))[:, None]


@dataclass(frozen=True, slots=True, repr=False)
class Int:
    """A whole number in ``[low, high]``, both ends included, on a log scale if ``log``.

    step: only low, low + step, … are proposed. What was really run may lie between them.
    """

    low: int
    high: int
    log: bool = False
    step: int = 1

    def __repr__(self) -> str:
        return written(self, {"step": 1})

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
        if self.step != 1 or isinstance(self.step, bool):  # every whole number, however many
            _check_step("Int", self.low, self.high, self.step, "step")
        if int(self.step) != self.step:
            raise SpaceError(
                f"Int needs a whole step, got {self.step!r}: round it or use Float(step=…)"
            )
        object.__setattr__(self, "step", int(self.step))

    @property
    def width(self) -> int:
        return 1

    @property
    def size(self) -> float:
        return (self.high - self.low) // self.step + 1

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
        if self.step == 1:
            return np.clip(np.rint(value), self.low, self.high)
        index = np.clip(np.rint((value - self.low) / self.step), 0, self.size - 1)
        return np.asarray(self.low + index * self.step)

    def around(self, u: Array) -> Array:
        """The levels next to a coordinate, and a few farther away."""
        index = (self.decode(u) - self.low) // self.step
        values = self.low + around(self.size, index) * self.step
        return self._position(np.asarray(values, dtype=np.float64))[:, None]

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
        values = np.arange(self.low, self.high + 1, self.step, dtype=np.float64)
        return self._position(values)[:, None]


Parameter = Float | Int | Choice


def _number(value: Any, parameter: Parameter) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise SpaceError(f"{parameter} needs a number, got {value!r}")
    if not is_finite(value):
        raise SpaceError(f"{parameter} needs a finite number, got {shortened(value)}")
    return float(value)


def exact(parameter: Parameter, value: Any, decoded: Any) -> Any:
    """A number exactly as given, between the steps of a parameter too; an option as listed."""
    if isinstance(parameter, Float):
        return float(value)
    return int(value) if isinstance(parameter, Int) else decoded
