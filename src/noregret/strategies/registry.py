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
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar, cast

from noregret.errors import ConfigurationError, StorageError
from noregret.strategies.base import Strategy

T = TypeVar("T", bound=type)
STRATEGY_GROUP, VALUE_GROUP = "noregret.strategies", "noregret.values"
# every class that is stored under its bare name, by room
_STORED = {
    "space": "Float Int Choice Space Candidates Linear Forbidden Satisfies ActiveWhen",
    "gp": "SquaredExponential Matern Gamma LogNormal HalfCauchy MAP",
    "rkhs": "ConstantGrowth LogGrowth PowerGrowth PowerReference AnchoredReference NoWidening"
    " Schedule ReferenceRegret MinimumStd Shortening EvidenceClass NoiseFromReplicates Ladder",
    "trials": "AtMost AtLeast",
    "strategies": "AdaptiveGPUCB GPUCB InsuredGPUCB LogEI RadiusGPUCB RandomSearch"
    " OutcomeAssumptions Branched",
}
BUILT_IN = {name: room for room, names in _STORED.items() for name in names.split()}
NAMED = {
    "insured": "strategies.insured:InsuredGPUCB",
    "rigorous": "strategies.rigorous:RadiusGPUCB",
    "paper": "strategies.adaptive_gp_ucb:AdaptiveGPUCB.paper",
    "gp-ucb": "strategies.gp_ucb:GPUCB",
    "log-ei": "strategies.log_ei:LogEI",
    "random": "strategies.random_search:RandomSearch",
}
_EXTENSIONS = {
    STRATEGY_GROUP: {
        "lb-gp-ucb": "extensions.lb_gp_ucb:LBGPUCB",
        "marginal-gp-ucb": "extensions.marginal_gp_ucb:MarginalGPUCB",
        "minimum-uncertainty": "extensions.minimum_uncertainty:MinimumUncertainty",
        "thompson": "extensions.thompson:AdaptiveThompson",
        "randomised-gp-ucb": "extensions.randomised_gp_ucb:RandomisedGPUCB",
        "subspace": "extensions.subspace:Subspace",
    },
    VALUE_GROUP: {
        "additive": "extensions.additive:Additive",
        "categorical": "extensions.categorical:Categorical",
        "hmc": "extensions.marginal_gp_ucb:HMC",
        "smoothness": "extensions.smoothness:Smoothness",
        "sparse": "extensions.sparse:Sparse",
        "warping": "extensions.warping:Warping",
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


def _own(group: str, addresses: dict[str, str]) -> list[EntryPoint]:
    return [EntryPoint(name, f"noregret.{where}", group) for name, where in addresses.items()]


def points_of(group: str) -> list[EntryPoint]:
    """The entry points of a group: of ``extensions``, then of installed packages."""
    return [*_own(group, _EXTENSIONS[group]), *entry_points(group=group)]


@cache
def _points() -> dict[str, EntryPoint]:
    """Every entry point by the address of its class."""
    groups = (STRATEGY_GROUP, VALUE_GROUP)
    return {point.value: point for group in groups for point in points_of(group)}


def stored_name(kind: type) -> str | None:
    """The name under which values of a class are stored; None: it is not registered."""
    if kind.__name__ in BUILT_IN and stored_kind(kind.__name__) is kind:
        return kind.__name__
    where = address(kind)
    return where if where in _registered or where in _points() else None


def stored_kind(name: str) -> type:
    """The class that was stored under a name."""
    if name in BUILT_IN:
        return cast("type", getattr(import_module(f"noregret.{BUILT_IN[name]}"), name))
    if name in _registered:
        return _registered[name]
    if name in _points():
        return cast("type", _points()[name].load())
    raise StorageError(
        f"unknown type {name!r} in a stored study: it was written by a newer version of noregret,"
        f" or by a package that is not installed here; install it, or import the module that calls"
        " noregret.strategies.register on it"
    )


def names() -> dict[str, Callable[..., Strategy]]:
    """Every strategy by name, with the extensions and those of installed packages. Loads them."""
    ours = _own(STRATEGY_GROUP, NAMED)
    others = [point for point in points_of(STRATEGY_GROUP) if point.name not in NAMED]
    return {point.name: point.load() for point in [*ours, *others]}


def named(name: str, options: dict[str, Any]) -> Strategy:
    """The strategy of a name with some options set."""
    known = names()
    if not isinstance(name, str) or name not in known:
        raise ConfigurationError(f"there is no strategy {name!r}: choose one of {', '.join(known)}")
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
    ours = stored_name(type(strategy)) in BUILT_IN
    for point in _own(STRATEGY_GROUP, NAMED) if ours else points_of(STRATEGY_GROUP):
        if _makes(point.load(), strategy):
            return point.name
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
