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
from noregret.space.branch import Branch, Only, flattened
from noregret.space.branching import Branching
from noregret.space.choice import Choice
from noregret.space.constraints import Constraint, Forbidden, Linear, Satisfies
from noregret.space.parameters import Float, Int, Parameter, exact
from noregret.space.region import Region
from noregret.space.search_space import ENUMERATION_LIMIT, Params, product


@dataclass(frozen=True, slots=True)
class Space:
    """A box of named parameters: ``Space({"lr": Float(1e-6, 1, log=True), "batch": Int(20,
    2000)})``, and what is known to be impossible in it: ``constraints=[Linear({"a": 1, "b": 1},
    at_most=1.0)]``.
    """

    parameters: dict[str, Parameter]
    vector: bool = (
        False  # points are arrays instead of dicts: the space was given as (low, high) pairs
    )
    constraints: tuple[Constraint, ...] = ()
    branches: tuple[Only, ...] = ()  # which inputs exist only for some options of a choice
    _slices: tuple[slice, ...] = field(init=False, repr=False, compare=False)
    _branching: Branching | None = field(init=False, repr=False, compare=False)
    _region: list[Region] = field(init=False, repr=False, compare=False)  # made when needed first

    def __init__(
        self,
        parameters: Mapping[str, Parameter | Branch] | Sequence[tuple[str, Parameter | Branch]],
        vector: bool = False,
        constraints: Sequence[Constraint] = (),
        branches: Sequence[Only] = (),
    ) -> None:
        self._fill(parameters, vector, constraints, branches)
        self.region  # noqa: B018  # an empty feasible set is found here

    @staticmethod
    def stored(**fields: Any) -> Space:
        """From a study that was checked when it was made: functions in its constraints are looked
        up when they are needed.
        """
        space = object.__new__(Space)
        space._fill(**fields)
        return space

    def _fill(
        self,
        parameters: Mapping[str, Parameter | Branch] | Sequence[tuple[str, Parameter | Branch]],
        vector: bool = False,
        constraints: Sequence[Constraint] = (),
        branches: Sequence[Only] = (),
    ) -> None:
        given = list(parameters.items()) if isinstance(parameters, Mapping) else list(parameters)
        pairs, owned = flattened(given)
        names = [name for name, _ in pairs]
        if not pairs:
            raise SpaceError("a space needs at least one parameter, got none")
        for name, parameter in pairs:
            if not isinstance(name, str) or not name:
                raise SpaceError(f"a parameter's name must be a non-empty string, got {name!r}")
            if not isinstance(parameter, (Float, Int, Choice)):
                raise SpaceError(
                    f"parameter {name!r} must be a Float, Int, Choice or Branch, got"
                    f" {parameter!r}: e.g. Float(0, 1)"
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
        if isinstance(constraints, (str, Mapping)) or not isinstance(constraints, Sequence):
            raise SpaceError(
                f"constraints are a list of Linear, Forbidden and Satisfies, got {constraints!r}"
            )
        for constraint in constraints:
            if not isinstance(constraint, (Linear, Forbidden, Satisfies)):
                raise SpaceError(
                    "a constraint is a Linear, Forbidden or Satisfies, got"
                    f" {constraint!r}: e.g. Linear({{'a': 1, 'b': 1}}, at_most=1.0)"
                )
        object.__setattr__(self, "constraints", tuple(constraints))
        object.__setattr__(self, "branches", (*owned, *branches))
        if self.branches and vector:
            raise SpaceError(
                "a space with branches has named parameters: its points are dicts, not arrays"
            )
        branching = (
            Branching.of(self.branches, self.parameters, self._slices) if self.branches else None
        )
        object.__setattr__(self, "_branching", branching)
        object.__setattr__(self, "_region", [])

    @property
    def region(self) -> Region | None:
        """The part of the box that satisfies the constraints; None: all of it."""
        if not self.constraints:
            return None
        if not self._region:
            region = Region(self.parameters, self.constraints, branching=self._branching)
            self._region.append(region)
        return self._region[0]

    @property
    def branching(self) -> Branching | None:
        """Where inputs exist that do not always; None: all always do."""
        if self._branching is None or self.region is None:
            return self._branching
        return self.region.branching

    def active(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A point without the inputs that do not exist for its choices."""
        return dict(params) if self.branching is None else self.branching.active(params)

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
        free = np.array(
            [p.size == math.inf for p in self.parameters.values() for _ in range(p.width)],
            dtype=np.bool_,
        )
        return free if self.branching is None else free & ~self.branching.of_branches

    @property
    def movable(self) -> NDArray[np.bool_]:
        leading = np.array(
            [isinstance(p, Float) for p in self.parameters.values() for _ in range(p.width)],
            dtype=np.bool_,
        )
        return leading if self.region is None else leading & ~self.region.tied

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
            params = params if self.branching is None else self.branching.filled(params)
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
        broken = None if self.region is None else self.region.broken(values)
        if broken is not None:
            shown = {name: values[name] for name in self.parameters}
            raise SpaceError(
                f"{shown!r} {broken}; nothing was recorded. What cannot be run is not data:"
                " correct the point, or loosen the constraint in a derived study"
            )
        if self.vector:
            return np.array([float(values[name]) for name in self.parameters])
        assert isinstance(decoded, dict)
        return {name: exact(p, values[name], decoded[name]) for name, p in self.parameters.items()}

    def snap(self, U: Array) -> Array:
        U = np.clip(np.asarray(U, dtype=np.float64), 0.0, 1.0)
        if self.region is not None:
            return self.region.repair(U)
        if self.continuous.all():
            return U
        snapped = np.hstack(
            [p.snap(U[:, s]) for p, s in zip(self.parameters.values(), self._slices, strict=True)]
        )
        return snapped if self.branching is None else self.branching.settled(snapped)

    def jumps(self, u: Array) -> Array:
        if self.region is not None:
            return self.region.jumps(u)
        rows = []
        for parameter, s in zip(self.parameters.values(), self._slices, strict=True):
            if parameter.size == math.inf or parameter.width == 0:
                continue
            levels = parameter.around(u[s])
            block = np.repeat(u[None, :], len(levels), axis=0)
            block[:, s] = levels
            rows.append(block[~np.all(block == u, axis=1)])
        around = np.vstack(rows) if rows else np.empty((0, self.dimension))
        return around if self.branching is None else self.branching.settled(around)

    def enumeration(self) -> Array | None:
        if self.region is not None:
            return self.region.enumeration()
        sizes = [p.size for p in self.parameters.values()]
        longest = max(
            [p.size for p in self.parameters.values() if isinstance(p, Choice)], default=0
        )
        if math.prod(sizes) > max(ENUMERATION_LIMIT, longest):
            return None
        every = product([parameter.levels() for parameter in self.parameters.values()])
        if self.branching is None:
            return every
        return np.unique(self.branching.settled(every), axis=0)
