"""The factor of a covariance matrix as a fixed sequence of block appends, and a cache of factors.

Up to HEAD points it is one factorisation. More points follow in blocks of STEP rows, each appended
to the factor of all before it:

    L = [[L₁, 0], [R, L₂]]   with   R L₁ᵀ = K₂₁,   L₂ L₂ᵀ = K₂₂ + diag λ₂ − R Rᵀ

and the rows that fill no block come last. So the factor of n points begins with the factor of the
whole blocks of any m < n of them, to the bit. Those are cached from one call to the next in this
process. A process without them runs the same operations and gets the same factor, at n³/3 instead
of n²: the cache changes no proposal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from noregret.gp import linalg
from noregret.gp.kernels import Covariance, covariance
from noregret.space import Array

HEAD = 512  # points that are factorised at once
STEP = 64  # rows of a block after them
SPARE = 1.1  # room for later rows, as a multiple of n
CAPACITY = 2  # cached factors: of the fitted class, and of a widened one

T = TypeVar("T")  # what is cached: an array, or a factor on a device


@dataclass(slots=True)
class CachedFactor(Generic[T]):
    """The factor of the whole blocks of some points. ``key``: its kernel, and where it lies."""

    key: object
    lengthscales: Array
    X: Array
    noise_var: Array
    value: T
    uses: int = 0

    def common_rows(self, key: object, lengthscales: Array, X: Array, noise_var: Array) -> int:
        """The number of leading rows that the factor of other points shares."""
        same_class = self.key == key and np.array_equal(self.lengthscales, lengthscales)
        if not same_class or self.X.shape[1] != X.shape[1]:
            return 0
        n = min(len(self.X), len(X))
        same = (self.X[:n] == X[:n]).all(axis=1) & (self.noise_var[:n] == noise_var[:n])
        return n if same.all() else int(np.argmin(same))


class FactorCache(Generic[T]):
    """Keeps the newest factor and the most used one. A taken factor belongs to the caller until it
    is put back, so threads do not wait for each other.

    Args:
        whole_blocks: the rows of n that are in whole blocks.
    """

    def __init__(self, whole_blocks: Callable[[int], int]) -> None:
        self._whole_blocks = whole_blocks
        self.items: list[CachedFactor[T]] = []
        self._lock = threading.Lock()

    def take(
        self, key: object, lengthscales: Array, X: Array, noise_var: Array
    ) -> tuple[CachedFactor[T] | None, int]:
        """The item that shares most blocks, and their rows; (None, 0) if none shares any."""
        with self._lock:
            best, most = None, 0
            for item in self.items:
                count = self._whole_blocks(item.common_rows(key, lengthscales, X, noise_var))
                if count > most:
                    best, most = item, count
            self.items = [item for item in self.items if item is not best]
        return best, most

    def put(self, newest: CachedFactor[T]) -> None:
        with self._lock:
            self.items.append(newest)
            if len(self.items) > CAPACITY:
                # the least used of the others; the younger of equals
                least = min(self.items[-2::-1], key=lambda item: item.uses)
                self.items = [item for item in self.items if item is not least]
                for item in self.items[:-1]:
                    item.uses //= 2

    def clear(self) -> None:
        """Free the cached factors."""
        with self._lock:
            self.items.clear()


def whole_blocks(n: int) -> int:
    """The rows of n that are in whole blocks."""
    return 0 if n <= HEAD else HEAD + (n - HEAD) // STEP * STEP


cache: FactorCache[Array] = FactorCache(whole_blocks)  # in the corner of a larger array


def factor(kernel: Covariance, lengthscales: Array, X: Array, noise_var: Array) -> Array:
    """L with L Lᵀ = k(X, X) + diag noise_var, in LAPACK's order."""
    n, whole = len(X), whole_blocks(len(X))
    if whole == 0:
        return _head(kernel, lengthscales, X, noise_var)
    cached, size = cache.take(kernel, lengthscales, X, noise_var)
    room, uses = (np.zeros((0, 0)), 0) if cached is None else (cached.value, cached.uses + 1)
    if len(room) < whole:
        larger = np.zeros((int(SPARE * n), int(SPARE * n)), order="F")
        larger[:size, :size] = room[:size, :size]
        room = larger
    if size == 0:
        room[:HEAD, :HEAD] = _head(kernel, lengthscales, X[:HEAD], noise_var[:HEAD])
        size = HEAD
    for start in range(size, whole, STEP):
        append_block(room, kernel, lengthscales, X, noise_var, slice(start, start + STEP))
    L = np.zeros((n, n), order="F")
    L[:whole, :whole] = room[:whole, :whole]
    if whole < n:
        append_block(L, kernel, lengthscales, X, noise_var, slice(whole, n))
    known = lengthscales.copy(), X[:whole].copy(), noise_var[:whole].copy()
    cache.put(CachedFactor(kernel, *known, room, uses))
    return L


def _head(kernel: Covariance, lengthscales: Array, X: Array, noise_var: Array) -> Array:
    K = covariance(kernel, lengthscales, X, X)
    K[np.diag_indices_from(K)] += noise_var
    return linalg.cholesky(K.T)  # symmetric, and so in LAPACK's order: factorised in place


def append_block(
    L: Array, kernel: Covariance, lengthscales: Array, X: Array, noise_var: Array, rows: slice
) -> None:
    """Fill the next rows of L: m² per row."""
    m = rows.start
    R = covariance(kernel, lengthscales, X[rows], X[:m])
    for start in (0, *range(HEAD, m, STEP)):
        block = slice(start, HEAD if start == 0 else start + STEP)
        if start:
            R[:, block] -= R[:, :start] @ L[block, :start].T
        corner = np.asfortranarray(L[block, block])
        R[:, block] = linalg.solve_lower(corner, R[:, block].T).T
    K = covariance(kernel, lengthscales, X[rows], X[rows])
    K[np.diag_indices_from(K)] += noise_var[rows]
    L[rows, :m] = R
    L[rows, rows] = linalg.cholesky((K - R @ R.T).T, rows.stop)
