"""Hyperparameters averaged out: a mixture of Gaussian-process posteriors.

Notation: member i is f = m + a_i·g with g of prior variance 1 and lengthscales θ_i, and noise λ_i.
Its posterior is that of a_i = 1 with noise r = λ_i/a_i², the std times a_i. Members with the same
θ and r share a factor, and the restricted log-likelihood of a member is

    log p_i(y) = −½|z|²/a_i² − Σ log L_jj − (n − 1) log a_i − ½ log uᵀu + const

with L Lᵀ = K + diag r, u = L⁻¹1 and z = L⁻¹(y − m), m the estimate of the constant mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import logsumexp, ndtr

from noregret.errors import NumericalError
from noregret.gp import linalg
from noregret.gp.fit import lasting_part
from noregret.gp.kernels import Covariance, covariance
from noregret.gp.posterior import VARIANCE_FLOOR, Cholesky, Posterior, condition
from noregret.space import Array, Indices

# Around the fitted class. The longest explain by noise what the fit explains by f.
LENGTHSCALE_FACTORS = (5.6, 2.8, 1.4, 0.7, 0.35)
AMPLITUDES = (0.7, 1.0, 1.4, 2.0, 2.8, 4.0)  # stds of f over the space, in the values' std
# Of an unknown noise variance: multiples of the estimate, and levels in squared amplitudes that
# are there whatever was estimated, since few values say little about their noise.
NOISE_FACTORS = (0.25, 1.0, 4.0)
NOISE_LEVELS = (1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.2, 0.5)
NOISE_POWER = 0.25  # of an unknown noise's prior, r^power dr/r: larger expects more noise
MANY = 400  # points from which on a part of them weighs the members
LEAST_WEIGHT = 1e-3  # members with less are left out
LEAST_RATIO = 1e-10  # of noise to prior variance, for the factorisation
JITTER = 1e-6  # of a joint draw, in variances of its points


@dataclass(frozen=True, slots=True)
class PosteriorMixture:
    """f given the data, its hyperparameters averaged out.

    Args:
        parts: Posteriors with prior variance 1.
        part: The part of each member.
        amplitudes: By which each member multiplies its part's std.
        weights: Of each member; they sum to 1.
        noise_var: Noise variance of a value to come, by each member.
    """

    parts: tuple[Posterior, ...]
    part: Indices
    amplitudes: Array
    weights: Array
    noise_var: Array

    @classmethod
    def equal(cls, parts: Sequence[Posterior], noise_var: Array | float = np.nan) -> Self:
        """Equally likely posteriors."""
        n = len(parts)
        ones = np.ones(n)
        return cls(tuple(parts), np.arange(n), ones, ones / n, noise_var * ones)

    def _weighted(self) -> tuple[Array, Array]:
        """The weight of each part, and weight times mean squared amplitude."""
        n, own = len(self.parts), (self.weights, self.weights * self.amplitudes**2)
        weights, squares = (np.bincount(self.part, each, n).astype(np.float64) for each in own)
        return weights, squares

    def predict(self, A: Array) -> tuple[Array, Array]:
        """Mean Σ w_i μ_i and std of f, variance Σ w_i (a_i² σ_i² + μ_i²) − mean²."""
        means, stds = (np.array(v) for v in zip(*(p.predict(A) for p in self.parts), strict=True))
        weights, squares = self._weighted()
        mean = weights @ means
        var = squares @ stds**2 + weights @ (means - mean) ** 2
        return mean, np.sqrt(np.maximum(var, VARIANCE_FLOOR))

    def predict_gradients(self, A: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, std and their gradients (m, d) in the rows of A."""
        means, stds, dmeans, dstds = (
            np.array(v) for v in zip(*(p.predict_gradients(A) for p in self.parts), strict=True)
        )
        weights, squares = self._weighted()
        mean, dmean = weights @ means, np.einsum("p,pmd->md", weights, dmeans)
        var = squares @ stds**2 + weights @ (means - mean) ** 2
        std = np.sqrt(np.maximum(var, VARIANCE_FLOOR))
        half = np.einsum("p,pm,pmd->md", squares, stds, dstds)
        half += np.einsum("p,pm,pmd->md", weights, means - mean, dmeans - dmean)
        return mean, std, dmean, half / std[:, None]

    def joint(self, A: Array) -> tuple[Array, Array]:
        """Mean and covariance matrix of f at the rows of A."""
        means, covariances = zip(*(p.joint(A) for p in self.parts), strict=True)
        weights, squares = self._weighted()
        mean = weights @ np.array(means)
        apart = np.array(means) - mean
        return mean, np.tensordot(squares, covariances, 1) + (apart.T * weights) @ apart

    def chance_above(self, A: Array, threshold: float) -> Array:
        """P(f > threshold) at the rows of A, averaged over the members."""
        total = np.zeros(len(A))
        for index, part in enumerate(self.parts):
            mean, std = part.predict(A)
            mine = self.part == index
            spread = self.amplitudes[mine, None] * std
            total += self.weights[mine] @ ndtr((mean - threshold) / spread)
        return total

    @property
    def noise_std(self) -> float:
        """Standard deviation of a value to come around f."""
        return float(np.sqrt(self.weights @ self.noise_var))

    def draws(self, A: Array, count: int, rng: np.random.Generator) -> Array:
        """Joint draws of f at the rows of A, (count, m): of each member its share of them."""
        ends = np.floor(np.cumsum(self.weights) / self.weights.sum() * count + rng.random())
        of_member = np.diff(np.append(0, np.minimum(ends, count))).astype(np.intp)
        of_member[int(np.argmax(self.weights))] += count - int(of_member.sum())
        rows = []
        for index, part in enumerate(self.parts):
            mine = np.where(self.part == index, of_member, 0)
            if mine.sum() == 0:
                continue
            mean, cov = part.joint(A)
            noise = rng.standard_normal((int(mine.sum()), len(A))) @ _root(cov).T
            rows.append(mean + np.repeat(self.amplitudes, mine)[:, None] * noise)
        return np.vstack(rows)


def _root(cov: Array) -> Array:
    """A matrix square root of a covariance matrix that may be singular."""
    std = np.sqrt(np.maximum(np.diag(cov), VARIANCE_FLOOR))
    correlation = cov / std[:, None] / std
    jitter = JITTER
    while True:
        try:
            L = linalg.cholesky(correlation + jitter * np.eye(len(cov)))
        except NumericalError:
            jitter *= 10
        else:
            return np.asarray(std[:, None] * np.tril(L))


def averaged(
    kernel: Covariance,
    lengthscales: Array,
    X: Array,
    y: Array,
    told: Array,
    common: float,
    *,
    kriging: bool = True,
) -> PosteriorMixture:
    """The mixture around a fitted class, weighted by evidence: lengthscales and amplitude at
    ``LENGTHSCALE_FACTORS`` and ``AMPLITUDES``, an unknown noise at several levels too.

    Args:
        kernel: Of unit variance.
        lengthscales: Of the fitted class.
        X: Points (n, d).
        y: Values (n,), of a std of about 1.
        told: Noise variance of each value (n,), NaN where it is unknown.
        common: Noise variance of a value to come, told or estimated.
        kriging: The prior mean is an unknown constant.

    Returns:
        The members that weigh at least ``LEAST_WEIGHT``; from ``MANY`` points on weighed by that
        many of them, whose evidence is flatter.
    """
    unknown = np.isnan(told)
    rows = lasting_part(len(y), MANY) if len(y) > MANY else np.arange(len(y))
    noises = _noise_levels(common)
    if not unknown[rows].any():
        told, noises = np.where(unknown, common, told), [(np.nan, 1.0)]
    classes = [lengthscales * factor for factor in LENGTHSCALE_FACTORS]
    # an unknown noise is in units of the amplitude's square: all amplitudes then share a factor
    fixed: tuple[float | None, ...] = (None,) if unknown[rows].all() else AMPLITUDES
    keys = [(c, r, a, p) for c in range(len(classes)) for a in fixed for r, p in noises]
    members: list[tuple[float, int, float]] = []  # log weight, key, amplitude
    K = [covariance(kernel, theta, X[rows], X[rows]) for theta in classes]
    for index, (of_class, level, amplitude, prior) in enumerate(keys):
        noise = _ratio(told[rows], level, amplitude)
        for a, value in _log_evidences(K[of_class], noise, y[rows], amplitude, kriging):
            members.append((value + np.log(prior), index, a))
    if not members:
        raise NumericalError(linalg.not_positive_definite(len(rows)))
    log_weights = np.array([value for value, _, _ in members])
    weights = np.exp(log_weights - logsumexp(log_weights))
    kept = np.flatnonzero(weights >= min(LEAST_WEIGHT, weights.max()))
    parts: dict[int, Posterior] = {}
    for index in sorted({members[i][1] for i in kept}):
        of_class, level, amplitude, _ = keys[index]
        noise = _ratio(told, level, amplitude)
        try:
            parts[index] = condition(kernel, classes[of_class], X, y, noise, kriging=kriging)
        except NumericalError:  # singular with all points, though not with those that weighed
            if len(rows) == len(y):
                raise
    kept = np.array([i for i in kept if members[i][1] in parts], dtype=np.intp)
    if len(kept) == 0:
        raise NumericalError(linalg.not_positive_definite(len(y)))
    amplitudes = np.array([members[i][2] for i in kept])
    levels = np.array([keys[members[i][1]][1] for i in kept])
    return PosteriorMixture(
        tuple(parts.values()),
        np.searchsorted(list(parts), [members[i][1] for i in kept]),
        amplitudes,
        weights[kept] / weights[kept].sum(),
        np.where(np.isnan(levels), common, levels * amplitudes**2),
    )


def _noise_levels(estimate: float) -> list[tuple[float, float]]:
    """Noise variances with their prior weights, over the part of the logarithmic scale that each
    stands for.
    """
    levels = np.unique([*(estimate * np.array(NOISE_FACTORS)), *NOISE_LEVELS])
    levels = levels[(levels >= NOISE_LEVELS[0] / 10) | (levels == estimate)]
    prior = np.gradient(np.log(levels)) * levels**NOISE_POWER
    return list(zip(levels.tolist(), prior.tolist(), strict=True))


def _ratio(told: Array, level: float, amplitude: float | None) -> Array:
    """Noise over squared amplitude, of each value; an unknown one is at that level of it."""
    a = 1.0 if amplitude is None else amplitude
    return np.maximum(np.where(np.isnan(told), level, told / a**2), LEAST_RATIO)


def _log_evidences(
    K: Array, noise: Array, y: Array, amplitude: float | None, kriging: bool
) -> list[tuple[float, float]]:
    """Pairs of an amplitude and the restricted log-likelihood, up to a constant."""
    try:
        L = Cholesky(linalg.cholesky(K + np.diag(noise)))
    except NumericalError:
        return []
    z, free, of_mean = L.solve(y), len(y), 0.0
    if kriging:
        u = L.solve(np.ones(len(y)))
        squared = float(u @ u)
        z, free, of_mean = z - u * (u @ z / squared), len(y) - 1, -0.5 * np.log(squared)
    fixed, misfit = of_mean - float(np.log(L.diagonal).sum()), float(z @ z)
    return [
        (a, fixed - 0.5 * misfit / a**2 - free * np.log(a))
        for a in (AMPLITUDES if amplitude is None else (amplitude,))
    ]
