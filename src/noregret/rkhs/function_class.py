"""The function class {f : ‖f‖_θ ≤ B} and how much wider it is made.

h = g^d · b is the overall scaling of the class: g shortens the lengthscales, b grows the norm ball.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from noregret.errors import ConfigurationError
from noregret.space import Array

NormPower = Literal["paper", "tight"]
_POWER: dict[NormPower, float] = {"paper": 1.0, "tight": 0.5}
# in hundreds of inputs G^q leaves the numbers of a computer: the ball then stops growing here,
# where its square is still a number and mean and std are long the same to UCB
LARGEST_NORM = 1e150
LARGEST_SCALING = 1e300


@dataclass(frozen=True, slots=True)
class FunctionClass:
    """All f whose RKHS norm at these lengthscales is at most the norm bound."""

    lengthscales: Array
    norm_bound: float

    def __post_init__(self) -> None:
        lengthscales = np.atleast_1d(np.asarray(self.lengthscales, dtype=np.float64))
        if not (np.all(lengthscales > 0) and np.all(np.isfinite(lengthscales))):
            raise ConfigurationError(
                f"lengthscales must be positive and finite, got {self.lengthscales!r}"
            )
        if not 0 < self.norm_bound < math.inf:
            raise ConfigurationError(
                f"norm_bound must be positive and finite, got {self.norm_bound!r}: it bounds the"
                " size of f in the units of its values"
            )
        object.__setattr__(self, "lengthscales", lengthscales)

    @property
    def dimension(self) -> int:
        return len(self.lengthscales)

    def widened(self, g: float, b: float, norm_power: NormPower = "tight") -> FunctionClass:
        """θ/g and b·g^(d·q)·B, with q = 1 as printed or ½, which the norm lemma gives.
        theory.md#algorithm
        """
        if g < 1 or b < 1:
            raise ConfigurationError(
                f"a class is widened by g ≥ 1 and b ≥ 1, got g={g!r}, b={b!r}: it never shrinks"
            )
        return self.at(self.lengthscales / g, b, norm_power)

    def at(self, lengthscales: Array, b: float, norm_power: NormPower) -> FunctionClass:
        """The class with other lengthscales whose ball still holds this one, times b: B_t =
        b·G^q·B_0, theory.md#estimation. At ``LARGEST_NORM`` it stops: see ``is_full``.
        """
        with np.errstate(over="ignore"):
            volume_ratio = np.prod(self.lengthscales / lengthscales)
            bound = float(b * volume_ratio ** _POWER[norm_power] * self.norm_bound)
        return FunctionClass(lengthscales, min(bound, LARGEST_NORM))

    @property
    def is_full(self) -> bool:
        """Whether the ball can grow no more: it need not hold f any longer when θ still shrinks."""
        return self.norm_bound >= LARGEST_NORM


def split(h: float, weight: float, dimension: int) -> tuple[float, float]:
    """The one pair (g, b) with g^d · b = h and (b − 1)/(g^d − 1) = weight. theory.md#split"""
    if not h >= 1:
        raise ConfigurationError(f"h must be at least 1, got {h!r}")
    if not weight >= 0:
        raise ConfigurationError(f"weight (λ_w) must be in [0, ∞], got {weight!r}")
    if weight == math.inf:
        return 1.0, h
    excess = 2 * (h - 1) / ((1 + weight) + math.sqrt((1 + weight) ** 2 + 4 * weight * (h - 1)))
    return (1 + excess) ** (1 / dimension), 1 + weight * excess


def merge(g: float, b: float, dimension: int) -> float:
    """h of a pair (g, b), as far as it is a number."""
    if dimension * math.log(g) + math.log(b) > math.log(LARGEST_SCALING):
        return LARGEST_SCALING
    return g**dimension * b
