"""The columns of a list of designs, as arrays: from arrays, frames and files, without an object per
row.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.errors import MissingExtraError, SpaceError
from noregret.space.array import Array, Indices
from noregret.space.parameters import LARGEST_INT, Choice, Float, Parameter

LINES = 16_384  # of a CSV file that are read at once
NUMBERS = (int, float)


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
        listed = self.values.tolist()
        return listed if self.options is None else [self.options[code] for code in listed]

    def take(self, rows: Indices | slice) -> Column:
        return Column(self.values[rows], self.options)

    def same(self, other: Column) -> bool:
        """Equal values in equal order."""
        if self.options == other.options and self.values.dtype != np.dtype(object):
            return np.array_equal(self.values, other.values)
        return self.tolist() == other.tolist()

    @property
    def numeric(self) -> bool:
        if self.options is not None:
            return False
        return self.values.dtype != np.dtype(object) or _numbers(set(map(type, self.values)))

    def parameter(self) -> Parameter:
        if self.options is not None:
            return Choice(self.options)
        if not self.numeric:
            return Choice(list(dict.fromkeys(self.values)))
        low, high = float(self.values.min()), float(self.values.max())
        return Float(low, high) if low < high else Choice([self[0]])

    def encode(self, parameter: Parameter) -> Array:
        """(n, width), to the bit what ``parameter.encode`` gives for each value."""
        if isinstance(parameter, Float):
            span = parameter.high - parameter.low
            encoded = self.values.astype(np.float64)
            encoded /= span
            encoded -= parameter.low / span
            return encoded[:, None]
        if parameter.width == 0:
            return np.empty((len(self), 0))
        if self.options is None:
            return np.array([parameter.encode(value) for value in self.values])
        return parameter.levels()[self.values]


def column_of(name: str, values: Any) -> Column:
    """A column of plain numbers, texts, bools or None."""
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.ndim != 1:
        raise SpaceError(f"column {name!r} must have one value per design, got {array.shape}")
    if array is None or array.dtype.kind in "ObU" or array.dtype == np.uint64:
        return _of_objects(name, values if array is None else array.tolist())
    if array.dtype.kind == "f":
        return Column(_finite(name, array.astype(np.float64)))
    if array.dtype.kind in "iu":
        if len(array) and (array.max() > LARGEST_INT or array.min() < -LARGEST_INT):
            raise _not_finite(name)
        return Column(array.astype(np.int64))
    raise SpaceError(f"column {name!r} holds {array.dtype}: give numbers, texts or bools")


def _of_objects(name: str, values: Sequence[Any]) -> Column:
    kinds = set(map(type, values))
    if any(issubclass(kind, np.generic) for kind in kinds):
        values = [v.item() if isinstance(v, np.generic) else v for v in values]
        kinds = set(map(type, values))
    if _numbers(kinds) and any(isinstance(v, int) and abs(v) > LARGEST_INT for v in values):
        raise _not_finite(name)
    if kinds == {int}:
        return Column(np.array(values, dtype=np.int64))
    if kinds == {float}:
        return Column(_finite(name, np.array(values, dtype=np.float64)))
    for value in values if float in kinds else ():
        if isinstance(value, float) and not math.isfinite(value):
            raise _not_finite(name)
    if len(kinds) > 1 or not kinds <= {str, bool, type(None)}:
        mixed = np.empty(len(values), dtype=object)
        mixed[:] = values
        return Column(mixed)
    code_of = {option: code for code, option in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(code_of.__getitem__, values), dtype=np.int32, count=len(values))
    return Column(codes, tuple(code_of))


def _numbers(kinds: set[type]) -> bool:
    return all(issubclass(kind, NUMBERS) and kind is not bool for kind in kinds)


def _finite(name: str, values: Array) -> Array:
    if not np.isfinite(values).all():
        raise _not_finite(name)
    return values


def _not_finite(name: str) -> SpaceError:
    return SpaceError(
        f"column {name!r} of the candidates holds a value that is not finite, or a whole number"
        " beyond ±2^53: drop or repair those rows, or write such numbers as text"
    )


# -- where they come from --


def read_columns(rows: Any) -> tuple[dict[str, Column], bool]:
    """The columns of whatever was given as a list of designs, and whether a design is a row of
    numbers without names.
    """
    if isinstance(rows, (str, os.PathLike)):
        return _read_file(Path(rows)), False
    if isinstance(rows, Mapping):
        return _equally_long({name: column_of(name, values) for name, values in rows.items()})
    if isinstance(rows, np.ndarray):
        if rows.dtype.names:
            return {name: column_of(name, rows[name]) for name in rows.dtype.names}, False
        if rows.dtype.kind in "fiu" and rows.size:
            table = (rows[:, None] if rows.ndim == 1 else np.atleast_2d(rows)).astype(np.float64)
            return _of_numbers(table), True
        rows = (rows[:, None] if rows.ndim == 1 else np.atleast_2d(rows)).tolist()
    elif hasattr(rows, "columns") and hasattr(rows, "__getitem__"):  # pandas, Polars
        return {name: column_of(name, rows[name].to_numpy()) for name in rows.columns}, False
    elif hasattr(rows, "to_dict"):
        rows = rows.to_dict("records")
    return _of_rows(list(rows))


def _equally_long(columns: dict[str, Column]) -> tuple[dict[str, Column], bool]:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise SpaceError(f"the columns of the candidates differ in length: {lengths!r}")
    return columns, False


def _of_numbers(table: Array) -> dict[str, Column]:
    named = ((f"x{i}", np.ascontiguousarray(values)) for i, values in enumerate(table.T))
    return {name: Column(_finite(name, values)) for name, values in named}


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
                f"candidate {index} must be a row of numbers like the first, got {row!r}: use dicts"
                " for named or categorical columns"
            ) from None
        if len(table[-1]) != width:
            raise SpaceError(
                f"candidate {index} has {len(table[-1])} numbers, the first has {width}"
            )
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


def _read_csv(path: Path) -> dict[str, Column]:
    """Names first; a column is one of whole numbers or of numbers if every word in it is one."""
    kinds: dict[str, type] = {}
    while True:
        pieces: dict[str, list[NDArray[Any]]] = {}
        settled = True
        for names, block in _blocks(path):
            for name, words in zip(names, zip(*block, strict=True), strict=True):
                kind = kinds.setdefault(name, int)
                piece = _parsed(words, kind)
                while piece is None:  # it was read as numbers so far: once more from the start
                    kinds[name] = kind = float if kind is int else str
                    settled, piece = False, _parsed(words, kind)
                pieces.setdefault(name, []).append(piece)
        if settled or all(len(parts) == 1 for parts in pieces.values()):
            return {name: column_of(name, np.concatenate(p)) for name, p in pieces.items()}


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
                        f"{path}: the line {','.join(row)!r} has {len(row)} values, the first line"
                        f" names {len(names)}"
                    )
            yield names, block
        if empty:
            raise SpaceError(f"{path} needs a line of names and at least one line of values")


def _parsed(words: Sequence[str], kind: type) -> NDArray[Any] | None:
    """The words as that kind; None if one of them is not."""
    if kind is str:
        return np.array([word.strip() for word in words], dtype=object)
    try:
        return np.fromiter(
            map(kind, words), dtype=np.int64 if kind is int else np.float64, count=len(words)
        )
    except ValueError:
        return None
    except OverflowError:
        return np.array(list(map(int, words)), dtype=object)
