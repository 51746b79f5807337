"""Bayesian optimization that keeps its promise when the hyperparameters are unknown."""

from noregret.errors import GuaranteeError, NoRegretError
from noregret.space import Candidates, Choice, Float, Forbidden, Int, Linear, Satisfies, Space
from noregret.strategies import (
    GPUCB,
    LBGPUCB,
    AdaptiveGPUCB,
    InsuredGPUCB,
    LogEI,
    MarginalGPUCB,
    MinimumUncertainty,
    RadiusGPUCB,
    RandomSearch,
)
from noregret.study import (
    Certificate,
    CertifiedWithin,
    Reached,
    Result,
    Study,
    last_study,
    maximize,
    minimize,
)
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
    "Forbidden",
    "GuaranteeError",
    "InsuredGPUCB",
    "Int",
    "Linear",
    "LogEI",
    "MarginalGPUCB",
    "MinimumUncertainty",
    "NoRegretError",
    "RadiusGPUCB",
    "RandomSearch",
    "Reached",
    "Result",
    "Satisfies",
    "Space",
    "Study",
    "Trial",
    "last_study",
    "maximize",
    "minimize",
]
