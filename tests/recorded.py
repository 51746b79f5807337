"""Decisions as the default records them, with chosen numbers; and what any decision recorded."""

from types import SimpleNamespace
from typing import Any

from noregret.strategies.insured import InsuredRecord
from noregret.trials import Decision, Kind, ModelDecision, Trial, as_json


def decision(
    mean: float = 0.0,
    std: float = 1.0,
    *,
    t: int = 1,
    kind: Kind = "promise",
    lengthscales: tuple[float, ...] = (0.2,),
    **record: Any,
) -> Decision:
    """Of a model. By default UCB chose the point with all of a band of two standard deviations."""
    numbers: dict[str, Any] = {"beta_sqrt": 2.0, "exploration": 1.0, "memory": {}, **record}
    payload = as_json(InsuredRecord(lengthscales=lengthscales, **numbers))
    return Decision("model", ModelDecision(t, mean, std, kind), payload=payload)


def recorded(trial: Trial) -> SimpleNamespace:
    """Forecast and payload of a trial that a model chose, as attributes."""
    return SimpleNamespace(**as_json(trial.why), **trial.decision.payload)
