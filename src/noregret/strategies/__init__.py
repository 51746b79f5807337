"""Strategies: frozen values that propose the next point from the history alone.

One algorithm per file, each naming the theorem it obeys or saying that it has none.
"""

from typing import TYPE_CHECKING

from noregret.errors import lazily
from noregret.strategies.base import (
    Belief,
    OutcomeBelief,
    Strategy,
    initial_proposal,
    random_points,
)
from noregret.strategies.data import Compression
from noregret.strategies.insured import InsuredGPUCB
from noregret.strategies.registry import (
    NAMED,
    algorithm_of,
    display_name,
    named,
    names,
    own_algorithm,
    register,
    settings_of,
    stored_kind,
    stored_name,
)
from noregret.strategies.surrogate import Branched, FitRequest, Surrogate, SurrogateModel

if TYPE_CHECKING:
    from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
    from noregret.strategies.gp_ucb import GPUCB
    from noregret.strategies.log_ei import LogEI
    from noregret.strategies.random_search import RandomSearch
    from noregret.strategies.rigorous import RadiusGPUCB
    from noregret.strategies.rigorous_outcomes import OutcomeAssumptions

__all__ = [
    "GPUCB",
    "NAMED",
    "AdaptiveGPUCB",
    "Belief",
    "Branched",
    "Compression",
    "FitRequest",
    "InsuredGPUCB",
    "LogEI",
    "OutcomeAssumptions",
    "OutcomeBelief",
    "RadiusGPUCB",
    "RandomSearch",
    "Strategy",
    "Surrogate",
    "SurrogateModel",
    "algorithm_of",
    "display_name",
    "initial_proposal",
    "named",
    "names",
    "own_algorithm",
    "random_points",
    "register",
    "settings_of",
    "stored_kind",
    "stored_name",
]

__getattr__ = lazily(
    __name__,
    __all__,
    "random_search",
    "log_ei",
    "rigorous",
    "rigorous_outcomes",
    "adaptive_gp_ucb",
    "gp_ucb",
)
