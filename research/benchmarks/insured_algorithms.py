"""The default with another algorithm in the place of UCB and log-EI for its promised decisions:
what AdaptiveThompson and RandomisedGPUCB would be worth in it. Surveys, patrols and the model stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from noregret.extensions import RandomisedGPUCB
from noregret.extensions.thompson import thompson
from noregret.search import Acquisition, ucb
from noregret.space import SearchSpace
from noregret.strategies import Belief, InsuredGPUCB, insured
from noregret.strategies.insured import Asked
from noregret.trials import History, Proposal


class Thompson(Asked):
    """A function drawn from the posterior, its maximiser."""

    def acquisition(self) -> Acquisition:
        return thompson(self.space, self.posterior, 1.0, np.random.default_rng([self.seed, 1]))


class Width(Asked):
    """UCB with the default's width times a random factor."""

    def acquisition(self) -> Acquisition:
        factor = RandomisedGPUCB().factor(np.random.default_rng([self.seed, 1]))
        return ucb(self.posterior, factor * self.width)


@dataclass(frozen=True, slots=True)
class InsuredBy:
    """The default, its decisions made by ``decision``."""

    decision: type[Asked]
    inner: InsuredGPUCB = InsuredGPUCB()

    @property
    def theorem(self) -> str:
        return self.inner.theorem

    @property
    def proved(self) -> bool:
        return False

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        with patch.object(insured, "Asked", self.decision):
            return self.inner.propose(space, history, rng)

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        return self.inner.belief(space, history, delta)
