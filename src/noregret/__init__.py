"""Bayesian optimization that keeps its promise when the hyperparameters are unknown."""

from noregret.errors import GuaranteeError, NoRegretError
from noregret.space import Candidates, Choice, Float, Int, Space
from noregret.strategies import (
    GPUCB,
    LBGPUCB,
    AdaptiveGPUCB,
    Assumed,
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
    Feasibility,
    Infeasible,
    Reached,
    Recommendation,
    Result,
    Study,
    last_study,
    maximize,
    minimize,
)
from noregret.trials import AtLeast, AtMost, Trial

__version__ = "0.1.0"

__all__ = [
    "GPUCB",
    "LBGPUCB",
    "AdaptiveGPUCB",
    "Assumed",
    "AtLeast",
    "AtMost",
    "Candidates",
    "Certificate",
    "CertifiedWithin",
    "Choice",
    "Feasibility",
    "Float",
    "GuaranteeError",
    "Infeasible",
    "InsuredGPUCB",
    "Int",
    "LogEI",
    "MarginalGPUCB",
    "MinimumUncertainty",
    "NoRegretError",
    "RadiusGPUCB",
    "RandomSearch",
    "Reached",
    "Recommendation",
    "Result",
    "Space",
    "Study",
    "Trial",
    "last_study",
    "maximize",
    "minimize",
]
