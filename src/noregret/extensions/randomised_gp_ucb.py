"""GP-UCB with a random width: Takeno, Inatsu, Karasuyama, "Randomized Gaussian Process Upper
Confidence Bound with Tighter Bayesian Regret Bounds", ICML 2023, on a class that widens.

There the width is √(s + 2E), E exponential, and f is drawn from the process. Here that law is of a
*factor* of any width, m = √(s + (1 − s)E), and f is any function of the class: m² is 1 in the mean,
and m ≥ 1 with probability 1/e, which is all that the proof needs. theory.md#random-widths
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import MAP, LogNormal, Matern, Posterior
from noregret.rkhs import AnchoredReference, RadiusBand, ReferenceRegret
from noregret.search import Acquisition, ucb
from noregret.space import SearchSpace
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
from noregret.strategies.base import Belief
from noregret.strategies.rigorous import RadiusGPUCB
from noregret.trials import History, Proposal

MOST = 3.0  # times the width, at most: what the proof calls M

# lengthscales and noise estimated, values standardised, the class widened by one step ahead
PRACTICAL = AdaptiveGPUCB(
    kernel=Matern(2.5),
    lengthscales=None,
    noise_std=None,
    width=2.0,
    widening=ReferenceRegret("one_step", AnchoredReference(0.9), weight=0.0, maximum=100.0),
    estimation=MAP(
        prior=LogNormal(math.sqrt(2), math.sqrt(3), dimension_scaled=True),
        noise_prior=LogNormal(-6.0, 2.0),
        combine="scale",
        ceiling=10.0,
        patience=1.1,
        refresh=1.05,
    ),
    standardise=True,
    initial_design="spread",
)


@dataclass(frozen=True, slots=True)
class OnClassOf:
    """A random choice on the class of ``base``, with the belief of ``base`` and a theorem derived
    from that of ``base``. ``FORM``: where that theorem is, and what it says.
    """

    FORM: ClassVar[str]

    base: AdaptiveGPUCB | RadiusGPUCB

    def __post_init__(self) -> None:
        if not isinstance(self.base, (AdaptiveGPUCB, RadiusGPUCB)):
            raise ConfigurationError(
                "base is the strategy whose class and width are used: an AdaptiveGPUCB or"
                f" AdaptiveGPUCB.rigorous(noise_bound), got {self.base!r}"
            )

    @property
    def theorem(self) -> str:
        if not self.base.proved:
            return f"none, because its base has none: {self.base.theorem}"
        return f"{self.FORM} The base: {self.base.theorem}"

    @property
    def proved(self) -> bool:
        return self.base.proved

    def decided(
        self,
        space: SearchSpace,
        history: History,
        own: np.random.Generator,
        rest: np.random.Generator,
        acquisition_of: Callable[[Posterior | RadiusBand, float], Acquisition],
        **recorded: Any,
    ) -> Proposal:
        """The argmax of what ``acquisition_of`` makes of the class in force and its width.
        recorded: what else the decision says.
        """
        if isinstance(self.base, RadiusGPUCB):
            made = self.base.decided(space, history, rest, lambda band: acquisition_of(band, 1.0))
        else:
            made = self.base.decided(
                space, history, rest, lambda m: acquisition_of(m.posterior, m.beta_sqrt), own
            )
        if made.decision.model is None:
            return made
        model = replace(made.decision.model, **recorded)
        return replace(made, decision=replace(made.decision, model=model))

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        return self.base.belief(space, history, delta)


@dataclass(frozen=True, slots=True)
class RandomisedGPUCB(OnClassOf):
    """UCB on the class of ``base`` with its width times a random factor.

    Args:
        base: the strategy whose class, width, widening and initial points are used.
        shift: s in [0, 1); the factor is √(s + (1 − s)E) with E exponential of mean 1.

    Raises:
        ConfigurationError: a base of another kind, or a shift outside its range.
    """

    FORM: ClassVar[str] = (
        "docs/theory.md#random-widths: the regret bound of its base times a constant, with"
        " probability over the factors too."
    )

    base: AdaptiveGPUCB | RadiusGPUCB = PRACTICAL
    shift: float = 0.5

    def __post_init__(self) -> None:
        OnClassOf.__post_init__(self)
        if not 0 <= self.shift < 1:
            raise ConfigurationError(
                f"shift is the part of the squared width that is not random, in [0, 1), got"
                f" {self.shift!r}"
            )

    def factor(self, rng: np.random.Generator) -> float:
        """m, at most ``MOST``."""
        squared = self.shift + (1 - self.shift) * rng.exponential()
        return min(math.sqrt(squared), MOST)  # theory.md#random-widths

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        own, rest = rng.spawn(2)
        factor = self.factor(own)

        def acquisition(predictor: Posterior | RadiusBand, width: float) -> Acquisition:
            return ucb(predictor, factor * width)

        return self.decided(space, history, own, rest, acquisition, exploration=factor)
