"""Numbers, times and settings as people read them."""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime
from typing import Any

from noregret.strategies import Strategy


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


def when(text: str | None) -> str:
    """A UTC time to the minute."""
    if not text:
        return "–"
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def settings(strategy: Strategy) -> dict[str, str]:
    names = [field.name for field in dataclasses.fields(strategy)]  # type: ignore[arg-type]
    return {name: str(getattr(strategy, name)) for name in names}
