"""When a run is over, besides trials and time. Any function of the study that answers yes or no
will do as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noregret.errors import ConfigurationError, TrialError
from noregret.study.plan import is_number

if TYPE_CHECKING:
    from noregret.study.study import Study


@dataclass(frozen=True, slots=True)
class Reached:
    """A value at least as good as this one was told, within all limits if there are any."""

    value: float

    def __post_init__(self) -> None:
        if not is_number(self.value) or not math.isfinite(self.value):
            raise ConfigurationError(f"the value to reach must be finite, got {self.value!r}")

    def __call__(self, study: Study) -> bool:
        try:
            found = study.best
        except TrialError:
            return False  # nothing told yet
        best = found.value
        if found.feasible is False or best is None:
            return False  # nothing feasible yet
        return best >= self.value if study.goal == "maximize" else best <= self.value


@dataclass(frozen=True, slots=True)
class CertifiedWithin:
    """The certificate bounds the recommended point's regret by ``regret``: under its condition, see
    ``Study.certificate``.

    A strategy whose certificate is not proved is refused, unless ``heuristic``: then the run stops
    by a rule of thumb. One whose condition the data refute stops nothing. In more than two inputs a
    certificate is proved where the maximum of the band could be covered: see ``slack``. Where
    outcomes have limits, the recommended point must also keep them surely.
    """

    regret: float
    delta: float | None = None
    heuristic: bool = False

    def __post_init__(self) -> None:
        if not is_number(self.regret) or not 0 < self.regret < math.inf:
            raise ConfigurationError(
                f"the regret to certify must be positive and finite, got {self.regret!r}"
            )
        if self.delta is not None and not (is_number(self.delta) and 0 < self.delta < 1):
            raise ConfigurationError(
                f"delta is a failure probability in (0, 1), got {self.delta!r}"
            )

    def __call__(self, study: Study) -> bool:
        if not (study.strategy.proved or self.heuristic):
            raise ConfigurationError(
                f"{type(study.strategy).__name__} with these settings has no proved bound to stop"
                " by: use AdaptiveGPUCB.rigorous(…), stop by trials or time, or accept a rule of"
                " thumb with CertifiedWithin(…, heuristic=True)"
            )
        if not any(trial.value is not None for trial in study.trials):
            return False
        result = study.result(self.delta)
        certificate = result.certificate
        if certificate is None and (result.belief is None or study.context):
            certificate = study.certificate(self.delta)  # says why there is none
        if certificate is None or any(certificate.violations.values()):
            return False
        if certificate.refuted or not (certificate.proved or self.heuristic):
            return False
        return certificate.regret_bound <= self.regret


@dataclass(frozen=True, slots=True)
class Infeasible:
    """A theorem says that nothing in the space keeps all limits: see ``Study.feasibility``."""

    def __call__(self, study: Study) -> bool:
        if not (study.outcomes and study.strategy.proved):
            raise ConfigurationError(
                "only a study with limits and a strategy whose bands are proved can find that"
                " nothing is feasible: use AdaptiveGPUCB.rigorous(…, outcomes=…)"
            )
        return study.feasibility().state == "infeasible"
