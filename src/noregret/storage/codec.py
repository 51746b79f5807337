"""Spaces and strategies as JSON and back. Nothing is pickled, and nothing is loaded that is not
registered: see ``strategies.registry``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from noregret.errors import StorageError
from noregret.rkhs import BUILT_IN
from noregret.space import Candidates, Satisfies, Space
from noregret.strategies import own_algorithm, settings_of, stored_kind, stored_name

READABLE = 1_000  # designs of a list that a document still holds one by one


def to_json(value: Any) -> Any:
    """Plain JSON values that ``from_json`` turns back into an equal value."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        finite = math.isfinite(value)
        return float(value) if finite else {"type": "float", "value": repr(float(value))}
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, Mapping):
        return {"type": "dict", "items": [[key, to_json(item)] for key, item in value.items()]}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, Candidates):
        return {"type": "Candidates", "rows": [to_json(row) for row in value.rows]}
    if isinstance(value, Satisfies) and not isinstance(value.function, str):
        raise StorageError(
            f"the constraint '{value}' has no import path and cannot be stored: put its function"
            " into a module that every worker can import, and write"
            " Satisfies('module:function'); or keep the study in memory"
        )
    name = stored_name(type(value))
    if name is not None:
        algorithm = own_algorithm(type(value))
        return {
            "type": name,
            **({"algorithm": algorithm} if algorithm else {}),
            **{
                field.name: to_json(getattr(value, field.name))
                for field in dataclasses.fields(value)
                if field.init and not (isinstance(value, Space) and _is_unused(field.name, value))
            },
        }
    if callable(value) and not dataclasses.is_dataclass(value):
        raise StorageError(
            f"a schedule given as a Python callable ({value!r}) cannot be stored: use a built-in"
            f" one, {BUILT_IN}, or keep the study in memory"
        )
    raise StorageError(
        f"{value!r} cannot be stored: its class is not registered. Use a built-in one, register"
        " yours (noregret.strategies.register, or an entry point), or keep the study in memory"
    )


def described(space: Space | Candidates) -> Any:
    """A space for a reader: of a list too long to read its size and the ranges of its columns."""
    if isinstance(space, Candidates) and len(space) > READABLE:
        ranges = {name: to_json(parameter) for name, parameter in space.parameters.items()}
        return {"type": "Candidates", "designs": len(space), "columns": ranges}
    return to_json(space)


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
    if not isinstance(kind, str):
        raise StorageError(f"a stored study holds {data!r}, which names no type: it is damaged")
    made = stored_kind(kind)
    fields = {key: from_json(item) for key, item in data.items() if key != "type"}
    if "algorithm" not in settings_of(made):  # it goes on by today's rule: ``study.algorithms``
        fields.pop("algorithm", None)
    if made is Space or made is Satisfies:
        return made.stored(**fields)
    return made(**fields)


def _is_unused(name: str, space: Space) -> bool:
    """A box without constraints is written as it always was."""
    return name == "constraints" and not space.constraints
