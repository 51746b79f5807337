"""When a run is over, besides trials and time. Any function of the study that answers yes or no
will do as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noregret.errors import ConfigurationError, TrialError

if TYPE_CHECKING:
    from noregret.study.study import Study


@dataclass(frozen=True, slots=True)
class Reached:
    """A value at least as good as this one was told."""

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ConfigurationError(f"the value to reach must be finite, got {self.value!r}")

    def __call__(self, study: Study) -> bool:
        try:
            best = study.best.value
        except TrialError:
            return False  # nothing told yet
        assert best is not None
        return best >= self.value if study.goal == "maximize" else best <= self.value


@dataclass(frozen=True, slots=True)
class CertifiedWithin:
    """The certificate bounds the recommended point's regret by ``regret``: under its condition, see
    ``Study.certificate``.

    A strategy whose certificate is not proved is refused, unless ``heuristic``: then the run stops
    by a rule of thumb. One whose condition the data refute stops nothing. In more than two inputs a
    certificate is proved where the maximum of the band could be covered: see ``slack``.
    """

    regret: float
    delta: float | None = None
    heuristic: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.regret < math.inf:
            raise ConfigurationError(
                f"the regret to certify must be positive and finite, got {self.regret!r}"
            )
        if self.delta is not None and not 0 < self.delta < 1:
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
        if not any(trial.state == "complete" for trial in study.trials):
            return False
        certificate = study.certificate(self.delta)
        if certificate.refuted or not (certificate.proved or self.heuristic):
            return False
        return certificate.regret_bound <= self.regret
