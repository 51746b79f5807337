"""Gaussian-process posterior as a value.

Notation: X (n, d) points, y (n,) values, λ = noise_var (n,) regulariser per point, K = k_θ(X, X), L
Lᵀ = K + diag λ, z = L⁻¹(y − m), weights = (K + diag λ)⁻¹(y − m). The prior has variance 1 and mean
m: 0, or with ``kriging`` an unknown constant with a flat prior (ordinary kriging), u = L⁻¹1:

    m = uᵀz/uᵀu,    var(x) = 1 − kᵀ(K + λ)⁻¹k + (1 − kᵀ(K + λ)⁻¹1)²/uᵀu

``std`` is the latent one: of f, not of y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy as np

from noregret.errors import ConfigurationError, check_range
from noregret.gp import linalg
from noregret.gp.device import Place, Processor, device_for
from noregret.gp.factor_cache import factor as cached_factor
from noregret.gp.kernels import (
    BLOCK,
    Covariance,
    Kernel,
    covariance,
    is_composed,
    stationary,
    value_and_slope,
)
from noregret.space import Array

if TYPE_CHECKING:
    from noregret.gp.device_factor import PanelFactor

# variance below which rounding dominates; keeps the gradient of its root finite
VARIANCE_FLOOR = 1e-20
# greedy maximisation reaches this share of the maximum of a monotone submodular function
GREEDY_SHARE = 1 - 1 / math.e
SCREEN = 256  # points by which ``predict_leading`` rules out rows first, doubled at each step


CovarianceFactor: TypeAlias = "Cholesky | PanelFactor"


class Predictor(Protocol):
    """What an acquisition needs: latent mean and std, and their gradients."""

    def predict(self, A: Array) -> tuple[Array, Array]: ...
    def predict_gradients(self, A: Array) -> tuple[Array, Array, Array, Array]: ...


class JointPredictor(Predictor, Protocol):
    """A predictor that knows how values at several points go together."""

    def joint(self, A: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True, slots=True)
class Cholesky:
    """L with L Lᵀ = K + diag λ on the processor; on a device it is a ``PanelFactor``, which has the
    same methods.
    """

    L: Array
    place: ClassVar[Place] = Processor()

    @property
    def diagonal(self) -> Array:
        return np.diag(self.L)

    @property
    def last_row(self) -> Array:
        return self.L[-1]

    def solve(self, b: Array, *, transposed: bool = False) -> Array:
        """L⁻¹b for a vector b, of the first rows of L where b has fewer; or L⁻ᵀb."""
        n = len(b)
        return linalg.solve_lower(self.L[:n, :n], b, transposed=transposed)

    def append(
        self, kernel: Covariance, lengthscales: Array, X: Array, noise_var: Array
    ) -> Cholesky:
        """The factor of all rows of X, of which the last is new."""
        cross = covariance(kernel, lengthscales, X[:-1], X[-1:])[:, 0]
        return Cholesky(linalg.append_row(self.L, cross, 1.0 + noise_var[-1]))  # O(n²)

    def whiten(self, B: Array) -> Array:
        """L⁻¹B for B (n, m), which may be overwritten."""
        return linalg.solve_lower(self.L, B, overwrite=True)

    def unwhiten(self, B: Array) -> Array:
        """L⁻ᵀB for B (n, m), which may be overwritten."""
        return linalg.solve_lower(self.L, B, transposed=True, overwrite=True)

    def whitening(self, count: int) -> Callable[[Array], Array]:
        """``whiten``, or a product with L⁻¹ where that is cheaper for so many columns in all."""
        if count <= 2 * len(self.L):
            return self.whiten
        inverse = linalg.lower_inverse(self.L)
        return lambda B: linalg.lower_product(inverse, B)


@dataclass(frozen=True, slots=True)
class Posterior:
    """f given the data. Rows of X from ``observed`` on are pending: they narrow the variance, not
    the mean.
    """

    kernel: Covariance
    lengthscales: Array
    X: Array
    noise_var: Array
    factor: CovarianceFactor
    z: Array
    weights: Array
    observed: int
    mean: float = 0.0  # m
    ones: Array | None = None  # (K + λ)⁻¹1; None: the mean is known to be 0
    mean_var: float = 0.0  # 1/uᵀu, the variance of m

    def predict(self, A: Array) -> tuple[Array, Array]:
        """Latent mean and std at the rows of A. O(m n²)."""
        factor = self.factor
        if not isinstance(factor, Cholesky) or device_for(self.kernel, len(self.X), len(A)):
            from noregret.gp.device_factor import predict_on_device

            return predict_on_device(self, A)
        mean, var = np.empty(len(A)), np.empty(len(A))
        whiten = factor.whitening(len(A))
        step = max(BLOCK // max(len(self.X), 1), 64)
        for start in range(0, len(A), step):
            rows = slice(start, start + step)
            # (m, n): its transpose is in LAPACK's order
            k = covariance(self.kernel, self.lengthscales, A[rows], self.X)
            mean[rows] = self.mean + k @ self.weights  # JMLR eq. (3)
            prior = self._prior_var(k, self.ones)
            v = whiten(k.T)
            var[rows] = prior - np.einsum("nm,nm->m", v, v)
        return mean, np.sqrt(np.maximum(var, VARIANCE_FLOOR))

    def predict_leading(self, A: Array, width: float, top: int) -> tuple[Array, Array]:
        """Mean and std as ``predict`` gives them at the ``top`` rows with the largest mean +
        width·std; at rows that cannot be among them any std that leaves them below.

        The variance given the first points alone is an upper bound, and is known before the rest of
        the factor has been looked at: rows that it rules out are dropped on the way. Not on a
        device, where columns are cheap.
        """
        if not isinstance(self.factor, Cholesky):
            return self.predict(A)
        k = covariance(self.kernel, self.lengthscales, A, self.X)  # (m, n)
        mean = self.mean + k @ self.weights
        var, left = np.broadcast_to(self._prior_var(k, self.ones), len(A)).copy(), np.arange(len(A))
        least = np.partition(mean, -top)[-top] if top < len(A) else -np.inf  # std ≥ 0
        L, start = self.L, 0
        while start < len(self.X) and len(left):
            rows = slice(start, min(max(2 * start, SCREEN), len(self.X)))
            part = k[:, rows].T  # k becomes V = L⁻¹ kᵀ, transposed, from left to right
            if start:
                part = part - L[rows, :start] @ k[:, :start].T
            corner = np.asfortranarray(L[rows, rows])
            part = linalg.solve_lower(corner, part)
            k[:, rows] = part.T
            var[left] -= np.einsum("nm,nm->m", part, part)
            bound = mean[left] + width * np.sqrt(np.maximum(var[left], VARIANCE_FLOOR))
            stays = bound >= least
            if not stays.all():
                left, k = left[stays], k[stays]
            start = rows.stop
        return mean, np.sqrt(np.maximum(var, VARIANCE_FLOOR))

    def predict_gradients(self, A: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, std and their gradients (m, d) in the rows of A. O(m n² + m n d)."""
        kernel, factor, place = self.kernel, self.factor, self.factor.place
        with place.memory_for(
            f"a prediction with gradients at {len(A)} points, given {len(self.X)},"
        ):
            A, X, weights = place.put(A), place.put(self.X), place.put(self.weights)
            ones = None if self.ones is None else place.put(self.ones)
            slope: Any = None
            if is_composed(kernel):
                k = kernel.covariance(self.lengthscales, A, X)  # (m, n)
            else:
                sq = place.squared_distances(A, X, self.lengthscales)
                k, slope = value_and_slope(stationary(kernel), sq, place.xp)
            mean, prior = self.mean + k @ weights, self._prior_var(k, ones)
            unsure = None  # what the unknown mean adds to (K + λ)⁻¹k
            if ones is not None:
                unsure = self.mean_var * (1.0 - k @ ones)[:, None] * ones
            v = factor.whiten(k.T)
            var = prior - place.xp.einsum("nm,nm->m", v, v)
            w = factor.unwhiten(v).T  # (K + λ)⁻¹ k
            w = w if unsure is None else w + unsure
            if is_composed(kernel):
                same = np.broadcast_to(weights, w.shape)
                dmean = kernel.input_gradient(self.lengthscales, A, X, same)
                dvar = -2.0 * kernel.input_gradient(self.lengthscales, A, X, w)
            else:
                # Σ_n c_mn · slope_mn · 2 (A_m − X_n)/θ², without an (m, n, d) array
                w *= slope
                slope *= weights
                scale = place.put(2.0 / self.lengthscales**2)
                dmean = scale * (A * slope.sum(axis=1)[:, None] - slope @ X)
                dvar = -2.0 * scale * (A * w.sum(axis=1)[:, None] - w @ X)
            mean, var, dmean, dvar = (place.get(v) for v in (mean, var, dmean, dvar))
        std = np.sqrt(np.maximum(var, VARIANCE_FLOOR))
        return mean, std, dmean, dvar / (2.0 * std[:, None])

    def _prior_var(self, k: Any, ones: Any) -> Any:
        """1, and what the unknown mean adds at points with covariances k (m, n)."""
        return 1.0 if ones is None else 1.0 + self.mean_var * (1.0 - k @ ones) ** 2

    def joint(self, A: Array) -> tuple[Array, Array]:
        """Mean and covariance matrix of f at the rows of A."""
        factor, place = self.factor, self.factor.place
        with place.memory_for(f"the covariance of {len(A)} points, given {len(self.X)},"):
            A, X, weights = place.put(A), place.put(self.X), place.put(self.weights)
            ones = None if self.ones is None else place.put(self.ones)
            k = place.covariance(self.kernel, self.lengthscales, A, X)
            own = place.covariance(self.kernel, self.lengthscales, A, A)
            mean = self.mean + k @ weights
            if ones is not None:
                c = 1.0 - k @ ones
                own += self.mean_var * (c[:, None] * c)
            if isinstance(factor, Cholesky):
                v = factor.whitening(len(A))(k.T)
                return mean, linalg.less_gram(own, v)
            v = factor.whiten(k.T)
            return place.get(mean), place.get(own - v.T @ v)

    @property
    def information_gain(self) -> float:
        """I(y; f) of the observed points: ½ log det(I + Λ^-½ K Λ^-½), theory.md#information."""
        n = self.observed
        of_noise = 0.5 * np.sum(np.log(self.noise_var[:n]))
        return float(np.sum(np.log(self.factor.diagonal[:n])) - of_noise)

    @property
    def pending_information(self) -> float:
        """The information that the pending points will add."""
        n = self.observed
        of_noise = 0.5 * np.sum(np.log(self.noise_var[n:]))
        return float(np.sum(np.log(self.factor.diagonal[n:])) - of_noise)

    @property
    def L(self) -> Array:  # noqa: N802
        return self.factor.L

    def append(self, x: Array, y: float | None, noise_var: float) -> Posterior:
        """The posterior with one more point, in O(n²); y=None: it is pending."""
        if y is not None and self.observed < len(self.X):
            raise ConfigurationError(
                "append observed points before pending ones: the mean of a posterior must not"
                " depend on unknown values"
            )
        X = np.vstack([self.X, np.asarray(x, dtype=np.float64).reshape(1, -1)])
        lam = np.append(self.noise_var, noise_var)
        factor = self.factor.append(self.kernel, self.lengthscales, X, lam)
        kriging, z = self.ones is not None, self.z
        if y is None:  # the mean of a pending point is this one's
            z = np.append(z, 0.0)
        else:
            if kriging:
                z = z + self.mean * self.factor.solve(np.ones(len(self.X)))  # L⁻¹y
            row = factor.last_row
            z = np.append(z, (y - row[:-1] @ z) / row[-1])
        grown = replace(self, X=X, noise_var=lam, factor=factor)
        grown = grown.solved(z, self.observed + (y is not None), kriging=kriging)
        if kriging and y is None:
            weights = factor.solve(z, transposed=True)
            grown = replace(grown, z=z, weights=weights, mean=self.mean)
        return grown

    def solved(self, z: Array, observed: int, *, kriging: bool) -> Posterior:
        """The posterior of the same factor given z = L⁻¹y, 0 where a value is pending. The mean is
        that of the observed points, its variance that with the pending ones.
        """
        factor, n = self.factor, len(self.X)
        mean, ones, mean_var = 0.0, None, 0.0
        if kriging:
            u = factor.solve(np.ones(n))
            seen = u[:observed]
            mean = float(seen @ z[:observed] / (seen @ seen)) if observed else 0.0
            z = np.concatenate([z[:observed] - mean * seen, np.zeros(n - observed)])
            ones, mean_var = factor.solve(u, transposed=True), 1.0 / float(u @ u)
        weights = factor.solve(z, transposed=True)
        data = self.kernel, self.lengthscales, self.X, self.noise_var, factor
        return Posterior(*data, z, weights, observed, mean, ones, mean_var)


def log_evidence(
    factor: CovarianceFactor, y: Array, *, kriging: bool
) -> tuple[float, Array, Array | None]:
    """log p(y), (K + λ)⁻¹(y − m), and with kriging (K + λ)⁻¹1/√(uᵀu): averaging over the mean with
    a flat prior adds ½ log(2π/uᵀu).
    """
    z, ones, of_mean = factor.solve(y), None, 0.0
    if kriging:
        u = factor.solve(np.ones(len(y)))
        squared = float(u @ u)
        z = z - u * (u @ z / squared)
        ones = factor.solve(u, transposed=True) / np.sqrt(squared)
        of_mean = 0.5 * float(np.log(2 * np.pi / squared))
    value = float(-0.5 * z @ z - np.sum(np.log(factor.diagonal)) - 0.5 * len(y) * np.log(2 * np.pi))
    return value + of_mean, factor.solve(z, transposed=True), ones


def spread_out(name: str, values: Array | float, count: int, hint: str = "") -> Array:
    """A copy of one positive number or of ``count``, as ``count`` of them.

    Raises:
        ConfigurationError: other values, or another number of them.
    """
    array = np.asarray(values, dtype=np.float64)
    linalg.check_all_positive(name, array, hint)
    if array.size not in (1, count):
        raise ConfigurationError(f"{name}: give one or {count}, got {array.size}")
    return np.broadcast_to(array.ravel(), (count,)).copy()


def condition(
    kernel: Covariance,
    lengthscales: Array,
    X: Array,
    y: Array,
    noise_var: Array | float,
    pending: Array | None = None,
    pending_noise_var: float | None = None,
    *,
    kriging: bool = False,
) -> Posterior:
    """The posterior of f given y = f(X) + noise, n³/3. ``pending`` rows count in variance and
    information only. kriging: the prior mean is an unknown constant.
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n, dimension = X.shape
    exact = "with exact observations use a small value such as (1e-4 × range of y)²"
    lam = spread_out("noise variances", noise_var, n, exact)
    lengthscales = spread_out("lengthscales", lengthscales, dimension)
    if pending is not None and len(pending):
        if pending_noise_var is None:
            raise ConfigurationError(
                "pending points need pending_noise_var, the noise their values will have"
            )
        X = np.vstack([X, pending])
        lam = np.append(lam, np.full(len(pending), pending_noise_var))
    device = device_for(kernel, len(X))
    factor: CovarianceFactor
    if device is None:
        factor = Cholesky(cached_factor(kernel, lengthscales, X, lam))
    else:
        from noregret.gp.device_factor import panel_factor

        factor = panel_factor(device, stationary(kernel), lengthscales, X, lam)
    z = np.append(factor.solve(y), np.zeros(len(X) - n))  # pending at the mean: innovation 0
    posterior = Posterior(kernel, lengthscales, X, lam, factor, z, z, n)
    return posterior.solved(z, n, kriging=kriging)


def greedy_information(
    kernel: Kernel, lengthscales: Array | float, candidates: Array, t: int, regulariser: float
) -> Array:
    """I_1, …, I_t of the points that greedy maximisation of the information picks among the rows of
    candidates, repeats allowed.

    I_s ≤ γ_s ≤ I_s / GREEDY_SHARE, with γ_s the capacity over the candidates. O(n t²) time for n
    candidates, O(n t) memory.
    """
    C = np.asarray(candidates, dtype=np.float64)
    if C.ndim != 2 or C.size == 0 or not np.all(np.isfinite(C)):
        raise ConfigurationError(
            "candidates are the rows of a finite (n, d) array with at least one row, got shape"
            f" {C.shape}"
        )
    check_range("t", t, "[1, ∞)", "it counts the points to pick", whole=True)
    check_range("the regulariser", regulariser, "(0, ∞)", "without noise a point tells everything")
    theta = spread_out("lengthscales", lengthscales, C.shape[1])
    V = np.empty((t, len(C)))  # L⁻¹ k(picked, C), a row per picked point
    variance = np.ones(len(C))
    gains = np.empty(t)
    for s in range(t):
        i = int(np.argmax(variance))
        gains[s] = 0.5 * math.log1p(variance[i] / regulariser)  # chain rule, theory.md#information
        cross = covariance(kernel, theta, C[i : i + 1], C)[0]
        V[s] = (cross - V[:s, i] @ V[:s]) / math.sqrt(variance[i] + regulariser)
        variance = np.maximum(variance - V[s] ** 2, 0.0)
    return np.cumsum(gains)
