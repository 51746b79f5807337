"""What the theorems allow, as calculators. SPEC §8."""

from __future__ import annotations

import math

from noregret.function_class import NormPower
from noregret.kernels import Kernel, Matern, SquaredExponential


def largest_exponent(kernel: Kernel, dimension: int, norm_power: NormPower) -> float:
    """The supremum of a such that h(t) = t^a keeps the regret bound √t·(B_t + √I)·√I sublinear; ≤ 0: no a does.

    SE: I ~ g^d up to logs and b·g^d = h, so the bound is √t·h (tight norm) or √t·h·g^(d/2) ≤ √t·h^(3/2) (paper's).
    Matérn, tight capacity: I ~ g^e t^s with e = 2νd/(2ν+d), s = d/(2ν+d). Norm term: ½ + s/2 + a·(q + e/(2d)) with g^d ≤ h
    and b·g^(d·c) ≤ h^max(1, c); information term: ½ + s + a·e/d.
    """
    power = 1.0 if norm_power == "paper" else 0.5
    if isinstance(kernel, SquaredExponential):
        return 0.5 / max(1.0, power + 0.5)
    if isinstance(kernel, Matern):
        share = dimension / (2 * kernel.nu + dimension)
        exponent = kernel.capacity_exponent(dimension) / dimension
        by_norm = (0.5 - share / 2) / max(1.0, power + exponent / 2)
        by_information = (0.5 - share) / exponent
        return min(by_norm, by_information)
    return -math.inf
