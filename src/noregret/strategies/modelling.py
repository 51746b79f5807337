"""How the default models f: which kernel, with which estimates. A value that plugs into it.

Without one it is Matérn 5/2 with one lengthscale per input. The theorem of docs/theory.md#leash
holds for every model: it needs the patrols and the leash only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from noregret.gp import MAP, Covariance, Evidence, Fit, Kernel, Prior, fit_map
from noregret.space import Array, Indices
from noregret.strategies.data import ModelData
from noregret.strategies.inputs import InputEvidence, Inputs, fit_inputs
from noregret.trials import History

EXACT = 1e-11  # smallest estimated noise variance, in prior variances: exact values stay exact


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is made from: the data in the model's units, what the inputs are, the last
    estimate and what was noted beside it.
    """

    framed: ModelData
    inputs: Inputs
    rule: MAP
    kernel: Kernel  # the default's
    previous: Fit | None
    memory: Mapping[str, Any]
    rng: np.random.Generator

    def evidence(self, kernel: Covariance, prior: Prior | None = None) -> InputEvidence:
        rule, framed = self.rule, self.framed
        return InputEvidence(
            kernel,
            framed.X,
            framed.y,
            framed.told,
            rule.prior if prior is None else prior,
            rule.noise_prior,
            kriging=True,
            smallest_noise_var=EXACT,
            group=self.inputs.group,
        )

    @property
    def is_due(self) -> bool:
        """Whether the data have grown enough that everything is sought anew."""
        n, previous = len(self.framed.y), self.previous
        return previous is None or n >= self.rule.patience * previous.searched


@dataclass(frozen=True, slots=True)
class Modelled:
    """A kernel with its estimates, and what the next decision wants to know of them; plain JSON."""

    kernel: Covariance
    fit: Fit
    memory: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Modelling(Protocol):
    """Bring your own by writing this one. With ``as_they_are = True`` on the class values are
    modelled as they are; otherwise very bad ones are compressed first, which bends a sum.
    """

    def modelled(self, question: Question) -> Modelled: ...


@dataclass(frozen=True, slots=True)
class Plain:
    """The default's own: its kernel, one lengthscale per input."""

    def modelled(self, question: Question) -> Modelled:
        evidence = question.evidence(question.kernel)
        fit = fit_inputs(evidence, question.rule, question.previous, question.rng)
        return Modelled(question.kernel, fit)


PLAIN = Plain()


def last_memory(history: History) -> Mapping[str, Any]:
    """What the last decision of a model noted."""
    for each in reversed(history.decisions):
        if each.model is not None:
            return each.memory
    return {}


def height(evidence: Evidence, fit: Fit, first: Indices) -> float:
    """The log posterior of an estimate; first: one coordinate of each input."""
    phi = np.log(fit.lengthscales[first])
    if evidence.estimates_noise:
        phi = np.append(phi, np.log(fit.noise_var))
    return evidence.log_posterior(phi, jacobian=False)[0]


def fitted_from(
    evidence: Evidence, rule: MAP, lower: Array, upper: Array, starts: Array, last: Fit | None
) -> Fit:
    """As ``inputs.fit_inputs`` for other parameters: all starts when the data grew by ``patience``,
    the last estimate improved when they grew by ``refresh``, or kept. ``last`` has the evidence's
    own parameters in the place of lengthscales.
    """
    n = len(evidence.y)
    if last is not None and n < rule.patience * last.searched:
        if n < rule.refresh * last.improved:
            return last
        return replace(fit_map(evidence, lower, upper, starts[:1], last.searched), improved=n)
    return replace(fit_map(evidence, lower, upper, starts, n), improved=n)
