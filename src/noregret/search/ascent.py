"""Ascent inside what linear constraints leave: a direction that breaks none, as far as none ends
it.

A constraint that is reached and that the direction would break is taken out of it, one after the
other; equalities are taken out at once. theory.md#feasible
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.space import Array, Mask, Region

REACHED = 1e-9  # of a constraint's unit: it is touched
SMALL = 1e-12


@dataclass(frozen=True, slots=True)
class Bounds:
    """The constraints at some points, in units of the search: J p ≤ room, rows of length 1."""

    J: Array  # (n, m, d)
    room: Array  # (n, m)
    is_equal: Mask  # (m,)

    @staticmethod
    def at(region: Region, X: Array, unit: Array, movable: Mask) -> Bounds:
        """The region's and the cube's own; what cannot move counts for nothing."""
        d = X.shape[1]
        J, room, is_equal = region.rows(X)
        sides = np.broadcast_to(np.vstack([np.eye(d), -np.eye(d)]), (len(X), 2 * d, d))
        J = np.concatenate([J, sides], axis=1) * (unit * movable)
        room = np.hstack([room, 1 - X, X])
        length = np.sqrt((J**2).sum(axis=2))
        counts = length > SMALL
        J = np.where(counts[:, :, None], J / np.where(counts, length, 1.0)[:, :, None], 0.0)
        room = np.where(counts, room / np.where(counts, length, 1.0), np.inf)
        return Bounds(J, room, np.append(is_equal, np.zeros(2 * d, dtype=np.bool_)))

    def along(self, p: Array) -> Array:
        """The directions, less what leads out."""
        p = p.copy()
        reached = (self.room <= REACHED) & ~self.is_equal
        basis: list[Array] = []
        for row in np.flatnonzero(self.is_equal):
            basis.append(_orthogonal(self.J[:, row], basis))
            p -= np.einsum("kd,kd->k", p, basis[-1])[:, None] * basis[-1]
        rows = np.arange(len(p))
        for _ in range(p.shape[1]):
            rise = np.where(reached, np.einsum("kmd,kd->km", self.J, p), -np.inf)
            worst = np.argmax(rise, axis=1)
            out = rise[rows, worst] > SMALL * (1 + np.abs(p).max(axis=1))
            if not out.any():
                break
            normal = _orthogonal(self.J[rows, worst], basis) * out[:, None]
            basis.append(normal)
            p -= np.einsum("kd,kd->k", p, normal)[:, None] * normal
            reached[rows[out], worst[out]] = False
        return p

    def reach(self, p: Array) -> Array:
        """The largest part of each direction that stays inside, at most all of it."""
        rise = np.einsum("kmd,kd->km", self.J, p)
        ends = (rise > SMALL) & (self.room > REACHED) & ~self.is_equal
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(ends, self.room / rise, 1.0).min(axis=1, initial=1.0))


def _orthogonal(a: Array, basis: list[Array]) -> Array:
    """Unit vectors of what is left of a; zero where nothing is."""
    for q in basis:
        a = a - np.einsum("kd,kd->k", a, q)[:, None] * q
    length = np.linalg.norm(a, axis=1)
    return np.where(length[:, None] > 1e-8, a / np.maximum(length, 1e-300)[:, None], 0.0)
