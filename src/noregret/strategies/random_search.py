"""Uniform random search: the baseline everyone should beat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from noregret.space import SearchSpace
from noregret.strategies.base import UNEXPLAINED, Belief, random_point
from noregret.trials import Decision, Explanation, History, Limit, Proposal


@dataclass(frozen=True, slots=True)
class RandomSearch:
    """Independent uniform points, except near failed ones."""

    proved: ClassVar[bool] = False

    @property
    def theorem(self) -> str:
        return (
            "none: simple regret falls to 0 at a rate that worsens exponentially with the"
            " dimension; cumulative regret is linear"
        )

    def check_outcomes(self, limits: Mapping[str, Limit]) -> None:
        """Any limits are allowed: they are ignored."""

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        return Proposal(random_point(space, rng, history.failed), Decision("random"))

    def explain(self, decision: Decision) -> Explanation:
        return UNEXPLAINED

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        return None
