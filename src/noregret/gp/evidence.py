"""The log posterior of the hyperparameters, which MAP maximises and HMC samples.

Parameters φ: log θ (d,), then log λ if the noise is unknown. λ is common to all points whose noise
was not told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noregret.gp.kernels import Covariance
from noregret.gp.posterior import log_evidence_gradient
from noregret.gp.priors import Prior
from noregret.space import Array, Indices

SMALLEST_NOISE_VAR = (
    1e-8  # of an estimated noise, in units of the prior variance: keeps every factorisation safe
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """p(y | φ) p(φ) for data in the model's units; told (n,): the noise variance of each point,
    NaN: estimate it.
    """

    kernel: Covariance
    X: Array
    y: Array
    told: Array
    prior: Prior
    noise_prior: Prior
    kriging: bool = False  # a constant mean is averaged out
    smallest_noise_var: float = SMALLEST_NOISE_VAR

    @property
    def dimension(self) -> int:
        return self.X.shape[1]

    @property
    def estimates_noise(self) -> bool:
        return bool(np.isnan(self.told).any())

    def part(self, rows: Indices) -> Evidence:
        """The same for some of the points; the noise stays unknown if it was."""
        rows = (
            np.append(rows, np.flatnonzero(np.isnan(self.told))[:1])
            if self.estimates_noise
            else rows
        )
        return replace(self, X=self.X[rows], y=self.y[rows], told=self.told[rows])

    def noise_var(self, common: float) -> Array:
        return np.where(np.isnan(self.told), common, self.told)

    def log_posterior(self, phi: Array, *, jacobian: bool) -> tuple[float, Array]:
        """Value and gradient in φ; a density of θ, or of log θ with its Jacobian."""
        d = self.dimension
        common = float(np.exp(phi[d])) if self.estimates_noise else np.nan
        value, by_theta, by_noise = log_evidence_gradient(
            self.kernel,
            np.exp(phi[:d]),
            self.X,
            self.y,
            self.noise_var(common),
            kriging=self.kriging,
        )
        prior, by_prior = self.prior.log_density(phi[:d], d)
        value, gradient = value + prior, by_theta + by_prior
        return self.with_noise(value, gradient, by_noise, phi, d, jacobian=jacobian)

    def with_noise(
        self,
        value: float,
        gradient: Array,
        by_noise: Array,
        phi: Array,
        inputs: int,
        *,
        jacobian: bool,
    ) -> tuple[float, Array]:
        """The log posterior and its gradient with those of the noise, where it is estimated: the
        last of φ.
        """
        if self.estimates_noise:
            prior, by_prior = self.noise_prior.log_density(phi[self.dimension :], inputs)
            value += prior
            gradient = np.append(gradient, np.sum(by_noise[np.isnan(self.told)]) + by_prior)
        if jacobian:
            return value + float(np.sum(phi)), gradient + 1.0
        return value, gradient
