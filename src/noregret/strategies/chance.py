"""The chance that an evaluation succeeds, learnt from those that failed and those that did not.

Labels 1 (failed) and 0 are modelled as values of a Gaussian process with noise. Whether failures
depend on the point at all is judged by evidence: P(x) averages that model and a constant rate, by
their posterior odds. Crashes by chance then lead nowhere, and a region that fails is avoided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr

from noregret.gp import MAP, LogNormal, Matern, Posterior, condition, log_evidence_gradient
from noregret.search import Acquisition
from noregret.space import Array, Indices
from noregret.strategies.inputs import InputEvidence, fit_inputs

KERNEL = Matern(2.5)
# one start: labels are a few dozen numbers, and the estimate is made at every ask
ESTIMATION = MAP(
    prior=LogNormal(math.sqrt(2), math.sqrt(3), dimension_scaled=True),
    noise_prior=LogNormal(-2.0, 2.0),
    starts=1,
)
LEAST = 1e-12  # chance that is left where an evaluation surely fails: it has a logarithm
CLOSE = 1e-5  # tolerance of the fit: of the log posterior, relative


@dataclass(frozen=True, slots=True)
class Chance:
    """P(success at x) = 1 − w Φ((μ(x) − ½)/√(σ²(x) + λ)) − (1 − w)·rate, in units of the labels;
    w: the posterior probability that failures depend on x.
    """

    posterior: Posterior
    noise_var: float
    threshold: float  # ½ in the model's units
    depends: float  # w
    rate: float  # of failures, by Laplace's rule

    @staticmethod
    def learnt(succeeded: Array, failed: Array, group: Indices) -> Chance:
        X = np.vstack([succeeded, failed])
        label = np.append(np.zeros(len(succeeded)), np.ones(len(failed)))
        n, rate = len(label), float(label.mean())
        spread = max(math.sqrt(rate * (1 - rate)), 1e-3)
        z = (label - rate) / spread
        evidence = InputEvidence(
            KERNEL,
            X,
            z,
            np.full(n, np.nan),
            ESTIMATION.prior,
            ESTIMATION.noise_prior,
            kriging=True,
            group=group,
        )
        fit = fit_inputs(evidence, ESTIMATION, None, np.random.default_rng(0), CLOSE)
        noise = np.full(n, fit.noise_var)
        of_place = log_evidence_gradient(KERNEL, fit.lengthscales, X, z, noise, kriging=True)[0]
        # independent labels of variance 1 around an unknown mean
        of_chance = -0.5 * float(z @ z) - 0.5 * n * math.log(2 * math.pi)
        of_chance += 0.5 * math.log(2 * math.pi / n)
        fitted = evidence.dimension  # lengthscales, paid for as the Bayesian information criterion
        odds = of_place - of_chance - 0.5 * fitted * math.log(n)
        posterior = condition(KERNEL, fit.lengthscales, X, z, noise, kriging=True)
        smoothed = (len(failed) + 1) / (n + 2)
        return Chance(posterior, fit.noise_var, (0.5 - rate) / spread, float(expit(odds)), smoothed)

    def of_success(self, A: Array) -> Array:
        mean, std = self.posterior.predict(A)
        u = (mean - self.threshold) / np.sqrt(std**2 + self.noise_var)
        return self._success(u)

    def _success(self, u: Array) -> Array:
        failure = self.depends * ndtr(u) + (1 - self.depends) * self.rate
        return np.asarray(np.maximum(1 - failure, LEAST))

    @property
    def log(self) -> Acquisition:
        """log P(success), with its gradient."""

        def gradients(A: Array) -> tuple[Array, Array]:
            mean, std, dmean, dstd = self.posterior.predict_gradients(A)
            total = np.sqrt(std**2 + self.noise_var)
            u = (mean - self.threshold) / total
            du = dmean / total[:, None] - (u * std / total**2)[:, None] * dstd
            density = np.exp(-0.5 * u**2) / math.sqrt(2 * math.pi)
            p = self._success(u)
            return np.log(p), -self.depends * (density / p)[:, None] * du

        return Acquisition(lambda A: np.log(self.of_success(A)), gradients, is_log=True)
