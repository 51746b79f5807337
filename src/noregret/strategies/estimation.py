"""Hyperparameters from the data of a history."""

from __future__ import annotations

import numpy as np

from noregret.gp import MAP, Fit, Kernel, refit
from noregret.space import Array
from noregret.strategies.data import ModelData
from noregret.trials import ModelDecision


def previous_fit(decisions: tuple[ModelDecision, ...]) -> Fit | None:
    """The last estimate recorded in the history: where the next search starts."""
    for each in reversed(decisions):
        if each.fitted_lengthscales is not None and each.noise_var is not None:
            fitted = np.array(each.fitted_lengthscales)
            return Fit(fitted, float(each.noise_var), each.searched, each.improved)
    return None


def estimate(
    framed: ModelData,
    kernel: Kernel,
    estimation: MAP | None,
    initial: Array,
    decisions: tuple[ModelDecision, ...],
    rng: np.random.Generator,
) -> Fit | None:
    """MAP lengthscales and noise; with fixed lengthscales only the noise, if unknown; None when
    nothing is to estimate.
    """
    rule = estimation or MAP()
    evidence = framed.evidence(kernel, rule.prior, rule.noise_prior)
    if estimation is None and not evidence.estimates_noise:
        return None
    lower, upper = (
        (initial, initial)
        if estimation is None
        else (estimation.truncation * initial, estimation.ceiling * initial)
    )
    return refit(evidence, rule, lower, upper, previous_fit(decisions), rng)
