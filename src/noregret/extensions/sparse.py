"""Few of many inputs matter: a prior under which most lengthscales are long and some are not, as
in SAAS (Eriksson and Jankowiak 2021), at its maximum instead of sampled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from noregret.gp import HalfCauchy, fit_inputs
from noregret.strategies.surrogate import FitRequest, Surrogate

LONGEST = 30.0  # times √d: the largest lengthscale, where an input does nothing


@dataclass(frozen=True, slots=True)
class Sparse:
    """A prior under which few of many inputs matter, for ``surrogate=`` of the default.

    Args:
        prior: of the lengthscales, instead of the default's.
    """

    prior: HalfCauchy = HalfCauchy()

    def fit(self, request: FitRequest) -> Surrogate:
        evidence = request.evidence(request.kernel, self.prior)
        rule = replace(request.rule, prior=self.prior, ceiling=LONGEST)
        fit = fit_inputs(evidence, rule, request.previous, request.rng)
        return Surrogate(request.kernel, fit)
