"""Gaussian processes: a posterior is a value, and conditioning returns another.

kernels       stationary kernels, sums and products    linalg   triangular solves and products
posterior     condition, predict, append               fit      priors, evidence, MAP, schedule
factor_cache  the factor, block by block               mixture  hyperparameters averaged out
device        processor or GPU                         device_factor  the factor there
"""

from noregret.gp.device import use_device
from noregret.gp.fit import (
    MAP,
    SMALLEST_NOISE_VAR,
    Evidence,
    Fit,
    Gamma,
    HalfCauchy,
    LogNormal,
    Prior,
    evidence_weights,
    fit_inputs,
    log_evidence_gradient,
    refit,
    starting_points,
)
from noregret.gp.kernels import (
    Composed,
    Covariance,
    Dead,
    Factor,
    Kernel,
    Masked,
    Matern,
    SquaredExponential,
    Structure,
    Term,
    additive,
    composed,
    covariance,
    squared_distances,
    stationary,
    value_and_slope,
)
from noregret.gp.mixture import PosteriorMixture, averaged
from noregret.gp.posterior import (
    GREEDY_SHARE,
    VARIANCE_FLOOR,
    JointPredictor,
    Posterior,
    Predictor,
    condition,
    greedy_information,
)

__all__ = [
    "GREEDY_SHARE",
    "MAP",
    "SMALLEST_NOISE_VAR",
    "VARIANCE_FLOOR",
    "Composed",
    "Covariance",
    "Dead",
    "Evidence",
    "Factor",
    "Fit",
    "Gamma",
    "HalfCauchy",
    "JointPredictor",
    "Kernel",
    "LogNormal",
    "Masked",
    "Matern",
    "Posterior",
    "PosteriorMixture",
    "Predictor",
    "Prior",
    "SquaredExponential",
    "Structure",
    "Term",
    "additive",
    "averaged",
    "composed",
    "condition",
    "covariance",
    "evidence_weights",
    "fit_inputs",
    "greedy_information",
    "log_evidence_gradient",
    "refit",
    "squared_distances",
    "starting_points",
    "stationary",
    "use_device",
    "value_and_slope",
]
