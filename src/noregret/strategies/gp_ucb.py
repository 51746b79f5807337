"""GP-UCB: Srinivas, Krause, Kakade, Seeger 2010/2012. With h ≡ 1, A-GP-UCB is this algorithm, and
here it is run as that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret.gp import MAP, Kernel, SquaredExponential
from noregret.rkhs import NoWidening
from noregret.space import SearchSpace
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB, WidthName
from noregret.strategies.base import Belief, Design
from noregret.strategies.validation import fixed_class_theorem
from noregret.trials import Decision, Explanation, History, Proposal

WIDEST = 10.0  # estimated lengthscales are sought up to this multiple of the cube's diameter


@dataclass(frozen=True, slots=True)
class GPUCB:
    """Known hyperparameters (lengthscales, norm_bound, noise_std), or estimated ones where they are
    None.

    width: a theorem's name for known noise and norm, or a constant β^½ (values standardised), the
    common practice.
    """

    lengthscales: float | tuple[float, ...] | None = None
    norm_bound: float = 1.0
    noise_std: float | None = None
    width: WidthName | float = 2.0
    delta: float = 0.1
    kernel: Kernel = SquaredExponential()
    regulariser: float | None = None
    estimation: MAP = MAP(truncation=1e-3)
    offset: float = 0.0
    initial_points: int | None = None
    initial_design: Design = "uniform"

    def __post_init__(self) -> None:
        self._adaptive(1)

    def _adaptive(self, dimension: int) -> AdaptiveGPUCB:
        estimated = self.lengthscales is None
        return AdaptiveGPUCB(
            kernel=self.kernel,
            lengthscales=(
                WIDEST * math.sqrt(dimension) if self.lengthscales is None else self.lengthscales
            ),
            norm_bound=self.norm_bound,
            noise_std=self.noise_std,
            regulariser=self.regulariser,
            width=self.width,
            delta=self.delta,
            widening=NoWidening(),
            estimation=self.estimation if estimated else None,
            norm_power="tight",
            charge_estimate=True,
            standardise=not isinstance(self.width, str),
            offset=self.offset,
            initial_points=self.initial_points,
            initial_design=self.initial_design,
        )

    @property
    def theorem(self) -> str:
        if not isinstance(self.width, str):
            return "none: a constant width with standardised values is a rule of thumb"
        if self.lengthscales is None:
            return (
                "none: with estimated lengthscales the band may miss f, and the search may stick"
                " for ever (Bull 2011)"
            )
        if self.width == "paper":
            return (
                "as printed in Berkenkamp et al. 2019, Lemma 1: a confidence bound only for"
                " noise_std ≥ 0.354; no guarantee is claimed below"
            )
        if not self.proved:
            return f"none: the {self.width} width is proved for a regulariser of at least 1 only"
        return fixed_class_theorem(self.width, self.kernel, self.lengthscales)

    @property
    def proved(self) -> bool:
        return self._adaptive(1).proved

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        return self._adaptive(space.dimension).propose(space, history, rng)

    def explain(self, decision: Decision) -> Explanation:
        inputs = len(decision.payload.get("lengthscales", (1,)))
        return self._adaptive(inputs).explain(decision)

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        return self._adaptive(space.dimension).belief(space, history, delta)
