"""What the default shows as "may be left": a band under a condition that the data suggest."""

from __future__ import annotations

import numpy as np

from noregret.gp import Covariance
from noregret.rkhs import (
    FunctionClass,
    Mixture,
    RadiusBand,
    Values,
    norm_lower_bound,
    radius_band,
)
from noregret.space import Array
from noregret.strategies.data import ModelData

REQUIRED = 3.0  # times the norm that the data require: the condition of what may be left


def suggested_band(
    framed: ModelData, kernel: Covariance, lengthscales: Array, noise_var: float, delta: float
) -> RadiusBand:
    """Where f can be if the noise is what was estimated and its norm at most ``REQUIRED`` times
    what the values require: theory.md#radius, theory.md#refuted, with estimates in place of bounds.
    """
    per_point, _ = framed.known_noise(noise_var)
    values = Values(framed.X, framed.y, np.sqrt(per_point))
    theta = np.stack([lengthscales, lengthscales, lengthscales / 2, lengthscales / 2])
    forecasters = Mixture(kernel, theta, np.array([1.0, 2.0, 1.0, 2.0]), np.full(4, 0.25))
    radius_sq = forecasters.radius_squared(values, delta)
    least = norm_lower_bound(kernel, lengthscales, values, radius_sq)
    held = FunctionClass(lengthscales, REQUIRED * max(least, 1.0))  # the prior std is 1
    return radius_band(kernel, held, values, radius_sq, (1 / 4, 1.0, 4.0))
