"""Gaussian processes: a posterior is a value, and conditioning returns another.

kernels    what is similar to what          posterior  condition, predict, append
structure  sums and products of kernels     warped     kernels of bent inputs
priors     of lengthscales and noise        evidence   log posterior of the hyperparameters
map        its maximum                      hmc        samples from it (extra ``hmc``)
pathwise   whole functions drawn from it
linalg     triangular solves and products   growing    the factor, block by block
device     processor or GPU                 panels     the factor there
"""

from noregret.gp.device import use_device
from noregret.gp.evidence import SMALLEST_NOISE_VAR, Evidence
from noregret.gp.kernels import (
    Composed,
    Covariance,
    Kernel,
    Matern,
    SquaredExponential,
    covariance,
    simple,
    squared_distances,
)
from noregret.gp.map import MAP, TOLERANCE, Fit, fit_map, starting_points
from noregret.gp.posterior import (
    GREEDY_SHARE,
    VARIANCE_FLOOR,
    Posterior,
    Predictor,
    condition,
    evidence_weights,
    greedy_information,
    log_evidence_gradient,
)
from noregret.gp.priors import Gamma, HalfCauchy, LogNormal, LogNormals, Prior
from noregret.gp.structure import Factor, Structure, Term, additive, scale_gradient

# what can be stored
KERNELS: tuple[type, ...] = (SquaredExponential, Matern)
PRIORS: tuple[type, ...] = (Gamma, LogNormal, HalfCauchy)
ESTIMATORS: tuple[type, ...] = (MAP,)

__all__ = [
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
    "LogNormals",
    "Matern",
    "Posterior",
    "Predictor",
    "Prior",
    "SquaredExponential",
    "Structure",
    "Term",
    "additive",
    "condition",
    "covariance",
    "evidence_weights",
    "fit_map",
    "greedy_information",
    "log_evidence_gradient",
    "scale_gradient",
    "simple",
    "squared_distances",
    "starting_points",
    "use_device",
]
