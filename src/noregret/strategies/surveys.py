"""Surveys: looks around in a class widened for one decision, where the search stagnates.

The class is widened until its mean std over the space reaches ``UNKNOWN``, and the point is taken
that teaches most about it; next to a surprise, if there is one. docs/decisions/0032.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from noregret.gp import VARIANCE_FLOOR, Posterior, squared_distances
from noregret.rkhs import crossing_near
from noregret.search import log_h, low_discrepancy
from noregret.space import Array, SearchSpace, spread_points

UNKNOWN = 0.7  # mean std of the class that a survey looks at: most of the space unknown
WIDEST = 100.0  # times shorter lengthscales than fitted
CLOUD = 512  # points that stand for the whole space
MEAN = 128  # as many of them for the mean std
FLAT = 0.25  # power of EI that weighs them: something may hide where little is expected, too
SURPRISE = 2.5  # leave-one-out standard deviations above the prediction
CROWD = 3  # points per input within a widened lengthscale: looked at
AROUND = 128  # candidates next to a surprise


def cloud_of(space: SearchSpace, seed: int) -> Array:
    """Points that stand for the whole space."""
    rng = np.random.default_rng(seed)
    every = space.enumeration()
    if every is None:
        return spread_points(space, low_discrepancy(CLOUD, space.dimension, rng))
    return every[rng.permutation(len(every))[:CLOUD]]


def mean_std(posterior: Posterior, cloud: Array) -> float:
    """Of a class over the space: 1 where all is unknown."""
    return float(np.mean(posterior.predict(cloud[:MEAN])[1]))


def widening_scale(widened: Callable[[float], Posterior], cloud: Array, last: float) -> float:
    """The g at which the widened class is unknown enough, sought from the last survey's."""

    def unknown(g: float) -> float:
        return mean_std(widened(g), cloud)

    return crossing_near(unknown, UNKNOWN, min(last, WIDEST), 1.0, WIDEST)


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


def surprise(fitted: Posterior, widened: Posterior, inputs: int) -> Array | None:
    """The point that the fitted class, knowing all others, would have put lowest below its value;
    None if no point stands out, or if its surroundings were looked at already.
    """
    n = fitted.observed
    # leave-one-out, in its own std
    residual = fitted.weights[:n] / np.sqrt(fitted.precision_diagonal[:n])
    for center in np.argsort(-residual, kind="stable"):
        if residual[center] < SURPRISE:
            break
        near = squared_distances(widened.X[[center]], widened.X, widened.lengthscales) < 1
        if near.sum() <= CROWD * inputs:
            return widened.X[center]
    return None


def around(center: Array, space: SearchSpace, lengthscales: Array, seed: int) -> Array:
    """Candidates next to a point, a lengthscale or so away."""
    steps = np.random.default_rng(seed).standard_normal((AROUND, len(center))) * lengthscales
    return space.snap(np.clip(center + steps, 0.0, 1.0))
