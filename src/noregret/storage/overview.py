"""All studies at a glance, in time linear in their trials."""

from __future__ import annotations

from typing import Any

from noregret.storage.protocol import StudySummary
from noregret.storage.statements import Statements
from noregret.trials import STATES


def summaries(statements: Statements) -> list[StudySummary]:
    """One pass over the trials in the index ``noregret_overview``, which the database makes alone:
    corrected trials are looked up in a list that it makes first.
    """
    rows = statements.database.attempt(
        "list", lambda connection: connection.execute(statements.overview).all()
    )
    return sorted(map(_summary, rows), key=lambda summary: summary.name)


def _summary(row: Any) -> StudySummary:
    name, goal, count, *by_state = row[: 3 + len(STATES)]
    best, created, *activity = row[3 + len(STATES) :]
    # of a damaged row, whose study says so when it is opened, what is no number or text is left out
    times = [str(created), *(text for text in activity if isinstance(text, str))]
    best = best if isinstance(best, float | int) else None
    states = dict(zip(STATES, by_state, strict=True))
    return StudySummary(
        str(name), goal, count, best=best, created=times[0], last_activity=max(times), **states
    )
