"""Inputs that constraints tie together, apart from all others: a list of combinations, or a
polytope. Each block maps rows of the cube to its points, uniform to uniform, and finds the way
back to a point from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from noregret.space.array import Array, Indices, Mask
from noregret.space.axis import Axis
from noregret.space.polytope import SWEEPS, Polytope
from noregret.space.rows import nearest_rows

LIST_LIMIT = 20_000  # combinations that are kept one by one
GROWTH_LIMIT = 2_000_000  # combinations that are looked through on the way there
EXACT = 1e-9  # of a constraint's unit: rounding
NEIGHBOURS = 64  # combinations next to one that are jumped to


@dataclass(frozen=True, slots=True)
class Rows:
    """low ≤ C w ≤ high for the axes of a block, and combinations of levels that are forbidden: by
    axis the level's w.
    """

    C: Array  # (m, k)
    low: Array
    high: Array
    forbidden: tuple[dict[int, float], ...] = ()

    def hold(self, W: Array, tolerance: float = EXACT) -> Mask:
        total = W @ self.C.T
        good = np.all((total >= self.low - tolerance) & (total <= self.high + tolerance), axis=1)
        return np.asarray(good & self.free(W))

    def free(self, W: Array) -> Mask:
        """Of everything forbidden."""
        good = np.ones(len(W), dtype=np.bool_)
        for each in self.forbidden:
            at = list(each)
            good &= ~np.all(np.abs(W[:, at] - np.array(list(each.values()))) < EXACT, axis=1)
        return good

    @property
    def equal(self) -> Mask:
        return self.low == self.high


class Block(Protocol):
    """columns: of the unit cube."""

    @property
    def columns(self) -> Indices: ...
    def mapped(self, V: Array) -> Array:
        """Points for rows of the cube, in the block's columns: uniform to uniform."""

    def repair(self, U: Array) -> Array:
        """Points near rows of the block's columns; points of the block stay."""

    def through(self, U: Array, kept: Mask) -> Array:
        """As ``repair``, but the kept columns stay as they are even if no point has them."""

    def jumps(self, u: Array) -> Array:
        """Points next to one that no gradient leads to."""


class ListBlock:
    """Combinations of levels, one by one."""

    def __init__(self, axes: Sequence[Axis], table: Array) -> None:
        self._columns = columns_of(axes)
        self.table = table

    @property
    def columns(self) -> Indices:
        return self._columns

    def mapped(self, V: Array) -> Array:
        return self.table[np.minimum((V[:, 0] * len(self.table)).astype(np.intp), self._last)]

    @property
    def _last(self) -> int:
        return len(self.table) - 1

    def repair(self, U: Array) -> Array:
        return self.table[nearest_rows(U, self.table)]

    def through(self, U: Array, kept: Mask) -> Array:
        table = self.table * np.where(kept, 1e6, 1.0)  # the kept columns come first
        near = self.table[nearest_rows(U * np.where(kept, 1e6, 1.0), table)]
        return np.where(kept, U, near)

    def jumps(self, u: Array) -> Array:
        distance = ((self.table - u) ** 2).sum(axis=1)
        near = np.argsort(distance, kind="stable")[: NEIGHBOURS + 1]
        return self.table[near[distance[near] > 0]]


class PolytopeBlock:
    """Numbers that may take any value, in linear constraints."""

    def __init__(self, axes: Sequence[Axis], rows: Rows, polytope: Polytope) -> None:
        self._columns, self.rows, self.polytope = columns_of(axes), rows, polytope

    @staticmethod
    def of(axes: Sequence[Axis], rows: Rows) -> PolytopeBlock | None:
        """None: it is empty."""
        same = rows.equal
        above, below = ~same & np.isfinite(rows.high), ~same & np.isfinite(rows.low)
        G = np.vstack([rows.C[above], -rows.C[below]])
        h = np.concatenate([rows.high[above], -rows.low[below]])
        found = Polytope.of(G, h, rows.C[same], rows.high[same])
        return None if found is None else PolytopeBlock(axes, rows, found)

    @property
    def columns(self) -> Indices:
        return self._columns

    def mapped(self, V: Array) -> Array:
        return self.polytope.mapped(V)

    def repair(self, U: Array) -> Array:
        return self.polytope.repair(U)

    def through(self, U: Array, kept: Mask) -> Array:
        """By projections on the constraints in turn: the kept columns do not move."""
        U, C = U.copy(), np.where(kept, 0.0, self.rows.C)
        length = (C**2).sum(axis=1)
        for _ in range(4 * SWEEPS):
            for row in np.flatnonzero(length > 0):
                total = U @ self.rows.C[row]
                miss = total - np.clip(total, self.rows.low[row], self.rows.high[row])
                U -= (miss / length[row])[:, None] * C[row]
            U[:, ~kept] = np.clip(U[:, ~kept], 0.0, 1.0)
        return U

    def jumps(self, u: Array) -> Array:
        return np.empty((0, len(u)))


def columns_of(axes: Sequence[Axis]) -> Indices:
    return np.concatenate([np.arange(axis.columns.start, axis.columns.stop) for axis in axes])


def combinations(axes: Sequence[Axis], rows: Rows) -> Array | None:
    """Every combination of levels that is allowed, as w; None: too many. What cannot be completed
    is left out on the way.
    """
    k = len(axes)
    steps = np.array([axis.step for axis in axes])
    most = steps * (np.array([axis.count for axis in axes]) - 1)
    least_rest = np.minimum(rows.C * most, 0.0)
    most_rest = np.maximum(rows.C * most, 0.0)
    W = np.zeros((1, 0))
    for j, axis in enumerate(axes):
        if len(W) * axis.count > GROWTH_LIMIT:
            return None
        level = np.arange(axis.count) * axis.step
        W = np.column_stack([np.repeat(W, len(level), axis=0), np.tile(level, len(W))])
        so_far = W @ rows.C[:, : j + 1].T
        least = so_far + least_rest[:, j + 1 :].sum(axis=1)
        largest = so_far + most_rest[:, j + 1 :].sum(axis=1)
        W = W[np.all((least <= rows.high + EXACT) & (largest >= rows.low - EXACT), axis=1)]
    W = W.reshape(-1, k)[rows.free(W.reshape(-1, k))]
    return W if len(W) <= LIST_LIMIT else None


def written(axes: Sequence[Axis], W: Array) -> Array:
    """Shares of a block's axes as its columns of the cube."""
    columns = columns_of(axes)
    U = np.zeros((len(W), int(columns.max(initial=-1)) + 1))
    for j, axis in enumerate(axes):
        axis.write(U, W[:, j])
    return U[:, columns]
