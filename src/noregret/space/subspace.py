"""A space with some inputs fixed: the same coordinates, so that a model of the whole space serves,
and fewer that move.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import ENUMERATION_LIMIT, Array, Mask, nearest_rows, product
from noregret.space.candidates import Candidates
from noregret.space.conditions import ActiveWhen
from noregret.space.constraints import Constraint
from noregret.space.parameters import Parameter
from noregret.space.region import Region
from noregret.space.space import Inputs, Params, Space


@dataclass(frozen=True)
class FixedInputs:
    """The part of a space on which some inputs have given values; made by ``fix``.

    held: coordinates of the fixed inputs; at: their values there; points: all points, if few.
    """

    whole: Space | Candidates
    fixed: dict[str, Any]
    held: Mask
    at: Array
    points: Array | None
    region: Region | None
    is_context: bool

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters of the whole space."""
        return self.whole.parameters

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the whole space."""
        return self.whole.constraints

    @property
    def branches(self) -> tuple[ActiveWhen, ...]:
        """The branches of the whole space."""
        return self.whole.branches

    @cached_property
    def inputs(self) -> Inputs:
        """The inputs, to which the coordinates of the unit cube belong."""
        return Inputs.of(self)

    @property
    def dimension(self) -> int:
        """Number of coordinates of the unit cube."""
        return self.whole.dimension

    @cached_property
    def continuous(self) -> Mask:
        """Which coordinates may take any value; the others jump or are fixed."""
        return self.whole.continuous & ~self.held

    @cached_property
    def movable(self) -> Mask:
        """Which coordinates an ascent may move."""
        return self.whole.movable & ~self.held

    def encode(self, params: Any) -> Array:
        """The coordinates of a point of the whole space."""
        return self.whole.encode(params)

    def decode(self, u: Array) -> Params:
        """The point at coordinates, with the fixed values exactly as given."""
        params = self.whole.decode(u)
        if isinstance(self.whole, Candidates):
            return params  # a listed design has its own values: 20, not 20.0
        if isinstance(params, dict):
            return params | self.fixed
        for index, name in enumerate(self.parameters):
            params[index] = self.fixed.get(name, params[index])
        return params

    def canonical(self, params: Any) -> Params:
        """The point as a study keeps it."""
        return self.whole.canonical(params)

    def snap(self, U: Array) -> Array:
        """Each row moved to the encoding of the point it decodes to."""
        U = np.asarray(U, dtype=np.float64)
        if self.points is not None:
            return self.points[nearest_rows(U, self.points)]
        if self.region is not None:
            return self.region.repair(U)
        if self.branches:  # a fixed choice decides which inputs exist
            U = np.where(self.held, self.at, U)
        return np.where(self.held, self.at, self.whole.snap(U))

    def jumps(self, u: Array) -> Array:
        """The rows next to ``u`` that differ from it in one discrete parameter."""
        if self.region is not None:
            return self.region.jumps(u)
        around = self.whole.jumps(u)
        return around[np.all(around[:, self.held] == self.at[self.held], axis=1)]

    def enumeration(self) -> Array | None:
        """All points, encoded, if they are finitely many and few enough to try each; else None."""
        return self.points


def fix(
    space: Space | Candidates, values: Mapping[str, Any], *, is_context: bool = False
) -> FixedInputs:
    """The points of a space at which the named inputs have the given values.

    Args:
        space: The whole space.
        values: Values by name.
        is_context: Whether the inputs are context, which is given at every ask.

    Raises:
        SpaceError: A name or value is not of the space, or no point has these values.
    """
    if not isinstance(values, Mapping) or not values:
        raise SpaceError(
            f"fixed is a dict of at least one parameter's name and value, got {values!r}"
        )
    unknown = [name for name in values if name not in space.parameters]
    if unknown:
        raise SpaceError(
            f"fixed names {unknown!r}, which this space does not have: its parameters are"
            f" {list(space.parameters)!r}"
        )
    if isinstance(space, Space):
        _check_existing(space, values)
    encoded: dict[str, Array] = {}
    for name, value in values.items():
        try:
            encoded[name] = np.array(space.parameters[name].encode(value))
        except SpaceError as error:
            noun = "context" if is_context else "fixed parameter"
            raise SpaceError(f"{noun} {name!r}: {error}") from None
    fixed = {name: space.parameters[name].exact(value) for name, value in values.items()}
    widths = {name: parameter.width for name, parameter in space.parameters.items()}
    held = np.concatenate([np.full(width, name in values) for name, width in widths.items()])
    at = np.concatenate([encoded.get(name, np.zeros(width)) for name, width in widths.items()])
    points, region = None, None
    if isinstance(space, Candidates):
        every = space.enumeration()
        points = every[np.all(every[:, held] == at[held], axis=1)]
        if len(points) == 0:
            raise SpaceError(
                f"none of the {len(space)} candidates has {dict(values)!r}: choose values of a"
                " listed design"
            )
    elif space.constraints:
        region = Region(space.parameters, space.constraints, encoded, space.branching)
        points = region.enumeration()
    else:
        free = (p.size for name, p in space.parameters.items() if name not in values)
        if math.prod(free) <= ENUMERATION_LIMIT:
            points = product(
                [
                    encoded[name][None, :] if name in values else parameter.levels()
                    for name, parameter in space.parameters.items()
                ]
            )
            if space.branching is not None:
                points = np.unique(space.branching.settled(points), axis=0)
    return FixedInputs(space, fixed, held, at, points, region, is_context)


def _check_existing(space: Space, values: Mapping[str, Any]) -> None:
    for name in values if space.branching is not None else ():
        assert space.branching is not None
        for each in space.branching.above(name):
            if values.get(each.choice, each) not in each.options:
                raise SpaceError(
                    f"fixed names {name!r}, which exists {str(each).removeprefix(each.name + ' ')}:"
                    f" fix {each.choice!r} to that as well"
                )
