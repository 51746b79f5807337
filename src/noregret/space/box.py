"""A box of named parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.errors import SpaceError
from noregret.space.array import Array
from noregret.space.parameters import Choice, Float, Int, Parameter
from noregret.space.search_space import ENUMERATION_LIMIT, Params, product

MOST_JUMPS = 512  # options of a long choice that are tried from one point


@dataclass(frozen=True, slots=True)
class Space:
    """A box of named parameters: ``Space({"lr": Float(1e-6, 1, log=True), "batch": Int(20,
    2000)})``.
    """

    parameters: dict[str, Parameter]
    vector: bool = (
        False  # points are arrays instead of dicts: the space was given as (low, high) pairs
    )
    _slices: tuple[slice, ...] = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        parameters: Mapping[str, Parameter] | Sequence[tuple[str, Parameter]],
        vector: bool = False,
    ) -> None:
        pairs = list(parameters.items()) if isinstance(parameters, Mapping) else list(parameters)
        names = [name for name, _ in pairs]
        if not pairs:
            raise SpaceError("a space needs at least one parameter, got none")
        for name, parameter in pairs:
            if not isinstance(name, str) or not name:
                raise SpaceError(f"a parameter's name must be a non-empty string, got {name!r}")
            if not isinstance(parameter, (Float, Int, Choice)):
                raise SpaceError(
                    f"parameter {name!r} must be a Float, Int or Choice, got {parameter!r}: e.g."
                    " Float(0, 1)"
                )
        if len(set(names)) < len(names):
            raise SpaceError(f"duplicate parameter names in {names!r}: each name may stand once")
        object.__setattr__(self, "parameters", dict(pairs))
        object.__setattr__(self, "vector", bool(vector))
        starts = np.cumsum([0] + [parameter.width for _, parameter in pairs])
        object.__setattr__(
            self, "_slices", tuple(slice(int(a), int(b)) for a, b in pairwise(starts))
        )
        if self.dimension == 0:
            raise SpaceError(
                "every parameter of this space has a single option: there is nothing to optimise"
            )

    @staticmethod
    def from_bounds(bounds: Sequence[tuple[float, float]]) -> Space:
        """SciPy's form: a list of ``(low, high)``; points are then arrays."""
        parameters: dict[str, Parameter] = {}
        for index, pair in enumerate(bounds):
            try:
                low, high = pair
            except (TypeError, ValueError):
                raise SpaceError(
                    f"bounds must be (low, high) pairs, got {pair!r} at position {index}"
                ) from None
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
        return np.array(
            [isinstance(p, Float) for p in self.parameters.values() for _ in range(p.width)],
            dtype=np.bool_,
        )

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
                    f"a point needs exactly the parameters {list(self.parameters)!r}; missing"
                    f" {missing!r}, unknown {unknown!r}"
                )
            return params
        if not self.vector:
            raise SpaceError(
                f"a point of this space is a dict with the keys {list(self.parameters)!r}, got"
                f" {params!r}"
            )
        row = np.asarray(params, dtype=object).ravel()
        if len(row) != len(self.parameters):
            raise SpaceError(
                f"a point of this space has {len(self.parameters)} numbers, got {len(row)}:"
                f" {params!r}"
            )
        return dict(zip(self.parameters, row, strict=True))

    def decode(self, u: Array) -> Params:
        u = np.clip(np.asarray(u, dtype=np.float64), 0.0, 1.0)
        values = {
            name: p.decode(u[s])
            for (name, p), s in zip(self.parameters.items(), self._slices, strict=True)
        }
        return np.array(list(values.values()), dtype=np.float64) if self.vector else values

    def normal(self, params: Any) -> Params:
        decoded, values = self.decode(self.encode(params)), self._values(params)
        if self.vector:
            return np.array([float(values[name]) for name in self.parameters])
        assert isinstance(decoded, dict)
        kinds = {Float: float, Int: int}  # exactly as given; decoded, a long range would round
        return {
            name: kinds[type(p)](values[name]) if type(p) in kinds else decoded[name]
            for name, p in self.parameters.items()
        }

    def snap(self, U: Array) -> Array:
        U = np.clip(np.asarray(U, dtype=np.float64), 0.0, 1.0)
        if self.continuous.all():
            return U
        return np.hstack(
            [p.snap(U[:, s]) for p, s in zip(self.parameters.values(), self._slices, strict=True)]
        )

    def jumps(self, u: Array) -> Array:
        rows = []
        for parameter, s in zip(self.parameters.values(), self._slices, strict=True):
            if isinstance(parameter, Float) or parameter.width == 0:
                continue
            if parameter.size <= (MOST_JUMPS if isinstance(parameter, Choice) else 16):
                levels = parameter.levels()
            elif isinstance(parameter, Choice):  # as many, all over the list, from this one on
                steps = np.linspace(1, parameter.size - 1, MOST_JUMPS).astype(np.intp)
                levels = parameter.levels()[(parameter.place(u[s]) + steps) % int(parameter.size)]
            else:  # a long range of integers: one and a few steps either way, and jumps across
                value = parameter.decode(u[s])
                steps = np.unique(np.geomspace(1, parameter.size - 1, 8).astype(int))
                near = np.unique(
                    np.clip(
                        np.concatenate([value - steps, value + steps]),
                        parameter.low,
                        parameter.high,
                    )
                )
                levels = np.array([parameter.encode(int(v)) for v in near])
            block = np.repeat(u[None, :], len(levels), axis=0)
            block[:, s] = levels
            rows.append(block[~np.all(block == u, axis=1)])
        return np.vstack(rows) if rows else np.empty((0, self.dimension))

    def enumeration(self) -> Array | None:
        sizes = [p.size for p in self.parameters.values()]
        longest = max(
            [p.size for p in self.parameters.values() if isinstance(p, Choice)], default=0
        )
        if math.prod(sizes) > max(ENUMERATION_LIMIT, longest):
            return None
        return product([parameter.levels() for parameter in self.parameters.values()])
