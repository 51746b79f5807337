"""The mixture over hyperparameters against naive versions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import multivariate_normal

from noregret.gp import Matern, PosteriorMixture, SquaredExponential, averaged, condition
from noregret.gp import mixture as room
from noregret.space import Array
from tests import naive

KERNEL = Matern(2.5)


def data(n: int = 9, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    X, A = rng.random((n, 2)), rng.random((5, 2))
    return X, np.sin(6 * X[:, 0]) + X[:, 1], A


def naive_log_likelihood(X: Array, y: Array, theta: Array, amplitude: float, noise: Array) -> float:
    """Of the contrasts, on which the unknown mean has no influence."""
    K = amplitude**2 * naive.kernel_matrix("matern", 2.5, theta, X, X) + np.diag(noise)
    Q = null_space(np.ones((1, len(y))))
    return float(multivariate_normal(np.zeros(len(y) - 1), Q.T @ K @ Q).logpdf(Q.T @ y))


def test_told_noise_weighs_by_restricted_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LEAST_WEIGHT", 0.0)
    X, y, A = data()
    theta, told = np.array([0.4, 0.9]), np.linspace(0.01, 0.1, len(y))
    mixture = averaged(KERNEL, theta, X, y, told, 0.05)
    grid = [(f, a) for f in room.LENGTHSCALE_FACTORS for a in room.AMPLITUDES]
    logs = np.array([naive_log_likelihood(X, y, f * theta, a, told) for f, a in grid])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    np.testing.assert_allclose(mixture.weights, weights, rtol=1e-6)
    assert mixture.noise_std == pytest.approx(np.sqrt(0.05))
    # moments, from conditioning y/a with noise/a² and multiplying by a
    means, variances = [], []
    for f, a in grid:
        mean, std = condition(KERNEL, f * theta, X, y / a, told / a**2, kriging=True).predict(A)
        means.append(a * mean)
        variances.append((a * std) ** 2)
    mean = weights @ np.array(means)
    var = weights @ (np.array(variances) + np.array(means) ** 2) - mean**2
    found = mixture.predict(A)
    np.testing.assert_allclose(found[0], mean, atol=1e-8)
    np.testing.assert_allclose(found[1] ** 2, var, rtol=1e-6)


def test_unknown_noise_is_averaged_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LEAST_WEIGHT", 0.0)
    X, y, _ = data()
    theta, estimate = np.array([0.4, 0.9]), 0.02
    mixture = averaged(KERNEL, theta, X, y, np.full(len(y), np.nan), estimate)
    levels = np.unique([*room.NOISE_LEVELS, *(estimate * np.array(room.NOISE_FACTORS))])
    prior = np.gradient(np.log(levels)) * levels**room.NOISE_POWER
    logs, variances = [], []
    for f in room.LENGTHSCALE_FACTORS:
        for level, weight in zip(levels, prior, strict=True):
            for a in room.AMPLITUDES:
                noise = np.full(len(y), level * a**2)
                value = naive_log_likelihood(X, y, f * theta, a, noise)
                logs.append(value + np.log(weight))
                variances.append(level * a**2)
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    np.testing.assert_allclose(np.sort(mixture.weights), np.sort(weights), rtol=1e-6)
    assert mixture.noise_std == pytest.approx(np.sqrt(weights @ np.array(variances)), rel=1e-6)


def test_members_without_weight_are_left_out_and_many_points_are_weighed_by_a_part() -> None:
    X, y, A = data(room.MANY + 30)
    mixture = averaged(KERNEL, np.array([0.4, 0.9]), X, y, np.full(len(y), 1e-4), 1e-4)
    assert mixture.weights.sum() == pytest.approx(1)
    assert mixture.weights.min() >= room.LEAST_WEIGHT
    assert len(mixture.parts) < len(room.LENGTHSCALE_FACTORS) * len(room.AMPLITUDES)
    np.testing.assert_allclose(mixture.predict(A)[0], np.sin(6 * A[:, 0]) + A[:, 1], atol=0.05)


def test_equal_parts_are_moment_matched() -> None:
    rng = np.random.default_rng(0)
    X, y, A = rng.random((8, 2)), rng.standard_normal(8), rng.random((5, 2))
    parts = [
        condition(SquaredExponential(), np.full(2, theta), X, y, 0.01) for theta in (0.1, 0.3, 0.9)
    ]
    mixture = PosteriorMixture.equal(parts)
    mean, std = mixture.predict(A)
    means, stds = np.array([part.predict(A) for part in parts]).swapaxes(0, 1)
    np.testing.assert_allclose(mean, means.mean(axis=0))
    np.testing.assert_allclose(std**2, (stds**2 + means**2).mean(axis=0) - mean**2)
    same, covariance = mixture.joint(A)
    np.testing.assert_allclose(same, mean)
    np.testing.assert_allclose(np.diag(covariance), std**2)
    _, _, dmean, dstd = mixture.predict_gradients(A)
    for row in range(5):
        for index, slope in ((0, dmean), (1, dstd)):
            numeric = naive.numeric_gradient(
                lambda x, i=index: mixture.predict(x[None])[i][0],
                A[row],
            )
            np.testing.assert_allclose(slope[row], numeric, atol=1e-5)


def test_draws_have_the_moments_of_the_mixture() -> None:
    X, y, A = data(5)
    mixture = averaged(KERNEL, np.array([0.4, 0.9]), X, y, np.full(5, 0.01), 0.01)
    A = np.vstack([A, A[:1]])  # a repeated point is one point
    drawn = mixture.draws(A, 20_000, np.random.default_rng(0))
    mean, covariance = mixture.joint(A)
    assert drawn.shape == (20_000, 6)
    error = np.sqrt(np.diag(covariance) / 20_000)
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 5 * error + 1e-9)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.05 * covariance.max())
    assert np.abs(drawn[:, 0] - drawn[:, 5]).max() < 0.02 * drawn[:, 0].std()


def test_the_chance_to_exceed_is_that_of_draws() -> None:
    X, y, A = data(6)
    mixture = averaged(KERNEL, np.array([0.4, 0.9]), X, y, np.full(6, np.nan), 0.01)
    drawn = mixture.draws(A, 20_000, np.random.default_rng(0))
    for threshold in (0.0, 1.0):
        share = (drawn > threshold).mean(axis=0)
        np.testing.assert_allclose(mixture.chance_above(A, threshold), share, atol=0.015)
