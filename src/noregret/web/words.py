"""Numbers, times and settings as people read them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from noregret.space import Candidates, Space, named_params
from noregret.strategies import (
    AdaptiveGPUCB,
    InsuredGPUCB,
    LogEI,
    RandomSearch,
    Strategy,
    display_name,
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
    """What a study measures, in the words of the person who runs it. units: of its inputs."""

    name: str
    unit: str
    units: Mapping[str, str]
    better: str

    @property
    def label(self) -> str:
        """For an axis."""
        return f"{self.name} ({self.unit})" if self.unit else f"{self.name}, {self.better}"


def quantity(study: Any) -> Quantity:
    """From the study's attributes ``value_name``, ``unit`` and ``units``, where it has them."""
    given = getattr(study, "attributes", None) or {}
    units = given.get("units")
    listed = units if isinstance(units, Mapping) else {}
    return Quantity(
        str(given.get("value_name") or "value"),
        str(given.get("unit") or ""),
        {str(name): str(unit) for name, unit in listed.items()},
        f"{'higher' if study.goal == 'maximize' else 'lower'} is better",
    )


def method(strategy: Strategy) -> str:
    """A strategy as its person would call it."""
    if isinstance(strategy, AdaptiveGPUCB) and not strategy.proved:
        return display_name(strategy)
    return METHODS.get(type(strategy)) or display_name(strategy)


def decimals(noise: float | None) -> int | None:
    """The place of the noise's first digit: -1 stands for tens. None: nothing is known of it."""
    if noise is None or not math.isfinite(noise) or noise <= 0:
        return None
    return -math.floor(math.log10(noise))


def measured(value: Any, noise: float | None, more: int = 0, digits: int = 6) -> str:
    """A number to the noise's first digit, and ``more`` beyond; never with more than ``digits``
    significant ones, or than it has.
    """
    places = decimals(noise)
    if places is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return number(value, digits)
    if not math.isfinite(value):
        return number(value, digits)
    rounded = round(float(value), places + more)
    shown = f"{rounded + 0.0:.{max(0, places + more)}f}"
    return min(number(float(value), digits), shown.replace("-", "−"), key=len)


def number(value: Any, digits: int = 6) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or (
        math.isfinite(value) and value == int(value) and abs(value) < 10**digits
    ):
        return f"{int(value)}"
    return f"{value:.{digits}g}".replace("-", "−")


def progress_note(upper: Sequence[float | None], failed: int) -> str:
    """What the drawing of the values shows, and nothing that it does not."""
    said = "Dots are values, the line is the best so far."
    if failed:
        said += " Crosses are failures."
    if any(end is not None for end in upper):
        said += (
            " In the shaded band the method itself expected the best value, step by step; the box"
            " above says what it cannot exclude."
        )
    return said


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def when(text: str | None) -> str:
    """A UTC time to the minute; the page's script puts the viewer's own in its place."""
    if not text:
        return "–"
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def settings(strategy: Strategy) -> dict[str, str]:
    names = [field.name for field in dataclasses.fields(strategy)]  # type: ignore[arg-type]
    return {name: str(getattr(strategy, name)) for name in names}


def shown(space: Space | Candidates, params: Any) -> dict[str, Any]:
    """A point by name; an input that does not exist in its branch has a dash for a value."""
    point = named_params(space, params)
    if not isinstance(space, Space) or not space.branches:
        return point
    active = space.active(point)
    return {name: active.get(name, NOTHING) for name in point}


def conditions(space: Space | Candidates) -> dict[str, list[list[Any]]]:
    """Of each input that does not always exist: choices and the options for which it does."""
    branching = space.branching if isinstance(space, Space) else None
    if branching is None:
        return {}
    return {
        each.name: [[above.choice, list(above.options)] for above in branching.above(each.name)]
        for each in branching.owned
    }
