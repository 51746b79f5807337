"""A space with some parameters held: the same coordinates, so that a model of the whole space
serves, and fewer that move.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import Array, Mask
from noregret.space.box import Space
from noregret.space.branching import Branching
from noregret.space.candidates import Candidates
from noregret.space.parameters import Parameter, exact
from noregret.space.region import Region
from noregret.space.rows import nearest_rows
from noregret.space.search_space import ENUMERATION_LIMIT, Params, product


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a space on which ``values`` hold. points: all of it, if it is a short list."""

    space: Space | Candidates
    values: dict[str, Any]
    held: Mask
    at: Array
    points: Array | None
    given: dict[str, Any]  # what was asked for, as JSON values
    region: Region | None = None  # what constraints leave of it
    is_context: bool = False  # held because nobody chooses them, not for this one ask

    @property
    def dimension(self) -> int:
        return self.space.dimension

    @property
    def continuous(self) -> Mask:
        return self.space.continuous & ~self.held

    @property
    def movable(self) -> Mask:
        return self.space.movable & ~self.held

    def encode(self, params: Any) -> Array:
        return self.space.encode(params)

    def decode(self, u: Array) -> Params:
        """With the held values exactly as given: the cube's coordinates round."""
        params = self.space.decode(u)
        if isinstance(params, dict):
            return params | self.values
        for index, name in enumerate(self.space.parameters):
            params[index] = self.values.get(name, params[index])
        return params

    def normal(self, params: Any) -> Params:
        return self.space.normal(params)

    def snap(self, U: Array) -> Array:
        if self.points is not None:
            return self.points[nearest_rows(np.asarray(U, dtype=np.float64), self.points)]
        if self.region is not None:
            return self.region.repair(np.asarray(U, dtype=np.float64))
        if isinstance(self.space, Space) and self.space.branches:  # a held choice decides
            U = np.where(self.held, self.at, U)
        return np.where(self.held, self.at, self.space.snap(U))

    def jumps(self, u: Array) -> Array:
        if self.region is not None:
            return self.region.jumps(u)
        around = self.space.jumps(u)
        return around[np.all(around[:, self.held] == self.at[self.held], axis=1)]

    def enumeration(self) -> Array | None:
        return self.points


def hold(space: Space | Candidates, fixed: Mapping[str, Any], *, is_context: bool = False) -> Slice:
    """The points of a space at which the named parameters have the given values."""
    if not isinstance(fixed, Mapping) or not fixed:
        raise SpaceError(
            f"fixed is a dict of at least one parameter's name and value, got {fixed!r}"
        )
    unknown = [name for name in fixed if name not in space.parameters]
    if unknown:
        raise SpaceError(
            f"fixed names {unknown!r}, which this space does not have: its parameters are"
            f" {list(space.parameters)!r}"
        )
    if isinstance(space, Space) and space.branching is not None:
        _check_existing(space.branching, fixed)
    what = "context" if is_context else "fixed parameter"
    encoded = {
        name: np.array(_encode(name, space.parameters[name], value, what))
        for name, value in fixed.items()
    }
    values = {
        name: _plain(space.parameters[name], value, encoded[name]) for name, value in fixed.items()
    }
    free = {
        name: np.zeros(parameter.width)
        for name, parameter in space.parameters.items()
        if name not in fixed
    }
    held = np.concatenate(
        [np.full(parameter.width, name in fixed) for name, parameter in space.parameters.items()]
    )
    at = np.concatenate([(free | encoded)[name] for name in space.parameters])
    if isinstance(space, Candidates):
        every = space.enumeration()
        points = every[np.all(every[:, held] == at[held], axis=1)]
        if len(points) == 0:
            raise SpaceError(
                f"none of the {len(space)} candidates has {dict(fixed)!r}: choose values of a"
                " listed design"
            )
        return Slice(
            space, {}, held, at, points, values, is_context=is_context
        )  # a design keeps its own values: 20 and not 20.0
    if space.constraints:
        region = Region(space.parameters, space.constraints, encoded, space.branching)
        return Slice(space, values, held, at, region.enumeration(), values, region, is_context)
    few = math.prod(space.parameters[name].size for name in free) <= ENUMERATION_LIMIT
    levels = (
        [
            encoded[name][None, :] if name in fixed else parameter.levels()
            for name, parameter in space.parameters.items()
        ]
        if few
        else []
    )
    listed = product(levels) if few else None
    if listed is not None and space.branching is not None:
        listed = np.unique(space.branching.settled(listed), axis=0)
    return Slice(space, values, held, at, listed, values, is_context=is_context)


def _check_existing(branching: Branching, fixed: Mapping[str, Any]) -> None:
    for name in fixed:
        for each in branching.above(name):
            if fixed.get(each.choice, each) not in each.options:
                raise SpaceError(
                    f"fixed names {name!r}, which exists {str(each).removeprefix(each.name + ' ')}:"
                    f" fix {each.choice!r} to that as well"
                )


def _encode(name: str, parameter: Parameter, value: Any, what: str) -> list[float]:
    try:
        return parameter.encode(value)
    except SpaceError as error:
        raise SpaceError(f"{what} {name!r}: {error}") from None


def _plain(parameter: Parameter, value: Any, encoded: Array) -> Any:
    return exact(parameter, value, parameter.decode(encoded))
