"""Trials and studies as rows of the tables, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from noregret.errors import StorageError
from noregret.storage.documents import load, load_dict
from noregret.storage.protocol import StudyKey
from noregret.trials import STATES, Trial, utc_now


def key_of(name: str, study: int, created: str) -> StudyKey:
    """An id is never used again in its table; with its time it is not in another table either."""
    return StudyKey(str(name), f"{study}@{created}")


def row_of(study: int, trial: Trial, ticket: str) -> dict[str, Any]:
    data, now = trial.to_json(), utc_now()
    try:
        row = {
            "study": study,
            "number": trial.number,
            "state": trial.state,
            "params": json.dumps(data["params"], allow_nan=False),
            "value": trial.value,
            "noise_std": trial.noise_std,
            "decision": json.dumps(data["decision"], allow_nan=False),
            "created": trial.created or now,
            "finished": (trial.finished or now) if trial.is_finished else None,
            "worker": ticket,
            "heartbeat": None,
            "attempts": int(trial.state == "running"),
            "corrects": trial.corrects,
            "asked": None if trial.asked is None else json.dumps(data["asked"], allow_nan=False),
            "error": trial.error,
            "note": trial.note,
            "attributes": attributes_text(trial.attributes),
            "started": trial.started or (now if trial.state == "running" else None),
            "revision": 0,
            "transient": trial.transient,
            "outcomes": outcomes_text(trial.outcomes, trial.outcome_noise),
            "feasible": flag_of(trial.feasible),
        }
        check_row(row)  # what is written can be read
    except (TypeError, ValueError) as error:
        raise StorageError(
            f"trial {trial.number} holds something that is not JSON ({error}): {data['params']!r}"
        ) from None
    return row


def params_text(params: Any) -> str:
    plain = params.tolist() if hasattr(params, "tolist") else dict(params)
    return json.dumps(plain, allow_nan=False)


def attributes_text(attributes: Mapping[str, Any]) -> str | None:
    return json.dumps(dict(attributes), allow_nan=False) if attributes else None


def outcomes_text(values: Mapping[str, float], noise: Mapping[str, float]) -> str | None:
    if not values:
        return None
    return json.dumps({name: [value, noise.get(name)] for name, value in values.items()})


def flag_of(feasible: bool | None) -> int | None:
    return None if feasible is None else int(feasible)


def read_outcomes(text: str | None, feasible: int | None) -> dict[str, Any]:
    """The columns ``outcomes`` and ``feasible`` as a trial has them."""
    pairs = load_dict(text)
    numbers = [each for pair in pairs.values() for each in pair if each is not None]
    if not all(map(is_number, numbers)):
        raise ValueError(f"its outcomes are {text!r}")
    return {
        "outcomes": {name: value for name, (value, _) in pairs.items()},
        "outcome_noise": {name: std for name, (_, std) in pairs.items() if std is not None},
        "feasible": None if feasible is None else bool(feasible),
    }


NUMBERS = ("value", "noise_std")
TIMES = ("created", "finished", "started")
TEXTS = ("note", "error")


def is_number(value: Any) -> bool:
    """Finite, and not a truth value."""
    return isinstance(value, float | int) and not isinstance(value, bool) and math.isfinite(value)


def check_time(name: str, text: Any) -> None:
    """A time is ISO 8601 with its zone, as ``utc_now`` writes it."""
    try:
        known = text is None or datetime.fromisoformat(text).tzinfo is not None
    except (TypeError, ValueError):
        known = False
    if not known:
        raise ValueError(f"its {name} is {text!r}")


def check_corrects(number: Any, corrects: Any) -> None:
    """A trial corrects an earlier one: so no chain of corrections is a ring."""
    known = corrects is None or (type(corrects) is int and 0 <= corrects < number)
    if not known:
        raise ValueError(f"it corrects trial {corrects!r}, which is none before it")


def check_row(row: Mapping[str, Any]) -> None:
    """SQLite keeps whatever lands in a column. Raises ValueError for what none of ours wrote."""
    for name in ("number", "revision"):
        if name in row and (not isinstance(row[name], int) or row[name] < 0):
            raise ValueError(f"its {name} is {row[name]!r}")
    if row["state"] not in STATES:
        raise ValueError(f"its state is {row['state']!r}")
    for name in NUMBERS:
        if row[name] is not None and not is_number(row[name]):
            raise ValueError(f"its {name} is {row[name]!r}")
    for name in TIMES:
        check_time(name, row.get(name))
    for name in TEXTS:
        if not isinstance(row.get(name), str | None):
            raise ValueError(f"its {name} is {row[name]!r}")
    check_corrects(row["number"], row.get("corrects"))


def trial_of(row: Any) -> Trial:
    check_row(row._mapping)
    return Trial.from_json(
        {
            **row._mapping,
            "params": load(row.params),
            "decision": load_dict(row.decision),
            "worker": row.attended_by,
            "asked": None if row.asked is None else load(row.asked),
            "attributes": load_dict(row.attributes),
            **read_outcomes(row.outcomes, row.feasible),
        }
    )
