"""Numbers, points, times and strategies as people read them."""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime
from typing import Any

import numpy as np

from noregret.strategies import AdaptiveGPUCB, Strategy
from noregret.trials import Trial


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


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def point(trial: Trial | Any, names: list[str]) -> dict[str, Any]:
    """A trial's point by input, whatever form the study gives it."""
    params = trial.params if isinstance(trial, Trial) else trial
    if isinstance(params, (np.ndarray, list, tuple)):
        return dict(zip(names, (float(value) for value in params), strict=True))
    return dict(params)


def when(text: str | None) -> str:
    """A UTC time to the minute."""
    if not text:
        return "–"
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def strategy_name(strategy: Strategy) -> str:
    """Its class, or the preset it equals."""
    if isinstance(strategy, AdaptiveGPUCB) and strategy.guarantee:
        return "AdaptiveGPUCB, rigorous"
    return type(strategy).__name__


def settings(strategy: Strategy) -> dict[str, str]:
    names = [field.name for field in dataclasses.fields(strategy)]  # type: ignore[arg-type]
    return {name: str(getattr(strategy, name)) for name in names}
