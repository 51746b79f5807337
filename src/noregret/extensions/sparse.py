"""Few of many inputs matter: a prior under which most lengthscales are long and some are not, as
in SAAS (Eriksson and Jankowiak 2021), at its maximum instead of sampled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from noregret.gp import HalfCauchy
from noregret.strategies.inputs import fit_inputs
from noregret.strategies.modelling import Modelled, Question

LONGEST = 30.0  # times √d: the largest lengthscale, where an input does nothing


@dataclass(frozen=True, slots=True)
class Sparse:
    """prior: of the lengthscales, in the place of the default's."""

    prior: HalfCauchy = HalfCauchy()

    def modelled(self, question: Question) -> Modelled:
        evidence = question.evidence(question.kernel, self.prior)
        rule = replace(question.rule, prior=self.prior, ceiling=LONGEST)
        fit = fit_inputs(evidence, rule, question.previous, question.rng)
        return Modelled(question.kernel, fit)
