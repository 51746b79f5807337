"""What every kernel must be. Subclass it in your tests and give ``make_kernel``."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from noregret.gp import Kernel, condition, covariance
from noregret.storage import codec


class KernelContract(ABC):
    """A stationary kernel of unit variance as a function of the squared scaled distance."""

    @abstractmethod
    def make_kernel(self) -> Kernel:
        """The kernel."""

    def test_it_has_unit_variance_and_falls(self) -> None:
        kernel = self.make_kernel()
        assert isinstance(kernel, Kernel)
        s = np.linspace(0.0, 25.0, 400)
        value = kernel.value(s.copy())
        assert np.isclose(value[0], 1.0)
        assert np.all(np.isfinite(value))
        assert np.all(np.abs(value) <= 1 + 1e-12)

    def test_its_slope_is_the_derivative(self) -> None:
        kernel = self.make_kernel()
        s = np.linspace(0.05, 16.0, 200)
        step = 1e-6
        difference = (kernel.value(s + step) - kernel.value(s - step)) / (2 * step)
        np.testing.assert_allclose(kernel.slope(s.copy()), difference, rtol=1e-4, atol=1e-7)

    def test_it_is_positive_definite(self) -> None:
        kernel, rng = self.make_kernel(), np.random.default_rng(0)
        for d in (1, 2, 5):
            X = rng.random((40, d))
            K = covariance(kernel, np.full(d, 0.3), X, X)
            np.testing.assert_allclose(K, K.T, atol=1e-12)
            assert np.linalg.eigvalsh(K).min() > -1e-8

    def test_a_posterior_can_be_conditioned(self) -> None:
        kernel, rng = self.make_kernel(), np.random.default_rng(1)
        X = rng.random((12, 2))
        y = np.sin(5 * X[:, 0])
        nothing = np.empty((0, 2))
        posterior = condition(kernel, np.full(2, 0.4), X, y, np.full(12, 1e-4), nothing, 1e-4)
        mean, std = posterior.predict(X)
        np.testing.assert_allclose(mean, y, atol=0.1)
        assert np.all((std >= 0) & (std <= 1))

    def test_its_capacity_exponent_is_a_number(self) -> None:
        kernel = self.make_kernel()
        assert isinstance(kernel.decreasing_spectrum, bool)
        for d in (1, 3):
            assert kernel.capacity_exponent(d) > 0

    def test_it_is_stored_and_comes_back(self) -> None:
        kernel = self.make_kernel()
        assert codec.from_json(codec.to_json(kernel)) == kernel
