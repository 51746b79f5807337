"""The parameters a space consists of, each with its coordinates on the unit cube.

u: coordinates of the unit cube, on a log scale if the parameter has one. w: the share of the
range, linear in the value; the linear constraints of a space are linear in w.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noregret.errors import SpaceError
from noregret.space.array import Array, Indices

LARGEST_INT = 2**53  # floats represent every smaller integer exactly
LARGEST_GRID = 10**9  # steps of a grid
TOLERANCE = 1e-6  # in steps: how far a range may be from a whole number of them
SHOWN = 20  # options printed in an error message
MOST_JUMPS = 512  # options of a long choice that are tried from one point
CODE_LENGTH = 127  # coordinates of a Gold code word
MOST_OPTIONS = 2**14  # words of the Gold code
DISTANCE_BLOCK = 2**22  # entries of a distance table that are computed at once

NUMBERS = (int, float, np.integer, np.floating)
OPTIONAL = (
    "log",
    "step",
    "digits",
    "ordered",
)  # arguments that are not written unless they are used

Kind: TypeAlias = Literal["line", "log", "levels"]


class _Parameter:
    """What all parameters share."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The call that makes the parameter, without optional arguments that are not used."""
        shown = [
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(self)  # type: ignore[arg-type]  # a dataclass
            if each.repr and (each.name not in OPTIONAL or getattr(self, each.name) != each.default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


class Number(_Parameter, ABC):
    """What Float and Int share."""

    __slots__ = ()
    width: ClassVar[int] = 1  # coordinates of the unit cube
    type: ClassVar[type[float]]  # of its values
    low: Any
    high: Any
    log: bool

    @property
    @abstractmethod
    def resolution(self) -> float | None:
        """The distance of neighbouring levels; None: any value is allowed."""

    @property
    def size(self) -> float:
        """Number of levels."""
        step = self.resolution
        return math.inf if step is None else round((self.high - self.low) / step) + 1

    @property
    def kind(self) -> Kind:
        """How the parameter moves: by levels, on a linear scale or on a log scale."""
        if self.size < math.inf:
            return "levels"
        return "log" if self.log else "line"

    @property
    def span(self) -> float:
        """The length of the range."""
        return float(self.high) - float(self.low)

    def _value(self, u: Array) -> Array:
        if self.log:
            return np.asarray(self.low * (self.high / self.low) ** u)
        return np.asarray(self.low + u * (self.high - self.low))

    def _position(self, value: Array) -> Array:
        value = np.asarray(value, dtype=np.float64)
        if self.log:
            return np.asarray(np.log(value / self.low) / self._log_ratio)
        return np.asarray((value - self.low) / (self.high - self.low))

    def _index(self, u: Array) -> Array:
        """Indices of the levels nearest to coordinates."""
        assert self.resolution is not None
        index = np.rint((self._value(u) - self.low) / self.resolution)
        return np.clip(index, 0, self.size - 1)

    def _level(self, index: NDArray[Any]) -> Array:
        """Values of the levels with these indices, rounded: 0.3, not 0.30000000000000004."""
        assert self.resolution is not None
        decimals = max(decimal_places(self.low), decimal_places(self.resolution))
        return np.asarray(np.round(self.low + index * self.resolution, decimals))

    def levels(self) -> Array:
        """Coordinates of all levels, (size, 1)."""
        if self.resolution is None:
            raise SpaceError("a Float without a step has no list of levels")
        return self._position(self._level(np.arange(self.size)))[:, None]

    def around(self, u: Array) -> Array:
        """Coordinates of the levels next to u, and of a few farther away."""
        return self._position(self._level(near_levels(self.size, int(self._index(u)[0]))))[:, None]

    def snap(self, U: Array) -> Array:
        """Coordinates of the levels nearest to rows."""
        return U if self.resolution is None else self._position(self._level(self._index(U)))

    def _checked(self, value: Any) -> float:
        if not is_finite(value):
            raise SpaceError(f"{self} needs a finite number, got {shortened(value)}")
        if not self.low <= float(value) <= self.high:
            raise SpaceError(f"{value!r} is outside [{self.low}, {self.high}]")
        return float(value)

    def encode(self, value: Any) -> list[float]:
        """The coordinates of a value."""
        number, low, high = self._checked(value), self.low, self.high
        if self.resolution is not None:
            return [float(self._position(np.asarray(number)))]
        if self.log:
            return [(math.log(number) - math.log(low)) / (math.log(high) - math.log(low))]
        if self.span == math.inf:  # the range overflows: halve it
            return [(number / 2 - low / 2) / (high / 2 - low / 2)]
        return [number / self.span - low / self.span]

    def decode(self, u: Array) -> Any:
        """The value at coordinates."""
        low, high, place = self.low, self.high, float(u[0])
        if self.resolution is not None:
            return self.type(self._level(self._index(np.asarray(place))))
        if self.log:
            value = math.exp(math.log(low) + place * (math.log(high) - math.log(low)))
        else:
            value = low * (1 - place) + high * place
        return min(max(value, low), high)

    def values(self, U: Array) -> list[Any]:
        """The values at rows of coordinates; equal coordinates are decoded once."""
        u, row = np.unique(U, return_inverse=True)
        values = [self.decode(each) for each in u[:, None]]
        return [values[index] for index in row.ravel()]

    def exact(self, value: Any) -> float:
        """A value as a study keeps it: unrounded."""
        return self.type(value)

    # -- shares of the range --

    @property
    def share_step(self) -> float:
        """The distance of neighbouring levels in w."""
        return float(self.resolution or 0.0) / self.span

    @property
    def _log_ratio(self) -> float:
        return math.log(self.high / self.low)

    def shares(self, U: Array) -> Array:
        """w of rows of the parameter's coordinates, (n,)."""
        if not self.log:
            return U[:, 0]
        return np.asarray(np.expm1(U[:, 0] * self._log_ratio) / math.expm1(self._log_ratio))

    def share_slope(self, u: Array) -> Array:
        """dw/du."""
        if not self.log:
            return np.ones_like(u)
        ratio = self._log_ratio
        return np.asarray(ratio * np.exp(u * ratio) / math.expm1(ratio))

    def coordinates(self, w: Array) -> Array:
        """u at shares of the range, on the grid or not."""
        if not self.log:
            return w
        ratio = self._log_ratio
        return np.asarray(np.log1p(np.clip(w, 0.0, 1.0) * math.expm1(ratio)) / ratio)

    def from_shares(self, w: Array) -> Array:
        """Rows of the parameter's coordinates at shares of the range, snapped."""
        return self.snap(self.coordinates(w)[:, None])

    # -- checks --

    def _check_bounds(self) -> None:
        kind, low, high = type(self).__name__, self.low, self.high
        for name, bound in (("low", low), ("high", high)):
            if not is_finite(bound):
                raise SpaceError(f"{kind} {name} must be a finite number, got {shortened(bound)}")
        if low >= high:
            raise SpaceError(
                f"{kind} needs low < high, got low={low!r}, high={high!r}: swap them, or drop a"
                " parameter that cannot vary"
            )
        if self.log and low <= 0:
            raise SpaceError(
                f"{kind} on a log scale needs low > 0, got low={low!r}: raise it, or use log=False"
            )

    def _check_step(self, step: Any, name: str = "step") -> None:
        """Checks that high is a whole number of steps above low."""
        kind, low, high = type(self).__name__, self.low, self.high
        if not is_finite(step) or step <= 0:
            raise SpaceError(f"{kind} {name} must be a positive number, got {step!r}")
        steps = (high - low) / float(step)
        if steps > LARGEST_GRID:
            raise SpaceError(
                f"{kind} takes at most {LARGEST_GRID:.0e} levels, got {steps:.3g} of them with"
                f" {name}={step!r}: leave it out"
            )
        if abs(steps - round(steps)) > TOLERANCE or round(steps) < 1:
            decimals = max(decimal_places(low), decimal_places(float(step)))
            below = round(low + math.floor(steps + TOLERANCE) * float(step), decimals)
            above = round(low + math.ceil(steps) * float(step), decimals)
            fitting = f"high={above:g}" if below <= low else f"high={below:g} or high={above:g}"
            raise SpaceError(
                f"high must be a whole number of steps above low, got low={low!r},"
                f" high={high!r}, step={step!r}: write {fitting}, or another step"
            )


@dataclass(frozen=True, slots=True, repr=False)
class Float(Number):
    """A real number in ``[low, high]``.

    Observed values may lie between the levels of ``step`` or ``digits``.

    Args:
        low: The smallest value.
        high: The largest value.
        log: Whether the model sees the value on a log scale.
        step: Propose only low, low + step, …; None: any value.
        digits: Propose only numbers with at most this many decimals; None: any value.

    Raises:
        SpaceError: The bounds are not finite numbers in order, or fit no grid.
    """

    type: ClassVar[type[float]] = float
    low: float
    high: float
    log: bool = False
    step: float | None = None
    digits: int | None = None

    def __post_init__(self) -> None:
        self._check_bounds()
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if self.digits is not None:
            self._check_digits(self.digits)
            object.__setattr__(self, "digits", int(self.digits))
        if self.step is not None:
            self._check_step(self.step)
            object.__setattr__(self, "step", float(self.step))

    def _check_digits(self, digits: Any) -> None:
        if self.step is not None:
            raise SpaceError(
                f"Float takes a step or digits, got step={self.step!r} and digits={digits!r}"
            )
        if not is_finite(digits) or digits != int(digits) or digits < 0:
            raise SpaceError(f"Float digits must be a whole number of decimals, got {digits!r}")
        if max(decimal_places(self.low), decimal_places(self.high)) > digits:
            raise SpaceError(f"{self} has a bound of more digits: round it, or allow more digits")
        self._check_step(10.0**-digits, "digits")

    @property
    def resolution(self) -> float | None:
        """The distance of neighbouring levels; None: any value is allowed."""
        return self.step if self.digits is None else 10.0**-self.digits


@dataclass(frozen=True, slots=True, repr=False)
class Int(Number):
    """An integer in ``[low, high]``, both ends included.

    Observed values may lie between the levels of ``step``.

    Args:
        low: The smallest value.
        high: The largest value.
        log: Whether the model sees the value on a log scale.
        step: Propose only low, low + step, ….

    Raises:
        SpaceError: The bounds are not integers in order within ±2^53, or fit no grid.
    """

    type: ClassVar[type[float]] = int
    low: int
    high: int
    log: bool = False
    step: int = 1

    def __post_init__(self) -> None:
        self._check_bounds()
        if max(abs(self.low), abs(self.high)) > LARGEST_INT:
            raise SpaceError(
                f"Int needs bounds within ±2^53, got low={shortened(self.low)},"
                f" high={shortened(self.high)}: count in larger units, or search the exponent"
            )
        if int(self.low) != self.low or int(self.high) != self.high:
            raise SpaceError(
                f"Int needs whole bounds, got low={self.low!r}, high={self.high!r}: use Float"
            )
        object.__setattr__(self, "low", int(self.low))
        object.__setattr__(self, "high", int(self.high))
        if self.step != 1 or isinstance(self.step, bool):  # a step of 1 has no longest grid
            self._check_step(self.step)
        if int(self.step) != self.step:
            raise SpaceError(f"Int needs a whole step, got {self.step!r}: use Float(step=…)")
        object.__setattr__(self, "step", int(self.step))

    @property
    def resolution(self) -> float:
        """The distance of neighbouring levels."""
        return self.step

    def _index(self, u: Array) -> Array:
        if self.step == 1:  # halves round to even values, not to even indices
            return np.clip(np.rint(self._value(u)), self.low, self.high) - self.low
        return Number._index(self, u)

    def _checked(self, value: Any) -> float:
        number = Number._checked(self, value)
        if number != round(number):
            raise SpaceError(f"{value!r} is not a whole number: this parameter is an Int")
        return number


@dataclass(frozen=True, slots=True, repr=False)
class Choice(_Parameter):
    """One of several options, unordered or, with ``ordered``, as levels of a scale.

    Two options take one coordinate, more take one coordinate each, so that all are equally far
    apart. More than 127 share 127 coordinates (``gold_code``); a single option takes none. Ordered
    options take one coordinate, on which they stand equally far apart in the order given.

    Args:
        options: Strings, numbers, bools or None, so that a study can be stored.
        ordered: Whether neighbouring options are alike.

    Raises:
        SpaceError: There is no option, too many, one twice, or one of another type.
    """

    options: tuple[Any, ...]
    ordered: bool = False
    _places: dict[tuple[type, Any], int] = field(init=False, repr=False, compare=False)

    def __init__(self, options: Sequence[Any], ordered: bool = False) -> None:
        if isinstance(options, str) or not isinstance(options, Sequence):
            raise SpaceError(f"Choice needs a list of options, got {options!r}: write [...]")
        listed = tuple(options)
        if not listed:
            raise SpaceError("Choice needs at least one option, got an empty list")
        for option in listed:
            if not isinstance(option, (str, int, float, bool, type(None))):
                raise SpaceError(
                    f"a Choice option must be a string, number, bool or None, got {option!r}: name"
                    " it by a string and look it up in the objective"
                )
            if isinstance(option, float) and not math.isfinite(option):
                raise SpaceError(f"a Choice option must be finite, got {option!r}: use a string")
        if len(listed) > MOST_OPTIONS:
            raise SpaceError(
                f"a Choice has at most {MOST_OPTIONS} options, got {len(listed)}: describe them by"
                " numbers (Float, Int), or several choices"
            )
        places = {(type(option), option): index for index, option in enumerate(listed)}
        if len(places) < len(listed):
            raise SpaceError(f"Choice has the same option twice: {_shown(listed)}")
        object.__setattr__(self, "options", listed)
        object.__setattr__(self, "ordered", bool(ordered))
        object.__setattr__(self, "_places", places)

    @property
    def width(self) -> int:
        """Number of coordinates."""
        most = 1 if self.ordered else min(len(self.options), CODE_LENGTH)
        return {1: 0, 2: 1}.get(len(self.options), most)

    @property
    def _coded(self) -> bool:
        return len(self.options) > CODE_LENGTH and not self.ordered

    @property
    def size(self) -> float:
        """Number of options."""
        return len(self.options)

    @property
    def kind(self) -> Kind:
        """A choice moves by levels."""
        return "levels"

    def levels(self) -> Array:
        """Coordinates of all options, (size, width)."""
        if self.width <= 1:
            return np.linspace(0.0, 1.0, len(self.options))[:, None][:, : self.width]
        return gold_code(len(self.options)) if self._coded else np.eye(self.width)

    def around(self, u: Array) -> Array:
        """Coordinates of the options to jump to: all, or some of a long list."""
        here = int(self.indices(np.asarray(u)[None, :])[0])
        if self.ordered:
            return self.levels()[near_levels(self.size, here)]
        if self.size <= MOST_JUMPS:
            return self.levels()
        steps = np.linspace(1, self.size - 1, MOST_JUMPS).astype(np.intp)  # all over the list
        return self.levels()[(here + steps) % int(self.size)]

    def indices(self, U: Array) -> Indices:
        """Indices of the options nearest to rows of coordinates."""
        if self.width == 0:
            return np.zeros(len(U), dtype=np.intp)
        if self.width == 1:
            return np.rint(np.clip(U[:, 0], 0.0, 1.0) * (len(self.options) - 1)).astype(np.intp)
        return nearest_word(U, len(self.options)) if self._coded else np.argmax(U, axis=1)

    def position(self, value: Any) -> int:
        """The number of an option."""
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, (str, int, float, bool, type(None))):
            other = {int: float, float: int}.get(type(plain), type(plain))  # 1 for 1.0
            for kind in (type(plain), other):
                index = self._places.get((kind, plain))
                if index is not None:
                    return index
        raise SpaceError(f"{value!r} is not one of the options {_shown(self.options)}")

    def encode(self, value: Any) -> list[float]:
        """The coordinates of an option."""
        return [float(u) for u in self.levels()[self.position(value)]]

    def decode(self, u: Array) -> Any:
        """The option at coordinates."""
        return self.values(np.asarray(u, dtype=np.float64)[None, :])[0]

    def values(self, U: Array) -> list[Any]:
        """The options at rows of coordinates."""
        return [self.options[index] for index in self.indices(U)]

    def snap(self, U: Array) -> Array:
        """Coordinates of the options nearest to rows."""
        return self.levels()[self.indices(U)]

    def exact(self, value: Any) -> Any:
        """An option as it is listed: 1 for 1.0."""
        return self.decode(np.array(self.encode(value)))

    # -- shares: the index of an option over the largest index --

    @property
    def share_step(self) -> float:
        """The distance of neighbouring options in w."""
        return 1.0 / max(len(self.options) - 1, 1)

    def shares(self, U: Array) -> Array:
        """w of rows of the choice's coordinates, (n,)."""
        return np.asarray(self.indices(U) * self.share_step)

    def from_shares(self, w: Array) -> Array:
        """Rows of the choice's coordinates at shares."""
        return self.levels()[np.rint(w / self.share_step).astype(np.intp)]


Parameter = Float | Int | Choice


def check_names(what: str, names: Iterable[str], parameters: Mapping[str, Parameter]) -> None:
    """Checks that a space has the parameters that something names."""
    unknown = [name for name in names if name not in parameters]
    if unknown:
        raise SpaceError(
            f"{what} names {unknown!r}, which this space does not have: its parameters are"
            f" {list(parameters)!r}"
        )


def near_levels(size: float, index: int) -> Indices:
    """Indices of the levels to jump to: all of up to 16; of more, a few at growing distances."""
    if size <= 16:
        return np.arange(int(size))
    steps = np.geomspace(1, size - 1, 8).astype(int)
    return np.unique(np.clip(np.append(index - steps, index + steps), 0, int(size) - 1))


# -- the code of a choice of many options --


@lru_cache(maxsize=8)
def gold_code(count: int) -> Array:
    """The first words of a binary code in which all words are nearly equally far apart.

    One coordinate per option would make ten thousand options a space of ten thousand dimensions.
    The dual of the two-error-correcting BCH code of length 127 (the Gold codes) has 16,384 words,
    any two of which differ in 56, 64 or 72 places: distances within 7% of each other.
    docs/decisions/0022-scale.md

    Returns:
        Words of 0 and 1, (count, 127), read-only.
    """
    bits = [1, 0, 0, 0, 0, 0, 0]  # Tr(x) over the powers x of a generator with x^7 = x + 1
    for n in range(CODE_LENGTH - 7):
        bits.append(bits[n] ^ bits[n + 1])
    shift, place = np.arange(7)[:, None], np.arange(CODE_LENGTH)
    places = np.vstack([shift + place, shift + 3 * place]) % CODE_LENGTH
    # word (a, b) has the bit Tr(a·x + b·x³) at x
    words = (np.arange(count)[:, None] >> np.arange(14)) & 1
    table = (words @ np.array(bits)[places] % 2).astype(np.float64)
    table.flags.writeable = False
    return table


def nearest_word(U: Array, count: int) -> Indices:
    """For each row the index of the nearest of the first ``count`` words."""
    table = gold_code(count).astype(np.float32)
    half = 0.5 * table.sum(axis=1)
    step = max(DISTANCE_BLOCK // count, 1)
    nearest = [
        np.argmax(U[start : start + step].astype(np.float32) @ table.T - half, axis=1)
        for start in range(0, len(U), step)
    ]
    return np.concatenate(nearest) if nearest else np.empty(0, dtype=np.intp)


# -- checks and texts --


def is_finite(value: Any) -> bool:
    """Whether a value is a number that is finite and fits into a float; a bool is no number."""
    if isinstance(value, bool) or not isinstance(value, NUMBERS):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def shortened(number: Any) -> str:
    """A number for an error message: Python writes at most 4,300 digits."""
    if isinstance(number, int) and abs(number) > 10**30:
        return f"a whole number of {number.bit_length()} bits"
    return repr(number)


def _shown(options: Sequence[Any]) -> str:
    if len(options) <= SHOWN:
        return repr(list(options))
    return f"{list(options[:SHOWN])!r} and {len(options) - SHOWN} more"


def decimal_places(number: float) -> int:
    """Number of decimals in Python's notation."""
    exponent = Decimal(repr(float(number))).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return max(0, -exponent)
