"""Bayesian optimization that keeps its promise when the hyperparameters are unknown."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noregret.errors import GuaranteeError, NoRegretError, TransientError
    from noregret.extensions import (
        LBGPUCB,
        AdaptiveThompson,
        MarginalGPUCB,
        MinimumUncertainty,
        RandomisedGPUCB,
        Subspace,
    )
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
        InsuredGPUCB,
        LogEI,
        OutcomeAssumptions,
        RadiusGPUCB,
        RandomSearch,
    )
    from noregret.study import (
        Certificate,
        CertifiedWithin,
        Feasibility,
        Infeasible,
        LeftBelow,
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

__version__ = "0.1.0"

__all__ = [
    "GPUCB",
    "LBGPUCB",
    "AdaptiveGPUCB",
    "AdaptiveThompson",
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
    "LeftBelow",
    "Linear",
    "LogEI",
    "MarginalGPUCB",
    "MinimumUncertainty",
    "NoRegretError",
    "NoiseFromReplicates",
    "OutcomeAssumptions",
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

# From the lowest up: a name is looked for in a room after those which that room imports anyway.
_ROOMS = (
    *("errors", "space", "trials", "gp", "rkhs", "search", "strategies"),
    *("storage", "diagnostics", "study", "extensions"),
)


def __getattr__(name: str) -> Any:
    """Imports a room, or a public name from its room, when it is first used."""
    if name in _ROOMS:
        return import_module(f"noregret.{name}")
    if name in __all__:
        for room in _ROOMS:
            if hasattr(module := import_module(f"noregret.{room}"), name):
                globals()[name] = value = getattr(module, name)
                return value
    raise AttributeError(f"module 'noregret' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
