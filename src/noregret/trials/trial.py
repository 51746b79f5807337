"""One evaluation: its point, its value once told, and why the point was chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from noregret.errors import TrialError
from noregret.trials.decision import Decision, ModelDecision
from noregret.trials.markup import html_table, shown
from noregret.trials.point import fixed

State = Literal["waiting", "running", "complete", "failed", "withdrawn"]
STATES: tuple[State, ...] = ("waiting", "running", "complete", "failed", "withdrawn")


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True, repr=False)
class Trial:
    """It is waiting to be given out (enqueued, or its worker died), running, complete, failed, or
    withdrawn: nobody is going to run it. The last three are for ever.
    """

    number: int
    # a dict by name, or an array if the space was given as bounds; both to read, not to change
    params: Any
    state: State = "running"
    value: float | None = None
    noise_std: float | None = None
    decision: Decision = field(default_factory=Decision)
    corrects: int | None = None  # the number of the trial whose outcome this one replaces
    created: str | None = field(default=None, compare=False)  # UTC, set by the storage
    finished: str | None = field(default=None, compare=False)
    # the run that evaluates it and sends heartbeats
    worker: str | None = field(default=None, compare=False)
    asked: Any = None  # the point that was proposed, where another one was run
    error: str | None = None  # why it failed: a person's words, or the exception's
    note: str | None = None  # a person's words
    attributes: Mapping[str, Any] = field(default_factory=dict)  # JSON values by name
    started: str | None = field(default=None, compare=False)  # UTC, when it was given out
    outcomes: Mapping[str, float] = field(default_factory=dict)  # measured beside the value
    outcome_noise: Mapping[str, float] = field(default_factory=dict)  # its std, where told
    feasible: bool | None = None  # within every limit; None: there are none, or not known
    # of a failure: it had nothing to do with the point, and no strategy sees it
    transient: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", fixed(self.params))
        object.__setattr__(self, "asked", fixed(self.asked))

    def __repr__(self) -> str:
        noise = "" if self.noise_std is None else f" ± {shown(self.noise_std)}"
        value = "" if self.value is None else f" {shown(self.value)}{noise}"
        beyond = " beyond a limit" if self.feasible is False else ""
        return f"<Trial {self.number}: {self.state}{value}{beyond} at {self._point()}>"

    def _repr_html_(self) -> str:
        rows = [
            ("state", f"{self.state}, not the point's fault" if self.transient else self.state),
            ("value", "" if self.value is None else shown(self.value)),
            ("noise", "" if self.noise_std is None else shown(self.noise_std)),
            ("outcomes", ", ".join(f"{name} {shown(v)}" for name, v in self.outcomes.items())),
            ("within limits", {True: "yes", False: "no", None: ""}[self.feasible]),
            ("at", self._point()),
            ("failed for", (self.error or "").partition("\n")[0]),
            ("note", self.note or ""),
            ("from", self.decision.source),
            ("took", "" if self.duration is None else f"{self.duration:.3g} s"),
        ]
        return html_table(f"trial {self.number}", rows)

    def _point(self) -> str:
        if not isinstance(self.params, Mapping):
            return "[" + ", ".join(shown(float(each)) for each in self.params) + "]"
        return ", ".join(f"{name}={shown(value)}" for name, value in self.params.items())

    @property
    def is_finished(self) -> bool:
        return self.state not in ("waiting", "running")

    @property
    def duration(self) -> float | None:
        """Seconds from when it was given out to its outcome; None while there is none."""
        if self.started is None or self.finished is None:
            return None
        begun, ended = map(datetime.fromisoformat, (self.started, self.finished))
        return max((ended - begun).total_seconds(), 0.0)

    @property
    def proposed(self) -> Any:
        """The point that was asked for, whichever was run."""
        return self.params if self.asked is None else self.asked

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
        return {
            "number": self.number,
            "params": _plain(self.params),
            "state": self.state,
            "value": self.value,
            "noise_std": self.noise_std,
            "decision": self.decision.to_json(),
            "corrects": self.corrects,
            "created": self.created,
            "finished": self.finished,
            "worker": self.worker,
            "asked": None if self.asked is None else _plain(self.asked),
            "error": self.error,
            "note": self.note,
            "attributes": dict(self.attributes),
            "started": self.started,
            "transient": self.transient,
            **self._measured(),
        }

    def _measured(self) -> dict[str, Any]:
        """Outcomes, where there are any."""
        if not self.outcomes:
            return {}
        return {
            "outcomes": dict(self.outcomes),
            "outcome_noise": dict(self.outcome_noise),
            "feasible": self.feasible,
        }

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> Trial:
        asked = row.get("asked")
        return Trial(
            number=row["number"],
            params=_point(row["params"]),
            state=row["state"],
            value=row["value"],
            noise_std=row["noise_std"],
            decision=Decision.from_json(row["decision"]),
            corrects=row.get("corrects"),
            created=row.get("created"),
            finished=row.get("finished"),
            worker=row.get("worker"),
            asked=None if asked is None else _point(asked),
            error=row.get("error"),
            note=row.get("note"),
            attributes=row.get("attributes") or {},
            started=row.get("started"),
            outcomes=row.get("outcomes") or {},
            outcome_noise=row.get("outcome_noise") or {},
            feasible=row.get("feasible"),
            transient=bool(row.get("transient")),
        )


def _plain(params: Any) -> Any:
    return params.tolist() if isinstance(params, np.ndarray) else dict(params)


def _point(params: Any) -> Any:
    is_vector = not isinstance(params, Mapping)
    return np.array(params, dtype=np.float64) if is_vector else dict(params)


def standing(trials: Iterable[Trial]) -> list[Trial]:
    """The trials that count: a corrected one does not, its correction does."""
    listed = list(trials)
    corrected = {trial.corrects for trial in listed if trial.corrects is not None}
    return [trial for trial in listed if trial.number not in corrected]
