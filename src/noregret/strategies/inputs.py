"""The evidence of one lengthscale per input: a choice is one input, however many coordinates its
options take."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noregret.gp import (
    COARSE,
    ENOUGH,
    MAP,
    TOLERANCE,
    Evidence,
    Fit,
    fit_map,
    lasting_part,
    log_evidence_gradient,
    starting_points,
)
from noregret.space import Array, Indices
from noregret.space import Inputs as Inputs


@dataclass(frozen=True, slots=True)
class InputEvidence(Evidence):
    """The log posterior of one lengthscale per input; ``group`` as in ``Inputs``."""

    group: Indices = None  # type: ignore[assignment]  # a field after one without default

    @property
    def dimension(self) -> int:
        return int(self.group[-1]) + 1

    def log_posterior(self, phi: Array, *, jacobian: bool) -> tuple[float, Array]:
        d = self.dimension
        common = float(np.exp(phi[d])) if self.estimates_noise else np.nan
        value, by_coordinate, by_noise = log_evidence_gradient(
            self.kernel,
            np.exp(phi[:d])[self.group],
            self.X,
            self.y,
            self.noise_var(common),
            kriging=self.kriging,
        )
        prior, by_prior = self.prior.log_density(phi[:d], d)
        value += prior
        gradient = np.bincount(self.group, weights=by_coordinate, minlength=d) + by_prior
        return self.with_noise(value, gradient, by_noise, phi, d, jacobian=jacobian)


def fit_inputs(
    evidence: InputEvidence,
    rule: MAP,
    previous: Fit | None,
    rng: np.random.Generator,
    tolerance: float = TOLERANCE,
) -> Fit:
    """MAP lengthscales, one per input, written to all its coordinates; noise if it is unknown.

    As ``estimation.estimate``: all starts when the data grew by ``patience``, the last estimate
    improved when they grew by ``refresh``, or kept.
    """
    group, n = evidence.group, len(evidence.y)
    initial = np.full(evidence.dimension, np.sqrt(evidence.dimension))
    lower, upper = rule.truncation * initial, rule.ceiling * initial
    if previous is not None:
        first = np.unique(group, return_index=True)[1]
        previous = replace(previous, lengthscales=previous.lengthscales[first])
    if n > ENOUGH:
        part_of = evidence.part(lasting_part(n, ENOUGH))
        assert isinstance(part_of, InputEvidence)
        evidence = part_of
    starts = starting_points(evidence, rule, previous, rng)
    if previous is not None and n < rule.patience * previous.searched:
        if n < rule.refresh * previous.improved:
            return replace(previous, lengthscales=previous.lengthscales[group])
        found = fit_map(evidence, lower, upper, starts[:1], previous.searched, tolerance)
        return replace(found, lengthscales=found.lengthscales[group], improved=n)
    if n > COARSE:  # the search on a part of the data, the estimate on all of them
        part = fit_map(
            evidence.part(rng.permutation(min(n, ENOUGH))[:COARSE]), lower, upper, starts
        )
        noise = [part.noise_var] if evidence.estimates_noise else []
        tried = [
            np.log([*part.lengthscales, *noise]),
            *(starts[:1] if previous is not None else []),
        ]
        starts = np.array(
            [max(tried, key=lambda phi: evidence.log_posterior(phi, jacobian=False)[0])]
        )
    found = fit_map(evidence, lower, upper, starts, n, tolerance)
    return replace(found, lengthscales=found.lengthscales[group], improved=n)
