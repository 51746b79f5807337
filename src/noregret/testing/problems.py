"""Objectives with a known maximum, and draws from an RKHS ball."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import Kernel, SquaredExponential, covariance, linalg, squared_distances
from noregret.search import Acquisition, argmax
from noregret.space import Array, Space


@dataclass(frozen=True, slots=True)
class RKHSFunction:
    """f = Σ α_i k_θ(·, z_i) on the unit cube: its norm is exact. Call it on one point or on rows of
    points.
    """

    kernel: Kernel
    lengthscales: Array
    centres: Array
    weights: Array

    def __call__(self, x: Array) -> Array:
        A = np.asarray(x, dtype=np.float64)
        values: Array = self._covariance(np.atleast_2d(A)) @ self.weights
        return values if A.ndim == 2 else values[0]

    def _covariance(self, A: Array) -> Array:
        """k(a, z_i) for every row a of A and every centre z_i."""
        return covariance(self.kernel, self.lengthscales, A, self.centres)

    def gradients(self, A: Array) -> tuple[Array, Array]:
        """Values and gradients at the rows of A."""
        sq = squared_distances(A, self.centres, self.lengthscales)
        slope = self.kernel.slope(sq) * self.weights
        difference = A * slope.sum(axis=1)[:, None] - slope @ self.centres
        return self(A), difference * 2 / self.lengthscales**2

    @property
    def norm(self) -> float:
        """‖f‖_θ = √(αᵀKα)."""
        return float(np.sqrt(self.weights @ self._covariance(self.centres) @ self.weights))

    def norm_at(self, lengthscales: Array | float) -> float:
        """‖f‖ under other lengthscales θ' < √2·θ, SE kernel only, exact: theory.md#exact-norm."""
        other = np.broadcast_to(np.asarray(lengthscales, dtype=np.float64), self.lengthscales.shape)
        s_sq = 2 * self.lengthscales**2 - other**2
        if not isinstance(self.kernel, SquaredExponential) or np.any(s_sq <= 0):
            raise ConfigurationError(
                "the norm at other lengthscales is known for SquaredExponential only, and below"
                f" √2·{self.lengthscales}, got {self.kernel} and {other}"
            )
        scale = np.prod(self.lengthscales**2 / (other * np.sqrt(s_sq)))
        gram = scale * covariance(SquaredExponential(), np.sqrt(s_sq), self.centres, self.centres)
        return float(np.sqrt(self.weights @ gram @ self.weights))

    def maximiser(self) -> Array:
        """argmax over the cube, by the optimizer of our own acquisitions (spacing θ/2 in d ≤ 2)."""
        d, rng = len(self.lengthscales), np.random.default_rng(0)
        none, cube = np.empty((0, d)), Space.from_bounds([(0.0, 1.0)] * d)
        f = Acquisition(self, self.gradients)
        return argmax(f, cube, self.lengthscales / 4, rng, none, none)

    @property
    def maximum(self) -> float:
        return float(self(self.maximiser()))

    def scaled_to(self, norm: float) -> RKHSFunction:
        return replace(self, weights=self.weights * (norm / self.norm))


def interpolant(
    kernel: Kernel, lengthscales: Array, centres: Array, values: Array, jitter: float = 0.0
) -> RKHSFunction:
    """The function of least norm through the values (up to the jitter)."""
    K = covariance(kernel, lengthscales, centres, centres)
    L = linalg.cholesky(K + jitter * np.eye(len(centres)))
    weights = linalg.solve_lower(L, linalg.solve_lower(L, values), transposed=True)
    return RKHSFunction(kernel, lengthscales, centres, weights)


def bump() -> RKHSFunction:
    """Nearly linear with one narrow bump that holds the maximum: the paper's example, fixed
    in theory.md#bump.

    Squared exponential, lengthscale 0.1, norm 2; maximum at x ≈ 0.206, local maximum at x ≈ 0.98.
    """
    nodes = np.linspace(0.0, 1.0, 11)
    values = 0.6 * nodes + 0.6233 * np.exp(-0.5 * ((nodes - 0.2) / 0.08) ** 2)
    return interpolant(SquaredExponential(), np.array([0.1]), nodes[:, None], values).scaled_to(2.0)


def rkhs_sample(
    seed: int,
    *,
    dimension: int = 1,
    lengthscale: float = 0.1,
    norm: float = 4.0,
    kernel: Kernel | None = None,
    points: int | None = None,
) -> RKHSFunction:
    """A draw from the Gaussian process on a grid (d = 1) or at random points, interpolated and
    rescaled to the norm.
    """
    kernel = kernel or SquaredExponential()
    rng = np.random.default_rng([seed, dimension])
    count = points or {1: 50, 2: 144}.get(dimension, 200)
    grid = np.linspace(0.0, 1.0, count)[:, None]
    centres = grid if dimension == 1 else rng.random((count, dimension))
    theta = np.full(dimension, lengthscale)
    K = covariance(kernel, theta, centres, centres)
    L = linalg.cholesky(K + 1e-6 * np.eye(count))  # theory.md#bump
    values = L @ rng.standard_normal(count)
    return interpolant(kernel, theta, centres, values, jitter=1e-6).scaled_to(norm)
