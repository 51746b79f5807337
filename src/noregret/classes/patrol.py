"""Patrols and plausible points: what makes any rule of thumb a strategy without regret.

At the decisions at which ⌈c·t^(2/3)⌉ rises the point is the next one of a sequence fixed in
advance. From these N values alone follows a band for f, of half-width w_N, under a class that grows
with N; the rule may choose only where the upper end of that band reaches the largest lower end.
Proof: docs/theory.md#plausible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import VARIANCE_FLOOR, Kernel, Matern, condition, covariance, linalg
from noregret.space import Array, Indices, Mask

RATE, EXPONENT = 1 / 16, 2 / 3  # of t decisions ⌈t^⅔/16⌉ are patrols: 1 of 50, 7 of 1,000
GOLDEN = (math.sqrt(5) - 1) / 2


# -- when, and where --


def patrols(t: int, rate: float = RATE, exponent: float = EXPONENT) -> int:
    """How many of the first t decisions are patrols."""
    if not (0 < rate <= 1 and 0 < exponent < 1):
        raise ConfigurationError(
            f"patrols need a rate in (0, 1] and an exponent in (0, 1), got {rate!r} and "
            f"{exponent!r}: their share of the decisions must fall to zero"
        )
    return math.ceil(rate * t**exponent - 1e-9) if t > 0 else 0


def is_patrol(t: int, rate: float = RATE, exponent: float = EXPONENT) -> bool:
    """Whether decision t, counted from 1, is one."""
    return patrols(t, rate, exponent) > patrols(t - 1, rate, exponent)


def patrol_points(first: int, count: int, dimension: int) -> Array:
    """Points first, first + 1, … (from 1) of the Halton sequence with permuted digits.

    Any b_1^k_1 ⋯ b_d^k_d points in a row hit each box of sides b_j^−k_j once.
    """
    index = np.arange(first, first + count)
    columns = []
    for base in _primes(dimension):
        factor = max(round(GOLDEN * base), 1)  # below a prime, so a permutation that leaves 0 alone
        column, rest, unit = np.zeros(count), index.copy(), 1.0 / base
        while rest.any():
            column += (factor * (rest % base) % base) * unit
            rest, unit = rest // base, unit / base
        columns.append(column)
    return np.stack(columns, axis=1)


def patrol_order(size: int) -> Indices:
    """The order in which a list of so many designs is patrolled, again and again."""
    return np.random.default_rng(0).permutation(size)


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found


# -- what they prove --


@dataclass(frozen=True, slots=True)
class Plausibility:
    """The class that is held true after N patrols: all in N and in ``unit`` only.

    unit is s_0, the spread of the initial values, fixed then, and offset their mean. The kernel is
    a Matérn: its space is the same at all lengthscales, and constants are in it.
    """

    unit: float
    offset: float = 0.0
    kernel: Kernel = Matern(2.5)
    lengthscale: float = 0.3
    regulariser: float = 0.01
    delta: float = 0.1

    def __post_init__(self) -> None:
        for name in ("unit", "lengthscale", "regulariser"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ConfigurationError(f"{name} must be positive and finite, got {value!r}")
        if not 0 < self.delta < 1:
            raise ConfigurationError(f"delta is a probability in (0, 1), got {self.delta!r}")
        if not isinstance(self.kernel, Matern):
            raise ConfigurationError(
                f"plausible points are proved for Matérn kernels, got {self.kernel!r}: the norms "
                "at different lengthscales of others are not equivalent, and constants have none"
            )

    def norm_bound(self, n: int) -> float:
        return 4 * self.unit * (1 + math.log1p(n))  # B_N, theory.md#plausible

    def noise_bound(self, n: int) -> float:
        return 0.5 * self.unit * (1 + math.log1p(n))  # R_N, theory.md#plausible

    def band(self, Z: Array, values: Array, listed: int | None = None) -> PatrolBand:
        """The band of N patrols at Z, for all x of the cube, or of a list of so many designs."""
        Z, values = np.asarray(Z, dtype=np.float64), np.asarray(values, dtype=np.float64)
        n, d = Z.shape
        if listed is None:
            cells = math.ceil(n * math.sqrt(d) / self.lengthscale)  # per input
            log_points, step = d * math.log(cells), 1.0 / cells
        else:
            log_points, step = math.log(listed), 0.0
        log_term = log_points + math.log(math.pi**2 * n**2 / (3 * self.delta))  # ln(2/δ')
        return PatrolBand(self, Z, values - self.offset, step, math.sqrt(2 * log_term))


@dataclass(frozen=True, slots=True)
class PatrolBand:
    """μ_N ± w_N at the centre of a point's cell, with what f can differ by in the cell."""

    rule: Plausibility
    Z: Array  # (N, d)
    values: Array  # (N,), less the offset
    step: float  # side of the cells; 0: points are taken as they are
    quantile: float  # √(2 ln 2/δ')

    def bounds(self, A: Array) -> tuple[Array, Array]:
        """Lower and upper bound at the rows of A, in the values' units."""
        rule, n = self.rule, len(self.Z)
        theta = np.full(self.Z.shape[1], rule.lengthscale)
        at = self._rounded(np.asarray(A, dtype=np.float64))
        posterior = condition(rule.kernel, theta, self.Z, self.values, rule.regulariser)
        k = covariance(rule.kernel, theta, at, self.Z)
        v = linalg.solve_lower(posterior.L, k.T)
        a = linalg.solve_lower(posterior.L, v, transposed=True)  # (K + λ)⁻¹k, (N, m)
        noise_part = np.einsum("nm,nm->m", a, a)
        var = np.maximum(1.0 - np.einsum("nm,nm->m", v, v), VARIANCE_FLOOR)
        bias = np.sqrt(np.maximum(var - rule.regulariser * noise_part, 0.0))
        norm, noise = rule.norm_bound(n), rule.noise_bound(n)
        half = norm * (bias + self._cell_reach())
        half += noise * self.quantile * np.sqrt(noise_part)  # w_N, theory.md#plausible
        middle = rule.offset + k @ posterior.weights
        return middle - half, middle + half

    def _rounded(self, A: Array) -> Array:
        if self.step == 0:
            return A
        cells = round(1 / self.step)
        return (np.clip(np.floor(A * cells), 0, cells - 1) + 0.5) / cells

    def _cell_reach(self) -> float:
        """‖k_x − k_x'‖ for x' the centre of x's cell, at most."""
        if self.step == 0:
            return 0.0
        half_diagonal = 0.5 * self.step * math.sqrt(self.Z.shape[1]) / self.rule.lengthscale
        value = float(self.rule.kernel.value(np.array([half_diagonal**2]))[0])
        return math.sqrt(max(2 - 2 * value, 0.0))  # theory.md#certificates, k's own metric

    @property
    def threshold(self) -> float:
        """The largest lower bound at a patrol."""
        return float(self.bounds(self.Z)[0].max())

    def plausible(self, A: Array) -> Mask:
        """Where the band still reaches the threshold; at the best patrol it always does."""
        return np.asarray(self.bounds(A)[1] >= self.threshold)
