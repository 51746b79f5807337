"""Bayesian optimization that keeps its promise when the hyperparameters are unknown."""

from noregret.space import Candidates, Choice, Float, Int, Space
from noregret.strategies import (
    GPUCB,
    LBGPUCB,
    AdaptiveGPUCB,
    LogEI,
    MarginalGPUCB,
    MinimumUncertainty,
    RandomSearch,
)
from noregret.study import Certificate, CertifiedWithin, Reached, Study, maximize, minimize
from noregret.trials import Trial

__version__ = "0.1.0"

__all__ = [
    "GPUCB",
    "LBGPUCB",
    "AdaptiveGPUCB",
    "Candidates",
    "Certificate",
    "CertifiedWithin",
    "Choice",
    "Float",
    "Int",
    "LogEI",
    "MarginalGPUCB",
    "MinimumUncertainty",
    "RandomSearch",
    "Reached",
    "Space",
    "Study",
    "Trial",
    "maximize",
    "minimize",
]
