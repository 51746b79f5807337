"""Strategies by name, for those who type them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from noregret.errors import ConfigurationError
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
from noregret.strategies.gp_ucb import GPUCB
from noregret.strategies.lb_gp_ucb import LBGPUCB
from noregret.strategies.log_ei import LogEI
from noregret.strategies.marginal_gp_ucb import MarginalGPUCB
from noregret.strategies.minimum_uncertainty import MinimumUncertainty
from noregret.strategies.random_search import RandomSearch
from noregret.strategies.strategy import Strategy

NAMED: dict[str, Callable[..., Strategy]] = {
    "practical": AdaptiveGPUCB.practical,
    "rigorous": AdaptiveGPUCB.rigorous,
    "paper": AdaptiveGPUCB.paper,
    "gp-ucb": GPUCB,
    "lb-gp-ucb": LBGPUCB,
    "marginal-gp-ucb": MarginalGPUCB,
    "minimum-uncertainty": MinimumUncertainty,
    "log-ei": LogEI,
    "random": RandomSearch,
}


def named(name: str, options: dict[str, Any]) -> Strategy:
    """The strategy of that name with these of its options set."""
    if not isinstance(name, str) or name not in NAMED:
        raise ConfigurationError(f"there is no strategy {name!r}: choose one of {', '.join(NAMED)}")
    parameters = inspect.signature(NAMED[name]).parameters
    unknown = [option for option in options if option not in parameters]
    if unknown:
        raise ConfigurationError(
            f"the strategy {name} has no option {unknown[0]!r}: it has"
            f" {', '.join(parameters) or 'none'}"
        )
    missing = [
        option
        for option, parameter in parameters.items()
        if parameter.default is parameter.empty and option not in options
    ]
    if missing:
        raise ConfigurationError(f"the strategy {name} needs {' and '.join(missing)}")
    try:
        return NAMED[name](**options)
    except TypeError as error:
        raise ConfigurationError(f"the strategy {name} cannot take {options!r}: {error}") from None
