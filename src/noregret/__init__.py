"""Bayesian optimization that keeps its promise when the hyperparameters are unknown."""

from noregret.parameters import Choice, Float, Int
from noregret.space import Candidates, Space
from noregret.stopping import CertifiedWithin, Reached
from noregret.strategies import GPUCB, LBGPUCB, AdaptiveGPUCB, LogEI, MarginalGPUCB, MinimumUncertainty, RandomSearch
from noregret.study import Certificate, Study, maximize, minimize
from noregret.trial import Trial

__version__ = "0.1.0"

__all__ = [
    "GPUCB", "LBGPUCB", "AdaptiveGPUCB", "Candidates", "Certificate", "CertifiedWithin", "Choice", "Float", "Int", "LogEI", "MarginalGPUCB", "MinimumUncertainty",
    "RandomSearch", "Reached", "Space", "Study", "Trial", "maximize", "minimize",
]  # fmt: skip
