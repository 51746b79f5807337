"""Strategies: frozen values that propose the next point from the history alone."""

from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
from noregret.strategies.gp_ucb import GPUCB
from noregret.strategies.lb_gp_ucb import LBGPUCB
from noregret.strategies.log_ei import LogEI
from noregret.strategies.marginal_gp_ucb import MarginalGPUCB
from noregret.strategies.minimum_uncertainty import MinimumUncertainty
from noregret.strategies.random_search import RandomSearch
from noregret.strategies.registry import NAMED, named
from noregret.strategies.strategy import Belief, Strategy, random_points
from noregret.strategies.units import Compression

__all__ = [
    "GPUCB",
    "LBGPUCB",
    "NAMED",
    "AdaptiveGPUCB",
    "Belief",
    "Compression",
    "LogEI",
    "MarginalGPUCB",
    "MinimumUncertainty",
    "RandomSearch",
    "Strategy",
    "named",
    "random_points",
]
