"""Is a widening slow enough for sublinear regret, and does it capture every f in the end? The
theorem needs both. theory.md#speed

**Slow enough**: the bound √(t β_t γ_t) is o(t).

**Captures every f**, of any lengthscales and any norm: ``bounds.norm_inflation`` gives the
condition b·g^(d(q−½)) → ∞, and g → ∞ as well for the squared exponential. So b may stay 1 with the
paper's norm power (g^d outgrows the g^(d/2) that the lemma asks for), never with the tight one; and
Matérn classes need no growing g, their spaces being the same for all lengthscales.

**Reference regret** p(t). Where h is widened by matching, the estimate is p, to the 1e-3 of the
bisection; where h is kept, the estimate may exceed p. What follows without a cap, for the
regret-bound estimator: t observations hold at least ½ log(1 + t/λ) nats (the eigenvalues of K sum
to t, and Σ log(1 + μ/λ) is least when one of them has it all), and β^½ ≥ B_t, so widening to h at t
implies b·g^(d·q) ≤ C·p(t)/√(t log t). Matching is a cap by itself. For the one-step estimator
nothing but a cap bounds h.

And h → ∞ by matching alone if p outgrows √t·γ_t of every fixed class: were h bounded, the estimate
would be of that order at most, hence below p, and h would be widened until it is p. (The one-step
sum runs over kernels θ_j ↓ θ_∞; as kernels k_θj ≤ C·k_θ∞ with C = ∏θ_j/θ_∞, so σ²_θj ≤ C·σ²_θ∞ at
regulariser λ/C, and the sum is of the order of one kernel's.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from noregret.errors import ConfigurationError
from noregret.gp import Matern
from noregret.rkhs import PowerGrowth, as_growth
from noregret.theory.orders import (
    SYMBOLIC,
    TOLERANCE,
    Axis,
    Curve,
    M,
    Order,
    Sampled,
    Setting,
    describe_curve,
    exponents,
    largest_exponent,
    lengthscale_shares,
    regret_rate,
    sampled_axis,
)

Estimator = Literal["regret_bound", "one_step"]
MARGIN = 1e-3  # a fitted exponent must stay below 1 by this much


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the theorem promises no regret. False means: not guaranteed."""

    setting: Setting
    subject: str
    order: Order  # of the regret bound once f is captured
    sublinear: bool
    unbounded: bool  # every f, of any lengthscales and norm, is captured in the end
    proved: bool  # from exponents; otherwise from samples of a callable
    reason: str

    @property
    def holds(self) -> bool:
        return self.sublinear and self.unbounded

    @property
    def rate(self) -> str:
        return str(self.order) if self.proved else f"≈ {self.order}"


def check_schedule(setting: Setting, g: Any, b: Any) -> Verdict:
    """Fixed curves g(t), b(t): names, built-in values or callables."""
    curves = as_growth(g), as_growth(b)

    def check(axis: Axis[M]) -> _Findings:
        g_t, b_t = (axis.read(curve) for curve in curves)
        order = _largest(_terms(setting, axis, g_t, b_t))
        ball, lengthscales = _ball_grows(setting, g_t, b_t), g_t.grows()
        return _Findings(order, ball, lengthscales, "")

    subject = f"g = {describe_curve(curves[0])}, b = {describe_curve(curves[1])}"
    advice = "choose slower growth curves"
    return _verdict(setting, subject, curves, check, advice)


def check_scaling(setting: Setting, h: Any, weight: float | None = None) -> Verdict:
    """h = g^d·b split by λ_w = weight; None: the worst split for the rate, and some weight in (0,
    ∞) for the capture.
    """
    curve = as_growth(h)
    shares = lengthscale_shares(weight)

    def check(axis: Axis[M]) -> _Findings:
        return _scaled(
            setting,
            axis,
            [(axis.read(curve), share) for share in shares],
            weight,
            axis.read(curve).grows(),
            "",
        )

    subject = f"h = {describe_curve(curve)}, {_describe_weight(weight)}"
    return _verdict(setting, subject, (curve,), check, _limit_advice(setting, weight))


def check_reference(
    setting: Setting,
    reference: Any,
    weight: float | None = None,
    cap: Any = None,
    floor: Any = None,
    estimator: Estimator = "regret_bound",
) -> Verdict:
    """h matched to a reference regret p(t): the exponent a of p = c·t^a, or a curve. cap and floor
    bound h, theory.md#cap-and-floor.
    """
    if estimator not in ("regret_bound", "one_step"):
        raise ConfigurationError(f'estimator is "regret_bound" or "one_step", got {estimator!r}')
    p = _as_reference(reference)
    upper, lower = (None if curve is None else as_growth(curve) for curve in (cap, floor))
    shares = lengthscale_shares(weight)
    q = setting.norm_exponent

    def check(axis: Axis[M]) -> _Findings:
        p_t = axis.read(p)
        matched = axis.one.larger(
            p_t * axis.t**-0.5 * axis.log_t**-0.5
        )  # b·g^(d·q), see the module's text
        scalings = []
        for share in shares:
            h = matched ** (1 / (1 - share + share * q))  # g^d = h^u and b = h^(1−u)
            if upper is not None:
                h = axis.read(upper) if estimator == "one_step" else h.smaller(axis.read(upper))
            if lower is not None:
                h = h.larger(axis.read(lower))
            scalings.append((h, share))
        fixed = _terms(setting, axis, axis.one, axis.one)[1]
        forced = (p_t * fixed**-1).grows() and (upper is None or axis.read(upper).grows())
        lifted = lower is not None and axis.read(lower).grows()
        reason = _reference_reason(p, fixed.order(), forced, lifted)
        if upper is None and estimator == "one_step":
            findings = _scaled(setting, axis, scalings, weight, forced or lifted, reason)
            return _Findings(
                Order(t=1.0),
                findings.ball,
                findings.lengthscales,
                reason + UNCAPPED,
                findings.stuck,
            )
        return _scaled(setting, axis, scalings, weight, forced or lifted, reason)

    bounds = [
        f"{name} {describe_curve(curve)}"
        for name, curve in (("cap", upper), ("floor", lower))
        if curve is not None
    ]
    subject = ", ".join(
        [f"p = {describe_curve(p)}", _describe_weight(weight), *bounds, f"estimator {estimator}"]
    )
    curves = [curve for curve in (p, upper, lower) if curve is not None]
    return _verdict(
        setting, subject, curves, check, f"give h a cap: {_limit_advice(setting, weight)}"
    )


UNCAPPED = (
    "Between the steps at which h is widened, the one-step estimate may leave p behind, and nothing"
    " bounds h itself: only the trivial regret 2·B·t is certain without a cap. "
)


@dataclass(frozen=True, slots=True)
class _Findings:
    order: Order
    ball: bool  # b·g^(d(q−½)) → ∞
    lengthscales: bool  # g → ∞
    reason: str
    stuck: bool = False  # h itself is not known to grow


class _Check(Protocol):
    """A check that reads exponents and samples alike."""

    def __call__(self, axis: Axis[M]) -> _Findings: ...


def _terms(setting: Setting, axis: Axis[M], g: M, b: M) -> tuple[M, M]:
    """√t·B_t·√γ_t and √t·γ_t along an axis. The second is the larger one for a fixed class."""

    def term(order: Order) -> M:
        return axis.t**order.t * axis.log_t**order.log_t * g**order.g * b**order.b

    rate = regret_rate(setting)
    return term(rate.norm), term(rate.information)


def _largest(terms: Sequence[M]) -> Order:
    """The order of a sum. Terms are fitted one by one: their maximum has a kink, which no fit
    survives.
    """
    largest = terms[0].order()
    for term in terms[1:]:
        largest = largest.larger(term.order())
    return largest


def _ball_grows(setting: Setting, g: M, b: M) -> bool:
    return (b * g ** (setting.dimension * (setting.norm_exponent - 0.5))).grows()


def _scaled(
    setting: Setting,
    axis: Axis[M],
    scalings: Sequence[tuple[M, float]],
    weight: float | None,
    grows: bool,
    reason: str,
) -> _Findings:
    """Findings for h split by shares: the worst one for the rate."""
    terms = [
        term
        for h, share in scalings
        for term in _terms(setting, axis, h ** (share / setting.dimension), h ** (1 - share))
    ]
    share = 0.5 if weight is None else scalings[0][1]
    ball = grows and (1 - share) + share * (setting.norm_exponent - 0.5) > 0
    return _Findings(_largest(terms), ball, grows and share > 0, reason, not grows)


def _verdict(
    setting: Setting,
    subject: str,
    curves: Sequence[Curve],
    check: _Check,
    advice: str,
) -> Verdict:
    proved = all(exponents(curve) is not None for curve in curves)
    if proved:
        found, evidence = check(SYMBOLIC), ""
    else:
        axis = sampled_axis(curves)
        found, evidence = check(axis), _evidence(axis)
    margin = TOLERANCE if proved else MARGIN
    below = found.order.t < 1 - margin
    at_one = proved and abs(found.order.t - 1) <= margin and found.order.log_t < -TOLERANCE
    sublinear = below or at_one
    unbounded = found.ball and (found.lengthscales or isinstance(setting.kernel, Matern))
    reason = (
        evidence
        + found.reason
        + _rate_reason(setting, found.order, sublinear, advice)
        + _capture_reason(setting, found)
    )
    return Verdict(setting, subject, found.order, sublinear, unbounded, proved, reason.strip())


def _evidence(axis: Axis[Sampled]) -> str:
    return (
        "This is numerical evidence, not a proof: exponents were fitted to values of the curves up"
        f" to t = 1e{axis.t.log_t[-1] / math.log(10):.0f}, and nothing is known beyond. "
    )


def _rate_reason(setting: Setting, order: Order, sublinear: bool, advice: str) -> str:
    if sublinear:
        return f"The regret bound grows like {order}, slower than t. "
    fixed = _terms(setting, SYMBOLIC, Order(), Order())[1]
    if not fixed.t < 1 - TOLERANCE:
        return (
            f"The regret bound of {setting.kernel!r} in {setting.dimension} dimensions grows like"
            f" {fixed} even if the class never grows, with a fixed regulariser: take a smoother"
            f" kernel{', or capacity tight' if setting.capacity == 'printed' else ' (2ν > d)'}, or"
            " one fixed class with a regulariser that grows (theory.md#rough). "
        )
    return f"The regret bound is of order {order}, not slower than t: {advice}. "


def _capture_reason(setting: Setting, found: _Findings) -> str:
    if found.stuck:
        return (
            "Nothing makes h grow without bound, so an f outside the class may stay outside for"
            " ever: give h a growing floor. "
        )
    matern = isinstance(setting.kernel, Matern)
    if not (found.lengthscales or matern):
        return (
            "g stays bounded, so an f with shorter lengthscales stays outside for ever: let g grow"
            " (a weight λ_w below ∞). "
        )
    if not found.ball:
        power = (
            "g^(d/2) only pays for the norm that f gains as lengthscales shrink"
            if setting.norm_power == "tight"
            else "neither b nor g grows"
        )
        return (
            f"The norm ball never outgrows a larger f ({power}): let b grow (a weight λ_w above"
            " 0). "
        )
    if not found.lengthscales:
        return (
            "The class captures every f: g stays bounded, but Matérn spaces of all lengthscales are"
            " one space, and the norm ball grows. "
        )
    return "The class captures every f in the end. "


def _reference_reason(p: Curve, fixed: Order, forced: bool, lifted: bool) -> str:
    text = (
        "Where h is widened by matching, the regret estimate is p(t) (with exact information it is"
        " the theorem's own bound); in between it may exceed p. "
    )
    if forced:
        return (
            text
            + f"p outgrows the bound {fixed} of every fixed class, so matching alone makes h grow"
            " without bound. "
        )
    floor = ", but the floor makes h grow all the same. " if lifted else ": h may never grow. "
    return (
        text + f"p = {describe_curve(p)} does not outgrow the bound {fixed} of a fixed class{floor}"
    )


def _limit_advice(setting: Setting, weight: float | None) -> str:
    limit = largest_exponent(
        setting.kernel, setting.dimension, setting.norm_power, weight, setting.capacity
    )
    return f"h must stay below t^{limit:.4g}" if limit > 0 else "no growth of h is slow enough"


def _as_reference(reference: Any) -> Curve:
    if isinstance(reference, (int, float)) and not isinstance(reference, bool):
        if not 0 < reference < math.inf:
            raise ConfigurationError(
                f"a reference p(t) = c·t^a needs an exponent a > 0, got {reference!r}"
            )
        return PowerGrowth(1.0, float(reference))
    if not callable(reference):
        raise ConfigurationError(
            f"a reference is the exponent a of p(t) = c·t^a, or a curve of t, got {reference!r}"
        )
    return reference


def _describe_weight(weight: float | None) -> str:
    return "any weight λ_w" if weight is None else f"λ_w = {weight:g}".replace("inf", "∞")
