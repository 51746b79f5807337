"""GP-UCB with lengthscales (and unknown noise) integrated out by Hamiltonian Monte Carlo: the
paper's HMC baseline.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.gp import (
    HMC,
    Fit,
    Gamma,
    Kernel,
    LogNormal,
    Mixture,
    Prior,
    SquaredExponential,
    sample,
)
from noregret.search import ucb
from noregret.space import Array, SearchSpace
from noregret.strategies.estimation import previous_fit
from noregret.strategies.fitted import propose_fitted
from noregret.strategies.guarantee import check_kernel, check_positive
from noregret.strategies.strategy import Belief, Design, check_initial_points, initial_proposal
from noregret.strategies.units import Frame, frame
from noregret.trials import History, Proposal


@dataclass(frozen=True, slots=True)
class MarginalGPUCB:
    """Constant width on the moment-matched mixture of posteriors, values standardised. Needs the
    extra ``hmc``.
    """

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

    @property
    def proved(self) -> bool:
        return False

    def _mixture(
        self, space: SearchSpace, history: History, rng: np.random.Generator
    ) -> tuple[Frame, Mixture, Fit]:
        framed = frame(
            history, standardise=True, offset=0.0, noise_std=self.noise_std, regulariser=None
        )
        d = space.dimension
        evidence = framed.evidence(self.kernel, self.prior, self.noise_prior)
        previous = previous_fit(history.model_decisions)
        start = np.log(
            np.full(d, self.prior.center(d)) if previous is None else previous.lengthscales
        )
        if evidence.estimates_noise:
            start = np.append(
                start,
                np.log(self.noise_prior.center(d) if previous is None else previous.noise_var),
            )
        draws: Array = np.exp(sample(evidence, self.sampler, start, rng))
        noise = draws[:, d] if evidence.estimates_noise else np.full(len(draws), np.nan)
        mixture = Mixture(
            tuple(
                framed.condition(self.kernel, row[:d], float(v))
                for row, v in zip(draws, noise, strict=True)
            )
        )
        typical = Fit(
            np.exp(np.mean(np.log(draws[:, :d]), axis=0)), float(np.exp(np.mean(np.log(noise))))
        )
        return framed, mixture, typical

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        start = initial_proposal(space, history, rng, self.initial_points, self.initial_design)
        if start:
            return start
        sample_rng, argmax_rng = rng.spawn(2)
        framed, mixture, typical = self._mixture(space, history, sample_rng)
        return propose_fitted(
            space,
            history,
            framed,
            typical,
            mixture,
            ucb(mixture, self.width),
            self.width,
            argmax_rng,
        )

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        if len(history.X) == 0:
            return None
        framed, mixture, typical = self._mixture(space, history.observed, np.random.default_rng(0))
        return Belief(
            mixture,
            self.width,
            typical.lengthscales,
            framed.offset,
            framed.scale,
            "none: a constant width on averaged posteriors",
        )
