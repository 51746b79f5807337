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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from noregret.gp import linalg
from noregret.gp.kernels import Covariance, covariance
from noregret.space import Array

HEAD = 512  # points that are factorised at once
STEP = 64  # rows of a block after them
SPARE = 1.1  # room for later rows, as a multiple of n
CAPACITY = 2  # cached factors: of the fitted class, and of one that is tried beside it


class Cached(Protocol):
    """A cached value, and how often it was used."""

    uses: int


T = TypeVar("T", bound=Cached)


class FactorCache(Generic[T]):
    """The newest factor, and the one that was used most. A factor that was taken belongs to the
    caller until it is put back, so threads do not wait for each other.
    """

    def __init__(self) -> None:
        self._items: list[T] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def take(self, shared: Callable[[T], int]) -> tuple[T | None, int]:
        """The item that shares most, and how much; (None, 0) if none shares anything."""
        with self._lock:
            best, most = None, 0
            for item in self._items:
                count = shared(item)
                if count > most:
                    best, most = item, count
            self._items = [item for item in self._items if item is not best]
        return best, most

    def put(self, newest: T) -> None:
        with self._lock:
            self._items.append(newest)
            if len(self._items) > CAPACITY:
                # the least used of the others; the younger of equals
                least = min(self._items[-2::-1], key=lambda item: item.uses)
                self._items = [item for item in self._items if item is not least]
                for item in self._items[:-1]:
                    item.uses //= 2

    def clear(self) -> None:
        with self._lock:
            self._items.clear()


def common_rows(X: Array, noise_var: Array, other_X: Array, other_noise_var: Array) -> int:
    """How many of the first rows two data sets have in common."""
    if X.shape[1] != other_X.shape[1]:
        return 0
    n = min(len(X), len(other_X))
    same = (X[:n] == other_X[:n]).all(axis=1) & (noise_var[:n] == other_noise_var[:n])
    return n if same.all() else int(np.argmin(same))


@dataclass(slots=True)
class CachedCholesky:
    """The factor of the whole blocks of some points, in the corner of a larger array."""

    kernel: Covariance
    lengthscales: Array
    X: Array
    noise_var: Array
    room: Array
    size: int = 0
    uses: int = 0

    def shared(self, kernel: Covariance, lengthscales: Array, X: Array, noise_var: Array) -> int:
        """How many of its rows are those of the factor of other points."""
        if self.kernel != kernel or not np.array_equal(self.lengthscales, lengthscales):
            return 0
        n = self.size
        return whole_blocks(common_rows(self.X[:n], self.noise_var[:n], X, noise_var))


_cache: FactorCache[CachedCholesky] = FactorCache()


def factor(kernel: Covariance, lengthscales: Array, X: Array, noise_var: Array) -> Array:
    """L with L Lᵀ = k(X, X) + diag noise_var, in LAPACK's order."""
    n, whole = len(X), whole_blocks(len(X))
    if whole == 0:
        return _head(kernel, lengthscales, X, noise_var)
    cached, size = _cache.take(lambda item: item.shared(kernel, lengthscales, X, noise_var))
    if cached is None:
        empty = np.zeros((0, 0))
        cached = CachedCholesky(kernel, lengthscales.copy(), X[:0], noise_var[:0], empty)
    else:
        cached.size, cached.uses = size, cached.uses + 1
    if len(cached.room) < whole:
        room = np.zeros((int(SPARE * n), int(SPARE * n)), order="F")
        room[: cached.size, : cached.size] = cached.room[: cached.size, : cached.size]
        cached.room = room
    if cached.size == 0:
        cached.room[:HEAD, :HEAD] = _head(kernel, lengthscales, X[:HEAD], noise_var[:HEAD])
        cached.size = HEAD
    while cached.size < whole:
        rows = slice(cached.size, cached.size + STEP)
        append_block(cached.room, kernel, lengthscales, X, noise_var, rows)
        cached.size = rows.stop
    L = np.zeros((n, n), order="F")
    L[:whole, :whole] = cached.room[:whole, :whole]
    if whole < n:
        append_block(L, kernel, lengthscales, X, noise_var, slice(whole, n))
    cached.X, cached.noise_var = X[:whole].copy(), noise_var[:whole].copy()
    _cache.put(cached)
    return L


def whole_blocks(n: int) -> int:
    """The rows of n that are in whole blocks."""
    return 0 if n <= HEAD else HEAD + (n - HEAD) // STEP * STEP


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


def forget() -> None:
    """Free the cached factors."""
    _cache.clear()
