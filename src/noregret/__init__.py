"""Bayesian optimization that keeps its promise when the hyperparameters are unknown."""

from noregret.classes import FromRepeats
from noregret.errors import GuaranteeError, NoRegretError, TransientError
from noregret.gp import use_device
from noregret.space import (
    Branch,
    Candidates,
    Choice,
    Float,
    Forbidden,
    Int,
    Linear,
    Satisfies,
    Space,
)
from noregret.strategies import (
    GPUCB,
    LBGPUCB,
    AdaptiveGPUCB,
    AdaptiveThompson,
    InsuredGPUCB,
    LogEI,
    MarginalGPUCB,
    MinimumUncertainty,
    RadiusGPUCB,
    RandomisedGPUCB,
    RandomSearch,
    Subspace,
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
    "AdaptiveThompson",
    "Branch",
    "Candidates",
    "Certificate",
    "CertifiedWithin",
    "Choice",
    "Float",
    "Forbidden",
    "FromRepeats",
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
    "RandomisedGPUCB",
    "Reached",
    "Result",
    "Satisfies",
    "Space",
    "Study",
    "Subspace",
    "TransientError",
    "Trial",
    "last_study",
    "maximize",
    "minimize",
    "use_device",
]
