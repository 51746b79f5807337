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
from typing import Any

from noregret.errors import ConfigurationError
from noregret.gp import Matern
from noregret.rkhs import Estimator, PowerGrowth
from noregret.theory.orders import (
    TOLERANCE,
    Order,
    Setting,
    curve_order,
    describe_curve,
    largest_exponent,
    lengthscale_shares,
    regret_rate,
)

CONSTANT = Order()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the theorem promises no regret. False means: not guaranteed."""

    setting: Setting
    subject: str
    order: Order  # of the regret bound once f is captured
    sublinear: bool
    unbounded: bool  # every f, of any lengthscales and norm, is captured in the end
    reason: str

    @property
    def holds(self) -> bool:
        return self.sublinear and self.unbounded

    @property
    def rate(self) -> str:
        return str(self.order)


def check_schedule(setting: Setting, g: Any, b: Any) -> Verdict:
    """Fixed curves g(t), b(t): names or built-in values."""
    g_t, b_t = curve_order(g), curve_order(b)
    ball = b_t * g_t ** (setting.dimension * (setting.norm_exponent - 0.5))
    return _verdict(
        setting,
        f"g = {describe_curve(g)}, b = {describe_curve(b)}",
        _bound(setting, g_t, b_t),
        ball.grows(),
        g_t.grows(),
        "choose slower growth curves",
    )


def check_scaling(setting: Setting, h: Any, weight: float | None = None) -> Verdict:
    """h = g^d·b split by λ_w = weight; None: the worst split for the rate, and some weight in (0,
    ∞) for the capture.
    """
    h_t = curve_order(h)
    scalings = [(h_t, share) for share in lengthscale_shares(weight)]
    subject = f"h = {describe_curve(h)}, {_describe_weight(weight)}"
    advice = _limit_advice(setting, weight)
    return _split_verdict(setting, subject, scalings, weight, h_t.grows(), advice)


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
    p_t = curve_order(p)
    upper, lower = (None if curve is None else curve_order(curve) for curve in (cap, floor))
    matched = CONSTANT.larger(p_t * Order(t=-0.5, log_t=-0.5))  # b·g^(d·q), see the module's text
    scalings = []
    for share in lengthscale_shares(weight):
        # g^d = h^u and b = h^(1−u)
        h_t = matched ** (1 / (1 - share + share * setting.norm_exponent))
        if upper is not None:
            h_t = upper if estimator == "one_step" else h_t.smaller(upper)
        scalings.append((h_t if lower is None else h_t.larger(lower), share))
    fixed = regret_rate(setting).information.along(CONSTANT, CONSTANT)
    forced = (p_t * fixed**-1).grows() and (upper is None or upper.grows())
    lifted = lower is not None and lower.grows()
    bounds = [
        f"{name} {describe_curve(curve)}"
        for name, curve in (("cap", cap), ("floor", floor))
        if curve is not None
    ]
    parts = [f"p = {describe_curve(p)}", _describe_weight(weight), *bounds]
    uncapped = upper is None and estimator == "one_step"
    return _split_verdict(
        setting,
        ", ".join([*parts, f"estimator {estimator}"]),
        scalings,
        weight,
        forced or lifted,
        f"give h a cap: {_limit_advice(setting, weight)}",
        _reference_reason(p, fixed, forced, lifted) + (UNCAPPED if uncapped else ""),
        Order(t=1.0) if uncapped else None,
    )


UNCAPPED = (
    "Between the steps at which h is widened, the one-step estimate may leave p behind, and nothing"
    " bounds h itself: only the trivial regret 2·B·t is certain without a cap. "
)


def _bound(setting: Setting, g: Order, b: Order) -> Order:
    """√t·B_t·√γ_t + √t·γ_t. The second term is the larger one for a fixed class."""
    rate = regret_rate(setting)
    return rate.norm.along(g, b).larger(rate.information.along(g, b))


def _split_verdict(
    setting: Setting,
    subject: str,
    scalings: Sequence[tuple[Order, float]],
    weight: float | None,
    h_grows: bool,
    advice: str,
    reason: str = "",
    order: Order | None = None,
) -> Verdict:
    """The verdict for h split by shares: the worst one for the rate, unless its order is given."""
    worst = CONSTANT
    for h, share in scalings:
        worst = worst.larger(_bound(setting, h ** (share / setting.dimension), h ** (1 - share)))
    share = 0.5 if weight is None else scalings[0][1]
    ball = h_grows and (1 - share) + share * (setting.norm_exponent - 0.5) > 0
    order = worst if order is None else order
    return _verdict(setting, subject, order, ball, h_grows and share > 0, advice, reason, h_grows)


def _verdict(
    setting: Setting,
    subject: str,
    order: Order,
    ball_grows: bool,
    g_grows: bool,
    advice: str,
    reason: str = "",
    h_grows: bool = True,
) -> Verdict:
    """ball_grows: b·g^(d(q−½)) → ∞. h_grows: h itself is known to grow."""
    sublinear = (order**-1 * Order(t=1.0)).grows()
    unbounded = ball_grows and (g_grows or isinstance(setting.kernel, Matern))
    reason += _rate_reason(setting, order, sublinear, advice)
    reason += _capture_reason(setting, ball_grows, g_grows, h_grows)
    return Verdict(setting, subject, order, sublinear, unbounded, reason.strip())


def _rate_reason(setting: Setting, order: Order, sublinear: bool, advice: str) -> str:
    if sublinear:
        return f"The regret bound grows like {order}, slower than t. "
    fixed = regret_rate(setting).information.along(CONSTANT, CONSTANT)
    if not fixed.t < 1 - TOLERANCE:
        return (
            f"The regret bound of {setting.kernel!r} in {setting.dimension} dimensions grows like"
            f" {fixed} even if the class never grows, with a fixed regulariser: take a smoother"
            f" kernel{', or capacity tight' if setting.capacity == 'printed' else ' (2ν > d)'}, or"
            " one fixed class with a regulariser that grows (theory.md#rough). "
        )
    return f"The regret bound is of order {order}, not slower than t: {advice}. "


def _capture_reason(setting: Setting, ball_grows: bool, g_grows: bool, h_grows: bool) -> str:
    if not h_grows:
        return (
            "Nothing makes h grow without bound, so an f outside the class may stay outside for"
            " ever: give h a growing floor. "
        )
    matern = isinstance(setting.kernel, Matern)
    if not (g_grows or matern):
        return (
            "g stays bounded, so an f with shorter lengthscales stays outside for ever: let g grow"
            " (a weight λ_w below ∞). "
        )
    if not ball_grows:
        power = (
            "g^(d/2) only pays for the norm that f gains as lengthscales shrink"
            if setting.norm_power == "tight"
            else "neither b nor g grows"
        )
        return (
            f"The norm ball never outgrows a larger f ({power}): let b grow (a weight λ_w above"
            " 0). "
        )
    if not g_grows:
        return (
            "The class captures every f: g stays bounded, but Matérn spaces of all lengthscales are"
            " one space, and the norm ball grows. "
        )
    return "The class captures every f in the end. "


def _reference_reason(p: Any, fixed: Order, forced: bool, lifted: bool) -> str:
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
    return f"h must stay below t^{limit:.4g}" if limit > 0 else only_with_horizon(setting)


def only_with_horizon(setting: Setting) -> str:
    """What to do where no growth is slow enough at a fixed λ: Matérn with 2ν ≤ d, or an upper bound
    on the capacity that is too large. docs/theory.md#rough
    """
    text = "no growth is slow enough at a fixed λ"
    if not isinstance(setting.kernel, Matern):
        return text
    nu, d = setting.kernel.nu, setting.dimension
    share = d / (2 * nu + 2 * d)
    return (
        f"{text}; with λ = T^{share:.4g} logarithmic growth is: regret of order T^{0.5 + share:.4g}"
    )


def _as_reference(reference: Any) -> Any:
    if isinstance(reference, (int, float)) and not isinstance(reference, bool):
        if not 0 < reference < math.inf:
            raise ConfigurationError(
                f"a reference p(t) = c·t^a needs an exponent a > 0, got {reference!r}"
            )
        return PowerGrowth(1.0, float(reference))
    if isinstance(reference, str) or not callable(reference):
        raise ConfigurationError(
            f"a reference is the exponent a of p(t) = c·t^a, or a curve of t, got {reference!r}"
        )
    return reference


def _describe_weight(weight: float | None) -> str:
    return "any weight λ_w" if weight is None else f"λ_w = {weight:g}".replace("inf", "∞")
