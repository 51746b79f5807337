"""A finite list of designs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import Array, Indices, Mask, RowIndex, first_of_each, nearest_rows
from noregret.space.space import Params, SearchSpace, Space
from noregret.space.tables import Column, read_columns

SHOWN = 10  # designs up to which repr prints all
LARGEST = 2**29  # numbers in a list's encoding: 4 GiB
BLOCK = 8_192  # designs that are encoded at once


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Candidates(SearchSpace):
    """A finite list of designs, such as a laboratory's catalogue.

    Columns of numbers are scaled to the unit interval by their range; other columns are treated as
    ``Choice``. Equal rows are one design. ``columns`` holds the values as arrays; ``rows`` builds a
    design when it is read, as a list may have millions.

    Args:
        rows: Dicts with equal keys, rows of numbers, an array, a DataFrame, columns by name, or the
            path of a CSV or Parquet file.

    Raises:
        SpaceError: There is no row, or the rows do not fit together.
    """

    columns: dict[str, Column]
    vector: bool  # a design is a row of numbers without names
    _box: Space = field(init=False)
    _encoded: Array = field(init=False)

    def __init__(self, rows: Any) -> None:
        columns, vector = read_columns(rows)
        if not columns or not len(next(iter(columns.values()))):
            raise SpaceError("Candidates needs at least one row, got none")
        self._fill(columns, vector, distinct=False)

    @staticmethod
    def of_columns(columns: dict[str, Column], vector: bool) -> Candidates:
        """Candidates from the columns of another list, whose rows are distinct."""
        candidates = object.__new__(Candidates)
        candidates._fill(columns, vector, distinct=True)
        return candidates

    def _fill(self, columns: dict[str, Column], vector: bool, *, distinct: bool) -> None:
        box = Space({name: column.parameter() for name, column in columns.items()}, vector=vector)
        count = len(next(iter(columns.values())))
        if count * box.dimension > LARGEST:
            widest = max(box.parameters, key=lambda name: box.parameters[name].width)
            raise SpaceError(
                f"{count} designs with {box.dimension} coordinates do not fit into memory: every"
                f" text of a column takes one; leave out {widest!r}, or give numbers that describe"
                " it"
            )
        encoded = np.empty((count, box.dimension))
        for first in range(0, count, BLOCK):
            rows = slice(first, first + BLOCK)
            for name, place in box.slices.items():
                encoded[rows, place] = columns[name].take(rows).encode(box.parameters[name])
        keep = None if distinct else first_of_each(encoded)
        if keep is not None and len(keep) < count:
            columns = {name: column.take(keep) for name, column in columns.items()}
            encoded = encoded[keep]
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "vector", vector)
        object.__setattr__(self, "_box", box)
        object.__setattr__(self, "parameters", box.parameters)
        object.__setattr__(self, "_encoded", encoded)

    def __len__(self) -> int:
        return len(self._encoded)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Candidates):
            return NotImplemented
        return (
            len(self) == len(other)
            and self.vector == other.vector
            and self.columns.keys() == other.columns.keys()
            and all(column.same(other.columns[name]) for name, column in self.columns.items())
        )

    def __hash__(self) -> int:
        return hash((len(self), self.vector, frozenset(self.columns)))

    def __repr__(self) -> str:
        if len(self) <= SHOWN:
            return f"Candidates(rows={tuple(self.rows)!r})"
        return f"<Candidates: {len(self)} designs, columns {', '.join(self.columns)}>"

    @property
    def rows(self) -> Designs:
        """The designs, each built when it is read."""
        return Designs(self.columns, self.vector)

    @property
    def continuous(self) -> Mask:
        """No coordinate moves freely."""
        return np.zeros(self.dimension, dtype=np.bool_)

    @property
    def movable(self) -> Mask:
        """No ascent moves a coordinate."""
        return self.continuous

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex(self._encoded)

    def find(self, U: Array) -> Indices:
        """The positions of encoded designs, −1 for rows that are not listed."""
        return self._index.find(U)

    def spread(self, most: int) -> Indices:
        """Positions of at most ``most`` designs, evenly through the list, for a picture."""
        if len(self) <= most:
            return np.arange(len(self))
        return np.linspace(0, len(self) - 1, most).astype(np.intp)

    def _nearest(self, U: Array) -> Indices:
        found = self.find(U)
        left = np.flatnonzero(found < 0)
        found[left] = nearest_rows(U[left], self._encoded)
        return found

    def encode(self, params: Any) -> Array:
        """The coordinates of a listed design."""
        u = self._box.encode(params)
        if self.find(u[None, :])[0] < 0:
            raise SpaceError(
                f"{params!r} is not one of the {len(self)} candidates: only listed designs can"
                " be evaluated or added"
            )
        return u

    def canonical(self, params: Any) -> Params:
        """The listed design that a point is."""
        return self.decode(self.encode(params))

    def decode(self, u: Array) -> Params:
        """The design nearest to coordinates."""
        row = self.rows[int(self._nearest(np.asarray(u, dtype=np.float64)[None, :])[0])]
        return dict(row) if isinstance(row, Mapping) else np.array(row, dtype=np.float64)

    def snap(self, U: Array) -> Array:
        """The design nearest to each row."""
        return self._encoded[self._nearest(np.asarray(U, dtype=np.float64))]

    def jumps(self, u: Array) -> Array:
        """All other designs."""
        return self._encoded[~np.all(self._encoded == u, axis=1)]

    def enumeration(self) -> Array:
        """All designs, encoded."""
        return self._encoded


class Designs(Sequence[Any]):
    """The designs of a list: dicts, or tuples of numbers."""

    def __init__(self, columns: Mapping[str, Column], vector: bool) -> None:
        self._columns, self._vector = columns, vector

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        values = [column[index] for column in self._columns.values()]
        return tuple(values) if self._vector else dict(zip(self._columns, values, strict=True))

    def __iter__(self) -> Iterator[Any]:
        listed = zip(*(column.tolist() for column in self._columns.values()), strict=True)
        return (
            listed if self._vector else (dict(zip(self._columns, v, strict=True)) for v in listed)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} designs, columns {', '.join(self._columns)}>"


def as_space(space: Any) -> Space | Candidates:
    """A space from what users write.

    Args:
        space: A Space, Candidates, a dict of parameters, or a list of ``(low, high)`` pairs.

    Raises:
        SpaceError: It is none of these.
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
