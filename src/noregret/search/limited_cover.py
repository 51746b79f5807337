"""How large f can be where limits may be kept, and whether they can be kept anywhere.

As in ``cover``: in a cell with sides h a function of norm at most B is at most max_v U(v) + B·Σ
e(h_j/θ_j). A cell in which that bound of some margin is below zero holds no feasible point; the
others count. If none is left, there is no feasible point. Proof: docs/theory.md, "Limits".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noregret.gp import Kernel
from noregret.search.cover import BUDGET, COARSE, Cover, Upper, interpolation_error
from noregret.space import Array, Region


@dataclass(frozen=True, slots=True)
class Bounded:
    """A function with an upper bound at every point, and a norm bound at these lengthscales; in
    units in which it matters from ``least`` on.
    """

    upper: Upper
    kernel: Kernel
    lengthscales: Array
    norm_bound: float
    least: float = -math.inf

    def excess(self, sides: Array) -> float:
        """What is added in a cell with these sides."""
        steps = (sides / self.lengthscales).tolist()
        error = sum(interpolation_error(self.kernel, step) for step in steps)
        return self.norm_bound * error  # theory.md#certificates


def limited_cover(
    f: Bounded,
    margins: Sequence[Bounded],
    tolerance: float,
    budget: int = BUDGET,
    region: Region | None = None,
) -> Cover:
    """A bound on max f over the points of the unit cube, or of that part of it, at which no margin
    is surely below its ``least``. ``upper`` −∞: there is no such point. ``found`` −∞: none was
    found.
    """
    theta = np.min([f.lengthscales, *(each.lengthscales for each in margins)], axis=0)
    d = len(theta)
    counts = np.maximum(np.ceil(1 / (COARSE * theta)), 1)
    counts = np.minimum(counts, max(math.floor((budget / 4) ** (1 / d)) - 1, 1)).astype(np.int64)
    grid = np.meshgrid(*[np.arange(c) for c in counts], indexing="ij")
    cells = np.stack(grid, axis=-1).reshape(-1, d).astype(np.int64)
    corners = np.stack(np.meshgrid(*[[0, 1]] * d, indexing="ij"), axis=-1).reshape(-1, d)
    found, point, settled, used = -math.inf, np.full(d, 0.5), -math.inf, 0
    while True:
        if region is not None:
            cells = cells[region.touches(cells / counts, (cells + 1) / counts)]
            if len(cells) == 0:
                return Cover(max(settled, found), found, point, used, True)
        nodes = (cells[:, None, :] + corners).reshape(-1, d)
        index = np.ravel_multi_index(tuple(nodes.T), tuple(counts + 1))
        _, first, back = np.unique(index, return_index=True, return_inverse=True)
        points = nodes[first] / counts
        used += len(points)
        values = f.upper(points)
        every = np.ones(len(points), dtype=np.bool_)
        optimistic = every if region is None else region.feasible(points)
        possible = np.ones(len(cells), dtype=np.bool_)
        for each in margins:
            at = each.upper(points)
            optimistic &= at >= each.least
            in_cell = at[back.ravel()].reshape(len(cells), -1).max(axis=1)
            possible &= in_cell + each.excess(1 / counts) >= each.least  # theory.md#limits
        if optimistic.any():
            top = int(np.argmax(np.where(optimistic, values, -np.inf)))
            if values[top] > found:
                found, point = float(values[top]), points[top]
        in_cell = values[back.ravel()].reshape(len(cells), -1).max(axis=1)
        bounds = in_cell + f.excess(1 / counts)
        going = possible & (bounds > found + tolerance)
        over = possible & ~going
        if over.any():
            settled = max(settled, float(bounds[over].max()))
        left = int(going.sum())
        if left == 0 or used + left * 3**d > budget or np.any(counts > 2**30):
            still = float(bounds[going].max()) if left else -math.inf
            return Cover(max(settled, still), found, point, used, True)
        cells = (2 * cells[going][:, None, :] + corners).reshape(-1, d)
        counts = 2 * counts
