"""The probability that an evaluation fails, learnt from those that did and those that did not."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from noregret.gp import MAP, LogNormal, Matern, Posterior, condition
from noregret.search import Acquisition
from noregret.space import Array, Indices
from noregret.strategies.inputs import InputEvidence, fit_inputs

KERNEL = Matern(2.5)
MOST = 1 - 1e-12  # of a probability whose rest has a logarithm
FAILED = 2.0  # the label of a failure; 0: it went well, which is what the prior expects
# one start: labels are a few dozen numbers, and the estimate is made at every ask
ESTIMATION = MAP(
    prior=LogNormal(math.sqrt(2), math.sqrt(3), dimension_scaled=True),
    noise_prior=LogNormal(-4.0, 2.0),
    starts=1,
)


@dataclass(frozen=True, slots=True)
class Failing:
    """p(x) = Φ((μ(x) − 1)/√(σ²(x) + λ)): labels 0 and 2 as values of a Gaussian process.

    Lengthscales and λ are fitted. Where failures depend on the point, λ is small and p sharp;
    crashes by chance are noise: λ is large, μ everywhere their rate. Where nothing is known p =
    Φ(−1) or less.
    """

    posterior: Posterior
    noise_var: float

    @staticmethod
    def learnt(good: Array, failed: Array, group: Indices) -> Failing:
        points = np.vstack([good, failed])
        label = np.append(np.zeros(len(good)), np.full(len(failed), FAILED))
        unknown = np.full(len(label), np.nan)
        prior, noise_prior = ESTIMATION.prior, ESTIMATION.noise_prior
        evidence = InputEvidence(KERNEL, points, label, unknown, prior, noise_prior, group)
        fit = fit_inputs(evidence, ESTIMATION, None, np.random.default_rng(0))
        posterior = condition(KERNEL, fit.lengthscales, points, label, fit.noise_var)
        return Failing(posterior, fit.noise_var)

    def at(self, A: Array) -> Array:
        mean, std = self.posterior.predict(A)
        return np.asarray(ndtr((mean - FAILED / 2) / np.sqrt(std**2 + self.noise_var)))

    def gradients(self, A: Array) -> tuple[Array, Array]:
        mean, std, dmean, dstd = self.posterior.predict_gradients(A)
        spread = np.sqrt(std**2 + self.noise_var)
        u = (mean - FAILED / 2) / spread
        du = dmean / spread[:, None] - (u * std / spread**2)[:, None] * dstd
        density = np.exp(-0.5 * u**2) / math.sqrt(2 * math.pi)
        return np.asarray(ndtr(u)), density[:, None] * du


def succeeding(acquisition: Acquisition, failing: Failing) -> Acquisition:
    """An acquisition that is a logarithm, plus that of the probability of success."""

    def values(A: Array) -> Array:
        return acquisition.values(A) + np.log1p(-np.minimum(failing.at(A), MOST))

    def gradients(A: Array) -> tuple[Array, Array]:
        (p, dp), (value, slope) = failing.gradients(A), acquisition.gradients(A)
        p = np.minimum(p, MOST)
        return value + np.log1p(-p), slope - dp / (1 - p)[:, None]

    return replace(acquisition, values=values, gradients=gradients)


def expected(acquisition: Acquisition, failing: Failing | None, loss: float) -> Acquisition:
    """The acquisition where the evaluation succeeds, ``loss`` where it fails."""
    if failing is None:
        return acquisition

    def values(A: Array) -> Array:
        p = failing.at(A)
        return (1 - p) * acquisition.values(A) + p * loss

    def gradients(A: Array) -> tuple[Array, Array]:
        (p, dp), (value, slope) = failing.gradients(A), acquisition.gradients(A)
        return (1 - p) * value + p * loss, (1 - p)[:, None] * slope - (value - loss)[:, None] * dp

    return Acquisition(values, gradients)
