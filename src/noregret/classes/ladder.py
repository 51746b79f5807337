"""Rougher kernels over time: SE → Matérn 5/2 → 3/2 → 1/2, as JMLR sec. 4.2 suggests.

A step down keeps every function: ‖f‖_lower ≤ c·‖f‖_upper at the same lengthscales, with c² the
largest ratio of the two spectral densities, which is at |θω|² = d. A step up keeps none, and is
refused. The radius names no kernel, so the rung may be chosen from the data.
Proof: docs/theory.md#ladder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from noregret.classes.following import Followed, Following
from noregret.classes.function_class import FunctionClass
from noregret.classes.radius import Mixture, Values, radius_squared
from noregret.errors import ConfigurationError, GuaranteeError
from noregret.gp import Kernel, Matern, SquaredExponential


@dataclass(frozen=True, slots=True)
class Ladder:
    """Kernels from smooth to rough, in the place of one.

    rungs: SquaredExponential first, if at all, then Matern with falling nu.
    wait: from t = wait^i on the class is on rung i at least; before, where the evidence is.
    """

    rungs: tuple[Kernel, ...] = (SquaredExponential(), Matern(2.5), Matern(1.5), Matern(0.5))
    wait: float = 10.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rungs", tuple(self.rungs))
        if len(self.rungs) < 2:
            raise ConfigurationError(f"a ladder has at least two rungs, got {self.rungs!r}")
        if not 1 < self.wait < math.inf:
            raise ConfigurationError(f"wait must be above 1, got {self.wait!r}")
        for upper, lower in zip(self.rungs, self.rungs[1:], strict=False):
            step_norm(upper, lower, 1)

    def floor(self, t: int) -> int:
        """The smoothest rung that is still allowed at decision t."""
        return min(int(math.log(t) / math.log(self.wait) + 1e-9), len(self.rungs) - 1)

    def followed(
        self,
        rule: Following,
        t: int,
        start: FunctionClass,
        values: Values,
        delta: float,
    ) -> tuple[Kernel, Followed]:
        """The rung with the most evidence, not above the floor, and its class. One radius for all
        rungs: their mixtures share the weights 2^−(i+1).
        """
        shortest = rule.floor(t) ** (1 / start.dimension)
        starts, mixtures, ratios = [], [], []
        for rung in self.rungs:
            factor = 1.0 if rung == self.rungs[0] else self._factor(rung, start.dimension)
            starts.append(FunctionClass(start.lengthscales, factor * start.norm_bound))
            mixtures.append(Mixture.around(rung, starts[-1], shortest))
            ratios.append(mixtures[-1].log_ratios(values))
        share = [0.5 ** (i + 1) for i in range(len(self.rungs))]
        weights = np.concatenate([s * m.weights for s, m in zip(share, mixtures, strict=True)])
        radius_sq = radius_squared(np.concatenate(ratios), weights, delta)  # theory.md#radius
        evidence = [
            float(logsumexp(r, b=s * m.weights))
            for s, m, r in zip(share, mixtures, ratios, strict=True)
        ]
        least = self.floor(t)
        i = least + int(np.argmax(evidence[least:]))
        return self.rungs[i], rule.chosen(t, starts[i], mixtures[i], values, ratios[i], radius_sq)

    def _factor(self, rung: Kernel, dimension: int) -> float:
        """c of the way from the first rung: the start's ball stays in the class."""
        return step_norm(self.rungs[0], rung, dimension)


def step_norm(upper: Kernel, lower: Kernel, dimension: int) -> float:
    """The least c with ‖f‖_lower ≤ c·‖f‖_upper on all of space, at equal lengthscales."""
    if not (_order(upper) > _order(lower)):
        raise GuaranteeError(
            f"a step from {upper!r} to {lower!r} leaves functions behind: the ratio of their"
            " spectral densities is unbounded. Rungs go from SquaredExponential() to Matern(nu),"
            " and from there to smaller nu"
        )
    at = float(dimension)  # |θω|² of the largest ratio: theory.md#ladder
    return math.exp(0.5 * (_log_density(upper, at, dimension) - _log_density(lower, at, dimension)))


def _order(kernel: Kernel) -> float:
    if isinstance(kernel, SquaredExponential):
        return math.inf
    if isinstance(kernel, Matern):
        return kernel.nu
    raise GuaranteeError(
        f"the spectral density of {kernel!r} is not known here, so nothing says that its space"
        " holds another: use SquaredExponential and Matern"
    )


def _log_density(kernel: Kernel, square: float, d: int) -> float:
    """log of the spectral density at |ω|² = square and lengthscale 1, that of k(0) = 1."""
    if not isinstance(kernel, Matern):
        return -0.5 * square - 0.5 * d * math.log(2 * math.pi)
    nu = kernel.nu
    constant = float(gammaln(nu + d / 2) - gammaln(nu)) - 0.5 * d * math.log(2 * nu * math.pi)
    return constant - (nu + d / 2) * math.log1p(square / (2 * nu))  # theory.md#ladder
