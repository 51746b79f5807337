"""The factor of a covariance matrix as a fixed sequence of block appends.

Up to HEAD points it is one factorisation. More points follow in blocks of STEP rows, each appended
to the factor of all before it:

    L = [[L₁, 0], [R, L₂]]   with   R L₁ᵀ = K₂₁,   L₂ L₂ᵀ = K₂₂ + diag λ₂ − R Rᵀ

and the rows that fill no block come last. So the factor of n points begins with the factor of the
whole blocks of any m < n of them, to the bit. Those are kept from one call to the next in this
process: whoever starts over runs the same operations and gets the same factor, n³/3 instead of n²
later. docs/decisions/0022
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.gp import linalg
from noregret.gp.kernels import Covariance, covariance
from noregret.gp.shelf import Shelf
from noregret.space import Array

HEAD = 512  # points that are factorised at once
STEP = 64  # rows of a block after them
SPARE = 1.1  # room for rows to come


@dataclass(slots=True)
class Grown:
    """The factor of the whole blocks of some points, in the corner of an array with room to
    grow.
    """

    kernel: Covariance
    lengthscales: Array
    X: Array
    noise_var: Array
    room: Array
    size: int = 0
    uses: int = 0

    def shared(self, kernel: Covariance, lengthscales: Array, X: Array, noise_var: Array) -> int:
        """How many of its rows are those of a factor of other points."""
        if self.kernel != kernel or not np.array_equal(self.lengthscales, lengthscales):
            return 0
        n = min(self.size, len(X))
        if self.X.shape[1] != X.shape[1]:
            return 0
        same = (self.X[:n] == X[:n]).all(axis=1) & (self.noise_var[:n] == noise_var[:n])
        return whole_blocks(n if same.all() else int(np.argmin(same)))


_kept: Shelf[Grown] = Shelf()


def factor(kernel: Covariance, lengthscales: Array, X: Array, noise_var: Array) -> Array:
    """L with L Lᵀ = k(X, X) + diag noise_var, in LAPACK's order."""
    n, whole = len(X), whole_blocks(len(X))
    if whole == 0:
        return _head(kernel, lengthscales, X, noise_var)
    grown = _taken(kernel, lengthscales, X, noise_var)
    if len(grown.room) < whole:
        room = np.zeros((int(SPARE * n), int(SPARE * n)), order="F")
        room[: grown.size, : grown.size] = grown.room[: grown.size, : grown.size]
        grown.room = room
    if grown.size == 0:
        grown.room[:HEAD, :HEAD] = _head(kernel, lengthscales, X[:HEAD], noise_var[:HEAD])
        grown.size = HEAD
    while grown.size < whole:
        rows = slice(grown.size, grown.size + STEP)
        append_block(grown.room, kernel, lengthscales, X, noise_var, rows)
        grown.size = rows.stop
    L = np.zeros((n, n), order="F")
    L[:whole, :whole] = grown.room[:whole, :whole]
    if whole < n:
        append_block(L, kernel, lengthscales, X, noise_var, slice(whole, n))
    grown.X, grown.noise_var = X[:whole].copy(), noise_var[:whole].copy()
    _kept.keep(grown)
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
    """Fills the rows of L after those that are filled: m² per row."""
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
    """Frees what is kept."""
    _kept.forget()


def _taken(kernel: Covariance, lengthscales: Array, X: Array, noise_var: Array) -> Grown:
    """The kept factor that shares most rows, cut to them, or a new one."""
    best, most = _kept.take(lambda each: each.shared(kernel, lengthscales, X, noise_var))
    if best is None:
        return Grown(kernel, lengthscales.copy(), X[:0], noise_var[:0], np.zeros((0, 0)))
    best.size, best.uses = most, best.uses + 1
    return best
