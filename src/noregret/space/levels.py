"""What all parameters share: how one is written, and to which of its levels a search jumps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


def written(parameter: Any, usual: Mapping[str, Any]) -> str:
    """As it is typed, without what is as usual."""
    shown = [each.name for each in fields(parameter) if each.repr]
    pairs = ((name, getattr(parameter, name)) for name in shown)
    given = (f"{name}={value!r}" for name, value in pairs if usual.get(name, ...) != value)
    return f"{type(parameter).__name__}({', '.join(given)})"


def around(size: float, index: int) -> NDArray[np.intp]:
    """Levels to jump to: all of a few; of many one and a few steps either way, and jumps across."""
    if size <= 16:
        return np.arange(int(size))
    steps = np.unique(np.geomspace(1, size - 1, 8).astype(int))
    near: NDArray[np.intp] = np.unique(
        np.clip(np.concatenate([index - steps, index + steps]), 0, int(size) - 1)
    )
    return near
