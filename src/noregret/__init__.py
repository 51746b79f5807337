"""Bayesian optimization that keeps its promise when the hyperparameters are unknown."""

from noregret.parameters import Choice, Float, Int
from noregret.space import Candidates, Space
from noregret.strategies import GPUCB, LBGPUCB, AdaptiveGPUCB, LogEI, MarginalGPUCB, MinimumUncertainty, RandomSearch
from noregret.study import Certificate, Study, maximize, minimize
from noregret.trial import Trial

__version__ = "0.1.0"

__all__ = [
    "GPUCB", "LBGPUCB", "AdaptiveGPUCB", "Candidates", "Certificate", "Choice", "Float", "Int", "LogEI", "MarginalGPUCB", "MinimumUncertainty",
    "RandomSearch", "Space", "Study", "Trial", "maximize", "minimize",
]  # fmt: skip
