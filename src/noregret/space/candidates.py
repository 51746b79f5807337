"""A finite list of designs. Its columns are arrays, read from arrays, frames and files without an
object per row.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.errors import MissingExtraError, SpaceError
from noregret.space.array import Array, Indices, Mask, RowIndex, nearest_rows
from noregret.space.parameters import LARGEST_INT, Choice, Float, Parameter
from noregret.space.space import Params, SearchSpace, Space

SHOWN = 10  # designs up to which repr prints all
LARGEST = 2**29  # numbers in a list's encoding: 4 GiB
BLOCK = 8_192  # designs that are encoded at once
LINES = 16_384  # lines of a CSV file that are read at once


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Numbers, or codes of ``options``; an array of objects where the kinds of values are mixed."""

    values: NDArray[Any]
    options: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> Any:
        value = self.values[index]
        plain = value.item() if isinstance(value, np.generic) else value
        return plain if self.options is None else self.options[plain]

    def tolist(self) -> list[Any]:
        """The values as plain Python objects."""
        listed = self.values.tolist()
        return listed if self.options is None else [self.options[code] for code in listed]

    def take(self, rows: Indices | slice) -> Column:
        """The column of some designs."""
        return Column(self.values[rows], self.options)

    def same(self, other: Column) -> bool:
        """Whether the values are equal, in equal order."""
        return self.options == other.options and np.array_equal(self.values, other.values)

    def parameter(self) -> Parameter:
        """The parameter that has these values."""
        if self.options is not None:
            return Choice(self.options)
        is_mixed = self.values.dtype == np.dtype(object)
        if is_mixed and not _are_numbers(set(map(type, self.values))):
            return Choice(list(dict.fromkeys(self.values)))
        low, high = float(self.values.min()), float(self.values.max())
        return Float(low, high) if low < high else Choice([self[0]])

    def encode(self, parameter: Parameter) -> Array:
        """(n, width), to the bit what ``parameter.encode`` gives for each value."""
        if isinstance(parameter, Float):
            scaled = self.values.astype(np.float64) / parameter.span
            return np.asarray(scaled - parameter.low / parameter.span)[:, None]
        if parameter.width == 0:
            return np.empty((len(self), 0))
        if self.options is None:
            return np.array([parameter.encode(value) for value in self.values])
        return parameter.levels()[self.values]


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
                f"{count} designs with {box.dimension} coordinates do not fit into memory: leave"
                f" out {widest!r}, or describe it by numbers"
            )
        encoded = np.empty((count, box.dimension))
        for first in range(0, count, BLOCK):
            rows = slice(first, first + BLOCK)
            for name, place in box.slices.items():
                encoded[rows, place] = columns[name].take(rows).encode(box.parameters[name])
        keep = np.arange(count) if distinct else RowIndex(encoded).firsts()
        if len(keep) < count:
            columns = {name: column.take(keep) for name, column in columns.items()}
            encoded = encoded[keep]
        self.columns, self.vector, self.parameters = columns, vector, box.parameters
        self._box, self._encoded = box, encoded

    def __len__(self) -> int:
        return len(self._encoded)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Candidates):
            return self is other
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
        positions = self.find(U)
        left = np.flatnonzero(positions < 0)
        positions[left] = nearest_rows(U[left], self._encoded)
        return positions

    def encode(self, params: Any) -> Array:
        """The coordinates of a listed design."""
        u = self._box.encode(params)
        if self.find(u[None, :])[0] < 0:
            raise SpaceError(
                f"{params!r} is not one of the {len(self)} candidates: give a listed design"
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

    def _design(self, values: Sequence[Any]) -> Any:
        return tuple(values) if self._vector else dict(zip(self._columns, values, strict=True))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        return self._design([column[index] for column in self._columns.values()])

    def __iter__(self) -> Iterator[Any]:
        columns = [column.tolist() for column in self._columns.values()]
        return map(self._design, zip(*columns, strict=True))

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
    if isinstance(space, (np.ndarray, Sequence)) and not isinstance(space, str):
        return Space.from_bounds(list(space))
    raise SpaceError(
        "a space is a Space, Candidates, a dict of parameters or a list of (low, high) pairs, got"
        f" {space!r}"
    )


# -- where the columns come from --


def column_of(name: str, values: Any) -> Column:
    """A column of plain numbers, texts, bools or None."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise SpaceError(f"column {name!r} must have one value per design, got {values.shape}")
        if values.dtype.kind == "f":
            return _finite(name, values.astype(np.float64))
        if values.dtype.kind in "iu" and values.dtype != np.uint64:
            if len(values) and max(values.max(), -values.min()) > LARGEST_INT:
                raise _not_finite(name)
            return Column(values.astype(np.int64))
        if values.dtype.kind not in "ObUu":
            raise SpaceError(f"column {name!r} holds {values.dtype}: give numbers, texts or bools")
        values = values.tolist()
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = set(map(type, values))
    if _are_numbers(kinds) and any(isinstance(v, int) and abs(v) > LARGEST_INT for v in values):
        raise _not_finite(name)
    if float in kinds and any(isinstance(v, float) and not math.isfinite(v) for v in values):
        raise _not_finite(name)
    if kinds in ({int}, {float}):
        return Column(np.array(values, dtype=np.int64 if int in kinds else np.float64))
    if len(kinds) > 1 or not kinds <= {str, bool, type(None)}:
        mixed = np.empty(len(values), dtype=object)
        mixed[:] = values
        return Column(mixed)
    code_of = {option: code for code, option in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(code_of.__getitem__, values), dtype=np.int32, count=len(values))
    return Column(codes, tuple(code_of))


def _are_numbers(kinds: Set[type]) -> bool:
    return all(issubclass(kind, (int, float)) and kind is not bool for kind in kinds)


def _finite(name: str, values: Array) -> Column:
    if not np.isfinite(values).all():
        raise _not_finite(name)
    return Column(values)


def _not_finite(name: str) -> SpaceError:
    return SpaceError(
        f"column {name!r} holds a value that is not finite, or a whole number beyond ±2^53: drop"
        " those rows, or write such numbers as text"
    )


def read_columns(rows: Any) -> tuple[dict[str, Column], bool]:
    """The columns of whatever was given as a list of designs, and whether a design is a row of
    numbers without names.
    """
    if isinstance(rows, (str, os.PathLike)):
        return _read_file(Path(rows)), False
    if isinstance(rows, Mapping):
        columns = {name: column_of(name, values) for name, values in rows.items()}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise SpaceError(f"the columns of the candidates differ in length: {lengths!r}")
        return columns, False
    if isinstance(rows, np.ndarray):
        if rows.dtype.names:
            return {name: column_of(name, rows[name]) for name in rows.dtype.names}, False
        rows = rows[:, None] if rows.ndim == 1 else np.atleast_2d(rows)
        if rows.dtype.kind in "fiu" and rows.size:
            return _of_numbers(rows.astype(np.float64)), True
        rows = rows.tolist()
    elif hasattr(rows, "columns") and hasattr(rows, "__getitem__"):  # pandas, Polars
        return {name: column_of(name, rows[name].to_numpy()) for name in rows.columns}, False
    return _of_rows(list(rows))


def _of_numbers(table: Array) -> dict[str, Column]:
    named = ((f"x{i}", np.ascontiguousarray(values)) for i, values in enumerate(table.T))
    return {name: _finite(name, values) for name, values in named}


def _of_rows(rows: list[Any]) -> tuple[dict[str, Column], bool]:
    if not rows:
        return {}, False
    first = rows[0]
    if not isinstance(first, Mapping):
        return _of_numbers(_table(rows)), True
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping) or row.keys() != first.keys():
            raise SpaceError(f"candidate {index} must have the keys {sorted(first)!r}, got {row!r}")
    return {name: column_of(name, [row[name] for row in rows]) for name in first}, False


def _table(rows: list[Any]) -> Array:
    table, width = [], len(list(rows[0]))
    for index, row in enumerate(rows):
        try:
            table.append([float(v) for v in row])
        except (TypeError, ValueError):
            raise SpaceError(
                f"candidate {index} must be a row of numbers, got {row!r}: use dicts for texts"
            ) from None
        if len(table[-1]) != width:
            raise SpaceError(f"candidate {index} has {len(table[-1])} numbers, not {width}")
    return np.array(table).reshape(len(rows), width)


def _read_file(path: Path) -> dict[str, Column]:
    try:
        if path.suffix == ".parquet":
            return _read_parquet(path)
        if path.suffix == ".csv":
            return _read_csv(path)
    except OSError as error:
        raise SpaceError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SpaceError(f"{path} is not a text file (UTF-8)") from None
    raise SpaceError(f"{path} must end in .csv or .parquet: that says how to read it")


def _read_parquet(path: Path) -> dict[str, Column]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError:
        raise MissingExtraError(
            "a Parquet file needs pyarrow: install it with `pip install noregret[frame]`"
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            return {
                name: column_of(name, file.read(columns=[name]).column(0).to_numpy())
                for name in file.schema_arrow.names
            }
    except ArrowInvalid as error:
        raise SpaceError(f"cannot read {path}: {error}") from None


def _read_csv(path: Path, texts: Set[str] = frozenset()) -> dict[str, Column]:
    """Names first; a column is one of whole numbers or of numbers if every word in it is one.

    texts: columns that are known to hold other words.
    """
    pieces: dict[str, list[NDArray[Any]]] = {}
    for names, block in _blocks(path):
        for name, words in zip(names, zip(*block, strict=True), strict=True):
            pieces.setdefault(name, []).append(_parsed(words, name in texts))
    is_text = {name: [isinstance(part[0], str) for part in parts] for name, parts in pieces.items()}
    late = {name for name, each in is_text.items() if any(each) and not all(each)}
    if late:  # read as numbers so far: once more from the start
        return _read_csv(path, texts | late)
    return {name: column_of(name, np.concatenate(parts)) for name, parts in pieces.items()}


def _blocks(path: Path) -> Iterator[tuple[list[str], list[list[str]]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = (row for row in csv.reader(file) if row)
        names = [name.strip() for name in next(reader, [])]
        if len(set(names)) < len(names):
            raise SpaceError(f"{path} names a column twice: {names!r}")
        empty = True
        while block := list(islice(reader, LINES)):
            empty = False
            for row in block:
                if len(row) != len(names):
                    raise SpaceError(
                        f"{path}: {','.join(row)!r} has {len(row)} values, not {len(names)}"
                    )
            yield names, block
        if empty:
            raise SpaceError(f"{path} needs a line of names and at least one line of values")


def _parsed(words: Sequence[str], as_text: bool) -> NDArray[Any]:
    """The words as whole numbers, else as numbers, else as they are."""
    if not as_text:
        for kind, dtype in ((int, np.int64), (float, np.float64)):
            try:
                return np.fromiter(map(kind, words), dtype=dtype, count=len(words))
            except ValueError:
                continue
            except OverflowError:
                return np.array(list(map(int, words)), dtype=object)
    return np.array([word.strip() for word in words], dtype=object)
