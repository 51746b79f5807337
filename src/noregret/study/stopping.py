"""When a run is over, besides trials and time. Any function of the study that answers yes or no
will do as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noregret.errors import ConfigurationError, TrialError

if TYPE_CHECKING:
    from noregret.strategies import Strategy
    from noregret.study.study import Study


def certifies(strategy: Strategy) -> bool:
    """Whether its band is a theorem's: a constant width certifies nothing."""
    return isinstance(getattr(strategy, "width", None), str)


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

    Needs a strategy whose band is a theorem's: see ``certifies``.
    """

    regret: float
    delta: float | None = None

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
        if not certifies(study.strategy):
            raise ConfigurationError(
                f"{type(study.strategy).__name__} with these settings has no confidence bound to"
                " certify with: use AdaptiveGPUCB.rigorous(…), or stop by trials or time"
            )
        if not any(trial.state == "complete" for trial in study.trials):
            return False
        return study.certificate(self.delta).regret_bound <= self.regret
