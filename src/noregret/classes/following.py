"""The class that the data ask for: lengthscales by the mixture's evidence, a norm bound above what
the data refute, and a schedule under both that contains every f in the end.

θ_t = θ_0/g_t with g_t = √2·ĝ_t between a floor and a cap and not beyond the mixture, ĝ_t the
geometric mean of the mixture's scalings under its evidence; B_t = max(b(t)·G_t^½·B_0, κ·b_t(θ_t)),
G_t = g_t^d, and b_t(θ) the least norm within the radius. The radius names no class, so any choice
made from the data is allowed. Proof: docs/theory.md#refuted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret.classes.function_class import FunctionClass
from noregret.classes.growth import Growth, LogGrowth
from noregret.classes.radius import Mixture, Values, norm_lower_bound, radius_squared
from noregret.errors import ConfigurationError
from noregret.space import Array

FINENESS = 8  # θ_0·2^(−k/8): the grid of classes, without which no regret is proved for Matérn


@dataclass(frozen=True, slots=True)
class Followed:
    """A class chosen from the data, with the radius that holds for it and what it was chosen by."""

    function_class: FunctionClass
    radius_squared: float
    norm_lower_bound: float  # ‖f‖ at these lengthscales is at least this, on the radius's event
    g: float
    b: float  # B_t = b·g^(d/2)·B_0

    @property
    def implied(self) -> float:
        """g^(d/2)·B_0: what ‖f‖ ≤ B_0 at θ_0 implies at these lengthscales. theory.md#norm-lemma"""
        return self.function_class.norm_bound / self.b


@dataclass(frozen=True, slots=True)
class Following:
    """κ = ``factor``, √2 = ``shortening``; curves of t for the floor and cap of g^d, and for 8·b.

    The floor also finds what the data do not show yet: without it an unseen bump stays unseen.
    """

    factor: float = 3.0
    shortening: float = math.sqrt(2)
    floor: Growth = LogGrowth(1.0)
    cap: Growth = LogGrowth(200.0)
    ball: Growth = LogGrowth(1.0)

    def __post_init__(self) -> None:
        if not (1 <= self.factor < math.inf and 1 <= self.shortening < math.inf):
            raise ConfigurationError(
                f"factor and shortening must be at least 1, got {self.factor!r} and "
                f"{self.shortening!r}: below, the class would lose what the data already require"
            )

    def followed(
        self, t: int, start: FunctionClass, mixture: Mixture, values: Values, delta: float
    ) -> Followed:
        """The class of decision t."""
        log_ratios = mixture.log_ratios(values)
        radius_sq = radius_squared(log_ratios, mixture.weights, delta)
        return self.chosen(t, start, mixture, values, log_ratios, radius_sq)

    def chosen(
        self,
        t: int,
        start: FunctionClass,
        mixture: Mixture,
        values: Values,
        log_ratios: Array,
        radius_sq: float,
    ) -> Followed:
        """The same, with the mixture's log ratios and a radius that is known already."""
        scaling = start.lengthscales[0] / mixture.lengthscales[:, 0]
        evidence = np.log(mixture.weights) + log_ratios
        share = np.exp(evidence - evidence.max())
        fitted = math.exp(float(share @ np.log(scaling)) / float(share.sum()))
        root = 1 / len(start.lengthscales)
        most = min(self.cap(t) ** root, float(scaling.max()))  # theory.md#radius, A4
        g = max(min(self.shortening * fitted, most), self.floor(t) ** root)
        g = 2.0 ** (math.ceil(FINENESS * math.log2(g) - 1e-9) / FINENESS)
        scheduled = start.widened(g, max(self.ball(t) / 8, 1.0))
        scheduled_bound = scheduled.norm_bound * min(self.ball(t) / 8, 1.0)
        theta = scheduled.lengthscales
        least = norm_lower_bound(mixture.kernel, theta, values, radius_sq)
        bound = max(scheduled_bound, self.factor * least)  # theory.md#refuted
        b = bound / (g ** (len(theta) / 2) * start.norm_bound)
        return Followed(FunctionClass(theta, bound), radius_sq, least, g, b)
