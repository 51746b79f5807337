"""Patrols: how many, where, and what their band proves, with a negative control."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from noregret.classes.patrol import (
    Plausibility,
    is_patrol,
    patrol_order,
    patrol_points,
    patrols,
)
from noregret.errors import ConfigurationError
from noregret.gp import Matern, SquaredExponential, condition, covariance
from noregret.space import Array
from noregret.testing.problems import rkhs_sample


def test_how_many() -> None:
    assert (patrols(0), patrols(50), patrols(1000)) == (0, 1, 7)
    assert (patrols(50, 0.25), patrols(1000, 0.25)) == (4, 25)
    for t in range(1, 400):
        assert patrols(t, 0.25) == sum(is_patrol(s, 0.25) for s in range(1, t + 1))
        assert patrols(t, 0.25) == math.ceil(0.25 * t ** (2 / 3) - 1e-9)
    with pytest.raises(ConfigurationError, match="fall to zero"):
        patrols(10, exponent=1.0)


def test_the_sequence_does_not_depend_on_how_much_of_it_is_asked_for() -> None:
    whole = patrol_points(1, 50, 3)
    np.testing.assert_array_equal(whole[20:30], patrol_points(21, 10, 3))
    np.testing.assert_allclose(patrol_points(1, 4, 1)[:, 0], [0.5, 0.25, 0.75, 0.125])


@pytest.mark.parametrize("first", [1, 17, 1000])
def test_as_many_points_in_a_row_as_there_are_boxes_hit_each_box_once(first: int) -> None:
    """2^3·3^2·5 boxes: what the proof counts."""
    sides = np.array([8, 9, 5])
    points = patrol_points(first, int(np.prod(sides)), 3)
    cells = np.floor(points * sides + 1e-9).astype(int)
    assert len({tuple(cell) for cell in cells.tolist()}) == np.prod(sides)


def test_every_ball_gets_its_share() -> None:
    """At least ⌊N r^d/A⌋ of N points, A = (2√d)^d·∏ b_j: the counting lemma."""
    points, rng = patrol_points(1, 5000, 2), np.random.default_rng(0)
    constant = (2 * math.sqrt(2)) ** 2 * 2 * 3
    for _ in range(200):
        x, r = rng.random(2), float(rng.uniform(0.1, 0.5))
        hit = int((np.linalg.norm(points - x, axis=1) <= r).sum())
        assert hit >= math.floor(5000 * r**2 / constant)


def test_a_list_is_patrolled_in_a_fixed_order() -> None:
    order = patrol_order(17)
    assert sorted(order.tolist()) == list(range(17))
    np.testing.assert_array_equal(order, patrol_order(17))


def rule(**changes: float) -> Plausibility:
    return Plausibility(unit=0.5, **changes)  # type: ignore[arg-type]


def test_the_band_is_the_naive_one_at_the_centres_of_cells() -> None:
    n, chosen = 9, rule(offset=0.2)
    Z = patrol_points(1, n, 2)
    y = np.random.default_rng(0).standard_normal(n)
    lower, upper = chosen.band(Z, y).bounds(np.array([[0.3, 0.9]]))
    cells = math.ceil(n * math.sqrt(2) / 0.3)
    at = (np.floor(np.array([[0.3, 0.9]]) * cells) + 0.5) / cells
    theta, kernel, lam = np.full(2, 0.3), Matern(2.5), chosen.regulariser
    a = np.linalg.solve(
        covariance(kernel, theta, Z, Z) + lam * np.eye(n), covariance(kernel, theta, Z, at)[:, 0]
    )
    nodes, c = np.vstack([at, Z]), np.append(1.0, -a)
    bias = math.sqrt(float(c @ covariance(kernel, theta, nodes, nodes) @ c))  # ‖k_x − Σ a_i k_z‖
    std = float(condition(kernel, theta, Z, y, lam).predict(at)[1][0])
    assert bias**2 == pytest.approx(std**2 - lam * a @ a)
    reach = math.sqrt(2 - 2 * float(kernel.value(np.array([2 * (0.5 / cells / 0.3) ** 2]))[0]))
    delta = 0.1 * 6 / (math.pi**2 * n**2) / cells**2
    half = chosen.norm_bound(n) * (bias + reach)
    half += chosen.noise_bound(n) * math.sqrt(2 * math.log(2 / delta)) * float(np.linalg.norm(a))
    assert float(lower[0]) == pytest.approx(0.2 + a @ (y - 0.2) - half)
    assert float(upper[0]) == pytest.approx(0.2 + a @ (y - 0.2) + half)


def needed(seed: int, noise: str) -> float:
    """How much of the band is needed over all N and x; f and R just inside the first class."""
    chosen = rule(delta=0.2)
    kernel, R = Matern(2.5), chosen.noise_bound(3)
    f = rkhs_sample(seed, lengthscale=0.3, norm=chosen.norm_bound(3), kernel=kernel)
    rng = np.random.default_rng(seed)
    Z = patrol_points(1, 150, 1)
    eps = rng.standard_normal(150) if noise == "gaussian" else rng.choice([-1.0, 1.0], 150)
    y, grid = f(Z) + R * eps, np.linspace(0, 1, 60)[:, None]
    worst = 0.0
    for n in (3, 8, 20, 60, 150):
        lower, upper = chosen.band(Z[:n], y[:n]).bounds(grid)
        truth = f(grid)
        worst = max(worst, float(np.max(np.abs(truth - (lower + upper) / 2) / (upper - lower) * 2)))
    return worst


@pytest.mark.parametrize("noise", ["gaussian", "rademacher"])
def test_the_band_of_the_patrols_covers_and_a_tenth_of_it_does_not(noise: str) -> None:
    runs = [needed(seed, noise) for seed in range(30)]
    assert sum(v <= 1 for v in runs) >= 24
    covered = sum(v <= 0.1 for v in runs)
    assert binomtest(covered, 30, 0.8, alternative="less").pvalue < 1e-3


def test_implausible_points_have_regret_and_the_best_patrol_is_always_plausible() -> None:
    """With a class that is large enough from the start, whatever is excluded is not the maximum."""
    n = 600
    chosen = Plausibility(unit=0.005, lengthscale=0.3, regulariser=1e-3)

    def f(x: Array) -> Array:
        return 0.1 * np.cos(3 * x[:, 0])

    Z = patrol_points(1, n, 1)
    y = f(Z) + 0.005 * np.random.default_rng(0).standard_normal(n)
    band = chosen.band(Z, y)
    grid = np.linspace(0, 1, 200)[:, None]
    allowed = band.plausible(grid)
    assert 0 < allowed.mean() < 1
    assert allowed[0]  # the maximum, at x = 0
    half = (band.bounds(grid)[1] - band.bounds(grid)[0]).max() / 2
    assert np.all(f(grid[:1]) - f(grid[allowed]) <= 4 * half)
    best = Z[int(np.argmax(band.bounds(Z)[0]))]
    assert band.plausible(best[None, :])[0]


def test_the_half_width_falls_at_the_rate_that_is_proved() -> None:
    """σ_N² ≲ N^(−2ν/(2ν+d)): from 64 to 1,024 patrols by at least that factor, up to a constant."""
    for d in (1, 2):
        stds = []
        for n in (64, 1024):
            Z = patrol_points(1, n, d)
            posterior = condition(Matern(2.5), np.full(d, 0.3), Z, np.zeros(n), 0.01)
            stds.append(posterior.predict(np.random.default_rng(0).random((300, d)))[1].max())
        assert stds[1] <= 1.3 * stds[0] * 16.0 ** (-2.5 / (5 + d))


def test_a_list_needs_no_cells() -> None:
    Z = np.array([[0.1], [0.9], [0.5]])
    band = rule().band(Z, np.array([1.0, 0.0, 0.5]), listed=3)
    assert band.step == 0
    assert band.bounds(Z)[0].max() == pytest.approx(band.threshold)


def test_what_is_not_proved_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="Matérn"):
        Plausibility(unit=1.0, kernel=SquaredExponential())
    with pytest.raises(ConfigurationError, match="unit must be positive"):
        Plausibility(unit=0.0)
    with pytest.raises(ConfigurationError, match="probability"):
        Plausibility(unit=1.0, delta=0.0)
