"""Which points the patrols leave: theory.md#plausible, and with limits theory.md#limits-default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noregret.classes import PatrolBand, Plausibility, patrol_order, patrol_points
from noregret.search import Acquisition
from noregret.space import Array, Mask, SearchSpace, spread_points
from noregret.strategies.compression import standard_units
from noregret.trials import Decision, History

FARTHEST = 1e150  # in units of the initial values: beyond, a value counts as this far away


@dataclass(frozen=True, slots=True)
class Plausible:
    """The patrols' bands of the value, None while it has none, and of each outcome's margin."""

    space: SearchSpace
    value: PatrolBand | None
    margins: tuple[PatrolBand, ...]

    @staticmethod
    def of(space: SearchSpace, history: History, listed: int | None) -> Plausible | None:
        """None: before the first patrol, or before values have a spread."""
        decided = history.decisions
        value = patrol_band(history.X, history.y, decided, history.rows, listed)
        each = [
            patrol_band(margins.X, margins.y, decided, margins.rows, listed)
            for margins in history.outcomes
        ]
        if value is None and not any(band is not None for band in each):
            return None
        return Plausible(space, value, tuple(band for band in each if band is not None))

    def keeps(self, A: Array) -> Mask:
        """Where the value's band still reaches what is sure elsewhere, and no limit is surely
        broken.
        """
        kept = np.ones(len(A), dtype=np.bool_)
        if self.value is not None:
            kept &= self.value.bounds(A)[1] >= self._sure()
        for band in self.margins:
            kept &= band.bounds(A)[1] >= 0
        return kept

    def best(self, x: Array, acquisition: Acquisition, cloud: Array) -> Array:
        """x if it is left; else the best of the patrols and of a cloud that are."""
        if self.keeps(x[None, :])[0]:
            return x
        points = np.vstack([self.places, cloud])
        points = points[self.keeps(points)]  # without limits the best patrol always is
        return points[int(np.argmax(acquisition.values(points)))] if len(points) else x

    def _sure(self) -> float:
        """The largest lower bound at a patrol, on the part of the space that is searched and where
        all limits are surely kept; −∞ if that is nowhere.
        """
        assert self.value is not None
        at = self.places
        lower = self.value.bounds(at)[0]
        for band in self.margins:
            lower = np.where(band.bounds(at)[0] >= 0, lower, -np.inf)
        return float(lower.max())

    @property
    def places(self) -> Array:
        """The patrols; where some inputs are held, moved there."""
        band = self.value or self.margins[0]
        return self.space.snap(band.Z)


def patrol_point(space: SearchSpace, every: Array | None, number: int) -> Array:
    """The next point of a sequence that nothing observed influences: dense in the space."""
    if every is not None:
        return every[patrol_order(len(every))[(number - 1) % len(every)]]
    return spread_points(space, patrol_points(number, 1, space.dimension))[0]


def patrol_band(
    X: Array,
    y: Array,
    decisions: Sequence[Decision],
    rows: Sequence[int | None],
    listed: int | None,
) -> PatrolBand | None:
    """In units of the initial values; None before values have a spread, or without a patrol.

    Where the initial values are all equal, the first values that are not give the unit, and
    only patrols after them count: it must not depend on the noise of those.
    """
    pairs = list(zip(decisions, rows, strict=True))
    walked = [row for decision, row in pairs if row is not None and decision.is_patrol]
    if not walked:
        return None
    first = [row for decision, row in pairs if decision.in_design and row is not None]
    values = y[first] if len(first) > 1 else y[:3]
    if values.min() == values.max():
        until = 1 + int(np.argmax(y != y[0]))  # of values: these have a spread
        values, walked = y[:until], [row for row in walked if row >= until]
        if until == 1 or not walked:
            return None
    # scaled by a power of two, which rounds nothing: a square of the values would overflow, or be 0
    exponent = int(np.frexp(standard_units(values)[1])[1])
    with np.errstate(over="ignore", under="ignore"):
        values, walk = (np.ldexp(part, -exponent) for part in (values, y[walked]))
    rule = Plausibility(unit=float(np.std(values)), offset=float(np.mean(values)))
    return rule.band(X[walked], np.clip(walk, -FARTHEST, FARTHEST), listed)
