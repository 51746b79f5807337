"""Numbers, times, points and settings as the page shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from noregret.space import Candidates, Space, named_params
from noregret.storage import StudyRecord
from noregret.strategies import (
    AdaptiveGPUCB,
    InsuredGPUCB,
    LogEI,
    RandomSearch,
    Strategy,
    display_name,
    settings_of,
)

NOTHING = "–"  # where there is no value

METHODS: dict[type, str] = {
    InsuredGPUCB: "Standard method",
    AdaptiveGPUCB: "Method with a guarantee",
    LogEI: "Expected improvement",
    RandomSearch: "Random points",
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """The measured quantity as the study's attributes name it, and the units of its parameters."""

    name: str
    unit: str
    units: Mapping[str, str]
    label: str  # of an axis


def quantity(record: StudyRecord) -> Quantity:
    """From the study's attributes ``value_name``, ``unit`` and ``units``, where it has them."""
    name = str(record.attributes.get("value_name") or "value")
    unit, units = str(record.attributes.get("unit") or ""), record.attributes.get("units")
    named = {str(k): str(v) for k, v in units.items()} if isinstance(units, Mapping) else {}
    better = "higher" if record.goal == "maximize" else "lower"
    label = f"{name} ({unit})" if unit else f"{name}, {better} is better"
    return Quantity(name, unit, named, label)


def method(strategy: Strategy) -> str:
    """A strategy's name on the page."""
    if isinstance(strategy, AdaptiveGPUCB) and not strategy.proved:
        return display_name(strategy)
    return METHODS.get(type(strategy)) or display_name(strategy)


def decimals(noise: float | None) -> int | None:
    """The decimal place of the noise's first digit (−1: tens); None if the noise is unknown."""
    if noise is None or not math.isfinite(noise) or noise <= 0:
        return None
    return -math.floor(math.log10(noise))


def measured(value: Any, noise: float | None, more: int = 0, digits: int = 6) -> str:
    """A number rounded to the noise's first digit and ``more`` beyond, with at most ``digits``
    significant digits.
    """
    places = decimals(noise)
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    if places is None or not real or not math.isfinite(value):
        return number(value, digits)
    rounded = round(float(value), places + more)
    shown = f"{rounded + 0.0:.{max(0, places + more)}f}"
    return min(number(float(value), digits), shown.replace("-", "−"), key=len)


def number(value: Any, digits: int = 6) -> str:
    """A number with at most that many digits; other values as text."""
    if value is None:
        return NOTHING
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or (
        math.isfinite(value) and value == int(value) and abs(value) < 10**digits
    ):
        return f"{int(value)}"
    return f"{value:.{digits}g}".replace("-", "−")


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def when(text: str | None) -> str:
    """A UTC time to the minute; the page's script replaces it by the viewer's local time."""
    if not text:
        return NOTHING
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def settings(strategy: Strategy) -> dict[str, str]:
    """The settings of a strategy by name."""
    return {name: str(getattr(strategy, name)) for name in settings_of(type(strategy))}


def shown(space: Space | Candidates, params: Any) -> dict[str, Any]:
    """A point by name, with a dash for parameters that are inactive in its branch."""
    point = named_params(space, params)
    if not isinstance(space, Space) or not space.branches:
        return point
    active = space.active(point)
    return {name: active.get(name, NOTHING) for name in point}


def conditions(space: Space | Candidates) -> dict[str, list[list[Any]]]:
    """For each conditional parameter, the choices and the options under which it is active."""
    branching = space.branching if isinstance(space, Space) else None
    if branching is None:
        return {}
    return {
        owned.name: [[rule.choice, list(rule.options)] for rule in branching.above(owned.name)]
        for owned in branching.owned
    }
