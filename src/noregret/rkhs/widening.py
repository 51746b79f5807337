"""How the function class grows: growth curves of t, and the rules that decide by how much to widen.

A rule queries a ``Probe`` about a trial scaling h at this step and returns a ``Scaling``. The class
widens never, by schedule, by reference regret, by minimum uncertainty, or by a fixed factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from noregret.errors import ConfigurationError, check_one_of, check_range
from noregret.rkhs.function_class import merge, split

BUILT_IN = (
    '"constant", "log", "power" (or ConstantGrowth(), LogGrowth(rate), PowerGrowth(scale,'
    " exponent))"
)


@dataclass(frozen=True, slots=True)
class ConstantGrowth:
    """1 at all t: the class does not grow."""

    def __call__(self, t: float) -> float:
        return 1.0


@dataclass(frozen=True, slots=True)
class LogGrowth:
    """1 + rate·log(1 + t)."""

    rate: float = 1.0

    def __post_init__(self) -> None:
        check_range("the rate of LogGrowth", self.rate, "(0, ∞)")

    def __call__(self, t: float) -> float:
        return 1 + self.rate * math.log1p(t)  # theory.md#speed


@dataclass(frozen=True, slots=True)
class PowerGrowth:
    """max(1, scale·t^exponent)."""

    scale: float = 1.0
    exponent: float = 0.25

    def __post_init__(self) -> None:
        check_range("the scale of PowerGrowth", self.scale, "(0, ∞)")
        check_range("the exponent of PowerGrowth", self.exponent, "(0, ∞)")

    def __call__(self, t: float) -> float:
        try:
            return max(1.0, self.scale * t**self.exponent)
        except OverflowError:
            return math.inf


Growth = ConstantGrowth | LogGrowth | PowerGrowth
_NAMED: dict[str, Growth] = {
    "constant": ConstantGrowth(),
    "log": LogGrowth(),
    "power": PowerGrowth(),
}


def as_growth(curve: Any) -> Growth | Callable[[float], float]:
    """A growth curve from a name, a built-in value, or a callable of t, which is checked to start
    at ≥ 1 and not to fall.
    """
    if isinstance(curve, (ConstantGrowth, LogGrowth, PowerGrowth)):
        return curve
    if isinstance(curve, str):
        if curve not in _NAMED:
            raise ConfigurationError(
                f"unknown schedule {curve!r}: the built-in ones are {BUILT_IN}; any callable of t"
                " works too"
            )
        return _NAMED[curve]
    if not callable(curve):
        raise ConfigurationError(
            f"a schedule is a name, a growth value or a callable of t, got {curve!r}: the built-in"
            f" ones are {BUILT_IN}"
        )
    previous = 1.0
    for t in (*range(100), *range(100, 10_001, 100)):
        value = curve(t)
        if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 1):
            raise ConfigurationError(
                f"a schedule must be a finite number of at least 1, got {value!r} at t={t}: the"
                " class starts as given and only grows"
            )
        if value < previous:
            raise ConfigurationError(
                f"a schedule must not fall, got {value!r} at t={t} after {previous!r}: a class that"
                " shrinks may lose f again"
            )
        previous = value
    return curve


Information = Literal["ratio", "printed", "exact"]
Estimator = Literal["regret_bound", "one_step"]

BRACKET = 1.3  # step factor of the upward search for h, theory.md#reference-regret
TOLERANCE = 1e-3  # error of log h at which the bisection stops
LARGEST_HINT = "it bounds g: the first lengthscale over the shortest that f can have"
LARGEST = 1e12  # the search for h stops here even without a cap


@dataclass(frozen=True, slots=True)
class Scaling:
    """The scaling of one step; reference and estimate are the numbers a rule compared, if any."""

    h: float
    g: float
    b: float
    reference: float | None = None
    reference_scale: float | None = None
    estimate: float | None = None


class Probe(Protocol):
    """What a rule may ask about step t of a run in ``dimension`` inputs."""

    t: int
    initial: int  # points before the first decision
    dimension: int
    previous: Scaling  # of the last decision; h = g = b = 1 before the first

    def regret_bound(self, g: float, b: float, information: Information) -> float: ...
    def one_step_regret(self, g: float, b: float) -> float: ...
    def std_at_argmax(self, g: float, b: float) -> float: ...


@dataclass(frozen=True, slots=True)
class NoWidening:
    """h ≡ 1: plain GP-UCB."""

    def scaling(self, probe: Probe) -> Scaling:
        return Scaling(1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Fixed g(t) and b(t): built-in curves by name, or callables of t (in memory only)."""

    g: Any = "log"
    b: Any = "log"
    _curves: tuple[Callable[[float], float], Callable[[float], float]] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "_curves", (as_growth(self.g), as_growth(self.b)))

    def scaling(self, probe: Probe) -> Scaling:
        g, b = (float(curve(probe.t)) for curve in self._curves)
        if g < probe.previous.g or b < probe.previous.b:
            raise ConfigurationError(
                f"the schedule fell to g={g}, b={b} at t={probe.t} after g={probe.previous.g},"
                f" b={probe.previous.b}: it must not"
            )
        return Scaling(merge(g, b, probe.dimension), g, b)


@dataclass(frozen=True, slots=True)
class PowerReference:
    """p(t) = scale·t^exponent; the paper has scale=1, exponent=0.9."""

    scale: float = 1.0
    exponent: float = 0.9

    def __post_init__(self) -> None:
        check_range("the scale of a reference", self.scale, "[0, ∞)")
        check_range("the exponent of a reference", self.exponent, "(0, ∞)")

    def scale_at(self, t: int, estimate: float) -> float:
        return self.scale


@dataclass(frozen=True, slots=True)
class AnchoredReference:
    """p(t) = R̄(1)·(t/t_first)^exponent with R̄(1) the estimate at the first decision: p in the
    estimator's own units.
    """

    exponent: float = 0.9

    def __post_init__(self) -> None:
        check_range("the exponent of a reference", self.exponent, "(0, ∞)")

    def scale_at(self, t: int, estimate: float) -> float:
        return estimate / t**self.exponent


@dataclass(frozen=True, slots=True)
class ReferenceRegret:
    """h(t): as wide as keeps the regret estimate at the reference p(t). JMLR eq. (14).

    weight is λ_w, the share of the norm ball in the widening. cap and floor are growth curves of t
    that bound h; maximum bounds it for good. count_initial lets t count the initial points too.
    """

    estimator: Estimator = "one_step"
    reference: PowerReference | AnchoredReference = PowerReference()
    information: Information = "ratio"
    weight: float = 0.1
    cap: Growth | None = None
    floor: Growth | None = None
    maximum: float = math.inf
    count_initial: bool = False

    def __post_init__(self) -> None:
        check_one_of("estimator", self.estimator, get_args(Estimator))
        check_one_of("information", self.information, get_args(Information))
        if not isinstance(self.reference, (PowerReference, AnchoredReference)):
            raise ConfigurationError(
                f"reference is a PowerReference or an AnchoredReference, got {self.reference!r}"
            )
        check_range("weight (λ_w)", self.weight, "[0, ∞]")
        check_range("maximum", self.maximum, "[1, ∞]", "it bounds h")
        for name, curve in (("cap", self.cap), ("floor", self.floor)):
            if curve is not None and not isinstance(curve, Growth):
                raise ConfigurationError(
                    f"{name} is a growth value such as PowerGrowth(2, 0.3), got {curve!r}"
                )

    def scaling(self, probe: Probe) -> Scaling:
        def pair(h: float) -> tuple[float, float]:
            return split(h, self.weight, probe.dimension)

        def estimate(h: float) -> float:
            if self.estimator == "one_step":
                return probe.one_step_regret(*pair(h))
            return probe.regret_bound(*pair(h), self.information)

        previous = probe.previous
        t = probe.t + (probe.initial if self.count_initial else 0)
        current = estimate(previous.h)
        scale = previous.reference_scale
        if scale is None:
            scale = self.reference.scale_at(t, current)
        reference = scale * t**self.reference.exponent
        h, cap = previous.h, math.inf if self.cap is None else max(self.cap(t), previous.h)
        if current < reference:
            h = first_crossing(estimate, reference, h, min(self.maximum, LARGEST, cap))
        if self.floor is not None:
            h = max(h, min(self.floor(t), self.maximum))
        g, b = pair(h)
        return Scaling(h, g, b, reference, scale, estimate(h))


@dataclass(frozen=True, slots=True)
class MinimumStd:
    """The least further shrinkage with σ_t(x_{t+1}) ≥ kappa·t^−decay, in units of the prior std.

    decay=0 is Wang & de Freitas' rule as JMLR sec. 5.1 modifies it: linear regret. With decay >
    0 it is a reference regret in instantaneous form, p(t) − p(t−1) = 2β^½·kappa·t^−decay, which is
    sublinear and forgets earlier excess. largest is the largest g, θ_0 over a known lower bound on
    the lengthscales: with it the rule has a theorem, theory.md#minimum-uncertainty.
    """

    kappa: float = 0.1
    decay: float = 0.0
    largest: float = math.inf

    def __post_init__(self) -> None:
        check_range("kappa", self.kappa, "(0, 1)", "the prior std is 1")
        check_range("decay", self.decay, "[0, ∞)")
        check_range("largest", self.largest, "[1, ∞]", LARGEST_HINT)

    def scaling(self, probe: Probe) -> Scaling:
        def std(g: float) -> float:
            return probe.std_at_argmax(g, 1.0)

        g, level = probe.previous.g, self.kappa * probe.t**-self.decay
        if std(g) < level:
            g = first_crossing(std, level, g, min(LARGEST, max(self.largest, g)))
        return _shortened(probe, g, level, std(g))


@dataclass(frozen=True, slots=True)
class Shortening:
    """Shorten the lengthscales by a fixed factor whenever σ_t(x_{t+1}) < below (prior-std units).

    JMLR sec. 4.2 names the factors 2 (Wang et al. 2016) and about 1.1 (Wabersich and Toussaint
    2016), used in any number of inputs, and proposes the power 1/d: the regret bound of the squared
    exponential grows with g^d, so a step then multiplies it by the factor and not by its d-th
    power. theory.md#shortening

    Args:
        factor: by which h = g^d grows in such a step.
        below: the posterior std below which a point is considered uninformative.
        printed: g grows by the factor itself, as in both papers, and h by its d-th power.
        largest: the largest g, where a lower bound on the lengthscales is known.
    """

    factor: float = 2.0
    below: float = 0.1
    printed: bool = False
    largest: float = math.inf

    def __post_init__(self) -> None:
        check_range("factor", self.factor, "(1, ∞)", "lengthscales are divided by it")
        check_range("below", self.below, "(0, 1)", "the prior std is 1")
        check_range("largest", self.largest, "[1, ∞]", LARGEST_HINT)

    def scaling(self, probe: Probe) -> Scaling:
        g = probe.previous.g
        std = probe.std_at_argmax(g, 1.0)
        if std < self.below:
            power = 1.0 if self.printed else 1 / probe.dimension  # JMLR sec. 4.2
            g = min(g * self.factor**power, LARGEST, max(self.largest, g))
        return _shortened(probe, g, self.below, std)


def _shortened(probe: Probe, g: float, level: float, std: float) -> Scaling:
    """A scaling by lengthscales alone."""
    return Scaling(merge(g, 1.0, probe.dimension), g, 1.0, level, None, std)


def first_crossing(
    function: Callable[[float], float], level: float, start: float, upper: float
) -> float:
    """The first h > start with function(h) ≥ level, to TOLERANCE in log h; ``upper`` if there is
    none below it.

    function(start) < level. The function need not be monotone: the bracket moves up until it first
    contains a crossing.
    """
    low = high = start
    while True:
        if high >= upper:
            return upper
        low, high = high, min(high * BRACKET, upper)
        if function(high) >= level:
            break
    while math.log(high / low) > TOLERANCE * (1 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if function(middle) >= level else (middle, high)
    return high


@runtime_checkable
class Widening(Protocol):
    """The protocol of a rule that decides how wide the class is at a step."""

    def scaling(self, probe: Probe) -> Scaling: ...
