"""A bound on the noise from replicates, where R is not given, and the test of one that is given.

With y, y' two values at one point, D = y − y' has variance 2R² and does not depend on f. From m
such differences R ≤ R̄ with probability at least 1 − δ, for one of two laws of the noise. R̄ may
replace R in the radius although it was computed from the same values.
Proofs: docs/theory.md#unknown-noise and docs/theory.md#noise-refuted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaincinv, logsumexp

from noregret.errors import ConfigurationError, check_one_of, check_range
from noregret.space import Array, Mask

NoiseLaw = Literal["gaussian", "strict"]
SAME = 1e-9  # of every range: what encoding and decoding may move a point
RATES = np.array([0.75, 1.0, 1.5, 3.0])  # λ·R of the test; larger ones see larger errors


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
            f" it needs noise that is {kind}, the same everywhere but where a larger one was told,"
            " and independent from value to value."
        )


def on_noise_grid(bound: float, unit: float) -> tuple[float, float]:
    """The next of unit/16·2^(k/4), k any whole number, and its weight; all weights sum to 1. Told
    noise needs it: theory.md#unknown-noise
    """
    k = math.ceil(4 * math.log2(16 * bound / unit) - 1e-9)
    return unit / 16 * 2.0 ** (k / 4), 2 / (3 * (abs(k) + 1) * (abs(k) + 2))


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


def pair_evidence(differences: Array, bounds: Array) -> float:
    """log of the mean over λ of ∏ cosh(λD)·e^(−λ²R²): against R-sub-Gaussian noise.

    Args:
        differences: D of each pair, measured at one point. A pair was planned before its first
            value, and ended before the next began.
        bounds: (m, 2), R of both values of each pair.
    """
    scale = np.sqrt(np.mean(np.square(bounds), axis=1))
    rates = RATES[:, None]
    size = rates * np.abs(differences) / scale
    log_cosh = size + np.log1p(np.exp(-2 * size)) - math.log(2)
    return float(logsumexp(np.sum(log_cosh - rates**2, axis=1)) - math.log(len(RATES)))


def noise_refuted(
    X: Array, y: Array, bounds: Array, planned: Sequence[tuple[int, int]], delta: float
) -> bool:
    """Whether values at one point differ by more than their noise bounds allow. If the bounds are
    right, it is so at any time with probability at most delta. theory.md#noise-refuted

    Args:
        X: (n, d), the points, in the order in which they were chosen.
        y: (n,), their values.
        bounds: (n,), R of each value, known before it.
        planned: Rows of pairs that were planned before their first value.
        delta: The probability of refuting bounds that are right.
    """
    kept: list[tuple[int, int]] = []
    for first, second in sorted(planned):
        if not kept or first > kept[-1][1]:
            kept.append((first, second))
    rows = np.array(kept, dtype=np.intp).reshape(-1, 2)
    if pair_evidence(y[rows[:, 0]] - y[rows[:, 1]], bounds[rows]) >= math.log(2 / delta):
        return True
    s = np.arange(1, len(y) + 1)
    most = bounds * np.sqrt(2 * np.log(4 * s * (s + 1) / delta))  # of the noise of value s
    same = np.unique(np.round(X / SAME), axis=0, return_inverse=True)[1].ravel()
    low, high = np.full(len(y), -np.inf), np.full(len(y), np.inf)  # of f, one entry per point
    np.maximum.at(low, same, y - most)
    np.minimum.at(high, same, y + most)
    return bool(np.any(low > high))


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
