"""Patrols: one space-filling sequence for the initial design and for all looks that nothing
observed influences, and the leash that ties the other decisions to what they found.

The sequence is x_i = shift + i·a mod 1 with a_k = φ^(−k), φ^(d+1) = φ + 1, the generalised golden
ratio. 1, a_1, …, a_d are linearly independent over the rationals, so every cell of the cube gets
its share of the points (theory.md#leash).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret.search import golden_ratio
from noregret.space import Array, Mask, SearchSpace, spread_points
from noregret.strategies.inputs import Inputs

LEAST_PATROLS = 100  # patrols below which the leash excludes nothing


def patrol_point(space: SearchSpace, inputs: Inputs, number: int, shift: Array) -> Array:
    """Point ``number`` of the sequence, from 0 on: dense in the space. Choices get one coordinate
    of it each, so that options come in turn.
    """
    every = space.enumeration()
    if every is not None:
        order = np.random.default_rng(int(shift[0] * 2**32)).permutation(len(every))
        return every[order[number % len(every)]]
    levels = inputs.levels
    if levels is None:
        a = golden_ratio(space.dimension)
        return spread_points(space, (shift[: space.dimension] + number * a)[None, :] % 1.0)[0]
    u = (shift[: len(levels)] + number * golden_ratio(len(levels))) % 1.0
    row = [
        np.array([v]) if level is None else level[min(int(v * len(level)), len(level) - 1)]
        for v, level in zip(u, levels, strict=True)
    ]
    return space.snap(np.concatenate(row)[None, :])[0]


@dataclass(frozen=True, slots=True)
class Leash:
    """Which points the search may take: those whose cell the patrols found at most ``slack`` below
    the best cell. Nothing is assumed of f but continuity: theory.md#leash.
    """

    cells_per_side: int
    is_free: Mask  # (d,): coordinates that are cut into cells; the others are taken as they are
    mean: dict[tuple[float, ...], float]  # of the patrols' values in each cell
    slack: float
    is_complete: bool  # whether every cell has a value; else nothing is excluded

    @staticmethod
    def of(X: Array, values: Array, is_free: Mask, combinations: float) -> Leash:
        """X, values: the patrols that have a value. combinations: how many the coordinates that are
        not free can have.
        """
        n, k = len(X), int(is_free.sum())
        per_side = max(math.floor(n ** (1 / (k + 2)) + 1e-9), 1)  # r_N = N^(−1/(k+2))
        leash = Leash(per_side, is_free, {}, 0.0, False)
        sums: dict[tuple[float, ...], list[float]] = {}
        for cell, value in zip(leash.cells(X), values, strict=True):
            sums.setdefault(cell, []).append(float(value))
        mean = {cell: float(np.mean(each)) for cell, each in sums.items()}
        spread = max(mean.values()) - min(mean.values()) if mean else 0.0
        slack = spread * (LEAST_PATROLS / max(n, LEAST_PATROLS)) ** (1 / (k + 2))
        complete = n >= LEAST_PATROLS and len(mean) == combinations * per_side**k
        return Leash(per_side, is_free, mean, slack, complete)

    def cells(self, A: Array) -> list[tuple[float, ...]]:
        m = self.cells_per_side
        cut = np.where(self.is_free, np.clip(np.floor(A * m), 0, m - 1), A)
        return [tuple(row) for row in cut.tolist()]

    def allows(self, A: Array) -> Mask:
        if not self.is_complete:
            return np.ones(len(A), dtype=np.bool_)
        least = max(self.mean.values()) - self.slack
        return np.array([self.mean[cell] >= least for cell in self.cells(A)], dtype=np.bool_)
