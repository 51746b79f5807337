"""Acquisition functions: each returns values at the rows of A, and values with gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr

from noregret.gp import Posterior, Predictor
from noregret.space import Array

MANY = 512  # points of a posterior above which a sweep drops candidates early


@dataclass(frozen=True, slots=True)
class Acquisition:
    """A function on the cube to be maximised."""

    values: Callable[[Array], Array]
    gradients: Callable[[Array], tuple[Array, Array]]
    # values of which only the given number of largest must be exact; None: no cheaper way
    leading: Callable[[Array, int], Array] | None = None
    is_log: bool = False  # a logarithm: steep, so fewer digits suffice
    points: Array | None = None  # (m, d): where alone it is known; None: everywhere


def ucb(posterior: Predictor, beta_sqrt: float) -> Acquisition:
    """μ + β^½ σ, JMLR eq. (7)."""

    def values(A: Array) -> Array:
        mean, std = posterior.predict(A)
        return mean + beta_sqrt * std

    def gradients(A: Array) -> tuple[Array, Array]:
        mean, std, dmean, dstd = posterior.predict_gradients(A)
        return mean + beta_sqrt * std, dmean + beta_sqrt * dstd

    if not (isinstance(posterior, Posterior) and len(posterior.X) > MANY and beta_sqrt >= 0):
        return Acquisition(values, gradients)

    def leading(A: Array, top: int) -> Array:
        mean, std = posterior.predict_leading(A, beta_sqrt, top)
        return mean + beta_sqrt * std

    return Acquisition(values, gradients, leading)


def log_ei(posterior: Predictor, best: float) -> Acquisition:
    """log E[max(f − best, 0)], stable far below the incumbent (Ament et al. 2023)."""

    def values(A: Array) -> Array:
        mean, std = posterior.predict(A)
        return log_h((mean - best) / std) + np.log(std)

    def gradients(A: Array) -> tuple[Array, Array]:
        mean, std, dmean, dstd = posterior.predict_gradients(A)
        u = (mean - best) / std
        value = log_h(u)
        # h' = Φ, so d log h/du = Φ(u)/h(u)
        ratio = np.exp(log_ndtr(u) - value)
        du = (dmean - u[:, None] * dstd) / std[:, None]
        return value + np.log(std), ratio[:, None] * du + dstd / std[:, None]

    return Acquisition(values, gradients)


def log_h(u: Array) -> Array:
    """log(φ(u) + u Φ(u)) without cancellation.

    For u < −1: h = φ(u)·(1 − |u|·√(π/2)·erfcx(|u|/√2)); beyond −1e3 the bracket is 1/u² to all
    digits.
    """
    u = np.asarray(u, dtype=np.float64)
    log_phi = -0.5 * u**2 - 0.5 * np.log(2 * np.pi)
    near = np.maximum(u, -1.0)
    direct = np.log(np.exp(-0.5 * near**2) / np.sqrt(2 * np.pi) + near * np.exp(log_ndtr(near)))
    far = np.minimum(u, -1.0)
    mills = -np.abs(far) * np.sqrt(np.pi / 2) * erfcx(np.abs(far) / np.sqrt(2))
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = np.where(
            far > -1e3, np.log1p(mills), -2 * np.log(np.abs(far)) + np.log1p(-3 / far**2)
        )
    return np.where(u > -1.0, direct, log_phi + tail)
