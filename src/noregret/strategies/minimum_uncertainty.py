"""Wang & de Freitas 2014 as JMLR sec. 5.1 modifies it: shorten the lengthscales just enough that
σ_t(x_{t+1}) ≥ κ.

A baseline: it finds the optimum and never stops exploring, so its regret is linear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.classes import MinimumStd
from noregret.gp import MAP, Kernel, SquaredExponential
from noregret.space import SearchSpace
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB, WidthName
from noregret.strategies.strategy import Belief
from noregret.trials import History, Proposal


@dataclass(frozen=True, slots=True)
class MinimumUncertainty:
    """kappa is in units of the prior std. No lower bound on the lengthscales, as in the paper's
    experiment.
    """

    kappa: float = 0.1
    lengthscales: float | tuple[float, ...] = 1.0
    norm_bound: float = 2.0
    noise_std: float | None = None
    width: WidthName | float = 2.0
    delta: float = 0.1
    kernel: Kernel = SquaredExponential()
    estimation: MAP | None = MAP()
    initial_points: int | None = None

    def __post_init__(self) -> None:
        self._adaptive()

    def _adaptive(self) -> AdaptiveGPUCB:
        return AdaptiveGPUCB(
            kernel=self.kernel,
            lengthscales=self.lengthscales,
            norm_bound=self.norm_bound,
            noise_std=self.noise_std,
            width=self.width,
            delta=self.delta,
            widening=MinimumStd(self.kappa),
            estimation=self.estimation,
            norm_power="paper",
            charge_estimate=True,
            standardise=not isinstance(self.width, str),
            initial_points=self.initial_points,
        )

    @property
    def theorem(self) -> str:
        return (
            "none: without a known lower bound on the lengthscales the rule forces σ ≥ κ for ever,"
            " which is linear regret (JMLR sec. 4.1)"
        )

    @property
    def proved(self) -> bool:
        return False

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        return self._adaptive().propose(space, history, rng)

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        return self._adaptive().belief(space, history, delta)
