"""How large f can be anywhere: a bound on the whole cube from bounds at finitely many points.

If ‖f‖_θ ≤ B, then in a cell with sides h and vertices v the function differs from its multilinear
interpolation by at most B·Σ_j e(h_j/θ_j), and that is at most the largest value at a vertex. So

    max f on the cell ≤ max_v U(v) + B·Σ_j e(h_j/θ_j)      wherever f ≤ U,

and cells whose bound is above what was found elsewhere are cut in halves. Proof: docs/theory.md,
"Certificates".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.integrate import quad
from scipy.stats import t as student

from noregret.errors import ConfigurationError
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.space import Array, Region

BUDGET = 200_000  # points at which U is computed
COARSE = 0.5  # sides of the first cells, in lengthscales
LARGEST_SEARCH = 4_096  # points of the second search, where a cover is too expensive
Upper = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Cover:
    """max f ≤ ``upper`` on the cube. ``found`` is the largest U at a point, at ``point``."""

    upper: float
    found: float
    point: Array
    evaluations: int
    proved: bool  # False: upper is what two searches found, with the difference as slack

    @property
    def slack(self) -> float:
        return self.upper - self.found


def interpolation_error(kernel: Kernel, step: float) -> float:
    """e(h): by how much f with ‖f‖ ≤ 1 can differ from its linear interpolation on an interval of
    h lengthscales, or a bound on it."""
    if isinstance(kernel, SquaredExponential):
        return min(2.0, math.sqrt(3) / 8 * step**2)  # theory.md#certificates, E ω⁴ = 3
    if isinstance(kernel, Matern):
        if kernel.nu > 2:
            moment = 3 * kernel.nu**2 / ((kernel.nu - 1) * (kernel.nu - 2))
            return min(2.0, math.sqrt(moment) / 8 * step**2)  # theory.md#certificates, E ω⁴
        return _rough_error(float(kernel.nu), float(step))
    raise ConfigurationError(
        f"no bound on the interpolation error of {kernel!r} is known here: a cover needs "
        "SquaredExponential or Matern"
    )


@lru_cache(maxsize=512)
def _rough_error(nu: float, step: float) -> float:
    """√E min(4, (hω)⁴/64), ω ~ t_2ν: the spectrum of the Matérn kernel on a line."""
    edge = 4 / step
    body = quad(lambda w: w**4 * student.pdf(w, 2 * nu), 0.0, edge, limit=200)
    squared = 2 * (step**4 / 64 * (body[0] + body[1]) + 4 * student.sf(edge, 2 * nu))
    return min(2.0, math.sqrt(squared))  # theory.md#certificates


def cube_cover(
    upper: Upper,
    kernel: Kernel,
    lengthscales: Array,
    norm_bound: float,
    tolerance: float,
    budget: int = BUDGET,
    region: Region | None = None,
    start: tuple[float, Array] | None = None,
) -> Cover:
    """A bound on max f over the unit cube, at most ``tolerance`` above the largest U found unless
    the budget ends first; it holds in either case.

    region: over that part of the cube only: cells that do not meet it are left out. start: the
    largest U in it that a search found, and where. theory.md#feasible
    """
    if not tolerance > 0:
        raise ConfigurationError(f"tolerance must be positive, got {tolerance!r}")
    theta = np.atleast_1d(np.asarray(lengthscales, dtype=np.float64))
    d = len(theta)
    counts = np.maximum(np.ceil(1 / (COARSE * theta)), 1)
    counts = np.minimum(counts, max(math.floor((budget / 4) ** (1 / d)) - 1, 1))
    cells = np.stack(np.meshgrid(*[np.arange(c) for c in counts], indexing="ij"), axis=-1)
    cells = cells.reshape(-1, d).astype(np.int64)  # lower corners, in units of the sides
    corners = np.stack(np.meshgrid(*[[0, 1]] * d, indexing="ij"), axis=-1).reshape(-1, d)
    counts = counts.astype(np.int64)
    settled, used = -math.inf, 0
    found, point = (-math.inf, np.full(d, 0.5)) if start is None else start
    while True:
        if region is not None:
            cells = cells[region.touches(cells / counts, (cells + 1) / counts)]
            if len(cells) == 0:
                return Cover(max(settled, found), found, point, used, True)
        nodes = (cells[:, None, :] + corners).reshape(-1, d)
        index = np.ravel_multi_index(tuple(nodes.T), tuple(counts + 1))
        unique, first, back = np.unique(index, return_index=True, return_inverse=True)
        points = nodes[first] / counts
        values = upper(points)
        used += len(unique)
        inside = values if region is None else _only(region, points, values, found)
        if inside.max() > found:
            found, point = float(inside.max()), points[int(np.argmax(inside))]
        excess = norm_bound * sum(
            interpolation_error(kernel, side) for side in (1 / counts / theta).tolist()
        )
        bounds = values[back.ravel()].reshape(len(cells), -1).max(axis=1) + excess
        open_cells = bounds > found + tolerance
        if not open_cells.all():
            settled = max(settled, float(bounds[~open_cells].max()))
        left = int(open_cells.sum())
        if left == 0 or used + left * 3**d > budget or np.any(counts > 2**30):
            still = float(bounds[open_cells].max()) if left else -math.inf
            return Cover(max(settled, still), found, point, used, True)
        cells = (2 * cells[open_cells][:, None, :] + corners).reshape(-1, d)
        counts = 2 * counts


def _only(region: Region, points: Array, values: Array, found: float) -> Array:
    """The values at feasible points that are above the largest found, −∞ elsewhere."""
    better = np.flatnonzero(values > found)
    inside = np.full(len(values), -math.inf)
    good = better[region.feasible(points[better])]
    inside[good] = values[good]
    return inside


def searched(
    upper: Upper, found: float, dimension: int, seed: int = 0, region: Region | None = None
) -> Cover:
    """Where a cover is too expensive: the largest U of a second, independent search, and as slack
    by how much the two differ. No proof."""
    points = np.random.default_rng([seed, 1]).random((LARGEST_SEARCH, dimension))
    points = points if region is None else region.mapped(points)
    values = upper(points)
    top = int(np.argmax(values))
    best, x = float(values[top]), points[top]
    width = 0.1
    rng, used = np.random.default_rng([seed, 2]), len(points)
    while width > 1e-4:
        near = np.clip(x + width * rng.standard_normal((64, dimension)), 0.0, 1.0)
        near = near if region is None else region.repair(near)
        values = upper(near)
        used += len(near)
        if values.max() > best:
            best, x = float(values.max()), near[int(np.argmax(values))]
        else:
            width /= 2
    largest = max(best, found)
    return Cover(largest + abs(best - found), largest, x, used, False)


def covered(
    upper: Upper,
    kernel: Kernel,
    lengthscales: Array,
    norm_bound: float,
    tolerance: float,
    found: float,
    region: Region | None = None,
    at: Array | None = None,
) -> Cover:
    """The cover where it is within four tolerances, which it always is in one and two inputs unless
    the lengthscales are tiny; else the measured slack of ``searched`` beside ``found``. region: of
    that part of the cube, ``found`` being U at its point ``at``."""
    start = None if region is None or at is None else (found, at)
    proof = cube_cover(
        upper, kernel, lengthscales, norm_bound, tolerance, region=region, start=start
    )
    if proof.slack <= 4 * tolerance or len(np.atleast_1d(lengthscales)) <= 2:
        return proof
    dimension = len(np.atleast_1d(lengthscales))
    return searched(upper, max(found, proof.found), dimension, region=region)
