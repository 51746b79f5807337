"""Regret of a run, on the noise-free objective, to be maximised. theory.md#setting"""

from __future__ import annotations

import numpy as np

from noregret.space import Array


def instantaneous(values: Array, maximum: float) -> Array:
    """r_t = max f − f(x_t)."""
    return maximum - np.asarray(values, dtype=np.float64)


def cumulative(values: Array, maximum: float) -> Array:
    """R_t = Σ r_t."""
    return np.cumsum(instantaneous(values, maximum))


def simple(values: Array, maximum: float) -> Array:
    """max f − max_{t' ≤ t} f(x_t')."""
    return maximum - np.maximum.accumulate(np.asarray(values, dtype=np.float64))
