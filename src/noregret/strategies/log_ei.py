"""Log expected improvement (Ament et al. 2023) on a fitted model: what most libraries do.

The default's start and model (``insured``), no insurance and no other acquisition: what the two
differ by is what the insurance costs and gains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from noregret.space import SearchSpace
from noregret.strategies.base import Belief
from noregret.strategies.insured import InsuredGPUCB
from noregret.strategies.surrogate import SurrogateModel
from noregret.trials import Decision, Explanation, History, Limit, Proposal


@dataclass(frozen=True, slots=True)
class LogEI:
    """Improvement over the best posterior mean at an evaluated point, which noise does not inflate.

    Args:
        noise_std: Standard deviation of a value's noise, in the values' units; None estimates it,
            0: values are exact.
        initial_points: How many spread points come first; None: two per input, from 3 to 12.
        surrogate: How f is modelled, as in ``InsuredGPUCB``.

    Raises:
        ConfigurationError: A setting is out of its range.
    """

    noise_std: float | None = None
    initial_points: int | None = None
    surrogate: SurrogateModel | None = None

    def __post_init__(self) -> None:
        self._fitted  # noqa: B018  # checks the settings

    @property
    def _fitted(self) -> InsuredGPUCB:
        return InsuredGPUCB(0.0, self.noise_std, self.initial_points, self.surrogate, "log_ei")

    @property
    def theorem(self) -> str:
        return (
            "none: with estimated lengthscales expected improvement may stick in a local optimum"
            " for ever (Bull 2011)"
        )

    @property
    def proved(self) -> bool:
        return False

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        return self._fitted.propose(space, history, rng)

    def explain(self, decision: Decision) -> Explanation:
        return self._fitted.explain(decision)

    def check_outcomes(self, limits: Mapping[str, Limit]) -> None:
        """Any limits will do: everything about them is estimated."""

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        return self._fitted.belief(space, history, delta)
