"""Checks of a strategy's settings, and the words of conditions and theorems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from noregret.errors import (
    DELTA_HINT,
    ConfigurationError,
    GuaranteeError,
    check_one_of,
    check_range,
)
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.rkhs import (
    WIDTHS,
    EvidenceClass,
    LogGrowth,
    NormPower,
    ReferenceRegret,
    Widening,
    check_spectrum,
)
from noregret.space import Array
from noregret.strategies.base import Design, check_initial_points, check_positive
from noregret.trials import History

if TYPE_CHECKING:
    from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB


def check_instance(name: str, value: object, kind: type, example: str) -> None:
    """Checks that a setting is a value of a kind, and not the class itself."""
    if isinstance(value, type) or not isinstance(value, kind):
        raise ConfigurationError(f"{name} must be a value such as {example}, got {value!r}")


def check_kernel(kernel: object) -> None:
    check_instance("kernel", kernel, Kernel, "Matern(2.5) or SquaredExponential()")


def settle_lengthscales(settings: Any) -> None:
    """Makes a tuple of several lengthscales, and checks that each is positive."""
    given = settings.lengthscales
    if np.ndim(given) > 0:
        given = tuple(float(value) for value in np.ravel(given))
        object.__setattr__(settings, "lengthscales", given)
    for value in given if isinstance(given, tuple) else (given,):
        check_positive("lengthscales", value)


def check_class(settings: Any, positive: Sequence[str]) -> None:
    """Checks the numbers that describe a function class; those in ``positive`` may not be None,
    unless they are ``noise_std`` or ``regulariser``.
    """
    for name in positive:
        if getattr(settings, name) is None and name in ("noise_bound", "norm_bound"):
            raise ConfigurationError(f"{name} must be a positive number, got None")
        check_positive(name, getattr(settings, name))
    settle_lengthscales(settings)
    if settings.offset is not None:
        check_range("offset", settings.offset, "(-∞, ∞)")


def check_adaptive(s: AdaptiveGPUCB) -> None:
    """Checks the settings of ``AdaptiveGPUCB``."""
    check_kernel(s.kernel)
    check_class(s, ("norm_bound", "noise_std", "regulariser"))
    check_range("delta", s.delta, "(0, 1)", DELTA_HINT)
    check_initial_points(s.initial_points)
    check_instance("widening", s.widening, Widening, "NoWidening() or Schedule()")
    check_one_of("norm_power", s.norm_power, get_args(NormPower))
    check_one_of("initial_design", s.initial_design, get_args(Design))
    if not isinstance(s.width, str):
        check_positive("width", s.width)
        if isinstance(s.widening, ReferenceRegret) and s.widening.maximum == math.inf:
            raise ConfigurationError(
                "with a constant width the regret estimate is bounded, so h may run away: give the"
                " widening a finite maximum"
            )
        return
    check_one_of("width", s.width, tuple(WIDTHS), ", or a number for a constant β^½")
    if s.noise_std is None:
        raise ConfigurationError(
            f"the width {s.width!r} comes from a theorem that needs noise_std; give it, or use a"
            " constant width such as 2.0"
        )
    if s.standardise:
        raise ConfigurationError(
            f"the width {s.width!r} is in the values' units, which standardise=True changes at"
            " every step: set standardise=False"
        )
    if s.width == "chowdhury_gopalan" and s.regulariser is None:
        raise ConfigurationError(
            'the width "chowdhury_gopalan" holds for λ = 1 + 2/T: pass regulariser=1 + 2/T with T'
            " the number of trials you plan"
        )


def check_proved_kernel(kernel: Kernel) -> None:
    """Checks that the rigorous strategy's theorem covers a kernel."""
    check_kernel(kernel)
    check_spectrum(kernel)
    if not isinstance(kernel, (SquaredExponential, Matern)):
        raise GuaranteeError(
            f"the information capacity of {kernel!r} is not known here, so sublinear regret"
            " cannot be promised: use SquaredExponential or Matern"
        )


def check_following(rule: EvidenceClass) -> None:
    """Checks that the curves of the class grow as the rigorous strategy's theorem needs it."""
    check_instance("following", rule, EvidenceClass, "EvidenceClass()")
    for name in ("floor", "cap", "norm_growth"):
        curve = getattr(rule, name)
        if not isinstance(curve, LogGrowth):
            raise GuaranteeError(
                f"the {name} of the class must grow without bound, or an f outside it stays outside"
                " for ever, and logarithmically, so that the regret is sublinear in every"
                f" dimension: use LogGrowth(rate), got {curve!r}"
            )


def start_lengthscales(lengthscales: float | tuple[float, ...] | None, dimension: int) -> Array:
    """θ_0 for each coordinate of the unit cube; None: its diameter √d."""
    theta = math.sqrt(dimension) if lengthscales is None else lengthscales
    if isinstance(theta, tuple) and len(theta) != dimension:
        raise ConfigurationError(
            f"lengthscales has {len(theta)} entries, but the space has {dimension} coordinates"
            f" on the unit cube: give one number or {dimension}"
        )
    return np.broadcast_to(np.asarray(theta, dtype=np.float64), (dimension,)).copy()


def needs(noise_bound: float | None, history: History, *, at_least: bool = False) -> str:
    """The conditions of a band besides its class. at_least: a told noise only raises R."""
    told = ""
    if not np.all(np.isnan(history.noise_std)):
        told = ", or where a noise was told as much as that"
        told += " if it is more" if at_least else " (known before its value, not computed from it)"
    bound = "sub-Gaussian as estimated" if noise_bound is None else f"{noise_bound:g}-sub-Gaussian"
    return (
        f"Needs noise that is {bound}{told}; trials that neither fail nor are told late or"
        " corrected because of their noise; offset and delta fixed before the data."
    )


def norm_condition(delta: float, what: str, norm_bound: float, lengthscales: Array) -> str:
    """The condition under which a band holds: the norm of ``what`` at these lengthscales."""
    theta = ", ".join(f"{value:.3g}" for value in lengthscales)
    return (
        f"with probability at least {1 - delta:g} if {what} has RKHS norm at most {norm_bound:.3g}"
        f" at lengthscales [{theta}]"
    )


def fixed_class_theorem(
    width: str, kernel: Kernel, lengthscales: float | tuple[float, ...] | None
) -> str:
    """GP-UCB on one class with a proved width: the band, and the regret where it is sublinear."""
    return f"{_fixed_band_words(width)} {_regret_words(kernel, lengthscales)}"


def horizon_theorem(width: str, horizon: int) -> str:
    """The same with λ = T^(d/(2ν+2d)) for a horizon T, under a Matérn kernel."""
    return (
        f"{_fixed_band_words(width)} The regret of the first {horizon} decisions is of the order"
        " T^((ν+2d)/(2ν+2d)) up to logarithms, sublinear for every ν (docs/theory.md#rough), with"
        " one evaluation at a time and an argmax of UCB found to precision."
    )


def _fixed_band_words(width: str) -> str:
    bound = "norm_bound·√(1 + ln t²)" if width == "srinivas" else "norm_bound"
    return (
        f"Srinivas et al. 2012 with the {width} width on one fixed class: with probability at least"
        " 1 − delta the band contains f at all times if f − offset has RKHS norm at most"
        f" {bound} at exactly these lengthscales and the noise is noise_std-sub-Gaussian."
    )


def radius_theorem(s: AdaptiveGPUCB) -> str:
    """The paper's rule with the width of one radius: the band for any class chosen by the data, and
    the regret where the class comes to hold every f slowly enough.
    """
    rule = s.widening
    band = (
        "docs/theory.md#proved-rule: with probability at least 1 − delta the band contains f at all"
        " times at which f − offset has RKHS norm at most the class's bound at its lengthscales,"
        " however the data chose them, if the noise is noise_std-sub-Gaussian."
    )
    if (
        isinstance(rule, ReferenceRegret)
        and isinstance(rule.floor, LogGrowth)
        and isinstance(rule.cap, LogGrowth)
        and rule.maximum == math.inf
        and 0 < rule.weight < math.inf
        and s.charge_estimate
    ):
        return (
            f"{band} The class holds every f with a norm at some lengthscales up to θ_0 in the end."
            f" {_regret_words(s.kernel, s.lengthscales)}"
        )
    return (
        f"{band} Of the regret nothing is claimed: that needs a ReferenceRegret with a LogGrowth as"
        " floor and as cap, a weight in (0, ∞), and charge_estimate=True."
    )


def _regret_words(kernel: Kernel, lengthscales: float | tuple[float, ...] | None) -> str:
    """Whether √T·γ_T is sublinear for a fixed λ. theory.md#cap-and-floor"""
    inputs = len(lengthscales) if isinstance(lengthscales, tuple) else None
    condition = ""
    if isinstance(kernel, Matern):
        most = math.ceil(2 * kernel.nu) - 1  # the largest d < 2ν
        if most < 1 or (inputs is not None and inputs > most):
            return (
                "Of the regret nothing is claimed: that is sublinear for a fixed regulariser only"
                f" if 2ν > d, and {kernel!r} has 2ν = {2 * kernel.nu:g}. GPUCB(horizon=T) sets one"
                " that grows (docs/theory.md#rough)."
            )
        if inputs is None:
            condition = f" in up to {most} inputs of the unit cube (2ν > d)"
    elif not isinstance(kernel, SquaredExponential):
        return (
            "Of the regret nothing is claimed: the information capacity of this kernel is not"
            " known here."
        )
    return (
        f"The cumulative regret is then sublinear{condition}, with one evaluation at a time and an"
        " argmax of UCB found to precision."
    )
