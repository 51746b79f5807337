"""Searches inside what constraints leave: against SciPy, brute force and what is proved."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import noregret as nr
from noregret.gp import Matern, SquaredExponential, condition
from noregret.rkhs import BoundedFunction, covered, cube_cover
from noregret.rkhs.function_class import searched
from noregret.search import Acquisition, argmax, ucb
from noregret.search.optimizer import LinearConstraints, refine
from noregret.search.resolution import largest_empty_ball
from noregret.space import Array
from tests.space.test_region import region, uniform

MIXTURE = nr.Space(
    {name: nr.Float(0, 1) for name in "abc"},
    constraints=[
        nr.Linear(dict.fromkeys("abc", 1.0), equals=1.0),
        nr.Linear({"a": 1, "b": -1}, at_most=0.2),
    ],
)
LOGS = nr.Space(
    {"x": nr.Float(1e-3, 1, log=True), "y": nr.Float(0, 1), "z": nr.Float(0, 1)},
    constraints=[nr.Linear({"x": 1, "y": 1, "z": 1}, at_most=0.6)],
)


def bowl(target: Array) -> Acquisition:
    def gradients(A: Array) -> tuple[Array, Array]:
        return -((A - target) ** 2).sum(axis=1), -2 * (A - target)

    return Acquisition(lambda A: gradients(A)[0], gradients)


@pytest.mark.parametrize("seed", range(6))
def test_the_ascent_ends_where_scipy_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    target = rng.uniform(0.4, 1.5, 3)
    inside = region(MIXTURE)
    starts = uniform(inside, 5, rng)
    found = refine(bowl(target), starts, np.ones(3), np.ones(3, dtype=np.bool_), inside)
    naive = minimize(
        lambda x: float(((x - target) ** 2).sum()),
        np.array([0.2, 0.4, 0.4]),
        bounds=[(0, 1)] * 3,
        constraints=[
            {"type": "eq", "fun": lambda x: x.sum() - 1},
            {"type": "ineq", "fun": lambda x: 0.2 - x[0] + x[1]},
        ],
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    best = found[np.argmax(bowl(target).values(found))]
    assert inside.feasible(found).all()
    np.testing.assert_allclose(best, naive.x, atol=1e-5)
    # negative control: without the region it leaves the simplex
    free = refine(bowl(target), starts, np.ones(3), np.ones(3, dtype=np.bool_))
    assert not inside.feasible(free).all()


def test_the_ascent_follows_a_curved_constraint() -> None:
    """On a log scale the constraint is curved: the best point on it, by a fine grid."""
    inside, target = region(LOGS), np.array([0.9, 0.4, 0.3])
    starts = uniform(inside, 8, np.random.default_rng(0))
    found = refine(bowl(target), starts, np.ones(3), np.ones(3, dtype=np.bool_), inside)
    values = bowl(target).values(found)
    u = np.linspace(0, 1, 161)
    grid = np.stack(np.meshgrid(u, u, u, indexing="ij"), axis=-1).reshape(-1, 3)
    grid = grid[1e-3 * 1e3 ** grid[:, 0] + grid[:, 1] + grid[:, 2] <= 0.6]
    assert inside.feasible(found).all()
    assert values.max() >= bowl(target).values(grid).max() - 1e-3


def test_directions_lead_out_of_nothing() -> None:
    inside, rng = region(MIXTURE), np.random.default_rng(0)
    corners = np.array([[0.0, 0.0, 1.0], [0.6, 0.4, 0.0], [0.0, 1.0, 0.0], [0.1, 0.3, 0.6]])
    unit = np.array([0.5, 1.0, 0.2])
    for _ in range(20):
        bounds = LinearConstraints.at(inside, corners, unit, np.ones(3, dtype=np.bool_))
        p = bounds.along(rng.standard_normal((4, 3)))
        p = p * bounds.reach(p)[:, None]
        assert inside.feasible(corners + 0.999 * p * unit).all()
        assert np.all(corners + 0.999 * p * unit > -1e-9)


@pytest.mark.parametrize("space", [MIXTURE, LOGS], ids=["mixture", "logs"])
def test_the_largest_ucb_is_found_in_the_feasible_set(space: nr.Space) -> None:
    inside, rng = region(space), np.random.default_rng(4)
    X = uniform(inside, 6, rng)
    posterior = condition(Matern(2.5), np.full(3, 0.3), X, np.sin(7 * X[:, 0]), 0.01)
    acquisition = ucb(posterior, 2.0)
    x = argmax(acquisition, space, np.full(3, 0.3), rng, X[:2], np.empty((0, 3)))
    brute = uniform(inside, 20_000, np.random.default_rng(5))
    assert inside.feasible(x[None, :])[0]
    assert acquisition.values(x[None, :])[0] >= acquisition.values(brute).max() - 1e-3
    cube = space.snap(rng.random((4000, 3)))  # nor at its edge, to which the cube is moved here
    assert acquisition.values(x[None, :])[0] >= acquisition.values(cube).max() - 1e-3
    # negative control: one random feasible point is not as good
    assert acquisition.values(x[None, :])[0] > np.median(acquisition.values(brute)) + 0.1


def test_a_cover_bounds_the_feasible_set_and_no_more() -> None:
    """f = a bump outside the constraint: the bound is that of the feasible part."""
    space = nr.Space([("x", nr.Float(0, 1)), ("y", nr.Float(0, 1))],
                     constraints=[nr.Linear({"x": 1, "y": 1}, at_most=1.0)])  # fmt: skip
    inside, theta, kernel = region(space), np.full(2, 0.3), SquaredExponential()

    def f(A: Array) -> Array:  # norm 1, its top at (0.9, 0.9)
        return np.asarray(np.exp(-((A - 0.9) ** 2).sum(axis=1) / (2 * 0.3**2)))

    top = np.array([0.5, 0.5])
    found = covered(
        BoundedFunction(f, kernel, theta, 1.0), 0.01, float(f(top[None, :])[0]), inside, top
    )
    largest = f(uniform(inside, 20_000, np.random.default_rng(0))).max()
    assert largest <= found.upper <= largest + 0.05
    assert found.proved
    assert cube_cover(BoundedFunction(f, kernel, theta, 1.0), 0.01).upper >= 1.0  # the cube's own
    second = searched(f, 0.0, 2, region=inside)
    assert inside.feasible(second.point[None, :])[0]
    assert second.upper < 0.9


@pytest.mark.parametrize("space", [MIXTURE, LOGS], ids=["mixture", "logs"])
def test_the_largest_empty_ball_has_its_centre_in_the_feasible_set(space: nr.Space) -> None:
    inside, rng = region(space), np.random.default_rng(0)
    X = uniform(inside, 15, rng)
    found = largest_empty_ball(X, inside)
    many = uniform(inside, 40_000, rng)
    naive = np.sqrt(((many[:, None, :] - X[None]) ** 2).sum(axis=-1)).min(axis=1).max()
    assert inside.feasible(found.centre[None, :])[0]
    assert found.exact
    assert naive - 2e-3 <= found.radius <= naive + 0.03
    assert found.radius < largest_empty_ball(X).radius - 0.05  # negative control: of the cube


def test_lists_and_functions_are_searched_too() -> None:
    spaces: list[Any] = [
        nr.Space(
            {name: nr.Float(0, 1, step=0.1) for name in "abc"},
            constraints=[nr.Linear(dict.fromkeys("abc", 1.0), equals=1.0)],
        ),
        nr.Space(
            {"n": nr.Int(1, 6), "x": nr.Float(1e-2, 1, log=True), "y": nr.Float(0, 5)},
            constraints=[nr.Linear({"n": 1, "x": 3, "y": 1}, equals=6)],
        ),
        nr.Space(
            {name: nr.Float(0, 1) for name in "xyz"},
            constraints=[nr.Satisfies(lambda p: (p["x"] - 0.5) ** 2 + p["y"] ** 2 <= 0.04)],
        ),
    ]
    for space in spaces:
        inside, rng = region(space), np.random.default_rng(1)
        target = rng.random(space.dimension)
        x = argmax(
            bowl(target), space, np.full(3, 0.5), rng, uniform(inside, 2, rng), np.empty((0, 3))
        )
        brute = uniform(inside, 4000, np.random.default_rng(2))
        assert inside.feasible(x[None, :])[0]
        assert bowl(target).values(x[None, :])[0] >= bowl(target).values(brute).max() - 1e-2
