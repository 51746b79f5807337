"""Kernels made of kernels of some of the inputs: k = Σ share · Π factor, of unit variance.

Additive kernels (Duvenaud, Nickisch and Rasmussen 2011) are sums over groups of inputs, a
categorical kernel is a product, and a space with branches has a sum over its branches. A factor is
a stationary kernel of some coordinates, or an indicator: both points agree in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from noregret.errors import ConfigurationError
from noregret.gp.kernels import (
    Covariance,
    Kernel,
    is_composed,
    simple,
    squared_distances,
    value_and_slope,
)
from noregret.space import Array

AGREE = 1e-9  # coordinates of one option, whatever rounding made of them


@dataclass(frozen=True, slots=True)
class Factor:
    """A kernel of some coordinates; kernel None: 1 where both points agree in them, else 0."""

    kernel: Kernel | None
    coordinates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Term:
    share: float
    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Structure:
    """Σ_t share_t Π_f k_f, with k(x, x) = 1 at every point of the space."""

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        if not self.terms or not all(0 < term.share <= 1 + 1e-9 for term in self.terms):
            raise ConfigurationError(
                f"the shares of a kernel's terms lie in (0, 1], got {self.terms!r}"
            )

    def covariance(self, lengthscales: Array, A: Array, B: Array) -> Array:
        total = np.zeros((len(A), len(B)))
        for term in self.terms:
            product = np.full((len(A), len(B)), term.share)
            for factor in term.factors:
                product *= _value(factor, lengthscales, A, B)[0]
            total += product
        return total

    def input_gradient(self, lengthscales: Array, A: Array, B: Array, C: Array) -> Array:
        gradient = np.zeros(A.shape)
        for at, weights in self._slopes(lengthscales, A, B, C):
            part = A[:, at] * weights.sum(axis=1)[:, None] - weights @ B[:, at]
            gradient[:, at] += 2.0 / lengthscales[at] ** 2 * part
        return gradient

    def scale_gradient(self, lengthscales: Array, X: Array, C: Array) -> Array:
        gradient = np.zeros(X.shape[1])
        for at, weights in self._slopes(lengthscales, X, X, C):
            a = X[:, at]
            both = weights.sum(axis=0) + weights.sum(axis=1)
            apart = both @ a**2 - 2 * np.einsum("ji,ji->i", a, weights @ a)
            gradient[at] -= 2.0 / lengthscales[at] ** 2 * apart
        return gradient

    def _slopes(
        self, lengthscales: Array, A: Array, B: Array, C: Array
    ) -> list[tuple[list[int], Array]]:
        """For each factor its coordinates and C times the derivative in its squared distance."""
        result = []
        for term in self.terms:
            each = [_value(factor, lengthscales, A, B) for factor in term.factors]
            for i, factor in enumerate(term.factors):
                if factor.kernel is None:
                    continue
                weights = term.share * C * each[i][1]
                for j, (value, _) in enumerate(each):
                    if j != i:
                        weights = weights * value
                result.append((list(factor.coordinates), weights))
        return result


def _value(factor: Factor, lengthscales: Array, A: Array, B: Array) -> tuple[Array, Array]:
    """Values of a factor, and its slopes in the squared distance."""
    at = list(factor.coordinates)
    if factor.kernel is None:
        apart = cdist(A[:, at], B[:, at], "chebyshev")
        return (apart < AGREE).astype(np.float64), np.zeros(apart.shape)
    sq = squared_distances(A[:, at], B[:, at], lengthscales[at])
    return value_and_slope(factor.kernel, sq)


def additive(
    kernel: Kernel, groups: Sequence[Sequence[int]], shares: Sequence[float] | None = None
) -> Structure:
    """One kernel per group of coordinates, of equal shares unless given."""
    weights = [1 / len(groups)] * len(groups) if shares is None else list(shares)
    if not math.isclose(sum(weights), 1.0, rel_tol=1e-9):
        raise ConfigurationError(f"shares must sum to 1, got {weights!r}")
    return Structure(
        tuple(
            Term(share, (Factor(kernel, tuple(int(i) for i in group)),))
            for share, group in zip(weights, groups, strict=True)
        )
    )


# -- gradients of any kernel --


def input_gradient(kernel: Covariance, lengthscales: Array, A: Array, B: Array, C: Array) -> Array:
    """Σ_n C_mn ∂k(A_m, B_n)/∂A_m."""
    if is_composed(kernel):
        return kernel.input_gradient(lengthscales, A, B, C)
    return _whole(kernel, A.shape[1]).input_gradient(lengthscales, A, B, C)


def scale_gradient(kernel: Covariance, lengthscales: Array, X: Array, C: Array) -> Array:
    """Σ_jk C_jk ∂k(X_j, X_k)/∂log θ."""
    if is_composed(kernel):
        return kernel.scale_gradient(lengthscales, X, C)
    return _whole(kernel, X.shape[1]).scale_gradient(lengthscales, X, C)


def _whole(kernel: Covariance, dimension: int) -> Structure:
    return additive(simple(kernel), [range(dimension)])
