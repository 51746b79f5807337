"""Points and coordinates by name, as people and documents show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from noregret.space.box import Space
from noregret.space.candidates import Candidates
from noregret.space.choice import Choice


def named_params(space: Space | Candidates, params: Any) -> dict[str, Any]:
    """A point of a space by name in plain values, whether it is a dict or a row of numbers."""
    values = (
        [params[name] for name in space.parameters] if isinstance(params, Mapping) else list(params)
    )
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in zip(space.parameters, values, strict=True)
    }


def coordinate_names(space: Space | Candidates) -> list[str]:
    """A name per coordinate of the unit cube: a choice of three has three."""
    return [
        f"{name}={parameter.options[index]}"
        if isinstance(parameter, Choice) and parameter.width > 1
        else name
        for name, parameter in space.parameters.items()
        for index in range(parameter.width)
    ]
