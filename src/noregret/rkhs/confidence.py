"""Confidence widths β^½: one function per theorem. β^½ multiplies the latent std, once, in
``acquisition.ucb``.

noise_bound is R: the noise is R-sub-Gaussian. regulariser is λ: what the Gaussian process adds to
the diagonal. They are two things; the paper sets R = σ and λ = σ². theory.md#widths
"""

from __future__ import annotations

import math

from noregret.errors import ConfigurationError


def _check(norm_bound: float, information_gain: float, noise_bound: float, delta: float) -> None:
    if not 0 < norm_bound < math.inf:
        raise ConfigurationError(f"norm_bound must be positive and finite, got {norm_bound!r}")
    if not information_gain >= 0:
        raise ConfigurationError(f"information_gain must be non-negative, got {information_gain!r}")
    if not 0 < noise_bound < math.inf:
        raise ConfigurationError(
            f"the noise bound must be positive and finite, got {noise_bound!r}"
        )
    if not 0 < delta < 1:
        raise ConfigurationError(
            f"delta is a failure probability in (0, 1), got {delta!r}: 0.1 means that the band"
            " holds with probability 0.9"
        )


def paper(norm_bound: float, information_gain: float, *, noise_std: float, delta: float) -> float:
    """As printed. A confidence bound only for λ ≥ 1/8, which with λ = σ² is σ ≥ .354: see
    ``paper_is_valid``.
    """
    _check(norm_bound, information_gain, noise_std, delta)
    spread = math.sqrt(information_gain + 1 + math.log(1 / delta))
    return norm_bound + 4 * noise_std * spread  # JMLR Lemma 1


def paper_is_valid(noise_std: float, regulariser: float) -> bool:
    """Whether the printed width is implied by ``abbasi_yadkori``: 4σ ≥ √2·R/√λ with R = σ.
    theory.md#printed-width
    """
    return 4 * noise_std >= math.sqrt(2) * noise_std / math.sqrt(regulariser)


def abbasi_yadkori(
    norm_bound: float,
    information_gain: float,
    *,
    noise_bound: float,
    regulariser: float,
    delta: float,
) -> float:
    """Abbasi-Yadkori 2012: all t and x jointly, for one fixed kernel."""
    _check(norm_bound, information_gain, noise_bound, delta)
    return norm_bound + noise_bound / math.sqrt(regulariser) * math.sqrt(
        2 * information_gain + 2 * math.log(1 / delta)
    )


def chowdhury_gopalan(
    norm_bound: float, information_gain: float, *, noise_bound: float, delta: float
) -> float:
    """Chowdhury & Gopalan 2017, with λ = 1 + 2/T for a horizon T; implied by ``abbasi_yadkori`` at
    any λ ≥ 1.
    """
    _check(norm_bound, information_gain, noise_bound, delta)
    return norm_bound + noise_bound * math.sqrt(2 * (information_gain + 1 + math.log(1 / delta)))


def mixture(
    norm_bound: float,
    information_gain: float,
    *,
    noise_bound: float,
    regulariser: float,
    delta: float,
) -> float:
    """√(B² + (R²/λ)(2I + 2 ln 1/δ)): proof in theory.md#mixture; never wider than
    ``abbasi_yadkori``.
    """
    _check(norm_bound, information_gain, noise_bound, delta)
    information = 2 * information_gain + 2 * math.log(1 / delta)
    return math.sqrt(norm_bound**2 + noise_bound**2 / regulariser * information)
