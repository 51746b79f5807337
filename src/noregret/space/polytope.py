"""Points of the unit cube that satisfy linear equalities and inequalities: G x ≤ h, E x = e.

Equalities are solved: some coordinates follow from the others, which fill a polytope of full
dimension. It is sampled through its simplices (exactly) where these are few, else by hit-and-run.
theory.md#feasible
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, Delaunay, HalfspaceIntersection, QhullError

from noregret.space.array import Array, Indices, Mask

FLAT = 1e-9  # a constraint that cannot be missed by more is an equality
ROUNDING = 1e-10  # of a coordinate
TIDY = 1e-13  # 0 is written, not 1.6e-17
EXACT_UP_TO = 4  # free coordinates: beyond, only one simplex is cut exactly
LONGEST = 50_000  # simplices
RESERVOIR, BURN_IN = 1024, 240  # of hit-and-run: points that are kept, and their steps
STEPS = 4  # per coordinate, from a point that was kept to the next one
SWEEPS = 40  # of alternating projections


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


class Polytope:
    """Not empty: ``Polytope.of`` gives None for what is."""

    def __init__(self, solved: Solved, G: Array, h: Array, centre: Array) -> None:
        self.solved, self.G, self.h, self.centre = solved, G, h, centre  # in z

    @staticmethod
    def of(G: Array, h: Array, E: Array, e: Array) -> Polytope | None:
        """Of the unit cube's points with G x ≤ h and E x = e."""
        d = G.shape[1]
        G = np.vstack([G, np.eye(d), -np.eye(d)])
        h = np.concatenate([h, np.ones(d), np.zeros(d)])
        while True:
            solved = solve(E, e, np.zeros(d))
            if solved is None:
                return None
            inner, room = G @ solved.basis, h - G @ solved.start
            size = np.linalg.norm(inner, axis=1)
            if np.any(room[size <= ROUNDING] < -FLAT):
                return None
            kept = size > ROUNDING
            inner, room = inner[kept] / size[kept, None], room[kept] / size[kept]
            if len(solved.free) == 0:
                return Polytope(solved, inner, room, np.zeros(0))
            centre, radius, tight = _deepest(inner, room)
            if radius < -FLAT:
                return None
            if radius > FLAT:
                return Polytope(solved, inner, room, centre)
            rows = np.flatnonzero(kept)[tight]
            E, e = np.vstack([E, G[rows]]), np.append(e, h[rows])

    @cached_property
    def dimension(self) -> int:
        return len(self.solved.free)

    # -- samples --

    def mapped(self, V: Array) -> Array:
        """Rows of the cube to points: uniform to uniform. Through simplices the map is piecewise
        smooth; by hit-and-run the rows are its seed.
        """
        k = self.dimension
        if k == 0:
            return np.repeat(self.solved.start[None, :], len(V), axis=0)
        if self.simplices is not None:
            Z = _through(self.simplices, V[:, :k])
        else:
            Z = self._walked(V)
        return self._lifted(Z)

    def _lifted(self, Z: Array) -> Array:
        """Inside the cube; what is next to its faces is on them."""
        X = self.solved.lift(Z)
        X[X < TIDY], X[X > 1 - TIDY] = 0.0, 1.0
        return X

    @cached_property
    def simplices(self) -> tuple[Array, Array] | None:
        """Corners (s, k + 1, k) and shares of the volume; None: too many."""
        if self.dimension == 1:
            low, high = chord(self.G, self.h, self.centre[None, :], np.ones((1, 1)))
            return (self.centre + np.array([[low, high]]).reshape(1, 2, 1)), np.ones(1)
        G, h = self.G, self.h
        if self.dimension > EXACT_UP_TO:
            needed = _needed(G, h)
            if len(needed) > self.dimension + 1:
                return None
            G, h = G[needed], h[needed]
        return _triangulated(G, h, self.centre)

    @cached_property
    def _reservoir(self) -> tuple[Array, Array]:
        """Points of a long walk, and a factor of their covariance that shapes the directions."""
        rng = np.random.default_rng(0)
        Z = np.repeat(self.centre[None, :], RESERVOIR, axis=0)
        factor: Array = np.eye(self.dimension)
        for _ in range(3):
            for _ in range(BURN_IN // 3):
                Z = self._step(Z, factor, rng)
            spread = np.atleast_2d(np.cov(Z.T)) + 1e-12 * np.eye(self.dimension)
            factor = np.asarray(np.linalg.cholesky(spread), dtype=np.float64)
        return Z, factor

    def _walked(self, V: Array) -> Array:
        rng = seeded(V)
        kept, factor = self._reservoir
        Z = kept[rng.integers(len(kept), size=len(V))]
        for _ in range(STEPS * self.dimension):
            Z = self._step(Z, factor, rng)
        return Z

    def _step(self, Z: Array, factor: Array, rng: np.random.Generator) -> Array:
        return hit_and_run(self.G, self.h, Z, rng.standard_normal(Z.shape) @ factor.T, rng)

    # -- the way back --

    def repair(self, X: Array) -> Array:
        """Each row, moved to a point nearby; a point of the polytope stays where it is."""
        if self.dimension == 0:
            return np.repeat(self.solved.start[None, :], len(X), axis=0)
        basis = self.solved.basis
        Z = np.linalg.lstsq(basis, (X - self.solved.start).T, rcond=None)[0].T
        for _ in range(SWEEPS):
            over = Z @ self.G.T - self.h
            worst = np.argmax(over, axis=1)
            much = over[np.arange(len(Z)), worst]
            if not np.any(much > 0):
                break
            Z = Z - np.maximum(much, 0.0)[:, None] * self.G[worst]
        away = Z - self.centre
        rise, room = away @ self.G.T, self.h - self.G @ self.centre
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(rise > room, room / rise, 1.0).min(axis=1)
        Z = self.centre + reach[:, None] * away
        return self._lifted(Z)


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


def _through(simplices: tuple[Array, Array], V: Array) -> Array:
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


def _triangulated(G: Array, h: Array, centre: Array) -> tuple[Array, Array] | None:
    try:
        vertices = HalfspaceIntersection(np.column_stack([G, -h]), centre).intersections
        vertices = np.unique(vertices.round(12), axis=0)
        if len(vertices) == G.shape[1] + 1:
            return vertices[None, :, :], np.ones(1)
        corners = vertices[Delaunay(vertices).simplices]
        volume = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1]))
        whole = ConvexHull(vertices).volume
    except QhullError:
        return None
    factorial = float(np.prod(np.arange(1, G.shape[1] + 1)))
    if len(corners) > LONGEST or abs(volume.sum() / factorial - whole) > 1e-6 * whole:
        return None
    kept = volume > 1e-12 * volume.sum()
    return corners[kept], volume[kept] / volume[kept].sum()


def _deepest(G: Array, h: Array) -> tuple[Array, float, Mask]:
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


def _needed(G: Array, h: Array) -> Indices:
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
