"""GP-UCB with a random width: Takeno, Inatsu, Karasuyama, "Randomized Gaussian Process Upper
Confidence Bound with Tighter Bayesian Regret Bounds", ICML 2023, on a class that widens.

There the width is √(s + 2E), E exponential, and f is drawn from the process. Here that law is of a
*factor* of any width, m = √(s + (1 − s)E), and f is any function of the class: m² is 1 in the mean,
and m ≥ 1 with probability 1/e, which is all that the proof needs. theory.md#random-widths
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from noregret.errors import ConfigurationError, check_range
from noregret.gp import MAP, LogNormal, Matern
from noregret.rkhs import AnchoredReference, ReferenceRegret
from noregret.search import Acquisition, ucb
from noregret.space import SearchSpace
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB, Model
from noregret.strategies.base import Delegating
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
class OnBase(Delegating):
    """A strategy that draws something random on the class and with the width of another one."""

    base: AdaptiveGPUCB | RadiusGPUCB = PRACTICAL

    def __post_init__(self) -> None:
        if not isinstance(self.base, (AdaptiveGPUCB, RadiusGPUCB)):
            raise ConfigurationError(
                "base is the strategy whose class and width are used: an AdaptiveGPUCB or"
                f" AdaptiveGPUCB.rigorous(noise_bound), got {self.base!r}"
            )

    @property
    @abstractmethod
    def proved_theorem(self) -> str:
        """What is proved on a base with a theorem."""

    @property
    def theorem(self) -> str:
        if not self.base.proved:
            return f"none, because its base has none: {self.base.theorem}"
        return f"{self.proved_theorem} The base: {self.base.theorem}"

    def inner(self, inputs: int) -> AdaptiveGPUCB | RadiusGPUCB:
        return self.base


@dataclass(frozen=True, slots=True)
class RandomisedGPUCB(OnBase):
    """UCB on the class of ``base`` with its width times a random factor.

    Args:
        base: the strategy whose class, width, widening and initial points are used.
        shift: s in [0, 1); the factor is √(s + (1 − s)E) with E exponential of mean 1.

    Raises:
        ConfigurationError: a base of another kind, or a shift outside its range.
    """

    shift: float = 0.5

    def __post_init__(self) -> None:
        OnBase.__post_init__(self)
        hint = "the part of the squared width that is not random"
        check_range("shift", self.shift, "[0, 1)", hint)

    @property
    def proved_theorem(self) -> str:
        return (
            "docs/theory.md#random-widths: the regret bound of its base times a constant, with"
            " probability over the factors too."
        )

    def factor(self, rng: np.random.Generator) -> float:
        """m, at most ``MOST``."""
        squared = self.shift + (1 - self.shift) * rng.exponential()
        return min(math.sqrt(squared), MOST)  # theory.md#random-widths

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        base = self.base
        own, rest = rng.spawn(2)
        factor = self.factor(own)

        def of_class(model: Model) -> Acquisition:
            return ucb(model.posterior, factor * model.beta_sqrt)

        if isinstance(base, RadiusGPUCB):
            return base.propose_with(space, history, rest, lambda shown: ucb(shown, factor), factor)
        return base.propose_with(space, history, rest, of_class, own, factor)
