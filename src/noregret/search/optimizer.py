"""argmax of an acquisition over the unit cube: a candidate sweep, then all starts refined together
by BFGS within the bounds.

As the lengthscales shrink the number of local maxima grows like g^d, so the sweep's spacing is θ/2
while that is affordable (d ≤ 2: down to θ = 0.01), and the number of starts grows with the number
of local maxima. theory.md#argmax
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from noregret.search.acquisition import Acquisition
from noregret.space import Array, Candidates, Indices, Mask, Region, RowIndex, SearchSpace

GRID_BUDGET = 41_000  # sweep points in d ≤ 2: 201² is a spacing of 0.005
CLOUD_BUDGET = 2_048  # sweep points in d ≥ 3
REGION_BUDGET = 8_192  # and in d ≤ 2 where constraints leave no grid
STARTS_BUDGET = 128
SHORTLIST = 8  # candidates per start from which starts are selected
EXCLUSION_RADIUS = 0.01  # cube units; points closer to a failed one are not proposed
LARGEST_EXCLUSION = 0.1  # the radius doubles with each other failure this close, up to this
BLOCK = 65_536  # points compared with the failed ones at once
# -- ascent --
ITERATIONS, LOG_ITERATIONS = 60, 20  # of BFGS; fewer where the acquisition is a logarithm
PRECISION, LOG_PRECISION = 1e-11, 1e-7  # relative gain below which a start has converged
BACKTRACK, LEAST_BACKTRACK = 0.35, 0.1  # factors of a step that did not rise: largest, smallest
PRUNE_AFTER = 4  # iterations after which starts are compared and hopeless ones stop
MERGE_DISTANCE = 0.02  # lengthscales: of two starts closer than this the better goes on
# a start stops if this multiple of its predicted gain does not reach the best
GAIN_FACTOR, LOG_GAIN_FACTOR = 10.0, 1.0
REACHED = 1e-9  # distance in lengthscales within which a constraint is active
SMALL = 1e-12  # lengths and slopes below this are rounding


def argmax(
    acquisition: Acquisition,
    space: SearchSpace,
    lengthscales: Array,
    rng: np.random.Generator,
    incumbents: Array,
    excluded: Array,
    withdrawn: Array | None = None,
) -> Array:
    """The best point found.

    Args:
        acquisition: the function to maximise.
        space: where; a list is searched as a whole.
        lengthscales: of the model, which set the spacing of the sweep and the unit of a step.
        rng: of the sweep.
        incumbents: good points to search around.
        excluded: failed points to stay away from.
        withdrawn: points that will not be run.

    Returns:
        A point of the unit cube (d,).
    """
    every, drawn = space.enumeration(), acquisition.points
    if withdrawn is None:
        withdrawn = np.empty((0, space.dimension))
    avoided = np.vstack([excluded, withdrawn])
    if every is not None and (drawn is None or len(drawn) == len(every)):
        left = unlike(space, every, avoided)
        return best(every, np.where(left, acquisition.values(every), -np.inf), avoided)
    if drawn is not None:
        mask = allowed(drawn, excluded) & apart(drawn, withdrawn)
        return best(drawn, np.where(mask, acquisition.values(drawn), -np.inf), avoided)
    points, shape = _sweep(space, lengthscales, rng, incumbents)
    mask = allowed(points, excluded) & apart(points, withdrawn)
    values = _swept(acquisition, points, shape, mask)
    starts = _starts(points, values, shape, lengthscales)
    climbed, outside = acquisition, starts[values[starts] > -np.inf]
    if len(withdrawn) and len(outside):
        climbed, starts = _fenced(acquisition, withdrawn), outside
    refined = _refined(climbed, space, points[starts], lengthscales)
    refined = _jump(acquisition, space, refined, lengthscales)
    refined = np.vstack([refined, points[np.argmax(values)][None, :]])
    mask = allowed(refined, excluded) & apart(refined, withdrawn)
    return best(refined, np.where(mask, acquisition.values(refined), -np.inf), avoided)


def best(points: Array, values: Array, excluded: Array) -> Array:
    """The point with the largest value, −∞ standing for forbidden; the one farthest from
    ``excluded`` if all are.
    """
    if np.all(values == -np.inf):  # everything near failed: go as far from the failures as possible
        return points[int(np.argmax(cdist(points, excluded, "sqeuclidean").min(axis=1)))]
    return points[int(np.argmax(values))]


def unlike(space: SearchSpace, every: Array, known: Array) -> Mask:
    """Which points of a list differ from all known ones."""
    mask = np.ones(len(every), dtype=np.bool_)
    if len(known):
        index = space if isinstance(space, Candidates) else RowIndex(every)
        at = index.find(known)
        mask[at[at >= 0]] = False
    return mask


def allowed(points: Array, excluded: Array, radius: float = EXCLUSION_RADIUS) -> Mask:
    """Which points are far enough from failed ones; nearby failures double the radius."""
    gaps = cdist(excluded, excluded, "sqeuclidean")
    neighbours = (gaps < LARGEST_EXCLUSION**2).sum(axis=1) - 1
    radii = np.minimum(radius * 2.0 ** np.minimum(neighbours, 8), LARGEST_EXCLUSION)
    return _outside(points, excluded, radii)


def apart(points: Array, withdrawn: Array) -> Mask:
    """Which points are farther than EXCLUSION_RADIUS from withdrawn ones."""
    return _outside(points, withdrawn, np.full(len(withdrawn), EXCLUSION_RADIUS))


def _outside(points: Array, centres: Array, radii: Array) -> Mask:
    mask = np.ones(len(points), dtype=np.bool_)
    for start in range(0, len(points), BLOCK):  # a long list, without arrays of its size
        part, inside = points[start : start + BLOCK], mask[start : start + BLOCK]
        for centre, radius in zip(centres, radii, strict=True):
            inside &= ((part - centre) ** 2).sum(axis=1) > radius**2
    return mask


def _fenced(acquisition: Acquisition, withdrawn: Array) -> Acquisition:
    """The acquisition with −∞ around withdrawn points, so that an ascent stops before them."""

    def gradients(A: Array) -> tuple[Array, Array]:
        value, slope = acquisition.gradients(A)
        return np.where(apart(A, withdrawn), value, -np.inf), slope

    return replace(acquisition, gradients=gradients)


def _sweep(
    space: SearchSpace, lengthscales: Array, rng: np.random.Generator, incumbents: Array
) -> tuple[Array, tuple[int, ...]]:
    """Candidates, and the shape of the grid at their beginning (empty: no grid)."""
    d = space.dimension
    wanted = np.ceil(2.0 / np.minimum(lengthscales, 2.0)) + 1
    region = space.region
    if d <= 2 and region is None:
        smallest = {1: 129, 2: 33}[d]
        counts = np.maximum(wanted, smallest)
        if np.prod(counts) > GRID_BUDGET:
            fewer = (GRID_BUDGET / np.prod(counts)) ** (1 / d)
            counts = np.maximum(smallest, np.floor(counts * fewer))
        axes = [np.linspace(0.0, 1.0, int(count)) for count in counts]
        base = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
        shape = tuple(len(axis) for axis in axes)
    else:
        most = CLOUD_BUDGET if d > 2 else REGION_BUDGET
        log_count = min(float(np.sum(np.log(wanted))), math.log(most))
        base, shape = low_discrepancy(max(int(math.exp(log_count)), 1024), d, rng), ()
    local, unit = [incumbents], np.minimum(lengthscales, 1.0)
    for width in (0.05, 0.3):  # of a lengthscale
        steps = rng.standard_normal((len(incumbents) * 8, d)) * unit * width
        local.append(np.repeat(incumbents, 8, axis=0) + steps)
    if region is not None:  # spread over what constraints leave, not moved to its edge
        return np.vstack([region.mapped(base), space.snap(np.vstack(local))]), ()
    return space.snap(np.clip(np.vstack([base, *local]), 0.0, 1.0)), shape


def _swept(acquisition: Acquisition, points: Array, shape: tuple[int, ...], mask: Mask) -> Array:
    """The acquisition at allowed points, −∞ elsewhere. Without a grid only the best of them are
    looked at later, and so only those must be right.
    """
    if acquisition.leading is None or shape:
        return np.where(mask, acquisition.values(points), -np.inf)
    values = np.full(len(points), -np.inf)
    values[mask] = acquisition.leading(points[mask], SHORTLIST * _wanted(len(points)))
    return values


def _wanted(count: int) -> int:
    """The number of starts for that many candidates."""
    return int(np.clip(count // 128, 12, STARTS_BUDGET))


def low_discrepancy(count: int, dimension: int, rng: np.random.Generator) -> Array:
    """A randomly shifted additive recurrence with the generalised golden ratio; plain uniform above
    12 dimensions.
    """
    if dimension > 12:
        return rng.random((count, dimension))
    steps = golden_ratio(dimension)
    return np.asarray((rng.random(dimension) + np.arange(1, count + 1)[:, None] * steps) % 1.0)


def golden_ratio(dimension: int) -> Array:
    """φ^−1, …, φ^−d with φ^(d+1) = φ + 1: the steps of an additive recurrence that fills the cube
    evenly.
    """
    ratio = 2.0
    for _ in range(50):
        ratio = (1 + ratio) ** (1 / (dimension + 1))
    return np.asarray(ratio ** -np.arange(1.0, dimension + 1))


def _starts(points: Array, values: Array, shape: tuple[int, ...], lengthscales: Array) -> Indices:
    """Indices of well-separated good candidates: the grid's local maxima, or the best ones a
    lengthscale/2 apart.
    """
    order = np.argsort(-values, kind="stable")
    if shape:
        grid = values[: math.prod(shape)].reshape(shape)
        peak = np.ones(shape, dtype=np.bool_)
        for axis in range(len(shape)):
            lower, upper = np.moveaxis(grid, axis, 0)[:-1], np.moveaxis(grid, axis, 0)[1:]
            np.moveaxis(peak, axis, 0)[1:] &= upper >= lower
            np.moveaxis(peak, axis, 0)[:-1] &= lower >= upper
        peaks = np.flatnonzero(peak)
        peaks = peaks[np.argsort(-values[peaks], kind="stable")][:STARTS_BUDGET]
        return np.concatenate([peaks, order[:4]])
    wanted = _wanted(len(points))
    order = order[: SHORTLIST * wanted]
    scaled = points[order] / lengthscales
    free, chosen = np.ones(len(order), dtype=np.bool_), []
    for position in range(len(order)):
        if free[position]:
            chosen.append(order[position])
            if len(chosen) == wanted:
                break
            free &= ((scaled - scaled[position]) ** 2).sum(axis=1) > 0.25
    return np.array(chosen, dtype=np.intp)


def _refined(
    acquisition: Acquisition, space: SearchSpace, starts: Array, lengthscales: Array
) -> Array:
    """Refined where a gradient may lead; with a resolution, its nearest levels."""
    found = refine(acquisition, starts, lengthscales, space.movable, space.region)
    return found if np.array_equal(space.movable, space.continuous) else space.snap(found)


def _jump(acquisition: Acquisition, space: SearchSpace, found: Array, lengthscales: Array) -> Array:
    """Best-improvement steps in the discrete parameters of the three best points, re-refined after
    each.
    """
    if space.continuous.all():
        return found
    best = found[np.argsort(-acquisition.values(found), kind="stable")[:3]]
    for row in range(len(best)):
        for _ in range(10):
            around = space.jumps(best[row])
            if len(around) == 0:
                break
            top = np.argsort(-acquisition.values(around), kind="stable")[:4]
            tried = _refined(acquisition, space, around[top], lengthscales)
            values = acquisition.values(np.vstack([best[row][None, :], tried]))
            if np.argmax(values) == 0:
                break
            best[row] = tried[int(np.argmax(values)) - 1]
    return np.vstack([found, best])


def refine(
    acquisition: Acquisition,
    starts: Array,
    lengthscales: Array,
    movable: Mask,
    region: Region | None = None,
) -> Array:
    """Projected BFGS ascent from all starts at once, in units of the lengthscales. theory.md#argmax

    No result is worse than its start. A start that meets a better one, or falls behind, stops. With
    a region the ascent stays inside.
    """
    if not movable.any():
        return starts
    unit = np.minimum(lengthscales, 1.0)
    x = starts.copy()
    f, gradient = acquisition.gradients(x)
    scale = float(np.max(np.abs(f))) or 1.0  # values of any scale become of order 1

    def scaled(A: Array) -> tuple[Array, Array]:
        value, slope = acquisition.gradients(A)
        return value / scale, slope * (unit / scale)

    f, gradient = f / scale, gradient * (unit / scale)  # (K,), (K, d) in units of the lengthscales
    precision = LOG_PRECISION if acquisition.is_log else PRECISION
    gain_factor = LOG_GAIN_FACTOR if acquisition.is_log else GAIN_FACTOR
    H = np.repeat(np.eye(x.shape[1])[None], len(x), axis=0)
    active = np.arange(len(x))
    for iteration in range(LOG_ITERATIONS if acquisition.is_log else ITERATIONS):
        g, at = gradient[active], x[active]
        free = movable & ~((at <= 0) & (g < 0)) & ~((at >= 1) & (g > 0))
        g = g * free
        slope = g
        bounds = None if region is None else LinearConstraints.at(region, at, unit, movable)
        g = g if bounds is None else bounds.along(g)
        p = np.einsum("kij,kj->ki", H[active], g) * free
        p = p if bounds is None else bounds.along(p)
        uphill = np.einsum("ki,ki->k", p, g)
        bad = uphill <= 0
        p[bad], H[active[bad]] = g[bad], np.eye(x.shape[1])
        promise = np.where(bad, np.inf, uphill)  # about twice what is left to gain, once H is known
        length = np.linalg.norm(p, axis=1)
        limit = 0.25 if iteration == 0 else 1.0
        p *= np.minimum(1.0, limit / np.maximum(length, 1e-300))[:, None]
        p = p if bounds is None else p * bounds.reach(p)[:, None]
        uphill = np.einsum("ki,ki->k", p, g)
        going = uphill > precision
        if iteration >= PRUNE_AFTER:
            reachable = f[active] + gain_factor * promise
            going &= _distinct(at / unit, f[active]) & (reachable >= f.max())
        active, free = active[going], free[going]
        p, slope, at, uphill = p[going], slope[going], at[going], uphill[going]
        if len(active) == 0:
            break
        back = LEAST_BACKTRACK if acquisition.is_log else BACKTRACK
        moved = _line_search(scaled, x, f, gradient, active, p * unit, uphill, region, back)
        active = active[moved]
        fall = slope[moved] - gradient[active] * free[moved]
        _bfgs_update(H, active, (x[active] - at[moved]) / unit, fall)
    return x


def _distinct(at: Array, f: Array) -> Mask:
    """Which starts are not close to a better one; ``at`` in lengthscales."""
    order = np.argsort(-f, kind="stable")
    close = cdist(at[order], at[order], "sqeuclidean") < MERGE_DISTANCE**2
    keep = np.empty(len(f), dtype=np.bool_)
    keep[order] = ~np.any(np.tril(close, -1), axis=1)
    return keep


def _line_search(
    function: Callable[[Array], tuple[Array, Array]],
    x: Array,
    f: Array,
    gradient: Array,
    active: Indices,
    p: Array,
    uphill: Array,
    region: Region | None,
    back: float,
) -> Mask:
    """Backtracks each start until it has risen enough; updates x, f, gradient in place; says which
    starts moved. back: the smallest part of a step that is tried next: how far the parabola through
    what is known asks for it.
    """
    moved = np.zeros(len(active), dtype=np.bool_)
    step = np.ones(len(active))
    for _ in range(12):
        todo = np.flatnonzero(~moved)
        if len(todo) == 0:
            break
        trial = np.clip(x[active[todo]] + step[todo, None] * p[todo], 0.0, 1.0)
        if region is not None:  # rounding, and curved constraints
            trial = region.repair(trial)
        value, slope = function(trial)
        ok = value >= f[active[todo]] + 1e-4 * step[todo] * uphill[todo]
        done = active[todo[ok]]
        x[done], f[done], gradient[done] = trial[ok], value[ok], slope[ok]
        moved[todo[ok]] = True
        part = BACKTRACK
        if back < BACKTRACK:  # the top of the parabola
            slack = np.maximum(step[todo] * uphill[todo] - (value - f[active[todo]]), 1e-300)
            part = np.clip(step[todo] * uphill[todo] / (2 * slack), back, BACKTRACK)[~ok]
        step[todo[~ok]] *= part
    return moved


def _bfgs_update(H: Array, rows: Indices, s: Array, y: Array) -> None:
    """Inverse-Hessian update of −f with s the step and y the fall of the gradient."""
    sy = np.einsum("ki,ki->k", s, y)
    good = sy > 1e-12 * np.einsum("ki,ki->k", y, y)
    rows, s, y, sy = rows[good], s[good], y[good], sy[good]
    if len(rows) == 0:
        return
    B = H[rows]
    By = np.einsum("kij,kj->ki", B, y)
    yBy = np.einsum("ki,ki->k", y, By)
    outer = np.einsum("ki,kj->kij", s, By)
    B += ((sy + yBy) / sy**2)[:, None, None] * np.einsum("ki,kj->kij", s, s)
    B -= (outer + outer.transpose(0, 2, 1)) / sy[:, None, None]
    H[rows] = B


# -- ascent inside linear constraints --


@dataclass(frozen=True, slots=True)
class LinearConstraints:
    """The constraints at some points, in units of the search: J p ≤ room, rows of length 1.

    A direction that would violate an active constraint is projected onto it, one constraint after
    the other, equalities first. theory.md#feasible
    """

    J: Array  # (n, m, d)
    room: Array  # (n, m)
    is_equal: Mask  # (m,)

    @staticmethod
    def at(region: Region, X: Array, unit: Array, movable: Mask) -> LinearConstraints:
        """The constraints of the region and of the cube; fixed inputs do not count."""
        d = X.shape[1]
        J, room, is_equal = region.rows(X)
        sides = np.broadcast_to(np.vstack([np.eye(d), -np.eye(d)]), (len(X), 2 * d, d))
        J = np.concatenate([J, sides], axis=1) * (unit * movable)
        room = np.hstack([room, 1 - X, X])
        length = np.sqrt((J**2).sum(axis=2))
        counts = length > SMALL
        J = np.where(counts[:, :, None], J / np.where(counts, length, 1.0)[:, :, None], 0.0)
        room = np.where(counts, room / np.where(counts, length, 1.0), np.inf)
        return LinearConstraints(J, room, np.append(is_equal, np.zeros(2 * d, dtype=np.bool_)))

    def along(self, p: Array) -> Array:
        """The directions without the components that leave the region."""
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
    """a made orthogonal to the basis and of length 1, or 0 where nothing is left."""
    for q in basis:
        a = a - np.einsum("kd,kd->k", a, q)[:, None] * q
    length = np.linalg.norm(a, axis=1)
    return np.where(length[:, None] > 1e-8, a / np.maximum(length, 1e-300)[:, None], 0.0)
