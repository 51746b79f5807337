"""Surveys: where the search stagnates, look around in a class widened for one decision.

Stagnation is σ_t(x_{t+1}) < max(KAPPA/√t, NOISE_SHARE·noise std) under the fitted class, in units
of the prior std: the next value would tell next to nothing, or only the noise. The class is then
widened until its mean std over the space reaches ``TARGET``, and the point is taken that teaches
most about it. Of t decisions at most ``allowance(t, d)`` ∝ t^EXPONENT are surveys: what they add to
the regret is sublinear, and they never end. docs/decisions/0013.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from noregret.classes import crossing_near
from noregret.gp import VARIANCE_FLOOR, Posterior, linalg, squared_distances
from noregret.search import allowed, best, log_h, low_discrepancy
from noregret.space import Array, SearchSpace

KAPPA = 0.03  # prior stds at t = 1 below which a value tells next to nothing
NOISE_SHARE = 0.5  # of the noise std, below which it tells only the noise
SHARE = 0.32  # of surveys in one input
LEAST_SHARE = 0.05  # in any number of them
EXPONENT = 0.9
TARGET = 0.7  # mean std of the widened class, the prior std being 1
# per input: below this fitted lengthscale the class is wide by itself, as where the paper takes the
# smaller of fit and schedule, and FINE_SHARE of the allowance must do
FINE = 0.14
FINE_SHARE = 1 / 3
WIDEST = 100.0  # times shorter lengthscales than fitted
CLOUD = 512  # points that stand for the whole space
MEAN = 128  # as many of them for the mean std
FLAT = 0.25  # power of EI that weighs them: something may hide where little is expected, too
SURPRISE = 2.5  # leave-one-out standard deviations above the prediction
CROWD = 3  # points per input within a widened lengthscale: looked at
AROUND = 128  # candidates next to a surprise


def stagnation_level(t: int, noise_std: float) -> float:
    """The σ at the next point below which the search stagnates."""
    return max(KAPPA * t**-0.5, NOISE_SHARE * noise_std)


def allowance(t: int, dimension: int) -> float:
    """How many of t decisions may be surveys. Every input hides as much again, up to three; beyond,
    a survey sees next to nothing of the space.
    """
    share = SHARE * 2.0 ** (dimension - 1) * min(1.0, 8.0 ** (3 - dimension))
    return max(LEAST_SHARE, share) * t**EXPONENT


def cloud_of(space: SearchSpace, seed: int) -> Array:
    """Points that stand for the whole space."""
    rng = np.random.default_rng(seed)
    every = space.enumeration()
    if every is None:
        return space.snap(low_discrepancy(CLOUD, space.dimension, rng))
    return every if len(every) <= CLOUD else every[rng.permutation(len(every))[:CLOUD]]


def widening_scale(mean_std: Callable[[float], float], last: float) -> float:
    """The g at which the widened class has the target's mean std, sought from the last survey's."""
    return crossing_near(mean_std, TARGET, min(last, WIDEST), 1.0, WIDEST)


def most_taught(posterior: Posterior, cloud: Array, best_mean: float, noise_var: float) -> Array:
    """For each point of the cloud by how much it lowers the variance of f, averaged over the space
    with flattened expected improvement as weight: Σ_j EI(x_j)^¼ cov(x, x_j)²/(σ²(x) + λ), the
    weighted form of Cohn 1996. Unlike the largest variance it prefers no corners.
    """
    mean, covariance = posterior.joint(cloud)
    var = np.maximum(np.diag(covariance), VARIANCE_FLOOR)
    std = np.sqrt(var)
    weight = log_h((mean - best_mean) / std) + np.log(std)
    weight = np.exp(FLAT * (weight - weight.max()))
    return np.asarray(np.square(covariance, out=covariance) @ weight / (var + noise_var))


def surprise(fitted: Posterior, widened: Posterior) -> Array | None:
    """The point that the fitted class, knowing all others, would have put lowest below its value;
    None if no point stands out, or if its surroundings were looked at already.
    """
    n = fitted.observed
    # leave-one-out, in its own std
    residual = fitted.weights[:n] / np.sqrt(linalg.inverse_diagonal(fitted.L)[:n])
    near = squared_distances(widened.X[:n], widened.X, widened.lengthscales) < 1
    crowd = near.sum(axis=1)
    dimension = widened.X.shape[1]
    residual = np.where(crowd <= CROWD * dimension, residual, -np.inf)
    center = int(np.argmax(residual))
    return None if residual[center] < SURPRISE else widened.X[center]


def around(center: Array, space: SearchSpace, lengthscales: Array, seed: int) -> Array:
    """Candidates next to a point, a lengthscale or so away."""
    steps = np.random.default_rng(seed).standard_normal((AROUND, len(center))) * lengthscales
    return space.snap(np.clip(center + steps, 0.0, 1.0))


def best_of(points: Array, values: Array, failed: Array) -> Array:
    """The best of some points, failed ones and their surroundings left out."""
    return best(points, np.where(allowed(points, failed), values, -np.inf), failed)
