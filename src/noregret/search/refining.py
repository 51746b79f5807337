"""All starts of a search climbed together, by BFGS within the bounds. theory.md#argmax"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from noregret.search.acquisition import Acquisition
from noregret.search.ascent import Bounds
from noregret.space import Array, Indices, Mask, Region

ITERATIONS = 60
PRECISION = 1e-11  # of the acquisition, relative: a start that can gain no more has arrived
LOG_ITERATIONS, LOG_PRECISION, LOG_HOPE = 20, 1e-7, 1.0  # where it is a logarithm
BACK, LEAST_BACK = 0.35, 0.1  # the part of a step that is tried when all of it did not rise
SETTLED = 4  # iterations after which the starts are compared: of two
MEETING = 0.02  # lengthscales or less apart the better goes on, and none goes on for which
HOPE = 10.0  # times the predicted gain does not reach the best


def refine(
    acquisition: Acquisition,
    starts: Array,
    lengthscales: Array,
    movable: Mask,
    region: Region | None = None,
) -> Array:
    """Projected BFGS ascent from all starts at once, in units of the lengthscales; never worse than
    the start, and where a start meets a better one or falls behind it is left where it is. With a
    region it stays in it.
    """
    if not movable.any():
        return starts
    unit = np.minimum(lengthscales, 1.0)
    x = starts.copy()
    f, gradient = acquisition.gradients(x)
    scale = (
        float(np.max(np.abs(f))) or 1.0
    )  # the values may be of any scale: the search sees them of order 1

    def scaled(A: Array) -> tuple[Array, Array]:
        value, slope = acquisition.gradients(A)
        return value / scale, slope * (unit / scale)

    f, gradient = f / scale, gradient * (unit / scale)  # (K,), (K, d) in units of the lengthscales
    precision = LOG_PRECISION if acquisition.is_log else PRECISION
    hope = LOG_HOPE if acquisition.is_log else HOPE
    H = np.repeat(np.eye(x.shape[1])[None], len(x), axis=0)
    active = np.arange(len(x))
    for iteration in range(LOG_ITERATIONS if acquisition.is_log else ITERATIONS):
        g, at = gradient[active], x[active]
        free = movable & ~((at <= 0) & (g < 0)) & ~((at >= 1) & (g > 0))
        g = g * free
        slope = g
        bounds = None if region is None else Bounds.at(region, at, unit, movable)
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
        if iteration >= SETTLED:
            going &= _distinct(at / unit, f[active]) & (f[active] + hope * promise >= f.max())
        active, p, slope, at, free, uphill = (
            active[going],
            p[going],
            slope[going],
            at[going],
            free[going],
            uphill[going],
        )
        if len(active) == 0:
            break
        back = LEAST_BACK if acquisition.is_log else BACK
        moved = _line_search(scaled, x, f, gradient, active, p * unit, uphill, region, back)
        active = active[moved]
        fall = slope[moved] - gradient[active] * free[moved]
        _bfgs_update(H, active, (x[active] - at[moved]) / unit, fall)
    return x


def _distinct(at: Array, f: Array) -> Mask:
    """Which starts have met no better one; ``at`` in lengthscales."""
    order = np.argsort(-f, kind="stable")
    close = cdist(at[order], at[order], "sqeuclidean") < MEETING**2
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
        if back < BACK:  # the top of the parabola
            slack = np.maximum(step[todo] * uphill[todo] - (value - f[active[todo]]), 1e-300)
            part = np.clip(step[todo] * uphill[todo] / (2 * slack), back, BACK)
            step[todo[~ok]] *= part[~ok]
        else:
            step[todo[~ok]] *= BACK
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
