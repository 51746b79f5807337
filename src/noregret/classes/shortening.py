"""Shorter lengthscales by a fixed factor whenever the next point would tell next to nothing.

JMLR sec. 4.2 names the factors 2 (Wang et al. 2016) and about 1.1 (Wabersich and Toussaint 2016),
used in any number of inputs, and proposes the power 1/d: the regret bound of the squared
exponential grows with g^d, so a step then multiplies it by the factor and not by its d-th power.
theory.md#shortening
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret.classes.function_class import merge
from noregret.classes.widening import LARGEST, Probe, Scaling, check_largest
from noregret.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Shortening:
    """Once per decision with σ_t(x_{t+1}) < below, in units of the prior std.

    factor: by which h = g^d grows in such a step: 2 is Wang et al.'s, 1.1 Wabersich and
    Toussaint's. printed: g grows by the factor itself, as both have it, and h by its d-th power.
    largest: the largest g, where a lower bound on the lengthscales is known.
    """

    factor: float = 2.0
    below: float = 0.1
    printed: bool = False
    largest: float = math.inf

    def __post_init__(self) -> None:
        if not 1 < self.factor < math.inf:
            raise ConfigurationError(
                f"factor must be above 1, got {self.factor!r}: lengthscales are divided by it"
            )
        if not 0 < self.below < 1:
            raise ConfigurationError(
                f"below must lie in (0, 1), the prior std being 1, got {self.below!r}"
            )
        check_largest(self.largest)

    def scaling(self, probe: Probe) -> Scaling:
        g = probe.previous.g
        std = probe.std_at_argmax(g, 1.0)
        if std < self.below:
            power = 1.0 if self.printed else 1 / probe.dimension  # JMLR sec. 4.2
            g = min(g * self.factor**power, LARGEST, max(self.largest, g))
        return Scaling(merge(g, 1.0, probe.dimension), g, 1.0, self.below, None, std)
