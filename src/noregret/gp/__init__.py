"""Gaussian processes: a posterior is a value, and conditioning returns another.

kernels       stationary kernels, sums and products    priors     of lengthscales and noise
posterior     condition, predict, append               fit        evidence, MAP, refit schedule
factor_cache  the factor, block by block               linalg     triangular solves and products
device        processor or GPU                         device_posterior  the posterior there
"""

from noregret.gp.device import use_device
from noregret.gp.fit import (
    COARSE,
    ENOUGH,
    MAP,
    SMALLEST_NOISE_VAR,
    TOLERANCE,
    Evidence,
    Fit,
    evidence_weights,
    fit_inputs,
    fit_map,
    lasting_part,
    log_evidence_gradient,
    refit,
    starting_points,
)
from noregret.gp.kernels import (
    Composed,
    Covariance,
    Factor,
    Kernel,
    Matern,
    SquaredExponential,
    Structure,
    Term,
    additive,
    composed,
    covariance,
    simple,
    squared_distances,
    value_and_slope,
)
from noregret.gp.posterior import (
    GREEDY_SHARE,
    VARIANCE_FLOOR,
    Posterior,
    Predictor,
    condition,
    greedy_information,
)
from noregret.gp.priors import Gamma, HalfCauchy, LogNormal, Prior

# what can be stored
KERNELS: tuple[type, ...] = (SquaredExponential, Matern)
PRIORS: tuple[type, ...] = (Gamma, LogNormal, HalfCauchy)
ESTIMATORS: tuple[type, ...] = (MAP,)

__all__ = [
    "COARSE",
    "ENOUGH",
    "ESTIMATORS",
    "GREEDY_SHARE",
    "KERNELS",
    "MAP",
    "PRIORS",
    "SMALLEST_NOISE_VAR",
    "TOLERANCE",
    "VARIANCE_FLOOR",
    "Composed",
    "Covariance",
    "Evidence",
    "Factor",
    "Fit",
    "Gamma",
    "HalfCauchy",
    "Kernel",
    "LogNormal",
    "Matern",
    "Posterior",
    "Predictor",
    "Prior",
    "SquaredExponential",
    "Structure",
    "Term",
    "additive",
    "composed",
    "condition",
    "covariance",
    "evidence_weights",
    "fit_inputs",
    "fit_map",
    "greedy_information",
    "lasting_part",
    "log_evidence_gradient",
    "refit",
    "simple",
    "squared_distances",
    "starting_points",
    "use_device",
    "value_and_slope",
]
