"""Search spaces and their encoding to the unit cube.

A strategy sees points of ``[0, 1]^d`` only. Integers and choices are rounded by ``snap`` before the model sees
them, so two encodings of one point are one point to the kernel. Sign and units of the objective are not here: see
``study``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from noregret.array import Array
from noregret.errors import SpaceError
from noregret.parameters import Choice, Float, Int, Parameter

Params = dict[str, Any] | Array

ENUMERATION_LIMIT = 4096  # a finite space up to this size is searched exhaustively


@runtime_checkable
class SearchSpace(Protocol):
    """What a strategy and a study need of a space."""

    @property
    def dimension(self) -> int:
        """Number of coordinates of the unit cube."""

    @property
    def continuous(self) -> NDArray[np.bool_]:
        """Which coordinates may move freely; the others jump."""

    def encode(self, params: Any) -> Array: ...
    def decode(self, u: Array) -> Params: ...
    def normal(self, params: Any) -> Params:
        """The point as a study keeps it: checked, of plain Python types, every number exactly as given."""

    def snap(self, U: Array) -> Array:
        """Each row moved to the encoding of the point it decodes to."""

    def jumps(self, u: Array) -> Array:
        """The rows next to ``u`` that differ from it in one discrete parameter."""

    def enumeration(self) -> Array | None:
        """All points, encoded, if they are finitely many and few enough to try each; else None."""


@dataclass(frozen=True, slots=True)
class Space:
    """A box of named parameters: ``Space({"lr": Float(1e-6, 1, log=True), "batch": Int(20, 2000)})``."""

    parameters: dict[str, Parameter]
    vector: bool = False  # points are arrays instead of dicts: the space was given as (low, high) pairs
    _slices: tuple[slice, ...] = field(init=False, repr=False, compare=False)

    def __init__(self, parameters: Mapping[str, Parameter] | Sequence[tuple[str, Parameter]], vector: bool = False) -> None:
        pairs = list(parameters.items()) if isinstance(parameters, Mapping) else list(parameters)
        names = [name for name, _ in pairs]
        if not pairs:
            raise SpaceError("a space needs at least one parameter, got none")
        for name, parameter in pairs:
            if not isinstance(name, str) or not name:
                raise SpaceError(f"a parameter's name must be a non-empty string, got {name!r}")
            if not isinstance(parameter, (Float, Int, Choice)):
                raise SpaceError(f"parameter {name!r} must be a Float, Int or Choice, got {parameter!r}: e.g. Float(0, 1)")
        if len(set(names)) < len(names):
            raise SpaceError(f"duplicate parameter names in {names!r}: each name may stand once")
        object.__setattr__(self, "parameters", dict(pairs))
        object.__setattr__(self, "vector", bool(vector))
        starts = np.cumsum([0] + [parameter.width for _, parameter in pairs])
        object.__setattr__(self, "_slices", tuple(slice(int(a), int(b)) for a, b in pairwise(starts)))
        if self.dimension == 0:
            raise SpaceError("every parameter of this space has a single option: there is nothing to optimise")

    @staticmethod
    def from_bounds(bounds: Sequence[tuple[float, float]]) -> Space:
        """SciPy's form: a list of ``(low, high)``; points are then arrays."""
        parameters: dict[str, Parameter] = {}
        for index, pair in enumerate(bounds):
            try:
                low, high = pair
            except (TypeError, ValueError):
                raise SpaceError(f"bounds must be (low, high) pairs, got {pair!r} at position {index}") from None
            try:
                parameters[f"x{index}"] = Float(low, high)
            except SpaceError as error:
                raise SpaceError(f"bounds at position {index}: {error}") from None
        return Space(parameters, vector=True)

    @property
    def dimension(self) -> int:
        return self._slices[-1].stop

    @property
    def continuous(self) -> NDArray[np.bool_]:
        return np.array([isinstance(p, Float) for p in self.parameters.values() for _ in range(p.width)], dtype=np.bool_)

    def encode(self, params: Any) -> Array:
        values = self._values(params)
        encoded: list[float] = []
        for name, parameter in self.parameters.items():
            try:
                encoded += parameter.encode(values[name])
            except SpaceError as error:
                raise SpaceError(f"parameter {name!r}: {error}") from None
        return np.array(encoded)

    def _values(self, params: Any) -> Mapping[str, Any]:
        if isinstance(params, Mapping):
            missing = [name for name in self.parameters if name not in params]
            unknown = [name for name in params if name not in self.parameters]
            if missing or unknown:
                raise SpaceError(
                    f"a point needs exactly the parameters {list(self.parameters)!r}; missing {missing!r}, unknown {unknown!r}"
                )
            return params
        if not self.vector:
            raise SpaceError(f"a point of this space is a dict with the keys {list(self.parameters)!r}, got {params!r}")
        row = np.asarray(params, dtype=object).ravel()
        if len(row) != len(self.parameters):
            raise SpaceError(f"a point of this space has {len(self.parameters)} numbers, got {len(row)}: {params!r}")
        return dict(zip(self.parameters, row, strict=True))

    def decode(self, u: Array) -> Params:
        u = np.clip(np.asarray(u, dtype=np.float64), 0.0, 1.0)
        values = {name: p.decode(u[s]) for (name, p), s in zip(self.parameters.items(), self._slices, strict=True)}
        return np.array(list(values.values()), dtype=np.float64) if self.vector else values

    def normal(self, params: Any) -> Params:
        decoded, values = self.decode(self.encode(params)), self._values(params)
        if self.vector:
            return np.array([float(values[name]) for name in self.parameters])
        assert isinstance(decoded, dict)
        return {name: float(values[name]) if isinstance(p, Float) else decoded[name] for name, p in self.parameters.items()}

    def snap(self, U: Array) -> Array:
        U = np.clip(np.asarray(U, dtype=np.float64), 0.0, 1.0)
        if self.continuous.all():
            return U
        return np.hstack([p.snap(U[:, s]) for p, s in zip(self.parameters.values(), self._slices, strict=True)])

    def jumps(self, u: Array) -> Array:
        rows = []
        for parameter, s in zip(self.parameters.values(), self._slices, strict=True):
            if isinstance(parameter, Float) or parameter.width == 0:
                continue
            if isinstance(parameter, Choice) or parameter.size <= 16:
                levels = parameter.levels()
            else:  # a long range of integers: one and a few steps either way, and jumps across
                value = parameter.decode(u[s])
                steps = np.unique(np.geomspace(1, parameter.size - 1, 8).astype(int))
                near = np.unique(np.clip(np.concatenate([value - steps, value + steps]), parameter.low, parameter.high))
                levels = np.array([parameter.encode(int(v)) for v in near])
            block = np.repeat(u[None, :], len(levels), axis=0)
            block[:, s] = levels
            rows.append(block[~np.all(block == u, axis=1)])
        return np.vstack(rows) if rows else np.empty((0, self.dimension))

    def enumeration(self) -> Array | None:
        if math.prod(p.size for p in self.parameters.values()) > ENUMERATION_LIMIT:
            return None
        return product([parameter.levels() for parameter in self.parameters.values()])


def product(levels: Sequence[Array]) -> Array:
    """Every combination of the parameters' levels."""
    points = np.empty((1, 0))
    for block in levels:
        points = np.hstack([np.repeat(points, len(block), axis=0), np.tile(block, (len(points), 1))])
    return points


@dataclass(frozen=True, slots=True)
class Candidates:
    """A finite list of designs, such as a laboratory's catalogue: dicts with equal keys, or rows of numbers.

    Columns of numbers are scaled to the unit interval by their range, other columns are treated as ``Choice``. Equal
    rows are one design.
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
        box = Space({name: _column(name, [row[name] for row in table]) for name in table[0]}, vector=vector)
        encoded = np.array([[v for name, p in box.parameters.items() for v in p.encode(row[name])] for row in table])
        _, first = np.unique(encoded, axis=0, return_index=True)
        keep = np.sort(first)
        object.__setattr__(self, "rows", tuple(tuple(table[i].values()) if vector else table[i] for i in keep))
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

    def _nearest(self, U: Array) -> NDArray[np.intp]:
        distance = ((U[:, None, :] - self._encoded[None, :, :]) ** 2).sum(axis=-1)
        return np.argmin(distance, axis=1)

    def encode(self, params: Any) -> Array:
        u = self._box.encode(params)
        match = np.flatnonzero(np.all(self._encoded == u, axis=1))
        if len(match) == 0:
            raise SpaceError(f"{params!r} is not one of the {len(self.rows)} candidates: only listed designs can be evaluated or added")
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
                f"candidate {index} must be a row of numbers like the first, got {row!r}: use dicts for named or categorical columns"
            ) from None
        if len(values) != len(list(first)):
            raise SpaceError(f"candidate {index} has {len(values)} numbers, the first has {len(list(first))}")
        return {f"x{i}": v for i, v in enumerate(values)}
    if not isinstance(row, Mapping) or set(row) != set(first):
        raise SpaceError(f"candidate {index} must have the keys {sorted(first)!r}, got {row!r}")
    return {name: row[name].item() if isinstance(row[name], np.generic) else row[name] for name in first}


def _column(name: str, values: list[Any]) -> Parameter:
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        if not all(math.isfinite(v) for v in values):
            raise SpaceError(f"column {name!r} of the candidates holds a value that is not finite: drop or repair those rows")
        if min(values) < max(values):
            return Float(min(values), max(values))
        return Choice([values[0]])
    return Choice(list(dict.fromkeys(values)))


def as_space(space: Any) -> Space | Candidates:
    """A space from what users write: a Space, Candidates, a dict of parameters, or ``(low, high)`` pairs."""
    if isinstance(space, (Space, Candidates)):
        return space
    if isinstance(space, Mapping):
        return Space(space)
    if isinstance(space, np.ndarray) or (isinstance(space, Sequence) and not isinstance(space, str)):
        return Space.from_bounds(list(space))
    raise SpaceError(f"a space is a Space, Candidates, a dict of parameters or a list of (low, high) pairs, got {space!r}")
