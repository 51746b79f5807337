"""Trials and studies as rows of the tables, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from noregret.errors import StorageError
from noregret.storage.protocol import StudyKey
from noregret.trials import Trial, utc_now


def key_of(name: str, study: int, created: str) -> StudyKey:
    """An id is never used again in its table; with its time it is not in another table either."""
    return StudyKey(str(name), f"{study}@{created}")


def row_of(study: int, trial: Trial, ticket: str) -> dict[str, Any]:
    data, now = trial.to_json(), utc_now()
    try:
        return {
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
        }
    except (TypeError, ValueError) as error:
        raise StorageError(
            f"trial {trial.number} holds something that is not JSON ({error}): {data['params']!r}"
        ) from None


def params_text(params: Any) -> str:
    plain = params.tolist() if hasattr(params, "tolist") else dict(params)
    return json.dumps(plain, allow_nan=False)


def attributes_text(attributes: Mapping[str, Any]) -> str | None:
    return json.dumps(dict(attributes), allow_nan=False) if attributes else None


def trial_of(row: Any) -> Trial:
    return Trial.from_json(
        {
            **row._mapping,
            "params": json.loads(row.params),
            "decision": json.loads(row.decision),
            "worker": row.attended_by,
            "asked": None if row.asked is None else json.loads(row.asked),
            "attributes": json.loads(row.attributes or "{}"),
        }
    )
