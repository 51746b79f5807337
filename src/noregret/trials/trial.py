"""One evaluation: its point, its value once told, and why the point was chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from noregret.errors import TrialError
from noregret.trials.decision import Decision, ModelDecision

State = Literal["waiting", "running", "complete", "failed"]
STATES: tuple[State, ...] = ("waiting", "running", "complete", "failed")


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Trial:
    """It is waiting to be given out (enqueued, or its worker died), running, complete or failed;
    the last two are for ever.
    """

    number: int
    params: Any  # a dict by name, or an array if the space was given as bounds
    state: State = "running"
    value: float | None = None
    noise_std: float | None = None
    decision: Decision = field(default_factory=Decision)
    corrects: int | None = None  # the number of the trial whose outcome this one replaces
    created: str | None = field(default=None, compare=False)  # UTC, set by the storage
    finished: str | None = field(default=None, compare=False)
    # the run that evaluates it and sends heartbeats
    worker: str | None = field(default=None, compare=False)

    @property
    def is_finished(self) -> bool:
        return self.state in ("complete", "failed")

    @property
    def why(self) -> ModelDecision:
        """What the model that chose the point believed; TrialError if no model did."""
        if self.decision.model is None:
            raise TrialError(
                f"trial {self.number} was not chosen by a model (it is {self.decision.source}): ask"
                " trial.decision.model is None before reading why"
            )
        return self.decision.model

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; ``from_json`` gives the trial back bit for bit."""
        vector = isinstance(self.params, np.ndarray)
        return {
            "number": self.number,
            "params": self.params.tolist() if vector else dict(self.params),
            "state": self.state,
            "value": self.value,
            "noise_std": self.noise_std,
            "decision": self.decision.to_json(),
            "corrects": self.corrects,
            "created": self.created,
            "finished": self.finished,
            "worker": self.worker,
        }

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> Trial:
        params = row["params"]
        vector = not isinstance(params, Mapping)
        return Trial(
            number=row["number"],
            params=np.array(params, dtype=np.float64) if vector else dict(params),
            state=row["state"],
            value=row["value"],
            noise_std=row["noise_std"],
            decision=Decision.from_json(row["decision"]),
            corrects=row.get("corrects"),
            created=row.get("created"),
            finished=row.get("finished"),
            worker=row.get("worker"),
        )


def standing(trials: Iterable[Trial]) -> list[Trial]:
    """The trials that count: a corrected one does not, its correction does."""
    listed = list(trials)
    corrected = {trial.corrects for trial in listed if trial.corrects is not None}
    return [trial for trial in listed if trial.number not in corrected]
