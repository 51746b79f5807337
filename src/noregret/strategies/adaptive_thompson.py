"""A-GP-TS: Thompson sampling (Chowdhury and Gopalan 2017) on a class that widens.

A function is drawn from GP(μ_t, β_t·k_t) of the class in force, and its maximiser is the next
point. JMLR sec. 6 says that the widening "could also be applied to other no-regret algorithms":
this is one. In a list the draw is exact, and the theorem of docs/theory.md#thompson holds; in a box
it is made of features (``gp.pathwise``), and no theorem is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noregret.gp import Posterior, draw_at, draw_path
from noregret.rkhs import RadiusBand
from noregret.search import Acquisition
from noregret.space import Array, SearchSpace
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
from noregret.strategies.radius_gp_ucb import RadiusGPUCB
from noregret.strategies.randomised_gp_ucb import PRACTICAL, check_base
from noregret.strategies.step import Model
from noregret.strategies.strategy import Belief
from noregret.trials import History, Proposal

EXACT = 1_000  # designs of a list for which the joint draw is exact


@dataclass(frozen=True, slots=True)
class AdaptiveThompson:
    """The maximiser of a function drawn from the posterior of ``base``.

    base: whose class, width, widening and initial points are used; the draw's std is its width
    times σ.
    """

    base: AdaptiveGPUCB | RadiusGPUCB = replace(PRACTICAL, width=1.0)

    def __post_init__(self) -> None:
        check_base(self.base)

    @property
    def theorem(self) -> str:
        if not self.base.proved:
            return f"none, because its base has none: {self.base.theorem}"
        return (
            f"docs/theory.md#thompson, in a list of at most {EXACT} designs: the regret bound of"
            " its base times √log of their number, with probability over the draws too. In a box"
            " none: functions are then drawn by features, which is not the posterior exactly. The"
            f" base: {self.base.theorem}"
        )

    @property
    def proved(self) -> bool:
        return self.base.proved

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        base = self.base
        own, rest = rng.spawn(2)
        if isinstance(base, RadiusGPUCB):

            def drawn(shown: RadiusBand) -> Acquisition:
                at = shown.reference
                return thompson(space, shown.posteriors[at], shown.widths[at], own)

            return named(base.decided(space, history, rest, drawn))

        def of_class(model: Model) -> Acquisition:
            return thompson(space, model.posterior, model.beta_sqrt, own)

        return named(base.decided(space, history, rest, of_class, own))

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        return self.base.belief(space, history, delta)


def thompson(
    space: SearchSpace, posterior: Posterior, width: float, rng: np.random.Generator
) -> Acquisition:
    """One function drawn from GP(μ, width²·k_t): exact in a short list, by features elsewhere."""
    every = space.enumeration()
    if every is None or len(every) > EXACT:
        path = draw_path(posterior, width, rng)
        return Acquisition(path.values, path.gradients)
    sample = draw_at(*posterior.joint(every), width, rng)  # theory.md#thompson

    def values(A: Array) -> Array:
        if A is not every:
            raise AssertionError("a list is searched as a whole")
        return sample

    return Acquisition(values, lambda A: (values(A), np.zeros_like(A)))


def named(proposal: Proposal) -> Proposal:
    """With what chose it."""
    model = proposal.decision.model
    if model is None:
        return proposal
    decision = replace(proposal.decision, model=replace(model, acquisition="thompson"))
    return replace(proposal, decision=decision)
