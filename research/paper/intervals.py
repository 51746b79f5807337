"""95 % intervals for what the reproduction measures: a mean and a median over seeds, a count."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

LEVEL = 0.95
RESAMPLES = 2000


def of_mean(values: Sequence[float]) -> tuple[float, float]:
    """Student's t; one value has no interval."""
    x = np.asarray(values, dtype=np.float64)
    if len(x) < 2 or not np.all(np.isfinite(x)):
        return -math.inf, math.inf
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x)))
    return float(x.mean()) - half, float(x.mean()) + half


def of_median(values: Sequence[float]) -> tuple[float, float]:
    """Percentiles of the medians of resampled seeds; values may be infinite."""
    x = np.asarray(values, dtype=np.float64)
    if len(x) < 2:
        return -math.inf, math.inf
    picks = np.random.default_rng(0).integers(0, len(x), (RESAMPLES, len(x)))
    medians = np.sort(np.median(x[picks], axis=1))
    tail = int(RESAMPLES * (1 - LEVEL) / 2)
    return float(medians[tail]), float(medians[-1 - tail])


def wilson(count: int, trials: int) -> tuple[float, float]:
    """Of a share, from a count."""
    z = float(stats.norm.ppf((1 + LEVEL) / 2))
    centre, p = 1 + z * z / trials, count / trials
    half = z * math.sqrt(p * (1 - p) / trials + (z / (2 * trials)) ** 2)
    middle = p + z * z / (2 * trials)
    return max(0.0, (middle - half) / centre), min(1.0, (middle + half) / centre)
