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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from noregret.errors import ConfigurationError, GuaranteeError, check_one_of, check_range
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.rkhs import ConstantGrowth, LogGrowth, NormPower, PowerGrowth, as_growth
from noregret.rkhs.confidence import horizon_exponent

Capacity = Literal["printed", "tight"]
TOLERANCE = 1e-12  # exponents closer than this are equal: 1/3 is not a float


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

    def along(self, g: Order, b: Order) -> Order:
        """The same in t and log t only, given the orders of the curves g and b."""
        return Order(self.t, self.log_t) * g**self.g * b**self.b

    def __str__(self) -> str:
        powers = {"b": self.b, "g": self.g, "t": self.t, "log t": self.log_t}
        factors = [_factor(*each) for each in powers.items()]
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
        check_range("dimension", self.dimension, "[1, ∞)", "it counts the inputs", whole=True)
        check_one_of("norm_power", self.norm_power, get_args(NormPower))
        capacity_order(self.kernel, self.dimension, self.capacity)

    @property
    def norm_exponent(self) -> float:
        """q of B_t = b·g^(d·q)·B_0, theory.md#algorithm."""
        return 1.0 if self.norm_power == "paper" else 0.5


def capacity_order(kernel: Kernel, dimension: int, capacity: Capacity = "tight") -> Order:
    """γ_t at lengthscales θ_0/g, as printed (JMLR eqs. (12), (13)) or as tight as the module's
    proof gives it.
    """
    check_one_of("capacity", capacity, get_args(Capacity))
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
    root_t, ball = Order(t=0.5), Order(b=1, g=setting.dimension * setting.norm_exponent)
    norm = root_t * ball * gamma_t**0.5  # JMLR eq. (11)
    return RegretRate(norm, root_t * gamma_t)


def horizon_rate(kernel: Matern, dimension: int) -> Order:
    """The regret of GP-UCB on one fixed class with λ = T^(d/(2ν+2d)) for a horizon T, up to
    logarithms: sublinear for every ν. theory.md#rough
    """
    return Order(t=0.5 + horizon_exponent(kernel.nu, dimension))


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
    check_range("weight (λ_w)", weight, "[0, ∞]", "or None where it is not known")
    return (1.0,) if weight == 0 else (0.0,) if weight == math.inf else (0.5,)


def largest_exponent(setting: Setting, weight: float | None = None) -> float:
    """The supremum of a such that h(t) = t^a keeps the regret bound sublinear; ≤ 0: no a does, not
    even 0.

    Without a weight the worst split of h counts (g^d ≤ h, b ≤ h): for the squared exponential 1/3
    with the paper's norm, ½ with the tight one. A known weight in (0, ∞) gives 2/5 and ½, since
    then g^d is only of order √h.
    """
    rate = regret_rate(setting)
    limits = [math.inf]
    for share in lengthscale_shares(weight):
        for term in (rate.norm, rate.information):
            # how the exponent of t rises with a, with g^d = h^u and b = h^(1−u)
            slope = term.b * (1 - share) + term.g * share / setting.dimension
            room = 1 - term.t
            limits.append(0.0 if room <= TOLERANCE else room / slope if slope > 0 else math.inf)
    return min(limits)


# -- growth curves --


def curve_order(curve: Any) -> Order:
    """The order of a growth curve: one by name, or a built-in value."""
    order = _curve(curve)[0]
    if order is None:
        raise ConfigurationError(
            "rates follow from a curve's exponents, which only built-in curves have, got"
            f" {curve!r}:"
            ' take "constant", LogGrowth(rate) or PowerGrowth(scale, exponent)'
        )
    return order


def describe_curve(curve: Any) -> str:
    """A formula for a built-in curve, a name for a callable."""
    return _curve(curve)[1]


def _curve(curve: Any) -> tuple[Order | None, str]:
    growth = as_growth(curve)
    if isinstance(growth, ConstantGrowth):
        return Order(), "1"
    if isinstance(growth, LogGrowth):
        rate = "" if growth.rate == 1 else f"{growth.rate:.4g}·"
        return Order(log_t=1.0), f"1 + {rate}log(1 + t)"
    if isinstance(growth, PowerGrowth):
        scale = "" if growth.scale == 1 else f"{growth.scale:.4g}·"
        return Order(t=growth.exponent), f"{scale}t^{growth.exponent:.4g}"
    return None, f"the callable {getattr(growth, '__name__', type(growth).__name__)}"
