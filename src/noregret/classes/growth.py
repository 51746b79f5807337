"""Growth curves of t: for schedules, caps and floors. Non-decreasing, at least 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from noregret.errors import ConfigurationError

BUILT_IN = (
    '"constant", "log", "power" (or ConstantGrowth(), LogGrowth(rate), PowerGrowth(scale,'
    " exponent))"
)


@dataclass(frozen=True, slots=True)
class ConstantGrowth:
    """1 for ever."""

    def __call__(self, t: float) -> float:
        return 1.0


@dataclass(frozen=True, slots=True)
class LogGrowth:
    """1 + rate·log(1 + t)."""

    rate: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.rate < math.inf:
            raise ConfigurationError(f"LogGrowth needs a positive rate, got {self.rate!r}")

    def __call__(self, t: float) -> float:
        return 1 + self.rate * math.log1p(t)  # theory.md#schedules


@dataclass(frozen=True, slots=True)
class PowerGrowth:
    """max(1, scale·t^exponent)."""

    scale: float = 1.0
    exponent: float = 0.25

    def __post_init__(self) -> None:
        if not (0 < self.scale < math.inf and 0 < self.exponent < math.inf):
            raise ConfigurationError(f"PowerGrowth needs a positive scale and exponent, got {self}")

    def __call__(self, t: float) -> float:
        return max(1.0, self.scale * t**self.exponent)


Growth = ConstantGrowth | LogGrowth | PowerGrowth
_NAMED: dict[str, Growth] = {
    "constant": ConstantGrowth(),
    "log": LogGrowth(),
    "power": PowerGrowth(),
}


def as_growth(curve: Any) -> Growth | Callable[[float], float]:
    """A growth curve from a name, a built-in value, or a callable of t, which is checked to start
    at ≥ 1 and not to fall.
    """
    if isinstance(curve, (ConstantGrowth, LogGrowth, PowerGrowth)):
        return curve
    if isinstance(curve, str):
        if curve not in _NAMED:
            raise ConfigurationError(
                f"unknown schedule {curve!r}: the built-in ones are {BUILT_IN}; any callable of t"
                " works too"
            )
        return _NAMED[curve]
    if not callable(curve):
        raise ConfigurationError(
            f"a schedule is a name, a growth value or a callable of t, got {curve!r}: the built-in"
            f" ones are {BUILT_IN}"
        )
    previous = 1.0
    for t in (*range(100), *range(100, 10_001, 100)):
        value = curve(t)
        if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 1):
            raise ConfigurationError(
                f"a schedule must be a finite number of at least 1, got {value!r} at t={t}: the"
                " class starts as given and only grows"
            )
        if value < previous:
            raise ConfigurationError(
                f"a schedule must not fall, got {value!r} at t={t} after {previous!r}: a class that"
                " shrinks may lose f again"
            )
        previous = value
    return curve
