"""Hyperparameters from the data: when they are searched anew, improved, or kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from noregret.gp import MAP, Fit, Kernel, fit_map, starting_points
from noregret.space import Array, Indices
from noregret.strategies.units import Frame
from noregret.trials import ModelDecision

COARSE = 500  # points on which lengthscales are searched from all starts when there are more
ENOUGH = 1_000  # points that an estimate is made from when there are more: decisions/0022


def previous_fit(decisions: tuple[ModelDecision, ...]) -> Fit | None:
    """The last estimate recorded in the history: where the next search starts."""
    for each in reversed(decisions):
        if each.fitted_lengthscales is not None and each.noise_var is not None:
            fitted = np.array(each.fitted_lengthscales)
            return Fit(fitted, float(each.noise_var), each.searched, each.improved)
    return None


def estimate(
    framed: Frame,
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
    previous, n = previous_fit(decisions), len(evidence.y)
    if n > ENOUGH:
        evidence = evidence.part(lasting_part(n, ENOUGH))
    starts = starting_points(evidence, rule, previous, rng)
    if previous is not None and n < rule.patience * previous.searched:
        if n < rule.refresh * previous.improved:
            return previous
        improved = fit_map(evidence, lower, upper, starts[:1], previous.searched)
        return replace(improved, improved=n)
    if n > COARSE:  # the search on a part of the data, the estimate on all of them, or on ENOUGH
        some = rng.permutation(min(n, ENOUGH))[:COARSE]
        part = fit_map(evidence.part(some), lower, upper, starts)
        found = np.log(
            [*part.lengthscales, *([part.noise_var] if evidence.estimates_noise else [])]
        )
        tried = [found] if previous is None else [found, starts[0]]
        starts = np.array(
            [max(tried, key=lambda phi: evidence.log_posterior(phi, jacobian=False)[0])]
        )
    return replace(fit_map(evidence, lower, upper, starts, n), improved=n)


def lasting_part(n: int, size: int) -> Indices:
    """So many of n rows, each as likely as any other. Nearly the same ones when n has grown a
    little: a new row takes the place of one of them with probability size/n, so that an estimate
    does not jump from one ask to the next.
    """
    priority = np.random.default_rng(size).random(n)  # its beginning does not depend on n
    return np.sort(np.argsort(priority, kind="stable")[:size])
