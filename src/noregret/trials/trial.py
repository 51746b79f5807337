"""One evaluation: its point, its value, why the point was chosen, and the notes kept with it."""

from __future__ import annotations

import json
import math
import operator
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from html import escape
from typing import Any, Literal, NoReturn, get_args

import numpy as np

from noregret.errors import TrialError
from noregret.trials.decision import Decision, ModelDecision, typed_fields

State = Literal["waiting", "running", "complete", "failed", "withdrawn"]
STATES: tuple[State, ...] = get_args(State)
MAX_TEXT = 10_000  # characters of a note or of a stored exception
OUTCOME_FIELDS = ("outcomes", "outcome_noise", "feasible")  # stored only where there are outcomes
MOST_SHOWN = 8  # inputs of a point in a line
CELL = "text-align:left;padding:1px 10px 1px 0;vertical-align:top"


class Point(dict[str, Any]):
    """Parameters by name, to read. ``copy()`` and ``dict(…)`` give a plain dict to change."""

    __slots__ = ()

    def _refuse(self, *args: object, **named: object) -> NoReturn:
        raise TrialError(
            "the point of a trial does not change: take a copy, params = dict(trial.params); if"
            " another point was run, tell(trial, value, params={…}) says which"
        )

    __setitem__ = __delitem__ = _refuse
    __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[Point], tuple[dict[str, Any]]]:
        return Point, (dict(self),)


def fixed(params: Any) -> Any:
    """The same point, in a form that cannot be changed."""
    if isinstance(params, np.ndarray):
        if not params.flags.writeable:
            return params
        copy = params.copy()
        copy.setflags(write=False)
        return copy
    if isinstance(params, Mapping) and not isinstance(params, Point):
        return Point(params)
    return params


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True, repr=False)
class Trial:
    """One evaluation and its result. Complete, failed and withdrawn trials do not change.

    Args:
        number: Its number in the study, from 0.
        params: The point, to read and not to change: a dict by name, or an array if the space was
            given as bounds.
        state: Waiting to be given out (enqueued, or its worker died), running, complete, failed, or
            withdrawn (it will not be run).
        value: The measured value.
        noise_std: The std of its noise, where it was told.
        decision: Why the point was proposed.
        corrects: The number of the trial whose outcome this one replaces.
        created: When it was created, in UTC, set by the storage.
        finished: When it ended, in UTC.
        worker: The run that evaluates it and sends heartbeats.
        asked: The point that was proposed, where another one was run.
        error: Why it failed, in a person's words or those of the exception.
        note: A person's words.
        attributes: JSON values by name.
        started: When it was given out, in UTC.
        outcomes: What was measured beside the value, by name.
        outcome_noise: The noise stds of outcomes, where they were told.
        feasible: Whether it is within every limit; None: there are none, or it is not known.
        transient: Whether a failure had nothing to do with the point: no strategy sees it.
    """

    number: int
    params: Any
    state: State = "running"
    value: float | None = None
    noise_std: float | None = None
    decision: Decision = field(default_factory=Decision)
    corrects: int | None = None
    created: str | None = field(default=None, compare=False)
    finished: str | None = field(default=None, compare=False)
    worker: str | None = field(default=None, compare=False)
    asked: Any = None
    error: str | None = None
    note: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    started: str | None = field(default=None, compare=False)
    outcomes: Mapping[str, float] = field(default_factory=dict)
    outcome_noise: Mapping[str, float] = field(default_factory=dict)
    feasible: bool | None = None
    transient: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", fixed(self.params))
        object.__setattr__(self, "asked", fixed(self.asked))

    def __repr__(self) -> str:
        noise = "" if self.noise_std is None else f" ± {shown(self.noise_std)}"
        value = "" if self.value is None else f" {shown(self.value)}{noise}"
        beyond = " beyond a limit" if self.feasible is False else ""
        return f"<Trial {self.number}: {self.state}{value}{beyond} at {short_point(self.params)}>"

    def _repr_html_(self) -> str:
        rows = [
            ("state", f"{self.state}, not the point's fault" if self.transient else self.state),
            ("value", "" if self.value is None else shown(self.value)),
            ("noise", "" if self.noise_std is None else shown(self.noise_std)),
            ("outcomes", ", ".join(f"{name} {shown(v)}" for name, v in self.outcomes.items())),
            ("within limits", {True: "yes", False: "no", None: ""}[self.feasible]),
            ("at", short_point(self.params)),
            ("failed for", (self.error or "").partition("\n")[0]),
            ("note", self.note or ""),
            ("from", self.decision.source),
            ("took", "" if self.duration is None else f"{self.duration:.3g} s"),
        ]
        return html_table(f"trial {self.number}", rows)

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
        """What the model that chose the point expected. If no model chose it, ``kind`` says where
        the point came from, ``t`` is 0 and the forecast is not a number.
        """
        decision = self.decision
        return decision.model or ModelDecision(0, math.nan, math.nan, decision.source)

    def ended(self, ending: Ending) -> Trial:
        """The trial with this ending."""
        new = {field.name: getattr(ending, field.name) for field in fields(ending)}
        new |= {"note": ending.note or self.note}
        new |= {"attributes": merged(self.attributes, ending.attributes)}
        new["params" if ending.params is None else "asked"] = self.params
        return replace(self, **new)

    def as_added(self, number: int, worker: str | None) -> Trial:
        """As a storage keeps a new trial: with number and worker, and the times that it lacks."""
        now, running = utc_now(), self.state == "running"
        return replace(
            self,
            number=number,
            created=self.created or now,
            started=self.started or (now if running else None),
            finished=(self.finished or now) if self.is_finished else None,
            worker=worker if running else None,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; ``from_json`` gives the trial back bit for bit."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data |= {"params": _plain(self.params), "asked": _plain(self.asked)}
        data |= {"decision": self.decision.to_json(), "attributes": dict(self.attributes)}
        data |= {"outcomes": dict(self.outcomes), "outcome_noise": dict(self.outcome_noise)}
        absent = () if self.outcomes else OUTCOME_FIELDS
        return {name: value for name, value in data.items() if name not in absent}

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> Trial:
        """The trial that ``to_json`` was called of; ValueError for values that no trial has."""
        data = {**row, "params": _point(row["params"]), "asked": _point(row.get("asked"))}
        data |= {name: row.get(name) or {} for name in ("attributes", *OUTCOME_FIELDS[:2])}
        data |= {"transient": row.get("transient") or False}
        decision = Decision.from_json(data.pop("decision"))
        trial = Trial(**typed_fields(Trial, data), decision=decision)
        if trial.state not in STATES:
            raise ValueError(f"its state is {trial.state!r:.80}")
        for name in ("created", "finished", "started"):
            check_time(name, row.get(name))
        if trial.corrects is not None and trial.corrects >= trial.number:  # they form no cycle
            raise ValueError(f"it corrects trial {trial.corrects}, which is none before it")
        return trial


def _plain(params: Any) -> Any:
    if params is None:
        return None
    return params.tolist() if isinstance(params, np.ndarray) else dict(params)


def _point(params: Any) -> Any:
    if params is None or isinstance(params, Mapping):
        return params
    if not isinstance(params, list):
        raise ValueError(f"its point is {params!r}")
    return np.array(params, dtype=np.float64)


def check_time(name: str, text: Any) -> None:
    """Raises ValueError unless a time is None or ISO 8601 with its zone."""
    try:
        valid = text is None or datetime.fromisoformat(text).tzinfo is not None
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(f"its {name} is {text!r}")


def standing(trials: Iterable[Trial]) -> list[Trial]:
    """The trials that count: a corrected one does not, its correction does."""
    listed = list(trials)
    corrected = {trial.corrects for trial in listed if trial.corrects is not None}
    return [trial for trial in listed if trial.number not in corrected]


def number_of(trial: Trial | int) -> int:
    if isinstance(trial, Trial):
        return trial.number
    try:
        if not isinstance(trial, bool):
            return operator.index(trial)
    except TypeError:
        pass
    raise TrialError(f"a trial is a Trial or its number, got {trial!r}")


# -- notes, attributes, failures --


@dataclass(frozen=True, slots=True)
class Ending:
    """How a trial ends: its state, its value, and what is told beside it.

    Args:
        state: "complete", "failed" or "withdrawn".
        value: The objective's value.
        noise_std: The value's standard error, if known.
        outcomes: What was measured beside the value, by name.
        outcome_noise: Its standard error, where known.
        feasible: Whether all limits are kept; None: there are none, or not known.
        params: The point that was run, if not the one asked for.
        error: Why it failed.
        note: A person's words; None keeps those that are there.
        attributes: JSON values by name, added to those that are there; None removes one.
        transient: Of a failure: it says nothing about the point.
    """

    state: State = "complete"
    value: float | None = None
    noise_std: float | None = None
    outcomes: Mapping[str, float] = field(default_factory=dict)
    outcome_noise: Mapping[str, float] = field(default_factory=dict)
    feasible: bool | None = None
    params: Any = None
    error: str | None = None
    note: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    transient: bool = False


def check_note(note: Any, what: str = "a note") -> str | None:
    """Text as it is stored; None if there is none."""
    if note is None:
        return None
    if not isinstance(note, str):
        raise TrialError(f"{what} is text, got {note!r}: nothing was recorded; write str(…)")
    if len(note) > MAX_TEXT:
        raise TrialError(f"{what} has at most {MAX_TEXT} characters, got {len(note)}")
    odd = unwritable(note)
    if odd is not None:
        raise TrialError(f"{what} holds {odd}: nothing was recorded; leave it out")
    return note.strip() or None


def unwritable(text: str) -> str | None:
    """What in a text no database and no file in UTF-8 holds; None if there is no such thing."""
    for position, character in enumerate(text):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            kind = "the byte zero" if character == "\0" else f"half a character, {character!r},"
            return f"{kind} at position {position} of {text[:80]!r}, which no database keeps"
    return None


def check_attributes(attributes: Any) -> dict[str, Any]:
    """JSON values by name, as they come back from a storage."""
    if attributes is None:
        return {}
    if not isinstance(attributes, Mapping) or not all(
        isinstance(name, str) and name for name in attributes
    ):
        raise TrialError(f"attributes must be a dict from names to JSON values, got {attributes!r}")
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(attributes), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TrialError(f"attributes must be JSON values: {error}") from None
    return plain


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The old attributes with the new ones over them; None takes one away."""
    return {name: value for name, value in {**old, **new}.items() if value is not None}


def failure_text(error: BaseException) -> str:
    """An exception for the record: what it says, and below that where it came from. What no
    database holds is written as an escape.
    """
    message = "".join(traceback.format_exception_only(error)).strip()
    frames = traceback.format_tb(error.__traceback__)
    text = message + ("\n\n" + "".join(frames[-5:]).rstrip() if frames else "")
    written = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
    return written[:MAX_TEXT]


# -- notebooks --


def html_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A title and a line per row; rows without a text are left out."""
    lines = "".join(
        f'<tr><th style="{CELL};font-weight:normal;opacity:.7">{escape(name)}</th>'
        f'<td style="{CELL}">{escape(text)}</td></tr>'
        for name, text in rows
        if text
    )
    return f"<div><b>{escape(title)}</b><table>{lines}</table></div>"


def short_point(params: Any) -> str:
    """A point in a line: its first inputs, each with six digits."""
    if isinstance(params, Mapping):
        values = [f"{name}={shown(value)}" for name, value in params.items()]
    else:
        values = [shown(float(value)) for value in params]
    left = len(values) - MOST_SHOWN
    text = ", ".join(values if left <= 1 else [*values[:MOST_SHOWN], f"… {left} more"])
    return text if isinstance(params, Mapping) else f"[{text}]"


def shown(value: object) -> str:
    """A number with six digits, anything else as text."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
