"""A finite list of designs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.errors import SpaceError
from noregret.space.array import Array
from noregret.space.box import Space
from noregret.space.parameters import LARGEST_INT, Choice, Float, Parameter, is_finite
from noregret.space.search_space import Params, nearest_rows


@dataclass(frozen=True, slots=True)
class Candidates:
    """A finite list of designs, such as a laboratory's catalogue: dicts with equal keys, or rows of
    numbers.

    Columns of numbers are scaled to the unit interval by their range, other columns are treated as
    ``Choice``. Equal rows are one design.
    """

    rows: tuple[Any, ...]
    _box: Space = field(init=False, repr=False, compare=False)
    _encoded: Array = field(init=False, repr=False, compare=False)

    def __init__(self, rows: Any) -> None:
        if isinstance(rows, np.ndarray):
            rows = np.atleast_2d(rows).tolist() if rows.ndim != 1 else rows[:, None].tolist()
        elif hasattr(rows, "to_dict"):
            rows = rows.to_dict("records")  # a pandas DataFrame
        listed = list(rows)
        if not listed:
            raise SpaceError("Candidates needs at least one row, got none")
        vector = not isinstance(listed[0], Mapping)
        table = [_row(row, listed[0], index, vector) for index, row in enumerate(listed)]
        box = Space(
            {name: _column(name, [row[name] for row in table]) for name in table[0]}, vector=vector
        )
        encoded = np.array(
            [
                [v for name, p in box.parameters.items() for v in p.encode(row[name])]
                for row in table
            ]
        ).reshape(len(table), box.dimension)
        _, first = np.unique(encoded, axis=0, return_index=True)
        keep = np.sort(first)
        object.__setattr__(
            self, "rows", tuple(tuple(table[i].values()) if vector else table[i] for i in keep)
        )
        object.__setattr__(self, "_box", box)
        object.__setattr__(self, "_encoded", encoded[keep])

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The columns."""
        return self._box.parameters

    @property
    def dimension(self) -> int:
        return self._box.dimension

    @property
    def continuous(self) -> NDArray[np.bool_]:
        return np.zeros(self.dimension, dtype=np.bool_)

    @property
    def movable(self) -> NDArray[np.bool_]:
        return self.continuous

    def _nearest(self, U: Array) -> NDArray[np.intp]:
        return nearest_rows(U, self._encoded)

    def encode(self, params: Any) -> Array:
        u = self._box.encode(params)
        match = np.flatnonzero(np.all(self._encoded == u, axis=1))
        if len(match) == 0:
            raise SpaceError(
                f"{params!r} is not one of the {len(self.rows)} candidates: only listed designs can"
                " be evaluated or added"
            )
        return u

    def normal(self, params: Any) -> Params:
        return self.decode(self.encode(params))

    def decode(self, u: Array) -> Params:
        row = self.rows[int(self._nearest(np.asarray(u, dtype=np.float64)[None, :])[0])]
        return dict(row) if isinstance(row, Mapping) else np.array(row, dtype=np.float64)

    def snap(self, U: Array) -> Array:
        return self._encoded[self._nearest(np.asarray(U, dtype=np.float64))]

    def jumps(self, u: Array) -> Array:
        return self._encoded[~np.all(self._encoded == u, axis=1)]

    def enumeration(self) -> Array:
        return self._encoded


def _row(row: Any, first: Any, index: int, vector: bool) -> dict[str, Any]:
    if vector:
        try:
            values = [float(v) for v in row]
        except (TypeError, ValueError):
            raise SpaceError(
                f"candidate {index} must be a row of numbers like the first, got {row!r}: use dicts"
                " for named or categorical columns"
            ) from None
        if len(values) != len(list(first)):
            raise SpaceError(
                f"candidate {index} has {len(values)} numbers, the first has {len(list(first))}"
            )
        return {f"x{i}": v for i, v in enumerate(values)}
    if not isinstance(row, Mapping) or set(row) != set(first):
        raise SpaceError(f"candidate {index} must have the keys {sorted(first)!r}, got {row!r}")
    return {
        name: row[name].item() if isinstance(row[name], np.generic) else row[name] for name in first
    }


def _column(name: str, values: list[Any]) -> Parameter:
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        if not all(
            is_finite(v) and (isinstance(v, float) or abs(v) <= LARGEST_INT) for v in values
        ):
            raise SpaceError(
                f"column {name!r} of the candidates holds a value that is not finite, or a whole"
                " number beyond ±2^53: drop or repair those rows, or write such numbers as text"
            )
        if min(values) < max(values):
            return Float(min(values), max(values))
        return Choice([values[0]])
    return Choice(list(dict.fromkeys(values)))


def as_space(space: Any) -> Space | Candidates:
    """A space from what users write: a Space, Candidates, a dict of parameters, or ``(low, high)``
    pairs.
    """
    if isinstance(space, (Space, Candidates)):
        return space
    if isinstance(space, Mapping):
        return Space(space)
    if isinstance(space, np.ndarray) or (
        isinstance(space, Sequence) and not isinstance(space, str)
    ):
        return Space.from_bounds(list(space))
    raise SpaceError(
        "a space is a Space, Candidates, a dict of parameters or a list of (low, high) pairs, got"
        f" {space!r}"
    )
