"""Bayesian optimization that keeps its promise when the hyperparameters are unknown."""

from typing import TYPE_CHECKING, Any

from noregret.errors import GuaranteeError, NoRegretError, TransientError
from noregret.gp import use_device
from noregret.rkhs import NoiseFromReplicates
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
    AdaptiveGPUCB,
    Assumed,
    InsuredGPUCB,
    LogEI,
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
    delete_study,
    last_study,
    maximize,
    minimize,
    studies,
)
from noregret.trials import AtLeast, AtMost, Trial

if TYPE_CHECKING:
    from noregret.extensions import (
        LBGPUCB,
        AdaptiveThompson,
        MarginalGPUCB,
        MinimumUncertainty,
        RandomisedGPUCB,
        Subspace,
    )

__version__ = "0.1.0"

__all__ = [
    "GPUCB",
    "LBGPUCB",
    "AdaptiveGPUCB",
    "AdaptiveThompson",
    "Assumed",
    "AtLeast",
    "AtMost",
    "Branch",
    "Candidates",
    "Certificate",
    "CertifiedWithin",
    "Choice",
    "Feasibility",
    "Float",
    "Forbidden",
    "GuaranteeError",
    "Infeasible",
    "InsuredGPUCB",
    "Int",
    "Linear",
    "LogEI",
    "MarginalGPUCB",
    "MinimumUncertainty",
    "NoRegretError",
    "NoiseFromReplicates",
    "RadiusGPUCB",
    "RandomSearch",
    "RandomisedGPUCB",
    "Reached",
    "Recommendation",
    "Result",
    "Satisfies",
    "Space",
    "Study",
    "Subspace",
    "TransientError",
    "Trial",
    "delete_study",
    "last_study",
    "maximize",
    "minimize",
    "studies",
    "use_device",
]


def __getattr__(name: str) -> Any:
    """The strategies of ``noregret.extensions``, loaded when one of them is first used."""
    if name in __all__:
        from noregret import extensions

        return getattr(extensions, name)
    raise AttributeError(f"module 'noregret' has no attribute {name!r}")
