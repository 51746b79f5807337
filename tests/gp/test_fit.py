import math

import numpy as np
import pytest

from noregret.errors import ConfigurationError
from noregret.gp.fit import (
    MAP,
    SMALLEST_NOISE_VAR,
    Evidence,
    Fit,
    Gamma,
    LogNormal,
    fit_map,
    starting_points,
)
from noregret.gp.kernels import SquaredExponential
from noregret.space.array import Array
from noregret.testing.problems import rkhs_sample


def evidence(n: int = 40, *, known_noise: bool = True, d: int = 1, seed: int = 0) -> Evidence:
    rng = np.random.default_rng(seed)
    f = rkhs_sample(seed, dimension=d, lengthscale=0.15, norm=6.0)
    X = rng.random((n, d))
    told = np.full(n, 0.05**2 if known_noise else np.nan)
    return Evidence(
        SquaredExponential(),
        X,
        f(X) + 0.05 * rng.standard_normal(n),
        told,
        Gamma(),
        LogNormal(-4.0, 1.0),
    )


def test_map_is_the_maximum_of_a_grid() -> None:
    e = evidence()
    grid = np.linspace(np.log(0.01), np.log(1.0), 2000)
    values = [e.log_posterior(np.array([g]), jacobian=False)[0] for g in grid]
    fit = fit_map(e, np.array([0.01]), np.array([1.0]), np.log(np.array([[0.5], [0.1]])))
    assert fit.lengthscales[0] == pytest.approx(np.exp(grid[int(np.argmax(values))]), rel=5e-3)
    assert np.isnan(fit.noise_var)


def test_several_starts_escape_a_local_maximum() -> None:
    """Few points leave two modes: the better one must be found whatever start comes first."""
    e = evidence(n=6, seed=3)
    starts = np.log(np.array([[0.011], [0.9], [0.2]]))
    fits = [
        fit_map(e, np.array([0.01]), np.array([1.0]), starts[order])
        for order in ([0, 1, 2], [2, 1, 0])
    ]
    assert fits[0].lengthscales[0] == pytest.approx(fits[1].lengthscales[0], rel=1e-3)


def test_noise_is_estimated_jointly() -> None:
    e = evidence(n=80, known_noise=False)
    assert e.estimates_noise
    fit = fit_map(e, np.array([0.01]), np.array([1.0]), np.array([[np.log(0.2), np.log(0.01)]]))
    assert np.sqrt(fit.noise_var) == pytest.approx(0.05, rel=0.35)
    assert fit.noise_var >= SMALLEST_NOISE_VAR


def test_told_noise_stays_as_told() -> None:
    e = evidence(n=10, known_noise=False)
    told = e.told.copy()
    told[:3] = 0.5
    mixed = Evidence(e.kernel, e.X, e.y, told, e.prior, e.noise_prior)
    assert mixed.noise_var(0.01).tolist() == [0.5] * 3 + [0.01] * 7


def test_log_posterior_gradient() -> None:
    from tests import naive

    for jacobian in (False, True):
        e = evidence(n=15, known_noise=False, d=2)
        phi = np.log(np.array([0.2, 0.5, 0.01]))
        value, gradient = e.log_posterior(phi, jacobian=jacobian)

        def at(p: Array, e: Evidence = e, jacobian: bool = jacobian) -> float:
            return e.log_posterior(p, jacobian=jacobian)[0]

        np.testing.assert_allclose(gradient, naive.numeric_gradient(at, phi), rtol=1e-5, atol=1e-5)
        assert np.isfinite(value)


def test_truncation_holds() -> None:
    fit = fit_map(evidence(), np.array([0.3]), np.array([1.0]), np.log(np.array([[0.5]])))
    assert fit.lengthscales[0] == pytest.approx(0.3)


def test_min_and_scale_of_spec_6() -> None:
    """θ_0 = 1, θ^MAP = .5, g = 1.5: .5 against .333."""
    fitted, start = np.array([0.5]), np.array([1.0])
    assert MAP(combine="min").combined(fitted, start, 1.5)[0] == 0.5
    assert MAP(combine="scale").combined(fitted, start, 1.5)[0] == pytest.approx(1 / 3)
    two = MAP().combined(np.array([0.5, 0.9]), np.ones(2), 1.5)
    np.testing.assert_allclose(two, [0.5, 1 / 1.5])  # elementwise


def test_the_last_estimate_comes_first() -> None:
    e = evidence(known_noise=False)
    starts = starting_points(
        e, MAP(starts=4), Fit(np.array([0.33]), 0.02), np.random.default_rng(0)
    )
    assert starts.shape == (4, 2)
    np.testing.assert_allclose(np.exp(starts[0]), [0.33, 0.02])


@pytest.mark.parametrize(
    "bad",
    [
        {"combine": "max"},
        {"truncation": 0.0},
        {"truncation": 1.0},
        {"ceiling": 0.5},
        {"ceiling": math.inf},
        {"starts": 0},
        {"starts": 1.5},
    ],
)
def test_impossible_settings(bad: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        MAP(**bad)  # type: ignore[arg-type]
