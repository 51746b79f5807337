"""The array types of the project, and rows of arrays that are found by content.

Array: float64, any shape; shapes are in comments where they matter.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]

# Number of designs up to which a finite space is listed and searched exhaustively.
ENUMERATION_LIMIT = 100_000
DIRECT_LIMIT = 4096  # rows of a table up to which distances are sums of squared differences
BLOCK = 8_192  # rows that are hashed or compared at once: they stay in the processor's cache
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: mixes the bits of a hash
HALF = np.uint64(32)


def hashes(U: Array) -> NDArray[np.uint64]:
    """64 bits per row; equal rows have equal ones (−0.0 equals 0.0)."""
    keys = np.zeros(len(U), dtype=np.uint64)
    for start in range(0, len(U), BLOCK):
        bits = (U[start : start + BLOCK] + 0.0).view(np.uint64).reshape(-1, U.shape[1])
        part = keys[start : start + BLOCK]
        for column in bits.T:
            part ^= column
            part *= MULTIPLIER
            part ^= part >> HALF
    return keys


class RowIndex:
    """Positions of rows in a table; of equal rows the first counts.

    Args:
        table: The rows, (n, d).
    """

    def __init__(self, table: Array) -> None:
        self._table = table
        keys = hashes(table)
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]

    def firsts(self) -> Indices:
        """The first position of every distinct row, in order."""
        starts = range(0, len(self._table), BLOCK)
        positions = [self.find(self._table[start : start + BLOCK]) for start in starts]
        return np.unique(np.concatenate(positions))

    def find(self, U: Array) -> Indices:
        """The position of each row, −1 for rows that the table does not have."""
        U = np.ascontiguousarray(U, dtype=np.float64)
        keys, positions = hashes(U), np.full(len(U), -1, dtype=np.intp)
        at = np.searchsorted(self._sorted, keys)
        left = np.flatnonzero(at < len(self._sorted))
        while len(left):  # more than once only if different rows have equal hashes
            left = left[self._sorted[at[left]] == keys[left]]
            rows = self._order[at[left]]
            same = np.all(self._table[rows] == U[left], axis=1)
            positions[left[same]] = rows[same]
            left = left[~same]
            at[left] += 1
            left = left[at[left] < len(self._sorted)]
        return positions


def nearest_rows(U: Array, table: Array) -> Indices:
    """The position of the table's row nearest to each row of U; the first of equally near ones.

    In a long table distances are |u|² + |e|² − 2 u·e, to rounding.
    """
    if len(table) <= DIRECT_LIMIT:
        distance = ((U[:, None, :] - table[None, :, :]) ** 2).sum(axis=-1)
        return np.argmin(distance, axis=1)
    least, nearest = np.full(len(U), np.inf), np.zeros(len(U), dtype=np.intp)
    for start in range(0, len(table) if len(U) else 0, BLOCK):
        rows = table[start : start + BLOCK]
        distance = np.einsum("ij,ij->i", rows, rows) - 2.0 * (U @ rows.T)
        at = np.argmin(distance, axis=1)
        there = distance[np.arange(len(U)), at]
        closer = there < least
        least[closer], nearest[closer] = there[closer], start + at[closer]
    return nearest


def product(levels: list[Array]) -> Array:
    """Every combination of rows of several tables, side by side; the last table changes fastest."""
    repeats = count = math.prod(len(table) for table in levels)
    columns = []
    for table in levels:
        repeats //= len(table)
        columns.append(table[np.arange(count) // repeats % len(table)])
    return np.hstack(columns)
