"""A kernel of choices in the place of their coordinates: numbers and each choice are compared by
themselves, and the comparisons multiplied.

Two options of a choice are alike by e^(−1/θ²), whichever two they are; with the default's kernel of
all coordinates a choice only adds to the distance, so that designs which differ in a choice and
nowhere else can never be nearly unrelated unless numbers are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.gp import Covariance, Factor, Kernel, SquaredExponential, Structure, Term, fit_inputs
from noregret.space import Inputs
from noregret.strategies.surrogate import FitRequest, Surrogate


@dataclass(frozen=True, slots=True)
class Categorical:
    """k = k(numbers)·Π_c e^(−[options differ]/θ_c²): the default's kernel of the numbers, and one
    factor per choice.
    """

    def fit(self, request: FitRequest) -> Surrogate:
        kernel = product_kernel(request.kernel, request.inputs)
        evidence = request.evidence(kernel)
        fit = fit_inputs(evidence, request.rule, request.previous, request.rng)
        return Surrogate(kernel, fit)


def product_kernel(kernel: Kernel, inputs: Inputs) -> Covariance:
    """Numbers together, every choice by itself; without choices the kernel itself."""
    if not inputs.is_choice.any():
        return kernel
    factors = []
    numbers = np.flatnonzero(~inputs.of_choices)
    if len(numbers):
        factors.append(Factor(kernel, tuple(numbers.tolist())))
    for index in np.flatnonzero(inputs.is_choice):
        at = np.flatnonzero(inputs.group == index)
        factors.append(Factor(SquaredExponential(), tuple(at.tolist())))
    return Structure((Term(1.0, tuple(factors)),))
