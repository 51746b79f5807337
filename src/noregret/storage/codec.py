"""Spaces and strategies as JSON and back. Nothing is pickled, and nothing is loaded that is not
listed here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from noregret.classes import (
    BUILT_IN,
    AnchoredReference,
    ConstantGrowth,
    LogGrowth,
    MinimumStd,
    NoWidening,
    PowerGrowth,
    PowerReference,
    ReferenceRegret,
    Schedule,
    Stagnation,
)
from noregret.errors import StorageError
from noregret.gp import HMC, MAP, Gamma, LogNormal, Matern, SquaredExponential
from noregret.space import Candidates, Choice, Float, Int, Space
from noregret.strategies import (
    GPUCB,
    LBGPUCB,
    AdaptiveGPUCB,
    LogEI,
    MarginalGPUCB,
    MinimumUncertainty,
    RandomSearch,
)

KNOWN: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        Float,
        Int,
        Choice,
        Space,
        Candidates,
        SquaredExponential,
        Matern,
        Gamma,
        LogNormal,
        MAP,
        HMC,
        ConstantGrowth,
        LogGrowth,
        PowerGrowth,
        NoWidening,
        Schedule,
        ReferenceRegret,
        MinimumStd,
        Stagnation,
        PowerReference,
        AnchoredReference,
        AdaptiveGPUCB,
        GPUCB,
        LBGPUCB,
        MarginalGPUCB,
        MinimumUncertainty,
        RandomSearch,
        LogEI,
    )
}


def to_json(value: Any) -> Any:
    """Plain JSON values that ``from_json`` turns back into an equal value."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        return (
            float(value) if math.isfinite(value) else {"type": "float", "value": repr(float(value))}
        )
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, Mapping):
        return {"type": "dict", "items": [[key, to_json(item)] for key, item in value.items()]}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if type(value).__name__ in KNOWN and KNOWN[type(value).__name__] is type(value):
        fields = {
            field.name: to_json(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.init
        }
        return {"type": type(value).__name__, **fields}
    if callable(value) and not dataclasses.is_dataclass(value):
        raise StorageError(
            f"a schedule given as a Python callable ({value!r}) cannot be stored: use a built-in"
            f" one, {BUILT_IN}, or keep the study in memory"
        )
    raise StorageError(
        f"{value!r} cannot be stored: a stored study takes the built-in kernels, widenings and"
        " strategies only; keep the study in memory"
    )


def from_json(data: Any) -> Any:
    """The value that ``to_json`` was given."""
    if isinstance(data, list):
        return tuple(from_json(item) for item in data)
    if not isinstance(data, dict):
        return data
    kind = data.get("type")
    if kind == "float":
        return float(data["value"])
    if kind == "dict":
        return {key: from_json(item) for key, item in data["items"]}
    if kind not in KNOWN:
        raise StorageError(
            f"unknown type {kind!r} in a stored study: it was written by a newer version of"
            " noregret, or by something else"
        )
    return KNOWN[kind](**{key: from_json(item) for key, item in data.items() if key != "type"})
