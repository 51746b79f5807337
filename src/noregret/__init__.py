"""Bayesian optimization that keeps its promise when the hyperparameters are unknown."""

from noregret.classes import FromRepeats
from noregret.errors import GuaranteeError, NoRegretError, TransientError
from noregret.gp import use_device
from noregret.space import Candidates, Choice, Float, Forbidden, Int, Linear, Satisfies, Space
from noregret.strategies import (
    GPUCB,
    LBGPUCB,
    AdaptiveGPUCB,
    AdaptiveThompson,
    Assumed,
    InsuredGPUCB,
    LogEI,
    MarginalGPUCB,
    MinimumUncertainty,
    RadiusGPUCB,
    RandomisedGPUCB,
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
    "AdaptiveThompson",
    "Assumed",
    "AtLeast",
    "AtMost",
    "Candidates",
    "Certificate",
    "CertifiedWithin",
    "Choice",
    "Feasibility",
    "Float",
    "Forbidden",
    "FromRepeats",
    "GuaranteeError",
    "Infeasible",
    "InsuredGPUCB",
    "Int",
    "Linear",
    "LogEI",
    "MarginalGPUCB",
    "MinimumUncertainty",
    "NoRegretError",
    "RadiusGPUCB",
    "RandomSearch",
    "RandomisedGPUCB",
    "Reached",
    "Recommendation",
    "Result",
    "Satisfies",
    "Space",
    "Study",
    "TransientError",
    "Trial",
    "last_study",
    "maximize",
    "minimize",
    "use_device",
]
