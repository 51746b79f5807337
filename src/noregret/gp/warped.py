"""Inputs bent before they are compared: Kumaraswamy's distribution function in each coordinate.

w(x) = 1 − (1 − x^a)^b maps [0, 1] onto itself, is x at a = b = 1, and stretches one end where a or
b is small (Snoek et al. 2014 use the Beta distribution's, which looks the same and has no closed
form). A kernel of w(x) is stationary there and not in x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp.kernels import Covariance, covariance
from noregret.gp.structure import input_gradient, scale_gradient
from noregret.space import Array

EDGE = 1e-9  # slopes are infinite at the ends for a < 1 or b < 1: they are taken so far inside


@dataclass(frozen=True, slots=True)
class Warped:
    """A kernel of the bent inputs; a, b: one per coordinate."""

    kernel: Covariance
    a: tuple[float, ...]
    b: tuple[float, ...]

    def __post_init__(self) -> None:
        shapes = np.array([self.a, self.b])
        if not (np.all(shapes > 0) and np.all(np.isfinite(shapes))):
            raise ConfigurationError(f"a and b must be positive, got {self.a!r} and {self.b!r}")

    def bent(self, A: Array) -> Array:
        return 1 - (1 - A ** np.array(self.a)) ** np.array(self.b)

    def slope(self, A: Array) -> Array:
        """dw/dx."""
        a, b = np.array(self.a), np.array(self.b)
        x = np.clip(A, EDGE, 1 - EDGE)
        return np.asarray(a * b * x ** (a - 1) * (1 - x**a) ** (b - 1))

    def shape_slopes(self, A: Array) -> tuple[Array, Array]:
        """dw/dlog a and dw/dlog b."""
        a, b = np.array(self.a), np.array(self.b)
        x = np.clip(A, EDGE, 1 - EDGE)
        rest = 1 - x**a
        by_a = b * rest ** (b - 1) * x**a * np.log(x) * a
        by_b = -(rest**b) * np.log(rest) * b
        return np.asarray(by_a), np.asarray(by_b)

    def covariance(self, lengthscales: Array, A: Array, B: Array) -> Array:
        return covariance(self.kernel, lengthscales, self.bent(A), self.bent(B))

    def input_gradient(self, lengthscales: Array, A: Array, B: Array, C: Array) -> Array:
        inner = input_gradient(self.kernel, lengthscales, self.bent(A), self.bent(B), C)
        return inner * self.slope(A)

    def scale_gradient(self, lengthscales: Array, X: Array, C: Array) -> Array:
        return scale_gradient(self.kernel, lengthscales, self.bent(X), C)

    def shape_gradient(self, lengthscales: Array, X: Array, C: Array) -> tuple[Array, Array]:
        """Σ_jk C_jk ∂k(X_j, X_k)/∂log a and ∂log b, C symmetric."""
        bent = self.bent(X)
        inner = 2 * input_gradient(self.kernel, lengthscales, bent, bent, C)
        by_a, by_b = self.shape_slopes(X)
        return (inner * by_a).sum(axis=0), (inner * by_b).sum(axis=0)
