"""The function class {f : ‖f‖_θ ≤ B} and how much wider it is made.

h = g^d · b is the overall scaling of the class: g shortens the lengthscales, b grows the norm ball.

A cover bounds f on the whole cube from bounds at finitely many points. If ‖f‖_θ ≤ B, then in a cell
with sides h and vertices v the function differs from its multilinear interpolation by at most
B·Σ_j e(h_j/θ_j), and the interpolation is at most the largest value at a vertex. So

    max f on the cell ≤ max_v U(v) + B·Σ_j e(h_j/θ_j)      wherever f ≤ U,

and cells whose bound is above what was found elsewhere are cut in halves. A cell in which that
bound of some limit's margin is below zero holds no feasible point, and is left out; if none is
left, there is no feasible point. Proofs: docs/theory.md#certificates and docs/theory.md#limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.integrate import quad

from noregret.errors import ConfigurationError, GuaranteeError, check_range
from noregret.gp import Kernel, Matern, SquaredExponential, linalg
from noregret.space import Array, Region

NormPower = Literal["paper", "tight"]
_POWER: dict[NormPower, float] = {"paper": 1.0, "tight": 0.5}
# in hundreds of inputs G^q overflows: the norm bound stops growing here, where its square is finite
LARGEST_NORM = 1e150
LARGEST_SCALING = 1e300  # h = g^d·b is not recorded above this
BUDGET = 200_000  # points of a cover at which U is computed, at most
COARSE = 0.5  # sides of a cover's first cells, in lengthscales
LARGEST_SEARCH = 4_096  # points of the second search, where a cover is too expensive
Upper = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class FunctionClass:
    """All f whose RKHS norm at these lengthscales is at most the norm bound."""

    lengthscales: Array
    norm_bound: float

    def __post_init__(self) -> None:
        lengthscales = np.atleast_1d(np.asarray(self.lengthscales, dtype=np.float64))
        linalg.check_all_positive("lengthscales", lengthscales)
        hint = "it bounds the size of f in the units of its values"
        check_range("norm_bound", self.norm_bound, "(0, ∞)", hint)
        object.__setattr__(self, "lengthscales", lengthscales)

    @property
    def dimension(self) -> int:
        return len(self.lengthscales)

    def widened(self, g: float, b: float, norm_power: NormPower = "tight") -> FunctionClass:
        """θ/g and b·g^(d·q)·B, with q = 1 as printed or ½, which the norm lemma gives.
        theory.md#algorithm
        """
        if g < 1 or b < 1:
            raise ConfigurationError(
                f"a class is widened by g ≥ 1 and b ≥ 1, got g={g!r}, b={b!r}: it never shrinks"
            )
        return self.at(self.lengthscales / g, b, norm_power)

    def at(self, lengthscales: Array, b: float, norm_power: NormPower) -> FunctionClass:
        """The class with other lengthscales whose ball still holds this one, times b: B_t =
        b·G^q·B_0, theory.md#estimation. At ``LARGEST_NORM`` it stops: see ``is_full``.
        """
        with np.errstate(over="ignore"):
            volume_ratio = np.prod(self.lengthscales / lengthscales)
            bound = float(b * volume_ratio ** _POWER[norm_power] * self.norm_bound)
        return FunctionClass(lengthscales, min(bound, LARGEST_NORM))

    @property
    def is_full(self) -> bool:
        """Whether the norm bound is at its limit, so that the class may lose f as θ shrinks."""
        return self.norm_bound >= LARGEST_NORM


def check_spectrum(kernel: Kernel) -> None:
    """Checks what the norm lemma needs of a kernel. theory.md#norm-lemma

    Raises:
        GuaranteeError: The kernel does not declare it.
    """
    if not getattr(kernel, "decreasing_spectrum", False):
        raise GuaranteeError(
            f"{kernel!r} does not declare a spectral density that falls in each frequency"
            " (decreasing_spectrum): the norm of f may then grow without bound as lengthscales"
            " shrink. Use SquaredExponential or Matern"
        )


def split(h: float, weight: float, dimension: int) -> tuple[float, float]:
    """The one pair (g, b) with g^d · b = h and (b − 1)/(g^d − 1) = weight. theory.md#split"""
    check_range("h", h, "[1, ∞]")
    check_range("weight (λ_w)", weight, "[0, ∞]")
    if weight == math.inf:
        return 1.0, h
    excess = 2 * (h - 1) / ((1 + weight) + math.sqrt((1 + weight) ** 2 + 4 * weight * (h - 1)))
    return (1 + excess) ** (1 / dimension), 1 + weight * excess


def merge(g: float, b: float, dimension: int) -> float:
    """h = g^d·b of a pair (g, b), at most LARGEST_SCALING."""
    if dimension * math.log(g) + math.log(b) > math.log(LARGEST_SCALING):
        return LARGEST_SCALING
    return g**dimension * b


# -- a bound on the whole cube --


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
    from scipy.stats import t as student  # slow to import, and only Matérn up to ν = 2 needs it

    edge = 4 / step
    body = quad(lambda w: w**4 * student.pdf(w, 2 * nu), 0.0, edge, limit=200)
    squared = 2 * (step**4 / 64 * (body[0] + body[1]) + 4 * student.sf(edge, 2 * nu))
    return min(2.0, math.sqrt(squared))  # theory.md#certificates


@dataclass(frozen=True, slots=True)
class BoundedFunction:
    """A function with an upper bound at every point, and a norm bound at these lengthscales; in
    units in which it matters from ``least`` on.
    """

    upper: Upper
    kernel: Kernel
    lengthscales: Array
    norm_bound: float
    least: float = -math.inf

    def excess(self, sides: Array) -> float:
        """The bound's excess over the largest vertex in a cell with these sides."""
        steps = (sides / self.lengthscales).tolist()
        error = sum(interpolation_error(self.kernel, step) for step in steps)
        return self.norm_bound * error  # theory.md#certificates


def cube_cover(
    f: BoundedFunction,
    tolerance: float,
    margins: Sequence[BoundedFunction] = (),
    budget: int = BUDGET,
    region: Region | None = None,
    start: tuple[float, Array] | None = None,
) -> Cover:
    """A bound on max f over the unit cube, at most ``tolerance`` above the largest U found unless
    the budget ends first; it holds in either case.

    margins: over the points only at which none of them is surely below its ``least``. ``upper``
    −∞: there is no such point. ``found`` −∞: none was found. region: over that part of the cube
    only: cells that do not meet it are left out. start: the largest U in it that a search found,
    and where. theory.md#feasible
    """
    check_range("tolerance", tolerance, "(0, ∞]")
    theta = np.min([f.lengthscales, *(each.lengthscales for each in margins)], axis=0)
    d = len(theta)
    counts = np.maximum(np.ceil(1 / (COARSE * theta)), 1)
    counts = np.minimum(counts, max(math.floor((budget / 4) ** (1 / d)) - 1, 1)).astype(np.int64)
    cells = np.stack(np.meshgrid(*[np.arange(c) for c in counts], indexing="ij"), axis=-1)
    cells = cells.reshape(-1, d).astype(np.int64)  # lower corners, in units of the sides
    corners = np.stack(np.meshgrid(*[[0, 1]] * d, indexing="ij"), axis=-1).reshape(-1, d)
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
        used += len(unique)
        vertices, sides = back.reshape(len(cells), -1), 1 / counts
        values = f.upper(points)
        counted = values > found
        possible = np.ones(len(cells), dtype=np.bool_)
        for each in margins:
            at = each.upper(points)
            counted &= at >= each.least
            highest = at[vertices].max(axis=1) + each.excess(sides)
            possible &= highest >= each.least  # theory.md#limits
        if region is not None:
            counted[counted] = region.feasible(points[counted])
        if counted.any():
            top = int(np.argmax(np.where(counted, values, -np.inf)))
            found, point = float(values[top]), points[top]
        bounds = values[vertices].max(axis=1) + f.excess(sides)
        going = possible & (bounds > found + tolerance)
        over = possible & ~going
        if over.any():
            settled = max(settled, float(bounds[over].max()))
        left = int(going.sum())
        if left == 0 or used + left * 3**d > budget or np.any(counts > 2**30):
            still = float(bounds[going].max()) if left else -math.inf
            return Cover(max(settled, still), found, point, used, True)
        cells = (2 * cells[going][:, None, :] + corners).reshape(-1, d)
        counts = 2 * counts


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
    f: BoundedFunction,
    tolerance: float,
    found: float,
    region: Region | None = None,
    at: Array | None = None,
) -> Cover:
    """The cover where it is within four tolerances, which it always is in one and two inputs unless
    the lengthscales are tiny; else the measured slack of ``searched`` beside ``found``. region: of
    that part of the cube, ``found`` being U at its point ``at``."""
    start = None if region is None or at is None else (found, at)
    proof = cube_cover(f, tolerance, region=region, start=start)
    if proof.slack <= 4 * tolerance or len(f.lengthscales) <= 2:
        return proof
    return searched(f.upper, max(found, proof.found), len(f.lengthscales), region=region)
