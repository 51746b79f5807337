"""Coordinates for a choice of many options: a binary code in which all are nearly equally far
apart.

One coordinate per option would make ten thousand options a space of ten thousand dimensions. The
dual of the two-error-correcting BCH code of length 127 (the Gold codes) has 16,384 words of 0 and
1 of which any two differ in 56, 64 or 72 places: distances within 7% of each other, in 127
coordinates however many options there are. docs/decisions/0022-scale.md
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from noregret.space.array import Array, Indices

LENGTH = 127
LARGEST = 2**14  # words
_BLOCK = 2**22  # numbers of a table of distances made at once


@lru_cache(maxsize=8)
def words(count: int) -> Array:
    """The first words, (count, 127); read-only."""
    powers = [1]  # of a generator of the field with 2^7 elements, x^7 = x + 1
    for _ in range(LENGTH - 1):
        doubled = powers[-1] << 1
        powers.append(doubled ^ 0x83 if doubled & 0x80 else doubled)

    def trace(exponent: int) -> int:
        total = 0
        for square in range(7):
            total ^= powers[(exponent << square) % LENGTH]
        return total

    # word (a, b) at x has the bit Tr(a·x + b·x³)
    rows = [[trace(k + n) for n in range(LENGTH)] for k in range(7)]
    rows += [[trace(k + 3 * n) for n in range(LENGTH)] for k in range(7)]
    bits = (np.arange(count)[:, None] >> np.arange(14)) & 1
    table = (bits @ np.array(rows) % 2).astype(np.float64)
    table.flags.writeable = False
    return table


def nearest(U: Array, count: int) -> Indices:
    """For each row of U the index of the word next to it."""
    table = words(count).astype(np.float32)
    half = 0.5 * table.sum(axis=1)
    step = max(_BLOCK // count, 1)
    found = [
        np.argmax(U[start : start + step].astype(np.float32) @ table.T - half, axis=1)
        for start in range(0, len(U), step)
    ]
    return np.concatenate(found) if found else np.empty(0, dtype=np.intp)
