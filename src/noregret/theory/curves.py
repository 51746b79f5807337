"""Growth curves as magnitudes: by exponents where the curve is built in, by samples up to huge t
where it is any callable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from noregret.errors import ConfigurationError
from noregret.rkhs import ConstantGrowth, LogGrowth, PowerGrowth
from noregret.space import Array
from noregret.theory.orders import Order

GRID = np.logspace(2, 300, 150)
SHORTEST = 1e12  # a curve that cannot be evaluated up to here tells too little about t → ∞
# unbounded: with log t doubled, the logarithm of a curve gains at least this share of what it
# gained before
PERSISTENT = 0.6
STILL = 1e-9  # a gain of the logarithm below this is rounding

Curve = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A magnitude by the logarithms of its values at t = exp(log_t)."""

    log_t: Array
    log_values: Array

    def __mul__(self, other: Sampled) -> Sampled:
        return Sampled(self.log_t, self.log_values + other.log_values)

    def __pow__(self, power: float) -> Sampled:
        return Sampled(self.log_t, power * self.log_values)

    def larger(self, other: Sampled) -> Sampled:
        return Sampled(self.log_t, np.maximum(self.log_values, other.log_values))

    def smaller(self, other: Sampled) -> Sampled:
        return Sampled(self.log_t, np.minimum(self.log_values, other.log_values))

    def grows(self) -> bool:
        """Whether it looks unbounded: log value at t^¼, t^½ and t of the last sample. (log log log
        t passes, 2 − 1/log t does not.)
        """
        quarter, half, last = np.interp(
            [0.25 * self.log_t[-1], 0.5 * self.log_t[-1], self.log_t[-1]],
            self.log_t,
            self.log_values,
        )
        return bool(last - half > STILL and last - half >= PERSISTENT * (half - quarter))

    def order(self) -> Order:
        """The exponents of t and log t that fit best on the upper half of log t."""
        tail = self.log_t >= 0.5 * self.log_t[-1]
        x = self.log_t[tail]
        design = np.column_stack([x, np.log(x), np.ones(len(x))])
        coefficients = np.linalg.lstsq(design, self.log_values[tail], rcond=None)[0]
        return Order(t=round(float(coefficients[0]), 6), log_t=round(float(coefficients[1]), 3))


M = TypeVar("M", Order, Sampled)


@dataclass(frozen=True, slots=True)
class Axis(Generic[M]):
    """t → ∞ in one of the two ways, and how a curve is read along it."""

    one: M
    t: M
    log_t: M
    read: Callable[[Curve], M]


def exponents(curve: Curve) -> Order | None:
    """The order of a built-in curve."""
    if isinstance(curve, ConstantGrowth):
        return Order()
    if isinstance(curve, LogGrowth):
        return Order(log_t=1.0)
    if isinstance(curve, PowerGrowth):
        return Order(t=curve.exponent)
    return None


def _read_exponents(curve: Curve) -> Order:
    order = exponents(curve)
    if order is None:
        raise ConfigurationError(f"only built-in growth curves have exponents, got {curve!r}")
    return order


SYMBOLIC: Axis[Order] = Axis(Order(), Order(t=1.0), Order(log_t=1.0), _read_exponents)


def sampled_axis(curves: Sequence[Curve]) -> Axis[Sampled]:
    """An axis as long as all of the curves can be evaluated on."""
    length = min(len(_log_samples(curve, GRID)) for curve in curves)
    if GRID[length - 1] < SHORTEST or length == 0:
        reach = f"t = {GRID[length - 1]:.3g}" if length else "the first sample"
        raise ConfigurationError(
            f"a growth curve must be finite up to t = {SHORTEST:.0e} for a numerical verdict, but"
            f" one ends at {reach}: write it so that it can be evaluated there, or use a built-in"
            " curve"
        )
    grid = GRID[:length]
    log_t = np.log(grid)

    def read(curve: Curve) -> Sampled:
        return Sampled(log_t, _log_samples(curve, grid))

    return Axis(
        Sampled(log_t, np.zeros(length)), Sampled(log_t, log_t), Sampled(log_t, np.log(log_t)), read
    )


def _log_samples(curve: Curve, grid: Array) -> Array:
    """log curve(t) along the grid, as far as it is finite."""
    values: list[float] = []
    for t in grid.tolist():
        try:
            value = float(curve(t))
        except OverflowError:
            break
        if value == math.inf:
            break
        if not value > 0:
            raise ConfigurationError(f"a growth curve must be positive, got {value!r} at t={t:.3g}")
        values.append(math.log(value))
        if len(values) > 1 and values[-1] < values[-2] - STILL:
            raise ConfigurationError(
                f"a growth curve must not fall, got {value!r} at t={t:.3g} after"
                f" {math.exp(values[-2])!r}"
            )
    return np.array(values)


def describe_curve(curve: Any) -> str:
    """A formula for a built-in curve, a name for a callable."""
    if isinstance(curve, ConstantGrowth):
        return "1"
    if isinstance(curve, LogGrowth):
        return "1 + log(1 + t)" if curve.rate == 1 else f"1 + {curve.rate:.4g}·log(1 + t)"
    if isinstance(curve, PowerGrowth):
        scale = "" if curve.scale == 1 else f"{curve.scale:.4g}·"
        return f"{scale}t^{curve.exponent:.4g}"
    return f"the callable {getattr(curve, '__name__', type(curve).__name__)}"
