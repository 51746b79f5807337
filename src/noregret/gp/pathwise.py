"""Whole functions drawn from a posterior, by decoupled features.

A draw of the prior from random features, corrected with the exact kernel so that it agrees with the
data (Wilson et al. 2020, "Efficiently sampling functions from Gaussian process posteriors"):

    f̃(x) = μ(x) + v·(p(x) − k(x, X)(K + Λ)⁻¹(p(X) + e)),   p ~ GP(0, k),  e ~ N(0, Λ)

has mean μ and covariance v²·k_t exactly if p has covariance k. p(x) = √(2/M) Σ w_i cos(ω_iᵀx/θ +
b_i) has it up to the error of M features, ω from the kernel's spectrum: N(0, I) for the squared
exponential, Student's t with 2ν degrees of freedom for Matérn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import linalg
from noregret.gp.kernels import (
    Kernel,
    Matern,
    SquaredExponential,
    covariance,
    simple,
    squared_distances,
    value_and_slope,
)
from noregret.gp.posterior import Posterior
from noregret.space import Array

FEATURES = 1_024


@dataclass(frozen=True, slots=True)
class Path:
    """One function: values and gradients anywhere, for ever the same."""

    kernel: Kernel
    lengthscales: Array
    X: Array  # (n, d)
    kernel_weights: Array  # (n,): of k(x, X)
    frequencies: Array  # (M, d), in units of 1/θ
    phases: Array  # (M,)
    feature_weights: Array  # (M,)

    def values(self, A: Array) -> Array:
        k = covariance(self.kernel, self.lengthscales, A, self.X)
        return np.asarray(k @ self.kernel_weights + np.cos(self._angles(A)) @ self.feature_weights)

    def gradients(self, A: Array) -> tuple[Array, Array]:
        """Values, and gradients (m, d) in the rows of A."""
        sq = squared_distances(A, self.X, self.lengthscales)
        k, slope = value_and_slope(self.kernel, sq)
        angles = self._angles(A)
        value = k @ self.kernel_weights + np.cos(angles) @ self.feature_weights
        slope = slope * self.kernel_weights
        by_kernel = A * slope.sum(axis=1)[:, None] - slope @ self.X
        by_features = -(np.sin(angles) * self.feature_weights) @ self.frequencies
        return value, 2.0 / self.lengthscales**2 * by_kernel + by_features / self.lengthscales

    def _angles(self, A: Array) -> Array:
        return np.asarray((A / self.lengthscales) @ self.frequencies.T + self.phases)


def draw_path(
    posterior: Posterior, width: float, rng: np.random.Generator, features: int = FEATURES
) -> Path:
    """f̃ ~ GP(μ, width²·k_t), the prior by so many features. Pending points narrow it."""
    d, scale = posterior.X.shape[1], width * np.sqrt(2.0 / features)
    kernel = simple(posterior.kernel)
    omega = frequencies(kernel, features, d, rng)
    phases = rng.uniform(0.0, 2 * np.pi, features)
    weights = scale * rng.standard_normal(features)
    none = np.zeros(len(posterior.X))
    path = Path(kernel, posterior.lengthscales, posterior.X, none, omega, phases, weights)
    noise = width * np.sqrt(posterior.noise_var) * rng.standard_normal(len(posterior.X))
    drawn = linalg.solve_lower(posterior.L, path.values(posterior.X) + noise)
    correction = linalg.solve_lower(posterior.L, drawn, transposed=True)
    return Path(
        kernel,
        posterior.lengthscales,
        posterior.X,
        posterior.weights - correction,  # theory.md#thompson
        omega,
        phases,
        weights,
    )


def frequencies(kernel: Kernel, count: int, dimension: int, rng: np.random.Generator) -> Array:
    """(count, dimension) draws from the kernel's spectrum at lengthscale 1."""
    omega = rng.standard_normal((count, dimension))
    if isinstance(kernel, SquaredExponential):
        return omega
    if isinstance(kernel, Matern):
        degrees = 2 * kernel.nu
        return np.asarray(omega / np.sqrt(rng.chisquare(degrees, (count, 1)) / degrees))
    raise ConfigurationError(
        f"functions cannot be drawn for {kernel!r}: its spectrum is not known here; use"
        " SquaredExponential or Matern"
    )


def draw_at(mean: Array, cov: Array, width: float, rng: np.random.Generator) -> Array:
    """Exact values ~ N(mean, width²·cov) at finitely many points; rounding below 0 is cut off."""
    spectrum, basis = np.linalg.eigh(cov)
    root = np.sqrt(np.maximum(spectrum, 0.0))
    return np.asarray(mean + width * (basis @ (root * rng.standard_normal(len(mean)))))
