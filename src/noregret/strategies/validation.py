"""What a strategy's settings must satisfy: to make sense at all, and to keep the theorem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.errors import ConfigurationError, GuaranteeError
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.rkhs import EvidenceClass, Ladder, LogGrowth, ReferenceRegret, Widening
from noregret.space import Array
from noregret.strategies.base import check_initial_points
from noregret.trials import History

if TYPE_CHECKING:
    from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
    from noregret.strategies.rigorous import RadiusGPUCB

WIDTHS = ("paper", "abbasi_yadkori", "chowdhury_gopalan", "mixture")


def check_positive(name: str, value: float | None) -> None:
    if value is not None and not (
        isinstance(value, (int, float, np.floating))
        and not isinstance(value, bool)
        and 0 < value < math.inf
    ):
        hint = (
            ": with exact observations the width is undefined; pass a small value such as 1e-3 ×"
            " the range of y"
            if name in ("noise_std", "noise_bound")
            else ""
        )
        raise ConfigurationError(f"{name} must be positive and finite, got {value!r}{hint}")


def check_noise_std(value: float | None) -> None:
    """ConfigurationError unless it is None, 0 for exact values, or positive."""
    if not (isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0):
        check_positive("noise_std", value)


def settle_lengthscales(settings: Any) -> None:
    """Makes a tuple of several lengthscales, and checks that each is positive."""
    given = settings.lengthscales
    if np.ndim(given) > 0:
        given = tuple(float(value) for value in np.ravel(given))
        object.__setattr__(settings, "lengthscales", given)
    for value in given if isinstance(given, tuple) else (given,):
        check_positive("lengthscales", value)


def check_one_of(name: str, value: Any, choices: Sequence[str], more: str = "") -> None:
    if value not in choices:
        raise ConfigurationError(f"{name} is one of {', '.join(choices)}{more}, got {value!r}")


def check_kernel(kernel: Any) -> None:
    if isinstance(kernel, type) or not isinstance(kernel, Kernel):
        raise ConfigurationError(
            f"kernel must be a kernel value such as Matern(2.5) or SquaredExponential(), got"
            f" {kernel!r}"
        )


def check_common(s: AdaptiveGPUCB | RadiusGPUCB, positive: Sequence[str]) -> None:
    if not isinstance(s.kernel, Ladder):
        check_kernel(s.kernel)
    for name in positive:
        check_positive(name, getattr(s, name))
    if s.norm_bound is None:
        raise ConfigurationError("norm_bound must be a positive number, got None")
    settle_lengthscales(s)
    if not 0 < s.delta < 1:
        raise ConfigurationError(
            f"delta is a failure probability in (0, 1), got {s.delta!r}: 0.1 means that the band"
            " holds with probability 0.9"
        )
    if not math.isfinite(s.offset):
        raise ConfigurationError(f"offset must be finite, got {s.offset!r}")
    check_initial_points(s.initial_points)


def check_settings(s: AdaptiveGPUCB) -> None:
    check_common(s, ("norm_bound", "noise_std", "regulariser"))
    if isinstance(s.width, str):
        check_one_of("width", s.width, WIDTHS, ", or a number for a constant β^½")
        if s.noise_std is None:
            raise ConfigurationError(
                f"the width {s.width!r} comes from a theorem that needs noise_std; give it, or use"
                " a constant width such as 2.0"
            )
        if s.standardise:
            raise ConfigurationError(
                f"the width {s.width!r} is in the values' units, which standardise=True changes at"
                " every step: set standardise=False"
            )
        if s.width == "chowdhury_gopalan" and s.regulariser is None:
            raise ConfigurationError(
                'the width "chowdhury_gopalan" holds for λ = 1 + 2/T: pass regulariser=1 + 2/T with'
                " T the number of trials you plan"
            )
    else:
        check_positive("width", s.width)
        if isinstance(s.widening, ReferenceRegret) and s.widening.maximum == math.inf:
            raise ConfigurationError(
                "with a constant width the regret estimate is bounded, so h may run away: give the"
                " widening a finite maximum"
            )
    if isinstance(s.widening, type) or not isinstance(s.widening, Widening):
        raise ConfigurationError(
            f"widening must be a rule such as NoWidening() or Schedule(), got {s.widening!r}"
        )
    check_one_of("norm_power", s.norm_power, ("paper", "tight"))
    check_one_of("initial_design", s.initial_design, ("uniform", "spread"))


def check_proved_kernel(kernel: Kernel) -> None:
    if not getattr(kernel, "decreasing_spectrum", False):
        raise GuaranteeError(
            f"{kernel!r} does not declare a spectral density that falls in each frequency"
            " (decreasing_spectrum): the norm of f may then grow without bound as lengthscales"
            " shrink, and the theorem fails. Use SquaredExponential or Matern."
        )
    if not isinstance(kernel, (SquaredExponential, Matern)):
        raise GuaranteeError(
            f"the information capacity of {kernel!r} is not known here, so sublinear regret"
            " cannot be promised: use SquaredExponential or Matern"
        )


def check_following(rule: Any) -> None:
    if not isinstance(rule, EvidenceClass):
        raise ConfigurationError(f"following must be a value such as EvidenceClass(), got {rule!r}")
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
    """What a band needs besides its class, in words. at_least: a told noise only raises R."""
    told = ""
    if not np.all(np.isnan(history.noise_std)):
        told = ", or where a noise was told as much as that"
        told += " if it is more" if at_least else " (known before its value, not computed from it)"
    bound = "sub-Gaussian as estimated" if noise_bound is None else f"{noise_bound:g}-sub-Gaussian"
    return (
        f"Needs noise that is {bound}{told}; trials that neither fail nor are told late or"
        " corrected because of their noise; offset and delta fixed before the data."
    )


def fixed_class_theorem(
    width: str, kernel: Kernel, lengthscales: float | tuple[float, ...] | None
) -> str:
    """GP-UCB on one class with a proved width: the band, and the regret where it is sublinear."""
    return (
        f"Srinivas et al. 2012 with the {width} width on one fixed class: with probability at least"
        " 1 − delta the band contains f at all times if f − offset has RKHS norm at most norm_bound"
        " at exactly these lengthscales and the noise is noise_std-sub-Gaussian."
        f" {_regret_words(kernel, lengthscales)}"
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
                f" if 2ν > d, and {kernel!r} has 2ν = {2 * kernel.nu:g} (docs/theory.md#rough)."
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


@dataclass(frozen=True, slots=True)
class Assumed:
    """What ``RadiusGPUCB`` assumes of an outcome, in its units and fixed before the data.

    Args:
        noise_bound: R; the noise is R-sub-Gaussian. A larger one told with a measurement counts for
            that measurement.
        norm_bound: B_0, where the norm ball starts.
        lengthscales: θ_0 on the unit cube; None: √d, its diameter.
        offset: A fixed prior mean; None: the limit.

    Raises:
        ConfigurationError: A number is not positive, or the offset is not finite.
    """

    noise_bound: float
    norm_bound: float = 1.0
    lengthscales: float | tuple[float, ...] | None = None
    offset: float | None = None

    def __post_init__(self) -> None:
        if self.noise_bound is None or self.norm_bound is None:
            raise ConfigurationError("noise_bound and norm_bound must be positive numbers")
        for name in ("noise_bound", "norm_bound"):
            check_positive(name, getattr(self, name))
        settle_lengthscales(self)
        if self.offset is not None and not math.isfinite(self.offset):
            raise ConfigurationError(f"offset must be finite, got {self.offset!r}")
