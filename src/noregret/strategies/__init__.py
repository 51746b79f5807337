"""Strategies: frozen values that propose the next point from the history alone.

One algorithm per file, each naming the theorem it obeys or saying that it has none.
"""

from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
from noregret.strategies.adaptive_thompson import AdaptiveThompson
from noregret.strategies.additive import Additive
from noregret.strategies.assumed import Assumed
from noregret.strategies.branched import Branched
from noregret.strategies.categorical import Categorical
from noregret.strategies.compression import Compression
from noregret.strategies.gp_ucb import GPUCB
from noregret.strategies.insured import InsuredGPUCB
from noregret.strategies.lb_gp_ucb import LBGPUCB
from noregret.strategies.log_ei import LogEI
from noregret.strategies.marginal_gp_ucb import MarginalGPUCB
from noregret.strategies.minimum_uncertainty import MinimumUncertainty
from noregret.strategies.modelling import Modelled, Modelling, Question
from noregret.strategies.radius_gp_ucb import RadiusGPUCB
from noregret.strategies.random_search import RandomSearch
from noregret.strategies.randomised_gp_ucb import RandomisedGPUCB
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
from noregret.strategies.smoothness import Smoothness
from noregret.strategies.sparse import Sparse
from noregret.strategies.strategy import (
    Belief,
    OutcomeBelief,
    Strategy,
    initial_proposal,
    random_points,
)
from noregret.strategies.subspace import Subspace
from noregret.strategies.warping import Warping

__all__ = [
    "GPUCB",
    "LBGPUCB",
    "NAMED",
    "AdaptiveGPUCB",
    "AdaptiveThompson",
    "Additive",
    "Assumed",
    "Belief",
    "Branched",
    "Categorical",
    "Compression",
    "InsuredGPUCB",
    "LogEI",
    "MarginalGPUCB",
    "MinimumUncertainty",
    "Modelled",
    "Modelling",
    "OutcomeBelief",
    "Question",
    "RadiusGPUCB",
    "RandomSearch",
    "RandomisedGPUCB",
    "Smoothness",
    "Sparse",
    "Strategy",
    "Subspace",
    "Warping",
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
