"""Confidence widths β^½: one function per theorem. β^½ multiplies the latent std, once, in
``acquisition.ucb``.

noise_bound is R: the noise is R-sub-Gaussian. regulariser is λ: what the Gaussian process adds to
the diagonal. They are two things; the paper sets R = σ and λ = σ². theory.md#widths
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from noregret.errors import DELTA_HINT, check_range

WidthName = Literal["paper", "abbasi_yadkori", "chowdhury_gopalan", "mixture", "srinivas", "radius"]


def _check(norm_bound: float, information_gain: float, noise_bound: float, delta: float) -> None:
    check_range("norm_bound", norm_bound, "(0, ∞)")
    check_range("information_gain", information_gain, "[0, ∞]")
    check_range("noise_bound", noise_bound, "(0, ∞)")
    check_range("delta", delta, "(0, 1)", DELTA_HINT)


def paper(
    norm_bound: float, information_gain: float, noise_bound: float, regulariser: float, delta: float
) -> float:
    """As printed, without λ. A confidence bound only for λ ≥ 1/8, which with λ = σ² is σ ≥ .354:
    see ``paper_is_valid``.
    """
    _check(norm_bound, information_gain, noise_bound, delta)
    spread = math.sqrt(information_gain + 1 + math.log(1 / delta))
    return norm_bound + 4 * noise_bound * spread  # JMLR Lemma 1


def paper_is_valid(noise_std: float, regulariser: float) -> bool:
    """Whether the printed width is implied by ``abbasi_yadkori``: 4σ ≥ √2·R/√λ with R = σ.
    theory.md#printed-width
    """
    return 4 * noise_std >= math.sqrt(2) * noise_std / math.sqrt(regulariser)


def abbasi_yadkori(
    norm_bound: float, information_gain: float, noise_bound: float, regulariser: float, delta: float
) -> float:
    """Abbasi-Yadkori 2012: all t and x jointly, for one fixed kernel."""
    _check(norm_bound, information_gain, noise_bound, delta)
    spread = math.sqrt(2 * information_gain + 2 * math.log(1 / delta))
    return norm_bound + noise_bound / math.sqrt(regulariser) * spread


def chowdhury_gopalan(
    norm_bound: float, information_gain: float, noise_bound: float, regulariser: float, delta: float
) -> float:
    """Chowdhury & Gopalan 2017, with λ = 1 + 2/T for a horizon T; implied by ``abbasi_yadkori`` at
    any λ ≥ 1.
    """
    _check(norm_bound, information_gain, noise_bound, delta)
    return norm_bound + noise_bound * math.sqrt(2 * (information_gain + 1 + math.log(1 / delta)))


def mixture(
    norm_bound: float, information_gain: float, noise_bound: float, regulariser: float, delta: float
) -> float:
    """√(B² + (R²/λ)(2I + 2 ln 1/δ)): proof in theory.md#mixture; never wider than
    ``abbasi_yadkori``.
    """
    _check(norm_bound, information_gain, noise_bound, delta)
    information = 2 * information_gain + 2 * math.log(1 / delta)
    return math.sqrt(norm_bound**2 + noise_bound**2 / regulariser * information)


def srinivas_growth(t: int) -> float:
    """√(1 + ln t²), by which the ball of the width "srinivas" grows. theory.md#srinivas"""
    return math.sqrt(1 + 2 * math.log(t))


def radius(
    norm_bound: float, excess: float, noise_bound: float, regulariser: float, delta: float
) -> float:
    """√(B² + (R²/λ)ρ² − yᵀ(K + λ)⁻¹y), for a class chosen by the data: ``mixture`` with the excess
    ½(ρ² − (λ/R²)·yᵀ(K + λ)⁻¹y) − ln 1/δ in place of the information. 0 if the class is refuted.
    theory.md#radius
    """
    _check(norm_bound, max(excess, 0.0), noise_bound, delta)
    paid = 2 * excess + 2 * math.log(1 / delta)
    return math.sqrt(max(norm_bound**2 + noise_bound**2 / regulariser * paid, 0.0))


def horizon_exponent(nu: float, dimension: int) -> float:
    """a of λ = T^a for a horizon T, with which GP-UCB under a Matérn kernel of smoothness ν has
    regret of the order T^(½ + a) up to logarithms. theory.md#rough
    """
    return dimension / (2 * nu + 2 * dimension)


WIDTHS: dict[str, Callable[[float, float, float, float, float], float]] = {
    "srinivas": mixture,  # of a growing ball
    **{each.__name__: each for each in (paper, abbasi_yadkori, chowdhury_gopalan, mixture, radius)},
}
