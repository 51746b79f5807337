"""Theorem 1 in numbers: R_t ≤ 2·B·t_0 + √(C_1 t β_t I), and the regret of a run.

JMLR eq. (11), theory.md#regret and theory.md#setting. Regret is on the noise-free objective, to be
maximised.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np

from noregret.errors import ConfigurationError, GuaranteeError, check_one_of, check_range
from noregret.gp import Kernel, Matern, linalg
from noregret.rkhs import NormPower, as_growth, check_spectrum
from noregret.space import Array

EXACT = 2.0**53  # integers below are floats
ROUNDING = 1e-12  # relative: where both sides of the norm condition are equal in exact arithmetic


def regret_constant(regulariser: float) -> float:
    """C_1 = 8/log(1 + 1/λ)."""
    check_range("the regulariser", regulariser, "(0, ∞)")
    return 8 / math.log1p(1 / regulariser)  # JMLR Thm. 1


def regret_bound(
    t: float,
    norm_bound: float,
    captured_at: float,
    beta_sqrt: float,
    information_gain: float,
    regulariser: float,
) -> float:
    """2·B·t_0 + √(C_1 t β_t I): the cumulative regret after t steps, where f is in the class from
    step captured_at on.

    norm_bound is the true B, ‖f‖_θ ≤ B; beta_sqrt and information_gain are those of step t.
    Infinite if f is never captured.
    """
    for name, value in (
        ("t", t),
        ("captured_at", captured_at),
        ("beta_sqrt", beta_sqrt),
        ("information_gain", information_gain),
    ):
        check_range(name, value, "[0, ∞]")
    check_range("norm_bound", norm_bound, "(0, ∞)", "it bounds the regret of a step by 2·B")
    after = math.sqrt(regret_constant(regulariser) * t * information_gain) * beta_sqrt
    return 2 * norm_bound * captured_at + after  # JMLR eq. (11)


def first_time(curve: Any, level: float) -> float:
    """The generalised inverse: the first integer t ≥ 0 with curve(t) ≥ level, infinite if there is
    none (below 1e308).
    """
    growth = as_growth(curve)
    check_range("the level to reach", level, "[-∞, ∞]")

    return _search(lambda t: level < math.inf and growth(t) >= level)


def _search(reached: Callable[[float], bool]) -> float:
    """The first integer t ≥ 0 for which a condition that never turns false again is true: doubling,
    then bisection.
    """

    def at(t: int) -> bool:
        try:
            return reached(t if t < EXACT else float(t))
        except OverflowError as error:
            raise ConfigurationError(
                f"the growth curve overflowed at t={float(t):.3g} before it reached its level:"
                " write it so that it can be evaluated there"
            ) from error

    if at(0):
        return 0.0
    low, high = 0, 1
    while not at(high):
        low, high = high, 2 * high
        if high >= 2**1023:
            return math.inf
    while high - low > max(1, low >> 53):
        middle = (low + high) // 2
        low, high = (low, middle) if at(middle) else (middle, high)
    return float(high)


def capture_time(
    g: Any, b: Any, lengthscale_ratios: Sequence[float] | Array | float, norm_ratio: float
) -> float:
    """t_0 as printed: the first step with g ≥ max_i θ_0,i/θ_i and b ≥ B/B_0. Infinite if a curve
    never gets there.

    lengthscale_ratios are θ_0/θ per input, norm_ratio is B/B_0. Enough for both norm powers: θ_t ≤
    θ gives ‖f‖_θt ≤ ∏(θ_i/θ_t,i)^½ B = g^(d/2) ∏(θ_i/θ_0,i)^½ B ≤ g^(d/2) B ≤ b g^(d·q) B_0. See
    ``refined_capture_time`` for what is needed.
    """
    ratios = _ratios(lengthscale_ratios, norm_ratio)
    if np.any(ratios < 1):
        raise GuaranteeError(
            "the printed t_0 needs initial lengthscales at least as long as the true ones in every"
            f" input, got θ_0/θ = {ratios.tolist()}: where θ_0 is shorter, the norm of f at θ_0 may"
            " exceed B already, and b = B/B_0 does not pay for it. Start from longer lengthscales"
            " (the diameter of the domain), or use refined_capture_time, which counts this"
        )
    return max(first_time(g, float(ratios.max())), first_time(b, norm_ratio))  # theory.md#capture


def refined_capture_time(
    kernel: Kernel,
    g: Any,
    b: Any,
    lengthscale_ratios: Sequence[float] | Array | float,
    norm_ratio: float,
    norm_power: NormPower = "tight",
) -> float:
    """The first step with b·g^(d·q)·B_0 ≥ norm_inflation(θ → θ_t)·B; from there on f stays in the
    class. Never later than ``capture_time``.

    Necessary too, if it is to hold for every f with ‖f‖_θ ≤ B on all of R^d. Needs no θ_0 ≥ θ. For
    g ≥ max θ_0/θ it reads b·g^(d(q−½)) ≥ (B/B_0)/√∏(θ_0,i/θ_i): shorter lengthscales than θ_0
    already make room for a norm. It never turns false again, because g^(d/2)/norm_inflation does
    not fall in g.
    """
    ratios = _ratios(lengthscale_ratios, norm_ratio)
    check_one_of("norm_power", norm_power, get_args(NormPower))
    # d(q − ½): by how much g^(d·q) outgrows the lemma's g^(d/2)
    spare = len(ratios) * (0.5 if norm_power == "paper" else 0.0)
    room = 0.5 * float(np.sum(np.log(ratios))) + ROUNDING
    lengthscales, ball = as_growth(g), as_growth(b)

    def captured(t: float) -> bool:
        log_g = _log(lengthscales, t)
        rough = _roughness_penalty(kernel, len(ratios), math.log(float(ratios.max())) - log_g)
        return _log(ball, t) + spare * log_g + room - rough >= math.log(norm_ratio)

    return _search(captured)


def _log(growth: Callable[[float], float], t: float) -> float:
    return math.log(min(growth(t), sys.float_info.max))


def norm_inflation(kernel: Kernel, shrinkage: Sequence[float] | Array | float) -> float:
    """The least c with ‖f‖_θ' ≤ c·‖f‖_θ for all f on R^d, where shrinkage = θ/θ' per input;
    infinite if there is none.

    c² is the supremum of the ratio of spectral densities. Shorter θ': at frequency 0, ∏(θ_i/θ'_i),
    the paper's lemma. Longer θ' in some input: infinite in general, f may be too rough for θ'. But
    Matérn spaces of all lengthscales are one space: with S_θ(ω) ∝ ∏θ_i·(1 +
    Σθ_i²ω_i²/(2ν))^(−ν−d/2) the supremum is ∏(θ_i/θ'_i)·max(1, max_i θ'_i/θ_i)^(2ν+d).
    """
    ratios = _per_input("shrinkage (θ/θ')", shrinkage)
    volume = math.sqrt(float(np.prod(ratios)))  # JMLR eq. (10)
    return volume * math.exp(
        _roughness_penalty(kernel, len(ratios), -math.log(float(ratios.min())))
    )


def _roughness_penalty(kernel: Kernel, dimension: int, log_stretch: float) -> float:
    """What the logarithm of the norm grows by beyond the volume term, where the new lengthscales
    are longer in some input.
    """
    check_spectrum(kernel)
    if log_stretch <= 0:
        return 0.0
    return (kernel.nu + dimension / 2) * log_stretch if isinstance(kernel, Matern) else math.inf


def _ratios(lengthscale_ratios: Sequence[float] | Array | float, norm_ratio: float) -> Array:
    check_range("norm_ratio (B/B_0)", norm_ratio, "(0, ∞)")
    return _per_input("lengthscale_ratios (θ_0/θ)", lengthscale_ratios)


def _per_input(name: str, values: Sequence[float] | Array | float) -> Array:
    ratios = np.atleast_1d(np.asarray(values, dtype=np.float64))
    linalg.check_all_positive(name, ratios, "one per input")
    if ratios.ndim != 1 or len(ratios) == 0:
        raise ConfigurationError(f"{name}: give one per input, got shape {ratios.shape}")
    return ratios


# -- the regret of a run --


def instantaneous(values: Array, maximum: float) -> Array:
    """r_t = max f − f(x_t)."""
    return maximum - np.asarray(values, dtype=np.float64)


def cumulative(values: Array, maximum: float) -> Array:
    """R_t = Σ r_t."""
    return np.cumsum(instantaneous(values, maximum))


def simple(values: Array, maximum: float) -> Array:
    """max f − max_{t' ≤ t} f(x_t')."""
    return maximum - np.maximum.accumulate(np.asarray(values, dtype=np.float64))
