"""Functions drawn by decoupled features: moments against the dense posterior, gradients against
differences.
"""

import numpy as np
import pytest

from noregret.errors import ConfigurationError
from noregret.extensions.thompson import draw_at, draw_path, frequencies
from noregret.gp import Kernel, Matern, SquaredExponential, condition, covariance
from tests.naive import numeric_gradient

RNG = np.random.default_rng(3)
X, Y = RNG.random((7, 2)), RNG.standard_normal(7)
A = RNG.random((5, 2))
THETA = np.array([0.4, 0.7])
KERNELS: list[Kernel] = [SquaredExponential(), Matern(2.5), Matern(0.5)]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_features_have_the_kernels_covariance(kernel: Kernel) -> None:
    """The mean of cos(ω(x − x')/θ) over the spectrum is the kernel."""
    omega = frequencies(kernel, 200_000, 2, np.random.default_rng(0))
    apart = (A[:, None, :] - X[None, :, :]) / THETA
    for row in range(3):
        estimate = np.cos(apart[row] @ omega.T).mean(axis=1)
        np.testing.assert_allclose(estimate, covariance(kernel, THETA, A[[row]], X)[0], atol=0.01)


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=str)
def test_draws_have_the_posteriors_mean_and_covariance(kernel: Kernel) -> None:
    posterior = condition(kernel, THETA, X, Y, 0.05)
    rng, width = np.random.default_rng(1), 1.7
    draws = np.array([draw_path(posterior, width, rng, 400).values(A) for _ in range(3_000)])
    exact = np.array([draw_at(*posterior.joint(A), width, rng) for _ in range(3_000)])
    mean, cov = posterior.joint(A)
    for sample in (draws, exact):
        np.testing.assert_allclose(sample.mean(axis=0), mean, atol=0.12)
        np.testing.assert_allclose(np.cov(sample.T), width**2 * cov, atol=0.15)
    assert not np.allclose(np.cov(draws.T), cov, atol=0.15)  # the width counts


def test_a_draw_is_one_function_with_its_gradient() -> None:
    posterior = condition(Matern(2.5), THETA, X, Y, 0.01).append(np.array([0.2, 0.9]), None, 0.01)
    path = draw_path(posterior, 1.0, np.random.default_rng(2))
    value, gradient = path.gradients(A)
    np.testing.assert_array_equal(path.values(A), path.values(A))
    np.testing.assert_allclose(value, path.values(A), rtol=1e-12)
    for a, row in zip(A, gradient, strict=True):
        numeric = numeric_gradient(lambda x: float(path.values(x[None, :])[0]), a)
        np.testing.assert_allclose(row, numeric, rtol=1e-5, atol=1e-6)


def test_a_kernel_without_a_known_spectrum_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="spectrum is not known"):
        frequencies(object(), 1, 1, np.random.default_rng(0))  # type: ignore[arg-type]
