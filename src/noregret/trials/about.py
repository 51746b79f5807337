"""What goes with a trial or a study besides numbers: notes, attributes, why it failed."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from noregret.errors import TrialError

LONGEST = 10_000  # characters of a note or of an exception's text


@dataclass(frozen=True, slots=True)
class About:
    """What is told beside an outcome. params: the point that was run, if not the one asked for."""

    params: Any = None
    error: str | None = None
    note: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    transient: bool = False  # of a failure: it says nothing of the point
    outcomes: Mapping[str, float] = field(default_factory=dict)
    outcome_noise: Mapping[str, float] = field(default_factory=dict)
    feasible: bool | None = None


def check_note(note: Any, what: str = "a note") -> str | None:
    """Text as it is stored; None if there is none."""
    if note is None:
        return None
    if not isinstance(note, str):
        raise TrialError(f"{what} is text, got {note!r}: nothing was recorded; write str(…)")
    if len(note) > LONGEST:
        raise TrialError(
            f"{what} has at most {LONGEST} characters, got {len(note)}: nothing was recorded; keep"
            " long texts in a file and note its name"
        )
    odd = unwritable(note)
    if odd is not None:
        raise TrialError(f"{what} holds {odd}: nothing was recorded; leave it out")
    return note.strip() or None


def unwritable(text: str) -> str | None:
    """What in a text no database and no file in UTF-8 holds; None if there is no such thing."""
    for position, each in enumerate(text):
        if each == "\0" or "\ud800" <= each <= "\udfff":
            kind = "the byte zero" if each == "\0" else f"half a character, {each!r},"
            return f"{kind} at position {position} of {text[:80]!r}, which no database keeps"
    return None


def check_transient(transient: Any, state: str) -> bool:
    """Whether a failure says nothing of its point."""
    if not isinstance(transient, bool):
        raise TrialError(f"transient is True or False, got {transient!r}: nothing was recorded")
    if transient and state != "failed":
        raise TrialError(
            f'transient is for a trial that failed, got state="{state}": nothing was recorded;'
            ' leave it out, or tell state="failed"'
        )
    return transient


def check_attributes(attributes: Any) -> dict[str, Any]:
    """JSON values by name, as they come back from a storage."""
    if attributes is None:
        return {}
    if not isinstance(attributes, Mapping) or not all(
        isinstance(name, str) and name for name in attributes
    ):
        raise TrialError(
            "attributes are a dict from names to JSON values, got"
            f" {attributes!r}: nothing was recorded"
        )
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(attributes), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TrialError(
            f"attributes must be JSON values ({error}), got {dict(attributes)!r}: nothing was"
            " recorded; turn arrays into lists and other objects into text"
        ) from None
    return plain


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The old attributes with the new ones over them; None takes one away."""
    return {name: value for name, value in {**old, **new}.items() if value is not None}


def failure_text(error: BaseException) -> str:
    """An exception for the record: what it says, and below that where it came from. What no
    database holds is written as an escape.
    """
    said = "".join(traceback.format_exception_only(error)).strip()
    frames = traceback.format_tb(error.__traceback__)
    text = said + ("\n\n" + "".join(frames[-5:]).rstrip() if frames else "")
    written = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
    return written[:LONGEST]
