"""Every strategy by name, ours and those of others, and every value that a stored study may hold.

Another package registers its classes through Python's entry points: in the group
``noregret.strategies`` under the name by which it is typed, in ``noregret.values`` for kernels,
priors, widenings and the like. The room ``extensions`` is registered by the same objects, and is
loaded only when one of its names is used. A program that is no package calls ``register``.

Nothing is ever pickled: what is stored is the class's address and its fields, and only registered
addresses are loaded.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from noregret.errors import ConfigurationError, StorageError
from noregret.gp import ESTIMATORS, KERNELS, PRIORS
from noregret.rkhs import GROWTHS, REFERENCES, WIDENINGS
from noregret.space import SPACES
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
from noregret.strategies.base import Strategy
from noregret.strategies.gp_ucb import GPUCB
from noregret.strategies.insured import InsuredGPUCB
from noregret.strategies.log_ei import LogEI
from noregret.strategies.random_search import RandomSearch
from noregret.strategies.rigorous import RadiusGPUCB
from noregret.strategies.rigorous_outcomes import OutcomeAssumptions
from noregret.strategies.surrogate import Branched
from noregret.trials import LIMITS

T = TypeVar("T", bound=type)
STRATEGY_GROUP, VALUE_GROUP = "noregret.strategies", "noregret.values"

NAMED: dict[str, Callable[..., Strategy]] = {
    "insured": InsuredGPUCB,
    "rigorous": RadiusGPUCB,
    "paper": AdaptiveGPUCB.paper,
    "gp-ucb": GPUCB,
    "log-ei": LogEI,
    "random": RandomSearch,
}
STRATEGIES = (AdaptiveGPUCB, GPUCB, InsuredGPUCB, LogEI, RadiusGPUCB, RandomSearch)
BUILT_IN: dict[str, type] = {
    kind.__name__: kind
    for kinds in (
        *(SPACES, KERNELS, PRIORS, ESTIMATORS, GROWTHS, REFERENCES, WIDENINGS, LIMITS),
        (*STRATEGIES, OutcomeAssumptions, Branched),
    )
    for kind in kinds
}
_EXTENSIONS = {
    STRATEGY_GROUP: {
        "lb-gp-ucb": "lb_gp_ucb:LBGPUCB",
        "marginal-gp-ucb": "marginal_gp_ucb:MarginalGPUCB",
        "minimum-uncertainty": "minimum_uncertainty:MinimumUncertainty",
        "thompson": "thompson:AdaptiveThompson",
        "randomised-gp-ucb": "randomised_gp_ucb:RandomisedGPUCB",
        "subspace": "subspace:Subspace",
    },
    VALUE_GROUP: {
        "additive": "additive:Additive",
        "categorical": "categorical:Categorical",
        "hmc": "marginal_gp_ucb:HMC",
        "smoothness": "smoothness:Smoothness",
        "sparse": "sparse:Sparse",
        "warping": "warping:Warping",
    },
}
_registered: dict[str, type] = {}


def register(kind: T) -> T:
    """Register a dataclass so that it can be stored: a strategy, a kernel, a prior, a widening.

    Use it as a decorator, in a module that every process imports before it opens the study.
    """
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise ConfigurationError(
            f"register takes a frozen dataclass, got {kind!r}: its fields are what is stored"
        )
    _registered[address(kind)] = kind
    return kind


def address(kind: type) -> str:
    """Where a class lives, as ``package.module:Class``."""
    return f"{kind.__module__}:{kind.__qualname__}"


def own_algorithm(kind: type) -> int:
    """The version of a class's rule, ``algorithm: ClassVar[int]``; 0: the first, without a number.
    Stored studies know by which one each of their points was proposed.
    """
    number = getattr(kind, "algorithm", 0)
    return number if isinstance(number, int) and "algorithm" not in settings_of(kind) else 0


def algorithm_of(value: Any) -> int:
    """The number of a strategy with all its parts: it changes when the rule of any of them does."""
    parts = [getattr(value, name) for name in settings_of(type(value))]
    inner = [part for part in parts if dataclasses.is_dataclass(part)]
    return own_algorithm(type(value)) + sum(map(algorithm_of, inner))


def settings_of(kind: type) -> list[str]:
    """The names of a dataclass's fields, which are what is stored."""
    known = dataclasses.is_dataclass(kind)
    return [each.name for each in dataclasses.fields(kind)] if known else []


def points_of(group: str) -> list[EntryPoint]:
    """The entry points of a group: of ``extensions``, then of installed packages."""
    own = [
        EntryPoint(name, f"noregret.extensions.{where}", group)
        for name, where in _EXTENSIONS[group].items()
    ]
    return [*own, *entry_points(group=group)]


@cache
def _points() -> dict[str, EntryPoint]:
    """Every entry point by the address of its class."""
    groups = (STRATEGY_GROUP, VALUE_GROUP)
    return {point.value: point for group in groups for point in points_of(group)}


def stored_name(kind: type) -> str | None:
    """The name under which values of a class are stored; None: it is not registered."""
    if BUILT_IN.get(kind.__name__) is kind:
        return kind.__name__
    where = address(kind)
    return where if where in _registered or where in _points() else None


def stored_kind(name: str) -> type:
    """The class that was stored under a name."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name in _registered:
        return _registered[name]
    if name in _points():
        loaded: type = _points()[name].load()
        return loaded
    raise StorageError(
        f"unknown type {name!r} in a stored study: it was written by a newer version of noregret,"
        f" or by a package that is not installed here; install it, or import the module that calls"
        " noregret.strategies.register on it"
    )


def names() -> dict[str, Callable[..., Strategy]]:
    """Every strategy by name, with the extensions and those of installed packages. Loads them."""
    others = points_of(STRATEGY_GROUP)
    return NAMED | {point.name: point.load() for point in others if point.name not in NAMED}


def named(name: str, options: dict[str, Any]) -> Strategy:
    """The strategy of a name with some options set."""
    make = NAMED.get(name) if isinstance(name, str) else None
    if make is None:
        known = names()
        if not isinstance(name, str) or name not in known:
            raise ConfigurationError(
                f"there is no strategy {name!r}: choose one of {', '.join(known)}"
            )
        make = known[name]
    parameters = inspect.signature(make).parameters
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
        return make(**options)
    except TypeError as error:
        raise ConfigurationError(f"the strategy {name} cannot take {options!r}: {error}") from None


def display_name(strategy: Strategy) -> str:
    """The name under which ``named`` makes it, whatever its options; else its type's."""
    known = NAMED if stored_name(type(strategy)) in BUILT_IN else names()
    for name, make in known.items():
        if _makes(make, strategy):
            return name
    return type(strategy).__name__


def _makes(make: Callable[..., Strategy], strategy: Strategy) -> bool:
    if isinstance(make, type):
        return type(strategy) is make
    options = {
        option: getattr(strategy, option)
        for option in inspect.signature(make).parameters
        if hasattr(strategy, option)
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(**options) == strategy
    except (TypeError, ConfigurationError):  # another kind of strategy, with other options
        return False
