"""Bounds on f where limits may be kept, against looking everywhere. theory.md#limits"""

import math

import numpy as np
import pytest

from noregret.gp.kernels import SquaredExponential
from noregret.rkhs import BoundedFunction, cube_cover
from noregret.space.array import Array
from noregret.testing.problems import RKHSFunction, rkhs_sample

THETA = 0.25


def bounded(f: RKHSFunction, least: float = -math.inf, shift: float = 0.0) -> BoundedFunction:
    """A function known exactly: the most honest upper bound."""

    def upper(A: Array) -> Array:
        return np.asarray(f(A)) + shift

    theta = np.full(f.centres.shape[1], THETA)
    return BoundedFunction(upper, SquaredExponential(), theta, f.norm, least)


def grid(d: int) -> Array:
    axes = [np.linspace(0, 1, 201 if d == 2 else 2001)] * d
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_it_bounds_the_best_feasible_value(d: int, seed: int) -> None:
    f = rkhs_sample(seed, dimension=d, lengthscale=THETA, norm=2.0)
    g = rkhs_sample(seed + 50, dimension=d, lengthscale=THETA, norm=2.0)
    points = grid(d)
    least = float(np.quantile(np.asarray(g(points)), 0.7))
    within = np.asarray(g(points)) >= least
    best = float(np.asarray(f(points))[within].max())
    cover = cube_cover(bounded(f), 0.02, [bounded(g, least)])
    assert cover.proved
    assert best - 1e-9 <= cover.upper <= best + 0.1
    assert cover.found <= best + 1e-3
    everywhere = cube_cover(bounded(f), 0.02, [])
    assert float(np.asarray(f(points)).max()) - 1e-9 <= everywhere.upper


@pytest.mark.parametrize("d", [1, 2])
def test_nothing_feasible_is_proved_and_a_little_feasible_is_not(d: int) -> None:
    f = rkhs_sample(1, dimension=d, lengthscale=THETA, norm=2.0)
    g = rkhs_sample(2, dimension=d, lengthscale=THETA, norm=2.0)
    top = float(np.asarray(g(grid(d))).max())
    none = cube_cover(bounded(f), 0.02, [bounded(g, top + 0.05)])
    assert none.upper == -math.inf
    some = cube_cover(bounded(f), 0.02, [bounded(g, top - 0.05)])
    assert some.upper > -math.inf


def test_two_margins_that_exclude_each_other_leave_nothing() -> None:
    """Each alone can be kept; together they cannot, and the cover says so."""
    f = rkhs_sample(1, lengthscale=THETA, norm=1.0)
    g = rkhs_sample(2, lengthscale=THETA, norm=2.0)

    def less(A: Array) -> Array:
        return -np.asarray(g(A))

    opposite = BoundedFunction(less, SquaredExponential(), np.array([THETA]), g.norm, 0.05)
    assert cube_cover(bounded(f), 0.02, [bounded(g, 0.05)]).upper > -math.inf
    assert cube_cover(bounded(f), 0.02, [opposite]).upper > -math.inf
    assert cube_cover(bounded(f), 0.02, [bounded(g, 0.05), opposite]).upper == -math.inf
