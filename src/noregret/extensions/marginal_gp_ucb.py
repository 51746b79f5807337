"""GP-UCB with lengthscales (and unknown noise) integrated out by Hamiltonian Monte Carlo: the
paper's HMC baseline. Needs the extra ``hmc`` (the sampler library mici).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from noregret.errors import MissingExtraError, NumericalError, check_range
from noregret.gp import (
    MAP,
    SMALLEST_NOISE_VAR,
    Evidence,
    Fit,
    Gamma,
    Kernel,
    LogNormal,
    PosteriorMixture,
    Prior,
    SquaredExponential,
    starting_points,
)
from noregret.search import argmax, ucb
from noregret.space import Array, SearchSpace
from noregret.strategies.base import (
    UNEXPLAINED,
    Belief,
    Design,
    Record,
    check_initial_points,
    check_positive,
    decision_of,
    initial_proposal,
)
from noregret.strategies.data import ModelData, standardise
from noregret.strategies.surrogate import previous_fit
from noregret.strategies.validation import check_kernel
from noregret.trials import Decision, Explanation, History, Proposal, payload_as

LOG_RANGE = (np.log(1e-3), np.log(1e3))  # of a lengthscale: the density is 0 outside


@dataclass(frozen=True, slots=True)
class HMC:
    """Settings of the sampler.

    Args:
        samples: number of draws.
        warm_up: adaptive iterations before the first draw.
        thin: iterations from one draw to the next.

    Raises:
        ConfigurationError: a setting that is not a whole number of at least 1.
    """

    samples: int = 20
    warm_up: int = 30
    thin: int = 2

    def __post_init__(self) -> None:
        for name in ("samples", "warm_up", "thin"):
            check_range(name, getattr(self, name), "[1, ∞)", whole=True)


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
class MarginalGPUCB:
    """GP-UCB with a constant width on the moment-matched mixture of posteriors, theory.md#marginal;
    values are standardised. Needs the extra ``hmc``.

    Args:
        prior: The prior of the lengthscales.
        noise_prior: The prior of the noise variance.
        noise_std: The noise, in the values' units; None: sampled with the lengthscales.
        width: β^½, in stds of the mixture.
        kernel: The kernel, without lengthscales.
        sampler: The settings of Hamiltonian Monte Carlo.
        initial_points: How many points come before the model; None: see ``initial_design``.
        initial_design: "uniform" (2^d up to four inputs, then 4d) or "spread" (2d, from 3 to 12).

    Raises:
        ConfigurationError: A setting is impossible.
    """

    proved: ClassVar[bool] = False

    prior: Prior = Gamma()
    noise_prior: Prior = LogNormal(-4.0, 1.0)
    noise_std: float | None = None
    width: float = 2.0
    kernel: Kernel = SquaredExponential()
    sampler: HMC = HMC()
    initial_points: int | None = None
    initial_design: Design = "uniform"

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        check_positive("noise_std", self.noise_std)
        check_positive("width", self.width)
        check_initial_points(self.initial_points)

    @property
    def theorem(self) -> str:
        return (
            "none: averaging over lengthscales does not help where the data look smooth (JMLR"
            " sec. 3.3)"
        )

    def _mixture(
        self, space: SearchSpace, history: History, rng: np.random.Generator
    ) -> tuple[ModelData, PosteriorMixture, Fit]:
        data = standardise(
            history, rescale=True, offset=0.0, noise_std=self.noise_std, regulariser=None
        )
        d = space.dimension
        evidence = data.evidence(self.kernel, self.prior, self.noise_prior)
        previous = previous_fit(history)
        rule = MAP(self.prior, self.noise_prior, starts=1)
        start = starting_points(evidence, rule, previous, rng)[0]
        draws: Array = np.exp(sample(evidence, self.sampler, start, rng))
        noise = draws[:, d] if evidence.estimates_noise else np.full(len(draws), np.nan)
        mixture = PosteriorMixture.equal(
            [
                data.condition(self.kernel, row[:d], float(v))
                for row, v in zip(draws, noise, strict=True)
            ]
        )
        typical = Fit(
            np.exp(np.mean(np.log(draws[:, :d]), axis=0)), float(np.exp(np.mean(np.log(noise))))
        )
        return data, mixture, typical

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        start = initial_proposal(space, history, rng, self.initial_points, self.initial_design)
        if start:
            return start
        sample_rng, argmax_rng = rng.spawn(2)
        data, mixture, typical = self._mixture(space, history, sample_rng)
        incumbents = data.X[np.argsort(-data.y, kind="stable")[:3]]
        acquisition, theta = ucb(mixture, self.width), typical.lengthscales
        x = argmax(acquisition, space, theta, argmax_rng, incumbents, history.failed)
        mean, std = mixture.predict(x[None, :])
        decision = decision_of(
            Record,
            data,
            len(history.model_decisions) + 1,
            float(mean[0]),
            float(std[0]),
            typical,
            lengthscales=tuple(theta.tolist()),
            beta_sqrt=self.width,
            exploration=1.0,
        )
        return Proposal(x, decision)

    def explain(self, decision: Decision) -> Explanation:
        record = payload_as(Record, decision)
        return UNEXPLAINED if record is None else record.explanation(decision, "ucb", "fit")

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        if len(history.X) == 0:
            return None
        data, mixture, typical = self._mixture(space, history.observed, np.random.default_rng(0))
        return Belief(
            mixture,
            self.width,
            typical.lengthscales,
            data.offset,
            data.scale,
            "none: a constant width on averaged posteriors",
        )
