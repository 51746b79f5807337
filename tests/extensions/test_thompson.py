"""Joint draws at finitely many points, theory.md#thompson: their moments, the points, and the
regret of a decision with a negative control.
"""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import norm

import noregret as nr
from noregret.extensions.thompson import POINTS, draw_at, drawn_points, thompson
from noregret.gp import Kernel, Matern, Posterior, SquaredExponential, condition, covariance
from noregret.search import argmax
from noregret.space import Array, Space
from noregret.testing.problems import bump

KERNELS: list[Kernel] = [SquaredExponential(), Matern(2.5), Matern(0.5)]
LINE = Space.from_bounds([(0.0, 1.0)])
NONE = np.empty((0, 1))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_draws_have_the_posteriors_mean_and_covariance(kernel: Kernel) -> None:
    rng, width, theta, noise = np.random.default_rng(1), 1.7, np.array([0.4, 0.7]), 0.05
    X, A, y = rng.random((7, 2)), rng.random((5, 2)), rng.standard_normal(7)
    posterior = condition(kernel, theta, X, y, noise)
    draws = np.array([draw_at(*posterior.joint(A), width, rng) for _ in range(6_000)])
    k, K = covariance(kernel, theta, A, X), covariance(kernel, theta, X, X) + noise * np.eye(7)
    mean, cov = k @ np.linalg.solve(K, y), covariance(kernel, theta, A, A)
    cov = cov - k @ np.linalg.solve(K, k.T)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.1)
    np.testing.assert_allclose(np.cov(draws.T), width**2 * cov, atol=0.12)
    assert not np.allclose(np.cov(draws.T), cov, atol=0.12)  # the width counts


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_points_fill_a_box_as_data_come(d: int) -> None:
    space, grid = Space.from_bounds([(0.0, 1.0)] * d), np.random.default_rng(0).random((500, d))
    gaps = []
    for n in (5, 400, 1_600):
        rng = np.random.default_rng(n)
        posterior = condition(Matern(2.5), np.full(d, 0.3), rng.random((n, d)), np.zeros(n), 0.1)
        points = drawn_points(space, posterior, rng)
        assert len(points) >= POINTS + 2 * n
        assert np.all((points >= 0) & (points <= 1))
        gaps.append(float(cdist(grid, points).min(axis=1).max()))
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 2.5 * math.sqrt(d) * (POINTS + 3_200) ** (-1 / d)


def test_the_chosen_point_is_the_draws_best() -> None:
    posterior = condition(Matern(2.5), np.array([0.2]), np.array([[0.5]]), np.ones(1), 0.01)
    drawn = thompson(LINE, posterior, 1.0, np.random.default_rng(3))
    assert drawn.points is not None
    theta, rng = np.array([0.2]), np.random.default_rng(0)
    x = argmax(drawn, LINE, theta, rng, NONE, NONE)
    best = drawn.points[np.argmax(drawn.values(drawn.points))]
    np.testing.assert_array_equal(x, best)
    avoided = argmax(drawn, LINE, theta, rng, NONE, x[None, :])
    assert abs(float(avoided[0] - x[0])) > 1e-3


def regret_and_bound(posterior: Posterior, width: float, scale: float, t: int) -> tuple[float, ...]:
    """Mean regret of a draw with ``scale`` times the width, and what theorem S allows it."""
    f, rng = bump(), np.random.default_rng(0)
    grid = np.linspace(0, 1, 2_001)[:, None]
    top, span = f.maximum, f.maximum - float(f(grid).min())
    regrets: list[float] = []
    stds: list[float] = []
    allowed = 0.0
    for _ in range(60):
        drawn = thompson(LINE, posterior, scale * width, rng)
        assert drawn.points is not None
        x = drawn.points[[int(np.argmax(drawn.values(drawn.points)))]]
        regrets.append(top - float(f(x)[0]))
        stds.append(float(posterior.predict(x)[1][0]))
        count = len(drawn.points)
        kappa = math.sqrt(2 * math.log(2 * count * t**2))
        factor = 1 + 2 / (float(norm.sf(1.0)) - t**-2)
        near = drawn.points[np.argmin(np.abs(drawn.points - 0.206))]
        lost = top - float(f(near[None, :])[0])  # between neighbouring points
        allowed = width * (1 + kappa) * factor * float(np.mean(stds)) + span / t**2 + lost
    return float(np.mean(regrets)), allowed


def data(t: int) -> tuple[Array, Array]:
    """All but one value on the slope's end, so that the posterior is sure of it."""
    X = np.append(np.linspace(0.9, 1.0, t - 1), 0.6)[:, None]
    return X, np.asarray(bump()(X))


def test_a_decision_costs_at_most_what_the_theorem_says() -> None:
    t = 40
    posterior = condition(SquaredExponential(), np.array([0.1]), *data(t), 1e-4)
    regret, bound = regret_and_bound(posterior, 2.0, 1.0, t)  # ‖f‖ = 2
    assert regret <= bound


def test_negative_control_without_the_width_it_is_stuck() -> None:
    """The mean's best point has almost no σ there, and its regret is not paid by it."""
    t = 40
    posterior = condition(SquaredExponential(), np.array([0.6]), *data(t), 1e-4)
    regret, bound = regret_and_bound(posterior, 1e-3, 1e-3, t)
    assert regret > bound


def test_a_box_has_the_theorem_too() -> None:
    strategy = nr.AdaptiveThompson(nr.AdaptiveGPUCB.rigorous(0.05, norm_bound=2.0))
    assert "in a box" in strategy.theorem
    assert "none" not in strategy.theorem.split("The base:")[0]
    f, rng = bump(), np.random.default_rng(2)
    study = nr.Study([(0, 1)], "maximize", strategy=strategy, seed=2)
    study.run(lambda x: float(f(x)) + 0.05 * rng.standard_normal(), trials=40)
    best = max(float(f(np.array(trial.params))) for trial in study.trials)
    assert f.maximum - best < 0.1
