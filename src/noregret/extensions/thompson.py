"""A-GP-TS: Thompson sampling (Chowdhury and Gopalan 2017) on a class that widens.

A function is drawn from GP(μ_t, β_t·k_t) of the class in force, and its maximiser is the next
point. JMLR sec. 6 says that the widening "could also be applied to other no-regret algorithms":
this is one. The draw is exact: joint values at the designs of a list, or at finitely many points of
a box, whose number grows with the data. theory.md#thompson
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from noregret.extensions.randomised_gp_ucb import PRACTICAL, OnBase
from noregret.gp import Posterior
from noregret.rkhs import RadiusBand
from noregret.search import Acquisition, low_discrepancy
from noregret.space import Array, SearchSpace, spread_points
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB, Model
from noregret.strategies.rigorous import RadiusGPUCB
from noregret.trials import Decision, Explanation, History, Proposal

EXACT = 1_000  # designs of a list of which all are drawn
POINTS = 400  # points of a box, and two more per value: a draw costs their number cubed
NEAR = 32  # points near each of the three best, in steps down to 0.003 lengthscales


@dataclass(frozen=True, slots=True)
class AdaptiveThompson(OnBase):
    """The maximiser of a function drawn from the posterior of ``base``.

    Args:
        base: the strategy whose class, width, widening and initial points are used; the draw's
            standard deviation is its width times σ.

    Raises:
        ConfigurationError: a base of another kind.
    """

    base: AdaptiveGPUCB | RadiusGPUCB = replace(PRACTICAL, width=1.0)
    algorithm: ClassVar[int] = 1  # 0 drew functions by random features in a box

    @property
    def proved_theorem(self) -> str:
        return (
            "docs/theory.md#thompson: the regret bound of its base times √log of the number of"
            " points at which functions are drawn, with probability over the draws too; in a box"
            " plus what f varies between neighbouring points, whose number grows."
        )

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        base = self.base
        own, rest = rng.spawn(2)
        if isinstance(base, RadiusGPUCB):

            def drawn(shown: RadiusBand) -> Acquisition:
                at = shown.reference
                return thompson(space, shown.posteriors[at], shown.widths[at], own)

            return base.propose_with(space, history, rest, drawn)

        def of_class(model: Model) -> Acquisition:
            return thompson(space, model.posterior, model.beta_sqrt, own)

        return base.propose_with(space, history, rest, of_class, own, None)

    def explain(self, decision: Decision) -> Explanation:
        rule = "The best point of a function drawn from what is believed."
        return replace(self.base.explain(decision), rule=rule)


def thompson(
    space: SearchSpace, posterior: Posterior, width: float, rng: np.random.Generator
) -> Acquisition:
    """One draw of GP(μ, width²·k_t) at the designs of a short list, or at ``drawn_points``."""
    points = space.enumeration()
    if points is None or len(points) > EXACT:
        points = drawn_points(space, posterior, rng)
    sample = draw_at(*posterior.joint(points), width, rng)  # theory.md#thompson
    return Acquisition(lambda A: sample, lambda A: (sample, np.zeros_like(A)), points=points)


def drawn_points(space: SearchSpace, posterior: Posterior, rng: np.random.Generator) -> Array:
    """Points that fill the space, more with every value, and points near the best means."""
    known, d = posterior.X[: posterior.observed], space.dimension
    spread = low_discrepancy(POINTS + 2 * len(known), d, rng)
    best = known[np.argsort(-posterior.predict(known)[0], kind="stable")[:3]]
    steps = np.geomspace(0.3, 0.003, NEAR)[:, None] * np.minimum(posterior.lengthscales, 1.0)
    near = best[:, None, :] + steps * rng.standard_normal((len(best), NEAR, d))
    return spread_points(space, np.vstack([spread, np.clip(near, 0.0, 1.0).reshape(-1, d)]))


def draw_at(mean: Array, cov: Array, width: float, rng: np.random.Generator) -> Array:
    """Exact values ~ N(mean, width²·cov) at finitely many points; rounding below 0 is cut off."""
    spectrum, basis = np.linalg.eigh(cov)
    root = np.sqrt(np.maximum(spectrum, 0.0))
    return np.asarray(mean + width * (basis @ (root * rng.standard_normal(len(mean)))))
