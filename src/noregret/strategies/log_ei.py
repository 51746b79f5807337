"""Log expected improvement (Ament et al. 2023) on a MAP-fitted model: the honest baseline, what
most libraries do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret.gp import MAP, Fit, Kernel, LogNormal, Matern
from noregret.search import log_ei
from noregret.space import SearchSpace
from noregret.strategies.estimation import estimate
from noregret.strategies.fitted import propose_fitted
from noregret.strategies.gp_ucb import WIDEST
from noregret.strategies.guarantee import check_kernel, check_positive
from noregret.strategies.step import fitted_mean
from noregret.strategies.strategy import Belief, Design, check_initial_points, initial_proposal
from noregret.strategies.units import Frame, frame
from noregret.trials import History, Proposal


@dataclass(frozen=True, slots=True)
class LogEI:
    """Improvement over the best posterior mean at an evaluated point, which noise does not
    inflate.
    """

    kernel: Kernel = Matern(2.5)
    noise_std: float | None = None
    estimation: MAP = MAP(
        prior=LogNormal(math.sqrt(2), math.sqrt(3), dimension_scaled=True), truncation=1e-3
    )
    initial_points: int | None = None
    initial_design: Design = "spread"

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        check_positive("noise_std", self.noise_std)
        check_initial_points(self.initial_points)

    @property
    def theorem(self) -> str:
        return (
            "none: with estimated lengthscales expected improvement may stick in a local optimum"
            " for ever (Bull 2011)"
        )

    @property
    def proved(self) -> bool:
        return False

    def _fit(
        self, space: SearchSpace, history: History, rng: np.random.Generator
    ) -> tuple[Frame, Fit]:
        framed = frame(
            history, standardise=True, offset=0.0, noise_std=self.noise_std, regulariser=None
        )
        widest = np.full(space.dimension, WIDEST * math.sqrt(space.dimension))
        fit = estimate(framed, self.kernel, self.estimation, widest, history.model_decisions, rng)
        assert fit is not None  # lengthscales are always estimated here
        return framed, fit

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        start = initial_proposal(space, history, rng, self.initial_points, self.initial_design)
        if start:
            return start
        fit_rng, argmax_rng = rng.spawn(2)
        framed, fit = self._fit(space, history, fit_rng)
        posterior = framed.condition(self.kernel, fit.lengthscales, fit.noise_var)
        best = float(np.max(fitted_mean(framed, posterior)))
        return propose_fitted(
            space, history, framed, fit, posterior, log_ei(posterior, best), None, argmax_rng
        )

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        if len(history.X) == 0:
            return None
        framed, fit = self._fit(space, history.observed, np.random.default_rng(0))
        posterior = framed.condition(self.kernel, fit.lengthscales, fit.noise_var)
        return Belief(
            posterior,
            2.0,
            fit.lengthscales,
            framed.offset,
            framed.scale,
            "none: two standard deviations of a fitted model",
        )
