"""Numbers, times and points as the page shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from noregret.diagnostics.presentation import format_number
from noregret.space import Candidates, Float, Space, named_params
from noregret.space.parameters import decimal_places
from noregret.storage import StudyRecord
from noregret.strategies import Strategy, display_name

NOTHING = "–"  # where there is no value

METHODS = {  # by a strategy's name; others are shown by that name
    "insured": "Standard method",
    "log-ei": "Expected improvement",
    "random": "Random points",
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """The measured quantity as the study's attributes name it, and the units of its parameters."""

    name: str
    unit: str
    units: Mapping[str, str]
    label: str  # of an axis

    @staticmethod
    def of(record: StudyRecord) -> Quantity:
        """From the attributes ``value_name``, ``unit`` and ``units``, where the study has them."""
        name = str(record.attributes.get("value_name") or "value")
        unit, units = str(record.attributes.get("unit") or ""), record.attributes.get("units")
        named = {str(k): str(v) for k, v in units.items()} if isinstance(units, Mapping) else {}
        better = "higher" if record.goal == "maximize" else "lower"
        label = f"{name} ({unit})" if unit else f"{name}, {better} is better"
        return Quantity(name, unit, named, label)


def method(strategy: Strategy) -> str:
    """A strategy's name on the page."""
    name = display_name(strategy)
    return "Method with a guarantee" if strategy.proved else METHODS.get(name, name)


def decimals(noise: float | None) -> int | None:
    """The decimal place of the noise's first digit (−1: tens); None if the noise is unknown."""
    if noise is None or not math.isfinite(noise) or noise <= 0:
        return None
    return -math.floor(math.log10(noise))


def format_value(value: Any, digits: int = 6) -> str:
    """A number with at most that many significant digits; other values as text."""
    if isinstance(value, float):  # + 0.0: no −0
        return format_number(value + 0.0, digits).replace("-", "−")
    return NOTHING if value is None else str(value)


def format_measured(
    value: float | None, noise: float | None, more: int = 0, digits: int = 6
) -> str:
    """A number rounded to the noise's first digit and ``more`` beyond, with at most ``digits``
    significant digits.
    """
    places = decimals(noise)
    if places is None or value is None or not math.isfinite(value):
        return format_value(value, digits)
    rounded = round(float(value), places + more) + 0.0  # + 0.0: no −0
    text = f"{rounded:.{max(0, places + more)}f}".replace("-", "−")
    return min(format_value(float(value), digits), text, key=len)


def format_time(text: str | None) -> str:
    """A UTC time to the minute; the page's script replaces it by the viewer's local time."""
    if not text:
        return NOTHING
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def active_point(space: Space | Candidates, params: Any) -> dict[str, Any]:
    """A point by name: with the decimals of an input's step, and a dash for parameters that are
    inactive in its branch.
    """
    point = named_params(space, params)
    for name, parameter in space.parameters.items():
        value = point[name]
        if isinstance(parameter, Float) and isinstance(value, float) and parameter.size < math.inf:
            step = parameter.resolution or 1.0
            places = max(decimal_places(step), decimal_places(parameter.low))
            if abs(round(value, places) - value) < 1e-9 * step:  # what was run may lie between
                point[name] = f"{value:.{places}f}".replace("-", "−")
    if not isinstance(space, Space) or not space.branches:
        return point
    active = space.active(point)
    return {name: active.get(name, NOTHING) for name in point}


def conditions(space: Space | Candidates) -> dict[str, list[list[Any]]]:
    """For each conditional parameter, the choices and the options under which it is active."""
    if not isinstance(space, Space) or space.branching is None:
        return {}
    above = {owned.name: space.branching.above(owned.name) for owned in space.branching.owned}
    return {
        name: [[rule.choice, list(rule.options)] for rule in rules] for name, rules in above.items()
    }
