"""The bound on the whole cube: never below the truth, close to it, and broken by half the error."""

import math

import numpy as np
import pytest

from noregret.errors import ConfigurationError
from noregret.gp import Kernel, Matern, SquaredExponential, covariance
from noregret.rkhs.function_class import (
    BoundedFunction,
    FunctionClass,
    _rough_error,
    covered,
    cube_cover,
    interpolation_error,
    searched,
)
from noregret.rkhs.radius import Mixture, radius_band
from noregret.space import Array
from noregret.testing.problems import RKHSFunction, rkhs_sample
from tests.naive import equal_values

SE = SquaredExponential()
KERNELS: list[Kernel] = [SE, Matern(2.5), Matern(1.5), Matern(0.5)]


def power(kernel: Kernel, step: float, u: float) -> float:
    """sup over ‖f‖ ≤ 1 of |f(uh) − (1−u)f(0) − u f(h)|: the norm of that functional, exactly."""
    nodes = np.array([[u * step], [0.0], [step]])
    w = np.array([1.0, u - 1, -u])
    return math.sqrt(max(float(w @ covariance(kernel, np.ones(1), nodes, nodes) @ w), 0.0))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_interpolation_error_is_a_bound_and_not_twice_too_large(kernel: Kernel) -> None:
    for step in (0.05, 0.2, 0.5, 1.0, 3.0):
        exact = max(power(kernel, step, u) for u in np.linspace(0, 1, 41))
        assert exact <= interpolation_error(kernel, step) * (1 + 1e-9)
    small = max(power(kernel, 0.05, u) for u in np.linspace(0, 1, 41))
    assert interpolation_error(kernel, 0.05) <= 2 * small


def test_the_moments_agree_with_the_integral() -> None:
    assert _rough_error(2.5, 0.05) == pytest.approx(
        interpolation_error(Matern(2.5), 0.05), rel=0.06
    )
    with pytest.raises(ConfigurationError, match="Matern"):
        interpolation_error(object(), 0.1)  # type: ignore[arg-type]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("kernel", KERNELS[:3], ids=str)
def test_the_maximum_of_f_is_found_to_the_tolerance(d: int, kernel: Kernel) -> None:
    """With U = f the bound must be max f to the tolerance, from above."""
    theta = np.full(d, 0.4)
    for seed in range(4):
        f = rkhs_sample(seed, dimension=d, lengthscale=0.4, norm=2.0, kernel=kernel)
        found = cube_cover(BoundedFunction(f, kernel, theta, 2.0), 0.02)
        cloud = np.random.default_rng(0).random((20_000, d))
        assert found.upper >= max(f.maximum, float(f(cloud).max())) - 1e-9
        assert found.proved
        if found.evaluations < 150_000:
            assert found.slack <= 0.02
        assert f(found.point) == pytest.approx(found.found)


class OneBump:
    """A narrow f of norm B between the first cells' vertices, which sees nothing of it there."""

    def __init__(self, d: int) -> None:
        self.theta = np.full(d, 0.2)
        centre = np.full((1, d), 0.05)  # the middle of the first cell: COARSE·θ/2
        self.f = RKHSFunction(SE, self.theta, centre, np.ones(1))


@pytest.mark.parametrize("d", [1, 2])
def test_a_bump_between_the_first_points_is_not_missed_and_half_the_norm_misses_it(d: int) -> None:
    bump = OneBump(d)
    assert cube_cover(BoundedFunction(bump.f, SE, bump.theta, bump.f.norm), 0.01).upper >= 1.0
    # negative control: a norm bound far too small stops at the first cells
    assert cube_cover(BoundedFunction(bump.f, SE, bump.theta, 1e-3), 0.01).upper < 1.0


def test_the_upper_bound_on_every_cell_holds_when_the_budget_ends() -> None:
    f = rkhs_sample(1, dimension=3, lengthscale=0.3, norm=2.0)
    short = cube_cover(BoundedFunction(f, SE, np.full(3, 0.3), 2.0), 1e-4, budget=2_000)
    assert short.evaluations <= 2_000
    assert short.slack > 1e-4
    assert short.proved
    assert short.upper >= f.maximum


def test_different_lengthscales_per_input() -> None:
    theta = np.array([0.1, 2.0])
    flat = np.array([0.1, 20.0])
    between = RKHSFunction(SE, flat, np.array([[0.025, 0.5]]), np.ones(1))
    assert cube_cover(BoundedFunction(between, SE, flat, 1.0), 0.01).upper >= 1.0
    centres = np.random.default_rng(0).random((30, 2))
    weights = np.random.default_rng(1).standard_normal(30)
    f = RKHSFunction(SE, theta, centres, weights).scaled_to(2.0)
    found = cube_cover(BoundedFunction(f, SE, theta, 2.0), 0.01)
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 400), np.linspace(0, 1, 50)), -1).reshape(-1, 2)
    assert f(grid).max() - 1e-9 <= found.upper <= f(grid).max() + 0.02


@pytest.mark.parametrize("d", [1, 2])
def test_the_certificate_s_upper_end_is_at_most_the_tolerance_above_the_band(d: int) -> None:
    f, rng = rkhs_sample(2, dimension=d, lengthscale=0.3, norm=2.0), np.random.default_rng(0)
    X = rng.random((20, d))
    values = equal_values(X, f(X) + 0.1 * rng.standard_normal(20), 0.1)
    inside = FunctionClass(np.full(d, 0.3), 2.0)
    radius_sq = Mixture.around(SE, inside).radius_squared(values, 0.1)
    band = radius_band(SE, inside, values, radius_sq)
    found = cube_cover(BoundedFunction(band.upper, SE, inside.lengthscales, 2.0), 0.02)
    cloud = rng.random((5_000, d))
    assert found.upper >= band.upper(cloud).max() - 0.02
    assert found.slack <= 0.02
    assert found.upper >= f.maximum


def test_where_a_cover_is_too_expensive_the_slack_is_measured_and_not_called_a_proof() -> None:
    theta = np.full(6, 0.2)

    def upper(A: Array) -> Array:
        return -np.sum((A - 0.3) ** 2, axis=1)

    found = covered(BoundedFunction(upper, SE, theta, 2.0), 0.01, found=-0.05)
    assert not found.proved
    assert found.upper == pytest.approx(found.found + abs(found.found + 0.05), abs=0.02)
    again = searched(upper, -1e-6, 6)
    assert not again.proved
    assert again.slack < 0.02
