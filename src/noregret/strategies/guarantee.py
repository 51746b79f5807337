"""What a strategy's settings must satisfy: to make sense at all, and to keep the theorem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.classes import (
    ConstantGrowth,
    LogGrowth,
    PowerGrowth,
    ReferenceRegret,
    Schedule,
    Widening,
)
from noregret.errors import ConfigurationError, GuaranteeError
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.strategies.strategy import check_initial_points
from noregret.theory import largest_exponent

if TYPE_CHECKING:
    from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB

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
            if name == "noise_std"
            else ""
        )
        raise ConfigurationError(f"{name} must be positive and finite, got {value!r}{hint}")


def check_kernel(kernel: Any) -> None:
    if isinstance(kernel, type) or not isinstance(kernel, Kernel):
        raise ConfigurationError(
            f"kernel must be a kernel value such as Matern(2.5) or SquaredExponential(), got"
            f" {kernel!r}"
        )


def check_settings(s: AdaptiveGPUCB) -> None:
    check_kernel(s.kernel)
    for name in ("norm_bound", "noise_std", "regulariser"):
        check_positive(name, getattr(s, name))
    if s.norm_bound is None:
        raise ConfigurationError("norm_bound must be a positive number, got None")
    for value in s.lengthscales if isinstance(s.lengthscales, Sequence) else [s.lengthscales]:
        check_positive("lengthscales", value)
    if not 0 < s.delta < 1:
        raise ConfigurationError(
            f"delta is a failure probability in (0, 1), got {s.delta!r}: 0.1 means that the band"
            " holds with probability 0.9"
        )
    if isinstance(s.width, str):
        if s.width not in WIDTHS:
            raise ConfigurationError(
                f"width is one of {', '.join(WIDTHS)}, or a number for a constant β^½, got"
                f" {s.width!r}"
            )
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
    if s.norm_power not in ("paper", "tight"):
        raise ConfigurationError(f'norm_power is "paper" or "tight", got {s.norm_power!r}')
    if s.initial_design not in ("uniform", "spread"):
        raise ConfigurationError(
            f'initial_design is "uniform" or "spread", got {s.initial_design!r}'
        )
    if not math.isfinite(s.offset):
        raise ConfigurationError(f"offset must be finite, got {s.offset!r}")
    check_initial_points(s.initial_points)


def check_guarantee(s: AdaptiveGPUCB) -> None:
    check_kernel(s.kernel)
    if not getattr(s.kernel, "decreasing_spectrum", False):
        raise GuaranteeError(
            f"{s.kernel!r} does not declare a spectral density that falls in each frequency"
            " (decreasing_spectrum): the norm of f may then grow without bound as lengthscales"
            " shrink, and the theorem fails. Use SquaredExponential or Matern."
        )
    if not isinstance(s.kernel, (SquaredExponential, Matern)):
        raise GuaranteeError(
            f"the information capacity of {s.kernel!r} is not known here, so sublinear regret"
            " cannot be promised: use SquaredExponential or Matern"
        )
    if s.standardise:
        raise GuaranteeError(
            "standardise=True changes the units of norm_bound and noise_std at every step: set"
            " standardise=False, and offset= for a fixed prior mean"
        )
    if s.width not in ("mixture", "abbasi_yadkori"):
        raise GuaranteeError(
            f'width {s.width!r} is not a proved bound for these settings: use "mixture" (tighter)'
            ' or "abbasi_yadkori"'
        )
    if s.estimation is not None and s.estimation.ceiling > 1:
        raise GuaranteeError(
            "lengthscales above θ_0 make the class smaller than the one that f is assumed to be in:"
            " leave MAP's ceiling at 1"
        )
    if not s.charge_estimate:
        raise GuaranteeError(
            "estimated lengthscales shorten the class too, and the norm of f grows with that: set"
            " charge_estimate=True"
        )
    w = s.widening
    if isinstance(w, ReferenceRegret):
        if w.weight == 0 and s.norm_power == "tight":
            raise GuaranteeError(
                "weight λ_w = 0 with the tight norm power never grows the norm ball, so an f with a"
                " larger norm stays outside for ever: use weight > 0"
            )
        if w.weight == math.inf:
            raise GuaranteeError(
                "weight λ_w = ∞ never shortens the lengthscales, so a rougher f stays outside for"
                " ever: use a finite weight"
            )
        if w.cap is None or w.floor is None or isinstance(w.floor, ConstantGrowth):
            raise GuaranteeError(
                "reference regret needs a cap, which keeps the regret sublinear, and a growing"
                " floor, which captures f in the end: e.g. cap=PowerGrowth(2, 0.4),"
                " floor=LogGrowth(0.1)"
            )
        if w.maximum < math.inf:
            raise GuaranteeError(
                f"maximum={w.maximum} stops the widening for good, so f may stay outside for ever:"
                " leave it at infinity"
            )
    elif isinstance(w, Schedule):
        for name, curve in (("g", w._curves[0]), ("b", w._curves[1])):
            if not isinstance(curve, (LogGrowth, PowerGrowth)):
                raise GuaranteeError(
                    f"the schedule {name}(t) must be a built-in curve that grows without bound,"
                    f" LogGrowth or PowerGrowth, got {curve!r}: nothing can be proved about other"
                    " callables"
                )
    else:
        raise GuaranteeError(
            f"{type(w).__name__} does not widen the class as the theorem needs: use ReferenceRegret"
            " with cap and floor, or Schedule"
        )


def check_growth(s: AdaptiveGPUCB, dimension: int) -> None:
    """Whether the widening is slow enough for sublinear regret in this dimension."""
    limit = largest_exponent(s.kernel, dimension, s.norm_power)
    if limit <= 0:
        raise GuaranteeError(
            f"no sublinear regret bound is known for {s.kernel!r} in {dimension} dimensions (it"
            " needs 2ν > d): use a smoother kernel or SquaredExponential"
        )
    w = s.widening
    if isinstance(w, ReferenceRegret):
        growth = max(_exponent(w.cap), _exponent(w.floor))
    elif isinstance(w, Schedule):
        growth = dimension * _exponent(w._curves[0]) + _exponent(w._curves[1])  # h = g^d b
    else:
        growth = 0.0
    if growth >= limit:
        raise GuaranteeError(
            f"the class may grow like t^{growth:.3g}, but in {dimension} dimensions with"
            f" {s.kernel!r} the regret is sublinear only below t^{limit:.3g}: lower the exponent of"
            " the cap (or schedule)"
        )


def _exponent(curve: object) -> float:
    return curve.exponent if isinstance(curve, PowerGrowth) else 0.0
