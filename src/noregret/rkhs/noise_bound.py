"""A bound on the noise from replicates, where R is not given.

With y, y' two values at one point, D = y − y' has variance 2R² and does not depend on f. From m
such differences R ≤ R̄ with probability at least 1 − δ, for one of two laws of the noise. R̄ may
replace R in the radius although it was computed from the same values.
Proofs: docs/theory.md#unknown-noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaincinv

from noregret.errors import ConfigurationError, check_one_of, check_range
from noregret.space import Array, Mask

NoiseLaw = Literal["gaussian", "strict"]
SAME = 1e-9  # of every range: what encoding and decoding may move a point


@dataclass(frozen=True, slots=True)
class NoiseFromReplicates:
    """R from the first ``pairs`` replicates, at half of delta.

    Args:
        pairs: how many points are measured twice.
        law: "gaussian", or "strict": strictly sub-Gaussian, R² is the variance itself (Gaussian,
            two values ±R, uniform, …), which takes about twice the pairs.

    Raises:
        ConfigurationError: a law or a number of pairs that does not exist.
    """

    pairs: int = 8
    law: NoiseLaw = "gaussian"

    def __post_init__(self) -> None:
        check_one_of("law", self.law, get_args(NoiseLaw))
        check_range("pairs", self.pairs, "[1, ∞)", "how many points are measured twice", whole=True)

    def bound(self, differences: Array, delta: float) -> float:
        """R̄: the noise is R̄-sub-Gaussian with probability at least 1 − delta."""
        m, total = len(differences), float(np.sum(np.square(differences)))
        if self.law == "gaussian":
            chi2_quantile = 2 * float(gammaincinv(m / 2, delta))  # of m degrees of freedom
            return math.sqrt(total / 2 / chi2_quantile)  # theory.md#unknown-noise
        return math.sqrt(total / strict_quantile(m, delta))  # theory.md#unknown-noise

    def check(self, delta: float) -> None:
        """Checks that this many replicates give a bound at this delta."""
        if self.law == "strict" and strict_quantile(self.pairs, delta) <= 0:
            least = math.ceil(math.log(1 / delta) / math.log(1.5))
            raise ConfigurationError(
                f"{self.pairs} replicates of strictly sub-Gaussian noise give no bound at delta ="
                f" {2 * delta:g}: take pairs of at least {least + 1}, or 16"
            )

    @property
    def words(self) -> str:
        kind = "Gaussian" if self.law == "gaussian" else "strictly sub-Gaussian"
        return (
            f"The noise bound is from the first {self.pairs} repeats, for half of the probability:"
            f" it needs noise that is {kind}, the same everywhere and independent from value to"
            " value; a noise that was told is not used."
        )


def strict_quantile(m: int, delta: float) -> float:
    """z such that ΣD² ≥ z·R² with probability at least 1 − delta; ≤ 0: too few pairs."""

    def bound(log_rate: float) -> float:
        rate = math.exp(log_rate)
        gain = -m * math.log(2 / 3 + math.exp(-6 * rate) / 3)
        return -(gain - math.log(1 / delta)) / rate  # theory.md#unknown-noise

    if -m * math.log(2 / 3) <= math.log(1 / delta):
        return 0.0
    found = minimize_scalar(bound, bounds=(-8.0, 3.0), method="bounded")
    return max(float(-found.fun), 0.0)


def first_pairs(X: Array, count: int) -> list[tuple[int, int]]:
    """The rows of the first ``count`` disjoint pairs of values at one point, in order."""
    unpaired_rows: list[int] = []
    pairs: list[tuple[int, int]] = []
    for row in range(len(X)):
        same = _is_at(X[unpaired_rows], X[row])
        if not same.any():
            unpaired_rows.append(row)
            continue
        pairs.append((unpaired_rows.pop(int(np.argmax(same))), row))
        if len(pairs) == count:
            break
    return pairs


def pairs_at(X: Array, places: Array) -> list[tuple[int, int]]:
    """The rows of one pair at each of these points; fewer if values were deleted since."""
    left = np.ones(len(X), dtype=np.bool_)
    pairs: list[tuple[int, int]] = []
    for place in places:
        rows = np.flatnonzero(left & _is_at(X, place))[:2]
        if len(rows) == 2:
            pairs.append((int(rows[0]), int(rows[1])))
            left[rows] = False
    return pairs


def unpaired(X: Array, pending: Array) -> Array | None:
    """The first point that has an odd number of evaluations, pending ones included."""
    for x in X:
        if (int(_is_at(X, x).sum()) + int(_is_at(pending, x).sum())) % 2:
            return x
    return None


def _is_at(X: Array, point: Array) -> Mask:
    """Which rows are this point."""
    return np.abs(X - point).max(axis=1, initial=0.0) <= SAME
