"""Points that satisfy linear equalities and inequalities: E x = e is solved, so that some
coordinates follow from the others; G z ≤ h is sampled through its simplices or by hit-and-run.
theory.md#feasible
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, Delaunay, HalfspaceIntersection, QhullError

from noregret.space.array import Array, Indices, Mask

FLAT = 1e-9  # a constraint that cannot be missed by more is an equality
ROUNDING = 1e-10  # of a coordinate: smaller differences are rounding
EXACT_UP_TO = 4  # coordinates: beyond, only one simplex is cut exactly
LONGEST = 50_000  # simplices: with more, a polytope is sampled by a walk


@dataclass(frozen=True)
class Solved:
    """x = start + basis z: coordinates ``free`` are z, the others follow."""

    start: Array  # (d,)
    basis: Array  # (d, k)
    free: Indices

    def lift(self, Z: Array) -> Array:
        return np.asarray(self.start + Z @ self.basis.T)


def solve(E: Array, e: Array, preferred: Array) -> Solved | None:
    """The points with E x = e; the coordinates that follow are chosen by ``preferred``, larger
    first. None: there are none.
    """
    rows, d = np.hstack([E, e[:, None]]).astype(np.float64), E.shape[1]
    pivots: list[int] = []
    top = 0
    for column in np.argsort(-preferred, kind="stable"):
        if top == len(rows):
            break
        best = top + int(np.argmax(np.abs(rows[top:, column])))
        if abs(rows[best, column]) < ROUNDING:
            continue
        rows[[top, best]] = rows[[best, top]]
        rows[top] /= rows[top, column]
        others = np.arange(len(rows)) != top
        rows[others] -= rows[others, column][:, None] * rows[top]
        pivots.append(int(column))
        top += 1
    if np.any(np.abs(rows[top:, -1]) > 10 * ROUNDING):
        return None
    free = np.array([j for j in range(d) if j not in pivots], dtype=np.intp)
    start, basis = np.zeros(d), np.zeros((d, len(free)))
    basis[free, np.arange(len(free))] = 1.0
    for row, column in enumerate(pivots):
        start[column] = rows[row, -1]
        basis[column] = -rows[row, free]
    return Solved(start, basis, free)


def chord(G: Array, h: Array, Z: Array, directions: Array) -> tuple[Array, Array]:
    """How far one can go from points of G z ≤ h, backwards and forwards."""
    rise = directions @ G.T
    room = np.maximum(h - Z @ G.T, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = room / rise
    high = np.where(rise > ROUNDING, ratio, np.inf).min(axis=1)
    low = np.where(rise < -ROUNDING, ratio, -np.inf).max(axis=1)
    return np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)


def hit_and_run(G: Array, h: Array, Z: Array, directions: Array, rng: np.random.Generator) -> Array:
    """A uniform point of the chord through each point of G z ≤ h (Smith 1984): leaves the uniform
    distribution as it is.
    """
    low, high = chord(G, h, Z, directions)
    return np.asarray(Z + (low + rng.random(len(Z)) * (high - low))[:, None] * directions)


def seeded(V: Array) -> np.random.Generator:
    """A generator that depends on the rows and nothing else."""
    digest = hashlib.blake2b(np.ascontiguousarray(V).tobytes(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def through_simplices(simplices: tuple[Array, Array], V: Array) -> Array:
    """The first column chooses the simplex, and what is left of it and the others the point."""
    corners, shares = simplices
    edges = np.concatenate([[0.0], np.cumsum(shares)])
    edges /= edges[-1]
    which = np.clip(np.searchsorted(edges, V[:, 0], side="right") - 1, 0, len(shares) - 1)
    left = (V[:, 0] - edges[which]) / np.maximum(edges[which + 1] - edges[which], 1e-300)
    position = np.column_stack([left, V[:, 1:]])
    k = V.shape[1]
    weights, rest = np.empty((len(V), k + 1)), np.ones(len(V))
    for j in range(k):  # a stick broken k times: uniform on the simplex
        share = 1 - (1 - np.clip(position[:, j], 0.0, 1.0)) ** (1 / (k - j))
        weights[:, j] = rest * share  # theory.md#feasible
        rest = rest * (1 - share)
    weights[:, k] = rest
    return np.asarray(np.einsum("nc,ncj->nj", weights, corners[which]))


def simplices_of(G: Array, h: Array, centre: Array) -> tuple[Array, Array] | None:
    """Corners (s, k + 1, k) of simplices that fill G z ≤ h, and their shares of the volume; None:
    too many.
    """
    k = len(centre)
    if k == 1:
        low, high = chord(G, h, centre[None, :], np.ones((1, 1)))
        return (centre + np.array([[low, high]]).reshape(1, 2, 1)), np.ones(1)
    if k > EXACT_UP_TO:
        needed = _needed_rows(G, h)
        if len(needed) > k + 1:
            return None
        G, h = G[needed], h[needed]
    try:
        vertices = HalfspaceIntersection(np.column_stack([G, -h]), centre).intersections
        vertices = np.unique(vertices.round(12), axis=0)
        if len(vertices) == k + 1:
            return vertices[None, :, :], np.ones(1)
        corners = vertices[Delaunay(vertices).simplices]
        volume = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1]))
        whole = ConvexHull(vertices).volume
    except QhullError:
        return None
    if len(corners) > LONGEST or abs(volume.sum() / math.factorial(k) - whole) > 1e-6 * whole:
        return None
    kept = volume > 1e-12 * volume.sum()
    return corners[kept], volume[kept] / volume[kept].sum()


def deepest_ball(G: Array, h: Array) -> tuple[Array, float, Mask]:
    """The centre and radius of the largest ball inside; rows have length 1. Negative: none. Also
    the constraints that bound it: if the radius is 0, no point can miss them by anything.
    """
    k = G.shape[1]
    solution = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.column_stack([G, np.ones(len(G))]),
        b_ub=h,
        bounds=[(None, None)] * k + [(-10.0, 10.0)],
        method="highs",
    )
    return np.asarray(solution.x[:k]), float(solution.x[k]), solution.ineqlin.marginals < -FLAT


def _needed_rows(G: Array, h: Array) -> Indices:
    """Constraints without which the polytope would be larger."""
    kept = list(range(len(G)))
    for row in range(len(G)):
        rest = [other for other in kept if other != row]
        solution = linprog(
            -G[row],
            A_ub=np.vstack([G[rest], G[row]]),
            b_ub=np.append(h[rest], h[row] + 1.0),
            bounds=(None, None),
            method="highs",
        )
        if solution.status == 0 and -solution.fun <= h[row] + FLAT:
            kept = rest
    return np.array(kept, dtype=np.intp)
