"""The default with another algorithm in the place of UCB for its promised decisions: what
AdaptiveThompson and RandomisedGPUCB would be worth in it. Surveys, patrols and the model stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.gp import Posterior
from noregret.search import Acquisition, ucb
from noregret.space import SearchSpace
from noregret.strategies import Belief, InsuredGPUCB, RandomisedGPUCB
from noregret.strategies.adaptive_thompson import thompson
from noregret.strategies.insured_gp_ucb import Insured
from noregret.trials import History, Proposal


class Thompson(Insured):
    """A function drawn from the posterior, its maximiser."""

    def _acquisition(self, posterior: Posterior) -> Acquisition:
        return thompson(self.space, posterior, 1.0, np.random.default_rng([self.seed, 1]))


class Width(Insured):
    """UCB with the default's width times a random factor."""

    def _acquisition(self, posterior: Posterior) -> Acquisition:
        factor = RandomisedGPUCB().factor(np.random.default_rng([self.seed, 1]))
        return ucb(posterior, factor * self.strategy.width(self.inputs))


@dataclass(frozen=True, slots=True)
class InsuredBy:
    """The default, its decisions made by ``decision``."""

    decision: type[Insured]
    inner: InsuredGPUCB = InsuredGPUCB()

    @property
    def theorem(self) -> str:
        return self.inner.theorem

    @property
    def proved(self) -> bool:
        return False

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        return self.decision(self.inner, space, history, rng).propose()

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        return self.inner.belief(space, history, delta)
