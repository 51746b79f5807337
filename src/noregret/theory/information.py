"""The information capacity of a finite set of points. theory.md#information"""

from __future__ import annotations

import math

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import Kernel, covariance
from noregret.space import Array

GREEDY_SHARE = (
    1 - 1 / math.e
)  # greedy reaches this share of a maximum of a monotone submodular function


def greedy_information(
    kernel: Kernel, lengthscales: Array | float, candidates: Array, t: int, regulariser: float
) -> Array:
    """I_1, …, I_t of the points that greedy maximisation of the information picks among the rows of
    candidates, repeats allowed.

    I_s ≤ γ_s ≤ I_s / GREEDY_SHARE, with γ_s the capacity over the candidates. O(n t²) time for n
    candidates, O(n t) memory.
    """
    C = np.asarray(candidates, dtype=np.float64)
    if C.ndim != 2 or C.size == 0 or not np.all(np.isfinite(C)):
        raise ConfigurationError(
            "candidates are the rows of a finite (n, d) array with at least one row, got shape"
            f" {C.shape}"
        )
    if not (isinstance(t, (int, np.integer)) and t >= 1):
        raise ConfigurationError(
            f"t counts the points to pick, so it is an integer of at least 1, got {t!r}"
        )
    if not 0 < regulariser < math.inf:
        raise ConfigurationError(
            f"the regulariser must be positive and finite, got {regulariser!r}: without noise a"
            " point tells everything"
        )
    theta = np.asarray(lengthscales, dtype=np.float64)
    if theta.shape not in ((), (1,), (C.shape[1],)) or not (
        np.all(theta > 0) and np.all(np.isfinite(theta))
    ):
        raise ConfigurationError(
            f"lengthscales must be positive and finite, one or one per input ({C.shape[1]} here),"
            f" got {lengthscales!r}"
        )
    theta = np.broadcast_to(theta, (C.shape[1],))
    V = np.empty((t, len(C)))  # L⁻¹ k(picked, C), a row per picked point
    variance = np.ones(len(C))
    gains = np.empty(t)
    for s in range(t):
        i = int(np.argmax(variance))
        gains[s] = 0.5 * math.log1p(variance[i] / regulariser)  # chain rule, theory.md#information
        cross = covariance(kernel, theta, C[i : i + 1], C)[0]
        V[s] = (cross - V[:s, i] @ V[:s]) / math.sqrt(variance[i] + regulariser)
        variance = np.maximum(variance - V[s] ** 2, 0.0)
    return np.cumsum(gains)
