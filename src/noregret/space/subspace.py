"""A space with some inputs fixed: the same coordinates, so that a model of the whole space serves,
and fewer that move.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import Array, Mask, nearest_rows
from noregret.space.candidates import Candidates
from noregret.space.region import Region
from noregret.space.space import Params, SearchSpace, Space


class FixedInputs(SearchSpace):
    """The part of a space on which some inputs have given values; made by ``fix``.

    Args:
        whole: The space without fixed inputs.
        fixed: Values of the fixed inputs by name.
        encoded: Their coordinates by name.
        is_context: Whether they are fixed because they are context, not for a single ask.

    Raises:
        SpaceError: No point has these values.
    """

    def __init__(
        self,
        whole: Space | Candidates,
        fixed: dict[str, Any],
        encoded: dict[str, Array],
        is_context: bool,
    ) -> None:
        self.parameters, self.constraints = whole.parameters, whole.constraints
        self.branches, self.is_context = whole.branches, is_context
        self.whole, self.fixed = whole, fixed
        self.at = np.zeros(self.dimension)
        for name, u in encoded.items():
            self.at[self.slices[name]] = u
        self._region: Region | None = None
        self._every: Array | None
        if isinstance(whole, Candidates):
            self._every = self._matching(whole.enumeration())
            if len(self._every) == 0:
                raise SpaceError(
                    f"none of the {len(whole)} candidates has {fixed!r}: choose values of a"
                    " listed design"
                )
        else:
            region = Region(self.parameters, self.constraints, whole.branching, encoded)
            self._region, self._every = region, region.enumeration()
            self.region = region if self.constraints else None

    def _matching(self, U: Array) -> Array:
        """The rows that have the fixed values."""
        return U[np.all(U[:, self.held] == self.at[self.held], axis=1)]

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
        if self._region is None:
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
        if self._every is not None:
            return self._every[nearest_rows(np.asarray(U, dtype=np.float64), self._every)]
        assert self._region is not None
        return self._region.repair(U)

    def jumps(self, u: Array) -> Array:
        """The rows next to ``u`` that differ from it in one discrete parameter."""
        if self._region is None:
            return self._matching(self.whole.jumps(u))
        return self._region.jumps(u)

    def enumeration(self) -> Array | None:
        """All points, encoded, if they are finitely many and few enough to try each; else None."""
        return self._every


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
    for name in values:
        for each in space.branching.above(name) if isinstance(space, Space) else ():
            if values.get(each.choice, each) not in each.options:
                where = str(each).removeprefix(f"{each.name} ")
                raise SpaceError(
                    f"fixed names {name!r}, which exists {where}: fix {each.choice!r} to that as"
                    " well"
                )
    encoded: dict[str, Array] = {}
    for name, value in values.items():
        try:
            encoded[name] = np.array(space.parameters[name].encode(value))
        except SpaceError as error:
            noun = "context" if is_context else "fixed parameter"
            raise SpaceError(f"{noun} {name!r}: {error}") from None
    fixed = {name: space.parameters[name].exact(value) for name, value in values.items()}
    return FixedInputs(space, fixed, encoded, is_context)
