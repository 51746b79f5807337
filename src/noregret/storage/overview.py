"""All studies at a glance, in time linear in their trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from noregret.storage.protocol import StudySummary
from noregret.storage.statements import Statements
from noregret.trials import STATES

if TYPE_CHECKING:
    from sqlalchemy import Connection


def summaries(statements: Statements) -> list[StudySummary]:
    rows, corrected = statements.database.attempt(
        "list", lambda connection: overview(statements, connection)
    )
    made = []
    for row in rows:
        study, corrections, *numbers = row
        if corrections:
            numbers[2:-3] = _standing(corrected[study], numbers[1])
        made.append(_summary(numbers))
    return sorted(made, key=lambda summary: summary.name)


def overview(
    statements: Statements, connection: Connection
) -> tuple[list[Any], dict[int, list[Any]]]:
    """One pass over the trials, and another over the studies that have corrections, whose
    counts need to know which trials these replace. Both read the index ``noregret_overview``
    alone, and neither compares trials with trials.
    """
    rows = list(connection.execute(statements.aggregates).all())
    corrected: dict[int, list[Any]] = {row.id: [] for row in rows if row.corrections}
    if corrected:
        studies = {"studies": sorted(corrected)}
        for study, *rest in connection.execute(statements.select_outcomes, studies):
            corrected[study].append(rest)
    return rows, corrected


def _standing(rows: Sequence[Any], goal: str) -> list[Any]:
    """Count, counts by state and best of the trials that no other corrects."""
    replaced = {corrects for *_, corrects in rows if corrects is not None}
    left = [(state, value) for number, state, value, _ in rows if number not in replaced]
    states = Counter(state for state, _ in left)
    values = [value for state, value in left if state == "complete" and value is not None]
    best = (max if goal == "maximize" else min)(values, default=None)
    return [len(left), *(states[state] for state in STATES), best]


def _summary(row: Any) -> StudySummary:
    name, goal, count, waiting, running, complete, failed, withdrawn, best, created, *activity = row
    last = max([created, *(text for text in activity if text is not None)])
    return StudySummary(
        name, goal, count, waiting, running, complete, failed, best, created, last, withdrawn
    )
