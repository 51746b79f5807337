"""The class chosen by the evidence: lengthscales from the mixture, a norm bound above what the data
refute, and a schedule under both that contains every f in the end.

θ_t,i = θ_0,i/g_t,i with g_t,i = min(√2·ĝ_i, ĝ_i²) between a floor and a cap and not beyond the
mixture, ĝ_i the geometric mean of the mixture's scalings of input i under its evidence;
B_t = max(b(t)·G_t^½·B_0, κ·b_t(θ_t)), G_t = ∏g_t,i, and b_t(θ) the least norm within the radius.
The radius names no class and no kernel, so any choice made from the data is allowed. Proof:
docs/theory.md#refuted.

A ``Ladder`` does the same for several kernels, from smooth to rough. Proof: docs/theory.md#ladder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from noregret.errors import ConfigurationError, GuaranteeError, check_range
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.rkhs.function_class import FunctionClass
from noregret.rkhs.radius import Mixture, Values, norm_lower_bound, radius_squared
from noregret.rkhs.widening import Growth, LogGrowth
from noregret.space import Array

FINENESS = 8  # θ_0·2^(−k/8): the grid of classes, without which no regret is proved for Matérn


@dataclass(frozen=True, slots=True)
class ClassEstimate:
    """A class chosen from the data, with the radius that holds for it."""

    function_class: FunctionClass
    radius_squared: float
    norm_lower_bound: float  # ‖f‖ at these lengthscales is at least this, on the radius's event
    g: float  # the geometric mean of the inputs' scalings
    b: float  # B_t = b·g^(d/2)·B_0

    @property
    def implied(self) -> float:
        """g^(d/2)·B_0: what ‖f‖ ≤ B_0 at θ_0 implies at these lengthscales. theory.md#norm-lemma"""
        return self.function_class.norm_bound / self.b


@dataclass(frozen=True, slots=True)
class EvidenceClass:
    """How the class is chosen from the data.

    Args:
        factor: κ; the norm bound is at least this multiple of what the data refute.
        shortening: √2; the lengthscales are shorter than the evidence's by this factor.
        floor: curve of t below G = ∏g_i, and below each g_i^(2d). Without it a bump that no value
            has hit stays unseen.
        cap: curve of t above each g_i^d.
        norm_growth: curve of t, 8·b.
    """

    factor: float = 3.0
    shortening: float = math.sqrt(2)
    floor: Growth = LogGrowth(1.0)
    cap: Growth = LogGrowth(200.0)
    norm_growth: Growth = LogGrowth(1.0)

    def __post_init__(self) -> None:
        for name in ("factor", "shortening"):
            hint = "below 1 the class would lose what the data already require"
            check_range(name, getattr(self, name), "[1, ∞)", hint)

    def estimate(
        self, kernel: Kernel | Ladder, t: int, start: FunctionClass, values: Values, delta: float
    ) -> tuple[Kernel, ClassEstimate]:
        """The kernel and the class of decision t.

        Of a ladder it is the rung with the most evidence, not above the floor. There is one radius
        for all rungs: their mixtures share the weights 2^−(i+1).
        """
        if isinstance(kernel, Ladder):
            rungs, floor = kernel.rungs, kernel.floor(t)
            shares = [0.5 ** (i + 1) for i in range(len(rungs))]
        else:
            rungs, floor, shares = (kernel,), 0, [1.0]
        shortest = self.floor(t) ** (1 / start.dimension)
        starts, mixtures, ratios, weights, evidence = [], [], [], [], []
        for rung, share in zip(rungs, shares, strict=True):
            # c of the way from the first rung: the start's ball stays in the class
            factor = 1.0 if rung == rungs[0] else step_norm(rungs[0], rung, start.dimension)
            starts.append(FunctionClass(start.lengthscales, factor * start.norm_bound))
            mixture, own = Mixture.fitted(rung, starts[-1], values, shortest)
            mixtures.append(mixture)
            ratios.append(own)
            weights.append(share * mixtures[-1].weights)
            evidence.append(float(logsumexp(ratios[-1], b=weights[-1])))
        # theory.md#radius
        radius_sq = radius_squared(np.concatenate(ratios), np.concatenate(weights), delta)
        i = floor + int(np.argmax(evidence[floor:]))
        return rungs[i], self._estimate(t, starts[i], mixtures[i], values, ratios[i], radius_sq)

    def _estimate(
        self,
        t: int,
        start: FunctionClass,
        mixture: Mixture,
        values: Values,
        log_ratios: Array,
        radius_sq: float,
    ) -> ClassEstimate:
        """The class of one kernel, given the mixture's log ratios and a radius."""
        scaling = np.maximum(start.lengthscales / mixture.lengthscales, 1.0)  # (J, d)
        evidence = np.log(mixture.weights) + log_ratios
        share = np.exp(evidence - evidence.max())
        fitted = np.exp(share @ np.log(scaling) / share.sum())  # (d,)
        root, floor = 1 / start.dimension, self.floor(t)
        most = min(self.cap(t) ** root, float(scaling.max()))  # theory.md#radius, A4
        scalings = np.minimum(self.shortening * fitted, fitted**2)  # 1 where f hardly varies
        scalings = np.maximum(np.minimum(scalings, most), floor ** (root / 2))
        scalings *= max(floor / float(np.prod(scalings)), 1.0) ** root
        scalings = 2.0 ** (np.ceil(FINENESS * np.log2(scalings) - 1e-9) / FINENESS)
        implied = start.at(start.lengthscales / scalings, 1.0, "tight")
        theta = implied.lengthscales
        least = norm_lower_bound(mixture.kernel, theta, values, radius_sq)
        # theory.md#refuted
        bound = max(self.norm_growth(t) / 8 * implied.norm_bound, self.factor * least)
        g, b = float(np.exp(np.mean(np.log(scalings)))), bound / implied.norm_bound
        return ClassEstimate(FunctionClass(theta, bound), radius_sq, least, g, b)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Rougher kernels over time in the place of one kernel, as JMLR sec. 4.2 suggests.

    A step down keeps every function: ‖f‖_lower ≤ c·‖f‖_upper at the same lengthscales, with c² the
    largest ratio of the two spectral densities, which is at |θω|² = d. A step up is refused.

    Args:
        rungs: SquaredExponential first, if at all, then Matern with falling nu.
        wait: from t = wait^i on the class is on rung i at least; before, where the evidence is.
    """

    rungs: tuple[Kernel, ...] = (SquaredExponential(), Matern(2.5), Matern(1.5), Matern(0.5))
    wait: float = 10.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rungs", tuple(self.rungs))
        if len(self.rungs) < 2:
            raise ConfigurationError(f"a ladder has at least two rungs, got {self.rungs!r}")
        check_range("wait", self.wait, "(1, ∞)")
        for upper, lower in zip(self.rungs, self.rungs[1:], strict=False):
            step_norm(upper, lower, 1)

    def floor(self, t: int) -> int:
        """The smoothest rung that is still allowed at decision t."""
        return min(int(math.log(t) / math.log(self.wait) + 1e-9), len(self.rungs) - 1)


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
