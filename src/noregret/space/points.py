"""Points of any space: of a box, of what constraints leave of it, or of a part of either."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noregret.space.array import Array, Mask
from noregret.space.region import Region
from noregret.space.search_space import SearchSpace


def region_of(space: SearchSpace) -> Region | None:
    """What constraints leave of a space; None: all of it."""
    region: Region | None = getattr(space, "region", None)
    return region


def spread_points(space: SearchSpace, V: Array) -> Array:
    """Points of the space for rows of the cube: what is spread over the cube is spread over what
    constraints leave of it. theory.md#feasible
    """
    region = region_of(space)
    return space.snap(V) if region is None else region.mapped(V)


def slice_points(space: SearchSpace, U: Array, names: Sequence[str]) -> tuple[Array, Mask]:
    """Rows of a slice along the named inputs: where constraints ask for it the others give way;
    and which rows can be run.
    """
    region = region_of(space)
    if region is None:
        return U, np.ones(len(U), dtype=np.bool_)
    return region.through(U, names)
