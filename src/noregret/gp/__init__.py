"""Gaussian processes: a posterior is a value, and conditioning returns another.

kernels    what is similar to what          posterior  condition, predict, append
priors     of lengthscales and noise        evidence   log posterior of the hyperparameters
map        its maximum                      hmc        samples from it (extra ``hmc``)
pathwise   whole functions drawn from it
linalg     triangular solves and products   growing    the factor, block by block
device     processor or GPU                 panels     the factor there
"""

from noregret.gp.device import use_device
from noregret.gp.evidence import SMALLEST_NOISE_VAR, Evidence
from noregret.gp.hmc import HMC, Mixture, sample
from noregret.gp.kernels import (
    Kernel,
    Matern,
    SquaredExponential,
    covariance,
    squared_distances,
)
from noregret.gp.map import MAP, Fit, fit_map, starting_points
from noregret.gp.pathwise import draw_at, draw_path
from noregret.gp.posterior import (
    VARIANCE_FLOOR,
    Posterior,
    Predictor,
    condition,
    log_evidence_gradient,
)
from noregret.gp.priors import Gamma, LogNormal, Prior

# what can be stored
KERNELS: tuple[type, ...] = (SquaredExponential, Matern)
PRIORS: tuple[type, ...] = (Gamma, LogNormal)
ESTIMATORS: tuple[type, ...] = (MAP, HMC)

__all__ = [
    "ESTIMATORS",
    "HMC",
    "KERNELS",
    "MAP",
    "PRIORS",
    "SMALLEST_NOISE_VAR",
    "VARIANCE_FLOOR",
    "Evidence",
    "Fit",
    "Gamma",
    "Kernel",
    "LogNormal",
    "Matern",
    "Mixture",
    "Posterior",
    "Predictor",
    "Prior",
    "SquaredExponential",
    "condition",
    "covariance",
    "draw_at",
    "draw_path",
    "fit_map",
    "log_evidence_gradient",
    "sample",
    "squared_distances",
    "starting_points",
    "use_device",
]
