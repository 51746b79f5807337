"""Stationary kernels as functions of the squared scaled distance.

With s = Σ ((x_i − x'_i)/θ_i)² a kernel is k_θ(x, x') = value(s), and one pair (value, slope = d
value/d s) gives every gradient with lengthscales per input:

    ∂k/∂x_i     =  slope(s) · 2 (x_i − x'_i)/θ_i²
    ∂k/∂log θ_i = −slope(s) · 2 (x_i − x'_i)²/θ_i²

The lengthscales belong to the function class, not to the kernel.

A ``Structure`` is k = Σ share · Π factor, of unit variance: additive kernels (Duvenaud, Nickisch
and Rasmussen 2011) are sums over groups of inputs, a categorical kernel is a product, and a space
with branches has a sum over its branches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeGuard, runtime_checkable

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv

from noregret.errors import ConfigurationError, check_range
from noregret.space import Array

# entries of a covariance matrix computed at once, so that they stay in the processor's cache
BLOCK = 16_384
AGREE = 1e-9  # coordinates closer than this are equal, up to rounding


@runtime_checkable
class Kernel(Protocol):
    """A stationary kernel of unit variance. Bring your own by writing these four."""

    # spectral density falls in each |ω_i|: what the norm lemma needs, theory.md#norm-lemma
    decreasing_spectrum: ClassVar[bool]

    def value(self, sq: Array) -> Array: ...
    def slope(self, sq: Array) -> Array: ...
    def capacity_exponent(self, dimension: int, printed: bool = False) -> float:
        """e such that γ_t(θ/g) grows as g^e, theory.md#capacity."""


class Composed(Protocol):
    """A kernel of unit variance that is no function of one distance: sums, products, warped inputs.

    C is a matrix of weights: what a gradient of a sum over pairs needs, without an (m, n, d) array.
    """

    def covariance(self, lengthscales: Array, A: Array, B: Array) -> Array: ...
    def input_gradient(self, lengthscales: Array, A: Array, B: Array, C: Array) -> Array:
        """Σ_n C_mn ∂k(A_m, B_n)/∂A_m, (m, d)."""

    def scale_gradient(self, lengthscales: Array, X: Array, C: Array) -> Array:
        """Σ_jk C_jk ∂k(X_j, X_k)/∂log θ, (d,)."""


Covariance = Kernel | Composed


def is_composed(kernel: Covariance) -> TypeGuard[Composed]:
    return hasattr(kernel, "input_gradient")


@dataclass(frozen=True, slots=True)
class SquaredExponential:
    """exp(−s/2)."""

    decreasing_spectrum: ClassVar[bool] = True

    def value(self, sq: Array) -> Array:
        return np.exp(-0.5 * sq)  # theory.md#kernels

    def slope(self, sq: Array) -> Array:
        return -0.5 * self.value(sq)

    def capacity_exponent(self, dimension: int, printed: bool = False) -> float:
        return float(dimension)  # theory.md#capacity


@dataclass(frozen=True, slots=True)
class Matern:
    """Matérn of any smoothness nu > 0; closed forms at 1/2, 3/2, 5/2, Bessel functions
    elsewhere.
    """

    nu: float = 2.5
    decreasing_spectrum: ClassVar[bool] = True

    def __post_init__(self) -> None:
        hint = "2.5 is the usual choice; for nu → ∞ use SquaredExponential"
        check_range("the smoothness nu of Matern", self.nu, "(0, ∞)", hint)

    @property
    def has_closed_form(self) -> bool:
        return self.nu in (0.5, 1.5, 2.5)

    def value(self, sq: Array) -> Array:
        if self.has_closed_form:
            return value_and_slope(self, sq.copy())[0]
        z = np.sqrt(2 * self.nu * sq)
        return _bessel(self.nu, z) * (2 ** (1 - self.nu) / gamma(self.nu))  # theory.md#kernels

    def slope(self, sq: Array) -> Array:
        if self.has_closed_form:
            return value_and_slope(self, sq.copy())[1]
        # d/dz (z^ν K_ν(z)) = −z^ν K_{ν−1}(z) and dz/ds = ν/z; for ν ≤ 1 the slope at 0 is infinite:
        # a kink, taken as 0
        z = np.sqrt(2 * self.nu * sq)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = -self.nu * (2 ** (1 - self.nu) / gamma(self.nu)) * _bessel(self.nu - 1, z)
        return np.where(np.isfinite(slope), slope, 0.0)

    def capacity_exponent(self, dimension: int, printed: bool = False) -> float:
        if printed:
            return 2 * self.nu + dimension
        return 2 * self.nu * dimension / (2 * self.nu + dimension)  # theory.md#capacity, tight


def _bessel(order: float, z: Array) -> Array:
    """z^order K_order(z), with its limit 2^(order−1) Γ(order) at 0 (infinite for order ≤ 0)."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        product = z**order * kv(order, z)
    limit = 2 ** (order - 1) * gamma(order) if order > 0 else np.inf
    return np.where(z < 1e-8, limit, product)


def squared_distances(A: Array, B: Array, lengthscales: Array) -> Array:
    """s for all pairs, (len(A), len(B)); by differences, so that equal points are at distance 0
    exactly.
    """
    return np.asarray(cdist(A / lengthscales, B / lengthscales, "sqeuclidean"))


def stationary(kernel: Covariance) -> Kernel:
    """A kernel that is a function of the distance, or an error."""
    if isinstance(kernel, Matern | SquaredExponential):  # fast path: the protocol check is slow
        return kernel
    if is_composed(kernel):
        raise ConfigurationError(
            f"{kernel!r} is no function of one distance: use SquaredExponential or Matern here"
        )
    assert isinstance(kernel, Kernel)
    return kernel


def value_and_slope(kernel: Kernel, sq: Any, xp: Any = np) -> tuple[Any, Any]:
    """Both at once, with one exponential where there is a closed form; sq may be overwritten.

    xp: NumPy, or PyTorch for tensors, which closed forms allow only.
    """
    if isinstance(kernel, SquaredExponential):
        value = xp.exp(-0.5 * sq)
        return value, xp.multiply(value, -0.5, out=sq)
    if not (isinstance(kernel, Matern) and kernel.has_closed_form):
        return kernel.value(sq), kernel.slope(sq)
    if kernel.nu == 2.5:
        value, z, decay = _matern_five_halves(sq, xp=xp)
        z += 1
        z *= decay
        z *= -5 / 6
        return value, z
    z = xp.sqrt(2 * kernel.nu * sq)
    decay = xp.exp(-z)
    if kernel.nu == 1.5:
        return (1 + z) * decay, -1.5 * decay
    with np.errstate(divide="ignore", invalid="ignore"):
        return decay, xp.where(z > 0, -decay / (2 * z), 0.0)  # at 0 infinite, taken as 0


def _matern_five_halves(sq: Any, out: Any = None, xp: Any = np) -> tuple[Any, Any, Any]:
    """(1 + z + z²/3) e^−z (in ``out``), z = √(5s) in the place of sq, and e^−z."""
    z = xp.sqrt(xp.multiply(sq, 5.0, out=sq), out=sq)
    decay = xp.negative(z)
    xp.exp(decay, out=decay)
    value = xp.divide(z, 3, out=out)
    value += 1
    value *= z
    value += 1
    value *= decay
    return value, z, decay


def covariance(kernel: Covariance, lengthscales: Array, A: Array, B: Array) -> Array:
    if is_composed(kernel):
        return kernel.covariance(lengthscales, A, B)
    if not (isinstance(kernel, Matern) and kernel.nu == 2.5):
        return stationary(kernel).value(squared_distances(A, B, lengthscales))
    A, B = A / lengthscales, B / lengthscales  # the default's kernel, in blocks
    K = np.empty((len(A), len(B)))
    step = max(BLOCK // max(len(B), 1), 1)
    for start in range(0, len(A), step):
        rows = slice(start, start + step)
        _matern_five_halves(np.asarray(cdist(A[rows], B, "sqeuclidean")), K[rows])
    return K


# -- sums and products --


@dataclass(frozen=True, slots=True)
class Factor:
    """A kernel of some coordinates; kernel None: 1 where both points agree in them, else 0."""

    kernel: Kernel | None
    coordinates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """share · Π factors."""

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


@dataclass(frozen=True, slots=True)
class Dead:
    """Points that have ``option`` in the coordinates ``at`` are alike in all other coordinates."""

    at: tuple[int, ...]
    option: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Masked:
    """k(φ(x), φ(x')): φ moves the inputs that an option makes dead to ½."""

    kernel: Composed
    dead: tuple[Dead, ...]

    def covariance(self, lengthscales: Array, A: Array, B: Array) -> Array:
        return self.kernel.covariance(lengthscales, self._moved(A), self._moved(B))

    def input_gradient(self, lengthscales: Array, A: Array, B: Array, C: Array) -> Array:
        at = self._moved(A)
        gradient = self.kernel.input_gradient(lengthscales, at, self._moved(B), C)
        return np.where(at == self._moved(A, 0.25), gradient, 0.0)

    def scale_gradient(self, lengthscales: Array, X: Array, C: Array) -> Array:
        return self.kernel.scale_gradient(lengthscales, self._moved(X), C)

    def _moved(self, A: Array, to: float = 0.5) -> Array:
        moved = A.copy()
        for each in self.dead:
            others = np.setdiff1d(np.arange(A.shape[1]), each.at)
            rows = np.abs(A[:, each.at] - each.option).max(axis=1) < AGREE
            moved[np.ix_(rows, others)] = to
        return moved


def composed(kernel: Covariance, dimension: int) -> Composed:
    """The same kernel with the gradients of a composed one."""
    return kernel if is_composed(kernel) else additive(stationary(kernel), [range(dimension)])
