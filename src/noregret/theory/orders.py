"""Growth orders of the capacity γ_t and of the regret bound. JMLR sec. 4, theory.md#capacity

The regret bound is √(C_1 t β_t γ_t) with β_t^½ ~ B_t + √γ_t and B_t = b·g^(d·q)·B_0, hence of order

    √t · b · g^(d·q) · √γ_t  +  √t · γ_t,        q = 1 (paper) or ½ (tight).

The tight capacities hold for every ν > 0 and uniformly in g while g^d log t ≤ t. Proof: cut the
cube into (g/ε)^d boxes of side ε·θ/g. With m values of f known in a box, f varies there by at most
C·ε^(2ν) (local interpolation error), and information is subadditive over boxes and over independent
summands, so I ≤ (g/ε)^d·(m/2)·log(1 + t/λ) + t·C·ε^(2ν)/(2λ). Choose ε^(2ν+d) = g^d·log t/t. For
the squared exponential take ε = 1 and m ~ (log t)^d instead. ∎

The theorem adds up variances under changing kernels. For the squared exponential they only grow as
lengthscales shrink (theory.md#monotone-variance). For any kernel, with g quantised on a grid ρ^j:
the steps of grid value j contribute at most C·γ_t(θ_0/ρ^j), and γ ~ ρ^(j·e) makes that a geometric
sum, so the order is that of the last class. ∎

A growth curve becomes a magnitude by its exponents if it is built in, and by samples up to huge t
if it is any callable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from noregret.errors import ConfigurationError, GuaranteeError
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.rkhs import ConstantGrowth, LogGrowth, NormPower, PowerGrowth
from noregret.space import Array

Capacity = Literal["printed", "tight"]
TOLERANCE = 1e-12  # exponents closer than this are equal: 1/3 is not a float
GRID = np.logspace(2, 300, 150)
SHORTEST = 1e12  # a curve must be finite up to this t for a numerical verdict
# unbounded: with log t doubled, the logarithm gains at least this share of its last gain
PERSISTENT = 0.6
STILL = 1e-9  # a gain of the logarithm below this is rounding

Curve = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Order:
    """A magnitude up to a constant: the exponents of t, log t, g and b."""

    t: float = 0.0
    log_t: float = 0.0
    g: float = 0.0
    b: float = 0.0

    def __mul__(self, other: Order) -> Order:
        return Order(self.t + other.t, self.log_t + other.log_t, self.g + other.g, self.b + other.b)

    def __pow__(self, power: float) -> Order:
        return Order(power * self.t, power * self.log_t, power * self.g, power * self.b)

    def larger(self, other: Order) -> Order:
        """The faster growing one as t → ∞; both in t and log t only."""
        return self if _difference(self, other) >= 0 else other

    def smaller(self, other: Order) -> Order:
        return other if _difference(self, other) > 0 else self

    def grows(self) -> bool:
        """Whether it grows without bound; in t and log t only."""
        return _difference(self, Order()) > 0

    def order(self) -> Order:
        return self

    def log_value(self, t: float, g: float = 1.0, b: float = 1.0) -> float:
        """Its logarithm with constant 1."""
        if not t > 1:
            raise ConfigurationError(
                f"an order is evaluated at t > 1, got {t!r}: it describes large t, and log t must"
                " be positive"
            )
        if not (g > 0 and b > 0):
            raise ConfigurationError(f"g and b must be positive, got g={g!r}, b={b!r}")
        return (
            self.t * math.log(t)
            + self.log_t * math.log(math.log(t))
            + self.g * math.log(g)
            + self.b * math.log(b)
        )

    def value(self, t: float, g: float = 1.0, b: float = 1.0) -> float:
        """Its value with constant 1."""
        return math.exp(self.log_value(t, g, b))

    def __str__(self) -> str:
        factors = (
            _factor("b", self.b),
            _factor("g", self.g),
            _factor("t", self.t),
            _factor("log t", self.log_t),
        )
        return " · ".join(factor for factor in factors if factor) or "1"


def _factor(base: str, power: float) -> str:
    if abs(power) < TOLERANCE:
        return ""
    if abs(power - 1) < TOLERANCE:
        return base
    return f"{f'({base})' if ' ' in base else base}^{power:.4g}"


def _difference(left: Order, right: Order) -> float:
    """Positive where left grows faster: exponents of t first, of log t where those are equal."""
    for difference in (left.t - right.t, left.log_t - right.log_t):
        if abs(difference) > TOLERANCE:
            return difference
    return 0.0


@dataclass(frozen=True, slots=True)
class Setting:
    """What a rate depends on besides the growth curves."""

    kernel: Kernel
    dimension: int
    norm_power: NormPower = "tight"
    capacity: Capacity = "tight"

    def __post_init__(self) -> None:
        if not (isinstance(self.dimension, int) and self.dimension >= 1):
            raise ConfigurationError(
                "dimension counts the inputs, so it is an integer of at least 1, got"
                f" {self.dimension!r}"
            )
        if self.norm_power not in ("paper", "tight"):
            raise ConfigurationError(f'norm_power is "paper" or "tight", got {self.norm_power!r}')
        capacity_order(self.kernel, self.dimension, self.capacity)

    @property
    def norm_exponent(self) -> float:
        """q of B_t = b·g^(d·q)·B_0, theory.md#algorithm."""
        return 1.0 if self.norm_power == "paper" else 0.5


def capacity_order(kernel: Kernel, dimension: int, capacity: Capacity = "tight") -> Order:
    """γ_t at lengthscales θ_0/g, as printed (JMLR eqs. (12), (13)) or as tight as the module's
    proof gives it.
    """
    if capacity not in ("printed", "tight"):
        raise ConfigurationError(f'capacity is "printed" or "tight", got {capacity!r}')
    if isinstance(kernel, SquaredExponential):
        return Order(log_t=dimension + 1, g=kernel.capacity_exponent(dimension))  # JMLR eq. (12)
    if not isinstance(kernel, Matern):
        raise GuaranteeError(
            f"the information capacity of {kernel!r} is not known here, so no rate can be given:"
            " use SquaredExponential or Matern"
        )
    if capacity == "tight":
        t = dimension / (2 * kernel.nu + dimension)
        return Order(t=t, log_t=1 - t, g=kernel.capacity_exponent(dimension))  # theory.md#capacity
    if not kernel.nu > 1:
        raise GuaranteeError(
            "the printed capacity of the Matérn kernel is proved for ν > 1 only, got ν ="
            f' {kernel.nu}: take a smoother kernel, or capacity="tight", which holds for every'
            " ν > 0"
        )
    t = dimension * (dimension + 1) / (2 * kernel.nu + dimension * (dimension + 1))
    g = kernel.capacity_exponent(dimension, printed=True)
    return Order(t=t, log_t=1.0, g=g)  # JMLR eq. (13)


@dataclass(frozen=True, slots=True)
class RegretRate:
    """The two terms of the regret bound after the capture of f: B_t·√(t γ_t) and √t·γ_t."""

    norm: Order
    information: Order

    def __str__(self) -> str:
        return f"{self.norm} + {self.information}"


def regret_rate(setting: Setting) -> RegretRate:
    """Theorem 1 with the capacity substituted: the corollary, for this norm power and capacity."""
    gamma_t = capacity_order(setting.kernel, setting.dimension, setting.capacity)
    root_t = Order(t=0.5)
    norm = (
        root_t * Order(b=1, g=setting.dimension * setting.norm_exponent) * gamma_t**0.5
    )  # JMLR eq. (11)
    return RegretRate(norm, root_t * gamma_t)


def printed_corollary(kernel: Kernel, dimension: int) -> RegretRate:
    """The corollary of JMLR sec. 4 letter by letter. Its Matérn information term g^(ν+d) is a
    misprint: ``regret_rate`` has g^(2ν+d).
    """
    rate = regret_rate(Setting(kernel, dimension, "paper", "printed"))
    if isinstance(kernel, Matern):
        misprinted = Order(rate.information.t, rate.information.log_t, g=kernel.nu + dimension)
        return RegretRate(rate.norm, misprinted)
    return rate


def lengthscale_shares(weight: float | None) -> tuple[float, ...]:
    """u with g^d ~ h^u and b ~ h^(1−u) as h → ∞, for λ_w = weight; every possible one where the
    weight is not known.

    λ_w = 0: g^d = h. λ_w = ∞: b = h. Between: ε_g = 2(h−1)/((1+λ_w) + √((1+λ_w)² + 4λ_w(h−1))) ~
    √(h/λ_w), so g^d ~ √(h/λ_w) and b = 1 + λ_w·ε_g ~ √(λ_w·h): half of the exponent each, whatever
    λ_w. theory.md#split
    """
    if weight is None:
        return (0.0, 0.5, 1.0)
    if not weight >= 0:
        raise ConfigurationError(
            f"weight (λ_w) must be in [0, ∞], or None where it is not known, got {weight!r}"
        )
    return (1.0,) if weight == 0 else (0.0,) if weight == math.inf else (0.5,)


def largest_exponent(
    kernel: Kernel,
    dimension: int,
    norm_power: NormPower,
    weight: float | None = None,
    capacity: Capacity = "tight",
) -> float:
    """The supremum of a such that h(t) = t^a keeps the regret bound sublinear; ≤ 0: no a does, not
    even 0.

    Without a weight the worst split of h counts (g^d ≤ h, b ≤ h): for the squared exponential 1/3
    with the paper's norm, ½ with the tight one. A known weight in (0, ∞) gives 2/5 and ½, since
    then g^d is only of order √h.
    """
    if not isinstance(kernel, (SquaredExponential, Matern)):
        return -math.inf
    rate = regret_rate(Setting(kernel, dimension, norm_power, capacity))
    limits = [math.inf]
    for share in lengthscale_shares(weight):
        for term in (rate.norm, rate.information):
            slope = (
                term.b * (1 - share) + term.g * share / dimension
            )  # of the exponent of t in a, with g^d = h^u and b = h^(1−u)
            room = 1 - term.t
            limits.append(0.0 if room <= TOLERANCE else room / slope if slope > 0 else math.inf)
    return min(limits)


# -- growth curves as magnitudes --


@dataclass(frozen=True, slots=True)
class Sampled:
    """A magnitude by the logarithms of its values at t = exp(log_t)."""

    log_t: Array
    log_values: Array

    def __mul__(self, other: Sampled) -> Sampled:
        return Sampled(self.log_t, self.log_values + other.log_values)

    def __pow__(self, power: float) -> Sampled:
        return Sampled(self.log_t, power * self.log_values)

    def larger(self, other: Sampled) -> Sampled:
        return Sampled(self.log_t, np.maximum(self.log_values, other.log_values))

    def smaller(self, other: Sampled) -> Sampled:
        return Sampled(self.log_t, np.minimum(self.log_values, other.log_values))

    def grows(self) -> bool:
        """Whether it looks unbounded: log value at t^¼, t^½ and t of the last sample. (log log log
        t passes, 2 − 1/log t does not.)
        """
        quarter, half, last = np.interp(
            [0.25 * self.log_t[-1], 0.5 * self.log_t[-1], self.log_t[-1]],
            self.log_t,
            self.log_values,
        )
        return bool(last - half > STILL and last - half >= PERSISTENT * (half - quarter))

    def order(self) -> Order:
        """The exponents of t and log t that fit best on the upper half of log t."""
        tail = self.log_t >= 0.5 * self.log_t[-1]
        x = self.log_t[tail]
        design = np.column_stack([x, np.log(x), np.ones(len(x))])
        coefficients = np.linalg.lstsq(design, self.log_values[tail], rcond=None)[0]
        return Order(t=round(float(coefficients[0]), 6), log_t=round(float(coefficients[1]), 3))


M = TypeVar("M", Order, Sampled)


@dataclass(frozen=True, slots=True)
class Axis(Generic[M]):
    """t → ∞ in one of the two ways, and how a curve is read along it."""

    one: M
    t: M
    log_t: M
    read: Callable[[Curve], M]


def exponents(curve: Curve) -> Order | None:
    """The order of a built-in curve."""
    if isinstance(curve, ConstantGrowth):
        return Order()
    if isinstance(curve, LogGrowth):
        return Order(log_t=1.0)
    if isinstance(curve, PowerGrowth):
        return Order(t=curve.exponent)
    return None


def _read_exponents(curve: Curve) -> Order:
    order = exponents(curve)
    if order is None:
        raise ConfigurationError(f"only built-in growth curves have exponents, got {curve!r}")
    return order


SYMBOLIC: Axis[Order] = Axis(Order(), Order(t=1.0), Order(log_t=1.0), _read_exponents)


def sampled_axis(curves: Sequence[Curve]) -> Axis[Sampled]:
    """An axis as long as all of the curves can be evaluated on."""
    length = min(len(_log_samples(curve, GRID)) for curve in curves)
    if GRID[length - 1] < SHORTEST or length == 0:
        reach = f"t = {GRID[length - 1]:.3g}" if length else "the first sample"
        raise ConfigurationError(
            f"a growth curve must be finite up to t = {SHORTEST:.0e} for a numerical verdict, but"
            f" one ends at {reach}: write it so that it can be evaluated there, or use a built-in"
            " curve"
        )
    grid = GRID[:length]
    log_t = np.log(grid)

    def read(curve: Curve) -> Sampled:
        return Sampled(log_t, _log_samples(curve, grid))

    return Axis(
        Sampled(log_t, np.zeros(length)), Sampled(log_t, log_t), Sampled(log_t, np.log(log_t)), read
    )


def _log_samples(curve: Curve, grid: Array) -> Array:
    """log curve(t) along the grid, as far as it is finite."""
    values: list[float] = []
    for t in grid.tolist():
        try:
            value = float(curve(t))
        except OverflowError:
            break
        if value == math.inf:
            break
        if not value > 0:
            raise ConfigurationError(f"a growth curve must be positive, got {value!r} at t={t:.3g}")
        values.append(math.log(value))
        if len(values) > 1 and values[-1] < values[-2] - STILL:
            raise ConfigurationError(
                f"a growth curve must not fall, got {value!r} at t={t:.3g} after"
                f" {math.exp(values[-2])!r}"
            )
    return np.array(values)


def describe_curve(curve: Any) -> str:
    """A formula for a built-in curve, a name for a callable."""
    if isinstance(curve, ConstantGrowth):
        return "1"
    if isinstance(curve, LogGrowth):
        return "1 + log(1 + t)" if curve.rate == 1 else f"1 + {curve.rate:.4g}·log(1 + t)"
    if isinstance(curve, PowerGrowth):
        scale = "" if curve.scale == 1 else f"{curve.scale:.4g}·"
        return f"{scale}t^{curve.exponent:.4g}"
    return f"the callable {getattr(curve, '__name__', type(curve).__name__)}"
