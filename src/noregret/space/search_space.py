"""What a strategy and a study need of a space: points of the unit cube, and the way there and back.

A strategy sees points of ``[0, 1]^d`` only. Integers and choices are rounded by ``snap`` before the
model sees them, so two encodings of one point are one point to the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from noregret.space.array import Array

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

    @property
    def movable(self) -> NDArray[np.bool_]:
        """Which coordinates a gradient may lead: those that move freely, and those with a
        resolution, which are snapped afterwards.
        """

    def encode(self, params: Any) -> Array: ...
    def decode(self, u: Array) -> Params: ...
    def normal(self, params: Any) -> Params:
        """The point as a study keeps it: checked, of plain Python types, every number exactly as
        given.
        """

    def snap(self, U: Array) -> Array:
        """Each row moved to the encoding of the point it decodes to."""

    def jumps(self, u: Array) -> Array:
        """The rows next to ``u`` that differ from it in one discrete parameter."""

    def enumeration(self) -> Array | None:
        """All points, encoded, if they are finitely many and few enough to try each; else None."""


def product(levels: Sequence[Array]) -> Array:
    """Every combination of the parameters' levels."""
    points = np.empty((1, 0))
    for block in levels:
        points = np.hstack(
            [np.repeat(points, len(block), axis=0), np.tile(block, (len(points), 1))]
        )
    return points
