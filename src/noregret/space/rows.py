"""Rows of a table of numbers, found by their content, a hash of each, sorted, or as the nearest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noregret.space.array import Array, Indices
from noregret.space.search_space import ENUMERATION_LIMIT

BLOCK = 8_192  # rows that are hashed at once: they stay in the processor's cache
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)

Hashes = NDArray[np.uint64]


def hashes(U: Array) -> Hashes:
    """64 bits per row; equal rows have equal ones (−0.0 equals 0.0)."""
    found = np.zeros(len(U), dtype=np.uint64)
    for start in range(0, len(U), BLOCK):
        bits = (U[start : start + BLOCK] + 0.0).view(np.uint64).reshape(-1, U.shape[1])
        part = found[start : start + BLOCK]
        for column in bits.T:
            part ^= column
            part *= MULTIPLIER
            part ^= part >> HALF
    return found


class RowIndex:
    """Where in a table of distinct rows a row stands."""

    def __init__(self, table: Array) -> None:
        self._table = table
        keys = hashes(table)
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]

    def find(self, U: Array) -> Indices:
        """The position of each row, −1 where the table has none like it."""
        U = np.ascontiguousarray(U, dtype=np.float64)
        keys, found = hashes(U), np.full(len(U), -1, dtype=np.intp)
        at = np.searchsorted(self._sorted, keys)
        left = np.flatnonzero(at < len(self._sorted))
        while len(left):  # once, or as often as hashes of different rows are equal
            left = left[self._sorted[at[left]] == keys[left]]
            rows = self._order[at[left]]
            same = np.all(self._table[rows] == U[left], axis=1)
            found[left[same]] = rows[same]
            left = left[~same]
            at[left] += 1
            left = left[at[left] < len(self._sorted)]
        return found


def first_of_each(table: Array) -> Indices:
    """The first position of every distinct row, in order."""
    keys = hashes(table)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = ordered[1:] != ordered[:-1]
    again = np.flatnonzero(~starts)
    if len(again) == 0:
        return np.arange(len(table))
    leader = order[np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))]
    if np.any(table[order[again]] != table[leader[again]]):  # two rows, one hash
        return np.sort(np.unique(table + 0.0, axis=0, return_index=True)[1])
    return np.sort(order[starts])


def nearest_rows(U: Array, table: Array) -> Indices:
    """The position of the row of the table that is nearest to each row of U, the first of equally
    near ones; in a long table as far as |u|² + |e|² − 2 u·e can tell.
    """
    if len(table) <= ENUMERATION_LIMIT:
        distance = ((U[:, None, :] - table[None, :, :]) ** 2).sum(axis=-1)
        return np.argmin(distance, axis=1)
    least, found = np.full(len(U), np.inf), np.zeros(len(U), dtype=np.intp)
    for start in range(0, len(table) if len(U) else 0, BLOCK):
        rows = table[start : start + BLOCK]
        distance = np.einsum("ij,ij->i", rows, rows) - 2.0 * (U @ rows.T)
        at = np.argmin(distance, axis=1)
        there = distance[np.arange(len(U)), at]
        closer = there < least
        least[closer], found[closer] = there[closer], start + at[closer]
    return found
