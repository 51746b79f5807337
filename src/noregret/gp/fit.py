"""Hyperparameters from the data: priors, the evidence, its maximum, and when to search again.

Parameters φ: log θ, one per input, then log λ if the noise is unknown. λ is common to all points
whose noise is not given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, Protocol, Self

import numpy as np
from scipy.optimize import minimize

from noregret.errors import NumericalError, check_one_of, check_range
from noregret.gp import linalg
from noregret.gp.device import device_for
from noregret.gp.kernels import (
    Covariance,
    covariance,
    is_composed,
    squared_distances,
    stationary,
    value_and_slope,
)
from noregret.gp.posterior import Cholesky, log_evidence
from noregret.space import Array, Indices

# smallest estimated noise variance, in prior variances: keeps every factorisation safe
SMALLEST_NOISE_VAR = 1e-8
LARGEST_LOSS = 1e15  # a first loss above this is scaled down to it, so that L-BFGS-B can step
SINGULAR = 1e25  # the loss where the matrix has no factor
TOLERANCE = 1e7 * float(np.finfo(np.float64).eps)  # relative gain that ends L-BFGS-B, as in SciPy
COARSE = 500  # with more points, all starts are searched on this many of them
ENOUGH = 1_000  # with more points, an estimate is computed from this many of them


# -- priors: densities of log-parameters --


class Prior(Protocol):
    """Of ``dimension`` positive parameters; what follows is per parameter, or for all of them."""

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
        """log p(v) up to a constant, of v = exp(log_value), and its gradient in log v."""

    def draw(self, rng: np.random.Generator, size: int, dimension: int) -> Array: ...
    def center(self, dimension: int) -> float | Array: ...


@dataclass(frozen=True, slots=True)
class Gamma:
    """Gamma(shape, rate), mean shape/rate. The paper's experiments: shape 2, rate 10 on the unit
    cube (theory.md#estimation).
    """

    shape: float = 2.0
    rate: float = 10.0

    def __post_init__(self) -> None:
        check_range("the shape of Gamma", self.shape, "(0, ∞)")
        check_range("the rate of Gamma", self.rate, "(0, ∞)")

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
        value = np.exp(log_value)
        return (
            float(np.sum((self.shape - 1) * log_value - self.rate * value)),
            (self.shape - 1) - self.rate * value,
        )

    def draw(self, rng: np.random.Generator, size: int, dimension: int) -> Array:
        return rng.gamma(self.shape, 1 / self.rate, size)

    def center(self, dimension: int) -> float:
        return self.shape / self.rate


@dataclass(frozen=True, slots=True)
class LogNormal:
    """log v ~ N(location, scale²); with dimension_scaled the location grows by ½ log d (Hvarfner et
    al. 2024).
    """

    location: float = 0.0
    scale: float = 1.0
    dimension_scaled: bool = False

    def __post_init__(self) -> None:
        check_range("the location of LogNormal", self.location, "(-∞, ∞)")
        check_range("the scale of LogNormal", self.scale, "(0, ∞)")

    def _location(self, dimension: int) -> float | Array:
        return self.location + (0.5 * math.log(dimension) if self.dimension_scaled else 0.0)

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
        standard = (log_value - self._location(dimension)) / self.scale
        return float(np.sum(-0.5 * standard**2 - log_value)), -standard / self.scale - 1.0

    def draw(self, rng: np.random.Generator, size: int, dimension: int) -> Array:
        return np.exp(self._location(dimension) + self.scale * rng.standard_normal(size))

    def center(self, dimension: int) -> float:
        return math.exp(float(np.mean(self._location(dimension))))


@dataclass(frozen=True, slots=True)
class HalfCauchy:
    """Sparse relevance: the inverse squared lengthscale ρ = 1/v² is half-Cauchy around ``scale``.

    Eriksson and Jankowiak 2021 (SAAS) sample it with a scale that is half-Cauchy itself. At the
    maximum that scale would be 0, all inputs irrelevant; so here it is given.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_range("the scale of HalfCauchy", self.scale, "(0, ∞)")

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
        """log p(ρ) up to a constant, of ρ = exp(−2 log_value), and its gradient in log v."""
        squared = (np.exp(-2 * log_value) / self.scale) ** 2
        return -float(np.sum(np.log1p(squared))), 4 * squared / (1 + squared)

    def draw(self, rng: np.random.Generator, size: int, dimension: int) -> Array:
        rho = self.scale * np.tan(np.pi / 2 * rng.uniform(0.01, 0.99, size))
        return np.asarray(rho**-0.5)

    def center(self, dimension: int) -> float:
        return float(self.scale**-0.5)


# -- the evidence --


def log_evidence_gradient(
    kernel: Covariance,
    lengthscales: Array,
    X: Array,
    y: Array,
    noise_var: Array,
    *,
    kriging: bool = False,
) -> tuple[float, Array, Array]:
    """log p(y | θ, λ), its gradient in log θ (d,), and in log λ per point (n,). n³, three n×n
    arrays, and no (n, n, d) array. kriging: averaged over a constant mean with a flat prior.
    """
    if is_composed(kernel):
        value, W, by_noise = evidence_weights(
            kernel, lengthscales, X, y, noise_var, kriging=kriging
        )
        return value, kernel.scale_gradient(lengthscales, X, W), by_noise
    kernel = stationary(kernel)
    device = device_for(kernel, len(X))
    if device is not None:
        from noregret.gp.device_factor import log_evidence_gradient_on

        return log_evidence_gradient_on(
            device, kernel, lengthscales, X, y, noise_var, kriging=kriging
        )
    K, slope = value_and_slope(kernel, squared_distances(X, X, lengthscales))
    K[np.diag_indices_from(K)] += noise_var
    L = linalg.cholesky(K.T)  # symmetric, and so in LAPACK's order: factorised in place
    value, weights, ones = log_evidence(Cholesky(L), y, kriging=kriging)
    # ½ tr((ww' − K⁻¹) dK), Rasmussen & Williams eq. (5.9); C is its negative, lower triangle
    C = linalg.inverse(L)
    for x in (weights,) if ones is None else (weights, ones):
        C = linalg.less_outer(C, x)
    grad_noise = -0.5 * np.diag(C) * noise_var
    C *= slope.T
    # Σ_jk W_jk (a_j − a_k)² = 2 (Σ_j a_j² W_j· − aᵀ W a), with a a column of X/θ
    A = np.ones((len(X), X.shape[1] + 1), order="F")
    A[:, 1:] = (X - X.mean(axis=0)) / lengthscales
    product = linalg.symmetric_product(C, A)
    grad = 2.0 * (A[:, 1:] ** 2 * product[:, :1] - A[:, 1:] * product[:, 1:]).sum(axis=0)
    return value, grad, grad_noise


def evidence_weights(
    kernel: Covariance,
    lengthscales: Array,
    X: Array,
    y: Array,
    noise_var: Array,
    *,
    kriging: bool = False,
) -> tuple[float, Array, Array]:
    """log p(y), W = dlog p/dK, and the gradient in log λ per point, for any kernel: the gradient in
    a parameter is Σ_jk W_jk dK_jk.
    """
    K = covariance(kernel, lengthscales, X, X)
    K[np.diag_indices_from(K)] += noise_var
    L = linalg.cholesky(K)
    value, weights, ones = log_evidence(Cholesky(L), y, kriging=kriging)
    inverse = linalg.solve_lower(L, np.eye(len(y)))
    W = 0.5 * (np.outer(weights, weights) - inverse.T @ inverse)  # Rasmussen & Williams eq. (5.9)
    if ones is not None:
        W += 0.5 * np.outer(ones, ones)
    return value, W, np.diag(W) * noise_var


@dataclass(frozen=True, slots=True)
class Evidence:
    """p(y | φ) p(φ) for data in the model's units.

    Args:
        kernel: of unit variance.
        X: points (n, d).
        y: values (n,).
        told: noise variance of each point (n,); NaN: estimate it.
        prior: of each lengthscale.
        noise_prior: of λ.
        kriging: a constant mean with a flat prior is averaged out.
        smallest_noise_var: of an estimated noise.
        group: the input that each coordinate belongs to (d,), so that an input with several
            coordinates has one lengthscale. None: each coordinate is an input.
    """

    kernel: Covariance
    X: Array
    y: Array
    told: Array
    prior: Prior
    noise_prior: Prior
    kriging: bool = False
    smallest_noise_var: float = SMALLEST_NOISE_VAR
    group: Indices | None = None

    @property
    def dimension(self) -> int:
        """The number of parameters besides the noise."""
        return self.X.shape[1] if self.group is None else int(self.group[-1]) + 1

    @property
    def estimates_noise(self) -> bool:
        return bool(np.isnan(self.told).any())

    def part(self, rows: Indices) -> Self:
        """The evidence of some of the points. Unknown noise remains unknown."""
        if self.estimates_noise:
            rows = np.append(rows, np.flatnonzero(np.isnan(self.told))[:1])
        return replace(self, X=self.X[rows], y=self.y[rows], told=self.told[rows])

    def noise_var(self, common: float) -> Array:
        return np.where(np.isnan(self.told), common, self.told)

    def log_posterior(self, phi: Array, *, jacobian: bool) -> tuple[float, Array]:
        """Value and gradient in φ; a density of θ, or of log θ with its Jacobian."""
        d = self.dimension
        common = float(np.exp(phi[d])) if self.estimates_noise else np.nan
        value, gradient, by_noise = self.log_evidence(phi[:d], self.noise_var(common))
        prior, by_prior = self.prior.log_density(phi[:d], d)
        value, gradient = value + prior, gradient + by_prior
        if self.estimates_noise:
            prior, by_prior = self.noise_prior.log_density(phi[d:], d)
            value += prior
            gradient = np.append(gradient, np.sum(by_noise[np.isnan(self.told)]) + by_prior)
        if jacobian:
            return value + float(np.sum(phi)), gradient + 1.0
        return value, gradient

    def log_evidence(self, phi: Array, noise_var: Array) -> tuple[float, Array, Array]:
        """log p(y | φ), its gradient in φ, and in log λ per point; φ without the noise."""
        theta = np.exp(phi)
        value, gradient, by_noise = log_evidence_gradient(
            self.kernel,
            theta if self.group is None else theta[self.group],
            self.X,
            self.y,
            noise_var,
            kriging=self.kriging,
        )
        if self.group is not None:
            gradient = np.asarray(np.bincount(self.group, gradient, len(phi)), dtype=np.float64)
        return value, gradient, by_noise


# -- its maximum --


@dataclass(frozen=True, slots=True)
class MAP:
    """How lengthscales are estimated online, theory.md#estimation.

    Args:
        prior: of each lengthscale.
        noise_prior: of the noise variance in units of the prior variance; used where the noise is
            unknown.
        combine: "min" takes min(θ^MAP, θ_0/g) per input, "scale" takes θ^MAP/g.
        truncation: the smallest θ^MAP, in units of θ_0.
        ceiling: the largest θ^MAP, in units of θ_0.
        starts: points from which the posterior is maximised.
        patience: all starts are searched when the data have grown by this factor since the last
            search.
        refresh: in between the last estimate is improved when they have grown by this factor,
            and kept otherwise.

    Raises:
        ConfigurationError: a setting outside its range.
    """

    prior: Prior = Gamma()
    noise_prior: Prior = LogNormal(-4.0, 1.0)
    combine: Literal["min", "scale"] = "min"
    truncation: float = 0.01
    ceiling: float = 1.0
    starts: int = 3
    patience: float = 1.0
    refresh: float = 1.0

    def __post_init__(self) -> None:
        check_one_of("combine", self.combine, ("min", "scale"))
        check_range("truncation", self.truncation, "(0, 1)", "the smallest θ^MAP, in units of θ_0")
        check_range("ceiling", self.ceiling, "[1, ∞)", "the largest θ^MAP, in units of θ_0")
        for name in ("patience", "refresh"):
            check_range(name, getattr(self, name), "[1, ∞)", "a factor by which the data grow")
        check_range("starts", self.starts, "[1, ∞)", whole=True)

    def combined(self, fitted: Array, initial: Array, g: float) -> Array:
        """θ_t from the estimate and the widening."""
        if self.combine == "min":
            return np.minimum(fitted, initial / g)  # JMLR eq. (17)
        return fitted / max(g, 1.0)  # JMLR eq. (18)


@dataclass(frozen=True, slots=True)
class Fit:
    """Estimated lengthscales, and the noise variance (NaN where it is known)."""

    lengthscales: Array
    noise_var: float
    searched: int = 0  # number of points when all starts were last searched
    improved: int = 0  # number of points when the estimate was last improved


def fit_map(
    evidence: Evidence,
    lower: Array,
    upper: Array,
    starts: Array,
    searched: int = 0,
    tolerance: float = TOLERANCE,
) -> Fit:
    """argmax of the posterior over lower ≤ θ ≤ upper; ``starts`` (k, d or d+1) are values of φ.
    tolerance: a step that gains less of the logarithm, relative, is the last.
    """
    d = evidence.dimension
    bounds = [(float(np.log(a)), float(np.log(b))) for a, b in zip(lower, upper, strict=True)]
    if evidence.estimates_noise:
        bounds.append((float(np.log(evidence.smallest_noise_var)), 0.0))

    unit = 0.0  # of the loss, 1 unless the values are far too large for the class

    def loss(phi: Array) -> tuple[float, Array]:
        nonlocal unit
        try:
            value, gradient = evidence.log_posterior(phi, jacobian=False)
        except NumericalError:  # the matrix is singular in a corner: never the optimum
            return SINGULAR, np.zeros_like(phi)
        unit = unit or max(1.0, abs(value) / LARGEST_LOSS)
        return -value / unit, -gradient / unit

    low, high = np.array(bounds).T
    best, best_loss = np.clip(starts[0], low, high), np.inf
    for start in starts:
        result = minimize(
            loss,
            np.clip(start, low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 100, "ftol": tolerance},
        )
        if result.fun < best_loss:
            best, best_loss = np.asarray(result.x), float(result.fun)
    if not best_loss < SINGULAR:
        # raises the error that explains it
        loss_value, _ = evidence.log_posterior(best, jacobian=False)
        raise NumericalError(
            f"no lengthscales between {lower} and {upper} have a finite likelihood ({loss_value})"
        )
    noise_var = float(np.exp(best[d])) if evidence.estimates_noise else float("nan")
    return Fit(np.clip(np.exp(best[:d]), lower, upper), noise_var, searched, len(evidence.y))


def starting_points(
    evidence: Evidence, estimation: MAP, previous: Fit | None, rng: np.random.Generator
) -> Array:
    """The last estimate first, then the prior's centre, then draws of the prior."""
    d = evidence.dimension
    rows = [] if previous is None else [previous.lengthscales]
    rows.append(np.full(d, estimation.prior.center(d)))
    while len(rows) < estimation.starts:
        rows.append(estimation.prior.draw(rng, d, d))
    phi = np.log(np.array(rows[: estimation.starts]))
    if not evidence.estimates_noise:
        return phi
    noise = np.full(len(phi), np.log(estimation.noise_prior.center(d)))
    if previous is not None and np.isfinite(previous.noise_var):
        noise[0] = np.log(previous.noise_var)
    return np.hstack([phi, noise[:, None]])


# -- when to search again --


def refit(
    evidence: Evidence,
    rule: MAP,
    lower: Array,
    upper: Array,
    previous: Fit | None,
    rng: np.random.Generator,
    starts: Array | None = None,
    tolerance: float = TOLERANCE,
) -> Fit:
    """The MAP estimate: searched anew, improved, or kept, depending on how much the data grew.

    All starts are searched when the number of points grew by ``rule.patience`` since the last
    search; the last estimate is improved when it grew by ``rule.refresh``; otherwise it is kept.
    Above COARSE points the search runs on a part of them, and its result is improved on all. Above
    ENOUGH points a lasting part stands for all.

    Args:
        evidence: of all points.
        rule: priors, number of starts, patience and refresh.
        lower: smallest parameters besides the noise.
        upper: largest parameters besides the noise.
        previous: the last estimate, in the parameters of ``evidence``; None: there is none.
        rng: draws starts from the prior, and the part that is searched.
        starts: values of φ to start from, the last estimate first; None: ``starting_points``.
        tolerance: of the last maximisation.

    Returns:
        The estimate, in the parameters of ``evidence``.
    """
    n = len(evidence.y)
    if n > ENOUGH:
        evidence = evidence.part(lasting_part(n, ENOUGH))
    if starts is None:
        starts = starting_points(evidence, rule, previous, rng)
    if previous is not None and n < rule.patience * previous.searched:
        if n < rule.refresh * previous.improved:
            return previous
        improved = fit_map(evidence, lower, upper, starts[:1], previous.searched, tolerance)
        return replace(improved, improved=n)
    if n > COARSE:
        some = rng.permutation(min(n, ENOUGH))[:COARSE]
        part = fit_map(evidence.part(some), lower, upper, starts)
        noise = [part.noise_var] if evidence.estimates_noise else []
        tried = [np.log([*part.lengthscales, *noise])]
        if previous is not None:
            tried.append(starts[0])
        highest = max(tried, key=lambda phi: evidence.log_posterior(phi, jacobian=False)[0])
        starts = np.array([highest])
    return replace(fit_map(evidence, lower, upper, starts, n, tolerance), improved=n)


def fit_inputs(
    evidence: Evidence,
    rule: MAP,
    previous: Fit | None,
    rng: np.random.Generator,
    tolerance: float = TOLERANCE,
) -> Fit:
    """``refit`` with one lengthscale per input, written to all coordinates of the input.

    Args:
        evidence: with ``group``.
        rule: as for ``refit``; its range is in units of √inputs.
        previous: the last estimate, one lengthscale per coordinate.
        rng: as for ``refit``.
        tolerance: as for ``refit``.

    Returns:
        The estimate, one lengthscale per coordinate.
    """
    group = np.arange(evidence.dimension) if evidence.group is None else evidence.group
    initial = np.full(evidence.dimension, np.sqrt(evidence.dimension))
    if previous is not None:
        first = np.unique(group, return_index=True)[1]
        previous = replace(previous, lengthscales=previous.lengthscales[first])
    lower, upper = rule.truncation * initial, rule.ceiling * initial
    fit = refit(evidence, rule, lower, upper, previous, rng, tolerance=tolerance)
    return replace(fit, lengthscales=fit.lengthscales[group])


def lasting_part(n: int, size: int) -> Indices:
    """``size`` of n rows, each equally likely, and nearly the same ones when n has grown a little.

    A new row replaces one of them with probability size/n, so that an estimate does not jump from
    one ask to the next.
    """
    priority = np.random.default_rng(size).random(n)  # its beginning does not depend on n
    return np.sort(np.argsort(priority, kind="stable")[:size])
