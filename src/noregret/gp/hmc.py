"""Hyperparameter samples by Hamiltonian Monte Carlo over log θ, and predictions averaged over them.

Needs the extra ``hmc`` (the sampler library mici).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.errors import ConfigurationError, MissingExtraError, NumericalError
from noregret.gp.evidence import SMALLEST_NOISE_VAR, Evidence
from noregret.gp.posterior import VARIANCE_FLOOR, Posterior
from noregret.space import Array

LOG_RANGE = (np.log(1e-3), np.log(1e3))  # the density is cut off here: no data says more


@dataclass(frozen=True, slots=True)
class HMC:
    """warm_up adaptive iterations, then ``samples`` kept ones, ``thin`` iterations apart."""

    samples: int = 20
    warm_up: int = 30
    thin: int = 2

    def __post_init__(self) -> None:
        for name in ("samples", "warm_up", "thin"):
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= 1):
                raise ConfigurationError(
                    f"{name} must be a whole number of at least 1, got {value!r}"
                )


def sample(evidence: Evidence, settings: HMC, start: Array, rng: np.random.Generator) -> Array:
    """Draws of φ (samples, d or d+1) from the posterior of log θ. ``start`` is a value of φ."""
    try:
        import mici
    except ImportError:
        raise MissingExtraError(
            "sampling lengthscales needs the library mici: install it with `pip install"
            " noregret[hmc]`"
        ) from None

    def negative(phi: Array) -> tuple[Array, float]:
        inside = np.all(
            (phi[: evidence.dimension] > LOG_RANGE[0]) & (phi[: evidence.dimension] < LOG_RANGE[1])
        )
        if evidence.estimates_noise:
            inside &= phi[-1] > np.log(SMALLEST_NOISE_VAR)
        if not inside:
            return np.zeros_like(phi), float("inf")
        try:
            value, gradient = evidence.log_posterior(phi, jacobian=True)
        except NumericalError:
            return np.zeros_like(phi), float("inf")
        return -gradient, -value

    system = mici.systems.EuclideanMetricSystem(
        neg_log_dens=lambda phi: negative(phi)[1], grad_neg_log_dens=negative
    )
    sampler = mici.samplers.DynamicMultinomialHMC(
        system, mici.integrators.LeapfrogIntegrator(system), rng, max_tree_depth=4
    )
    with np.errstate(all="ignore"):
        chains = sampler.sample_chains(
            settings.warm_up, settings.samples * settings.thin, [start], display_progress=False
        )
    return np.asarray(chains.traces["pos"][0])[settings.thin - 1 :: settings.thin]


@dataclass(frozen=True, slots=True)
class Mixture:
    """Posteriors of equally likely hyperparameters, moment-matched: μ̄ = mean μ_s, σ̄² = mean(σ_s²
    + μ_s²) − μ̄². theory.md#marginal
    """

    parts: tuple[Posterior, ...]

    def predict(self, A: Array) -> tuple[Array, Array]:
        means, stds = zip(*(part.predict(A) for part in self.parts), strict=True)
        mean = np.mean(means, axis=0)
        var = np.mean(np.square(stds), axis=0) + np.var(means, axis=0)
        return mean, np.sqrt(np.maximum(var, VARIANCE_FLOOR))

    def predict_gradients(self, A: Array) -> tuple[Array, Array, Array, Array]:
        means, stds, dmeans, dstds = (
            np.array(v)
            for v in zip(*(part.predict_gradients(A) for part in self.parts), strict=True)
        )
        mean, dmean = means.mean(axis=0), dmeans.mean(axis=0)
        std = np.sqrt(np.maximum((stds**2).mean(axis=0) + means.var(axis=0), VARIANCE_FLOOR))
        half = (stds[..., None] * dstds).mean(axis=0) + (
            (means - mean)[..., None] * (dmeans - dmean)
        ).mean(axis=0)
        return mean, std, dmean, half / std[:, None]
