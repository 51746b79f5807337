"""Trials, what a strategy reads of them, and what it answers. All frozen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

State = Literal["waiting", "running", "complete", "failed"]
STATES: tuple[State, ...] = ("waiting", "running", "complete", "failed")
Info = Mapping[str, Any]


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Trial:
    """One evaluation: its point, its value once told, and why the point was chosen (``info``).

    It is waiting to be given out (enqueued, or its worker died), running, complete or failed; the
    last two are for ever.
    """

    number: int
    params: Any  # a dict by name, or an array if the space was given as bounds
    state: State = "running"
    value: float | None = None
    noise_std: float | None = None
    info: Info = field(default_factory=dict)
    created: str | None = field(default=None, compare=False)  # UTC, set by the storage
    finished: str | None = field(default=None, compare=False)
    worker: str | None = field(
        default=None, compare=False
    )  # the run that evaluates it and sends heartbeats

    def __post_init__(self) -> None:
        object.__setattr__(self, "info", dict(self.info))

    @property
    def is_finished(self) -> bool:
        return self.state in ("complete", "failed")

    @property
    def is_decision(self) -> bool:
        """Whether a strategy chose this point: not added, enqueued or a correction."""
        return (
            bool(self.info)
            and self.info.get("source") != "enqueued"
            and "corrects" not in self.info
        )

    @property
    def corrects(self) -> int | None:
        """The number of the trial whose outcome this one replaces."""
        return self.info.get("corrects")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; ``from_json`` gives the trial back bit for bit."""
        return {
            "number": self.number,
            "params": (
                self.params.tolist() if isinstance(self.params, np.ndarray) else dict(self.params)
            ),
            "state": self.state,
            "value": self.value,
            "noise_std": self.noise_std,
            "info": dict(self.info),
            "created": self.created,
            "finished": self.finished,
            "worker": self.worker,
        }

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> Trial:
        params = row["params"]
        return Trial(
            number=row["number"],
            params=(
                dict(params) if isinstance(params, Mapping) else np.array(params, dtype=np.float64)
            ),
            state=row["state"],
            value=row["value"],
            noise_std=row["noise_std"],
            info=row["info"],
            created=row.get("created"),
            finished=row.get("finished"),
            worker=row.get("worker"),
        )


def standing(trials: Iterable[Trial]) -> list[Trial]:
    """The trials that count: a corrected one does not, its correction does."""
    listed = list(trials)
    corrected = {trial.info["corrects"] for trial in listed if "corrects" in trial.info}
    return [trial for trial in listed if trial.number not in corrected]
