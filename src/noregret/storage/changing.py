"""What happens to a trial after it was added: given out, alive, told, taken back, annotated."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noregret.storage.adding import holder
from noregret.storage.kept_trials import KeptTrials, read_trial
from noregret.storage.lookup import must_exist, study_id
from noregret.storage.protocol import DIED, UNLIMITED
from noregret.storage.rows import flag_of, outcomes_text, params_text
from noregret.storage.statements import Statements
from noregret.trials import About, State, Trial, merged, utc_now

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ends, and what is told beside it."""

    state: State
    value: float | None
    noise_std: float | None
    about: About


@dataclass(frozen=True, slots=True)
class Meant:
    """Which running trials are taken back: see ``Storage.reclaim``."""

    grace: float
    numbers: Sequence[int] | None
    worker: str | None


def claim(
    statements: Statements, kept: KeptTrials, name: str, number: int, worker: str | None = None
) -> Trial | None:
    study, t = study_id(statements, name), statements.trials.c
    ticket = worker or uuid.uuid4().hex
    statement = (
        statements.trials.update()
        .where(t.study == study, t.number == number, t.state == "waiting")
        .values(
            state="running",
            started=utc_now(),
            worker=ticket,
            heartbeat=None if worker is None else statements.clock,
            attempts=t.attempts + 1,
        )
        .returning(*statements.columns)
    )
    row, attempts = statements.database.counted(
        "claim", lambda connection: connection.execute(statement).one_or_none()
    )
    if row is not None:
        return read_trial(statements, row, name)
    if attempts > 1 and holder(statements, study, number) == ticket:
        return kept.of(name)[number]
    return None


def finish(
    statements: Statements,
    kept: KeptTrials,
    name: str,
    number: int,
    told: Outcome,
    worker: str | None,
) -> Trial | None:
    study, t, about = study_id(statements, name), statements.trials.c, told.about
    statement = statements.finish if about.params is None else statements.finish_moved
    if worker is not None:
        statement = statement.where(t.worker == worker, t.state == "running")
    moved = {} if about.params is None else {"new_params": params_text(about.params)}
    values = {
        **moved,
        "study_id": study,
        "at_number": number,
        "new_state": told.state,
        "new_value": told.value,
        "new_noise_std": told.noise_std,
        "now": utc_now(),
        "new_error": about.error,
        "new_note": about.note,
        "new_attributes": None,
        "new_transient": about.transient,
        "new_outcomes": outcomes_text(about.outcomes, about.outcome_noise),
        "new_feasible": flag_of(about.feasible),
    }

    def end(connection: Connection) -> Any:
        if not about.attributes:
            return connection.execute(statement, values).one_or_none()
        with statements.database.transaction(connection):
            where = (t.study == study, t.number == number)
            both = _with(statements, connection, statements.trials, where, about.attributes)
            return connection.execute(statement, {**values, "new_attributes": both}).one_or_none()

    row, attempts = statements.database.counted("finish", end)
    if row is not None:
        return read_trial(statements, row, name)
    must_exist(statements, name, study)
    if attempts > 1:  # an attempt whose answer got lost may have succeeded
        found = next((trial for trial in kept.of(name)[number : number + 1]), None)
        ours = (told.state, told.value, told.noise_std, values["now"])
        if found is not None and ours == (
            found.state,
            found.value,
            found.noise_std,
            found.finished,
        ):
            return found
    return None


def annotate(
    statements: Statements,
    name: str,
    number: int | None,
    note: str | None,
    attributes: Mapping[str, Any],
) -> None:
    study, s, t = study_id(statements, name), statements.studies.c, statements.trials.c
    said = {} if note is None else {"note": note or None}
    mine = statements.studies.update().where(s.id == study)
    count_up = mine.values(revision=s.revision + 1).returning(s.revision)
    table = statements.studies if number is None else statements.trials
    where = (s.id == study,) if number is None else (t.study == study, t.number == number)

    def change(connection: Connection) -> bool:
        with statements.database.transaction(connection):  # the study's row makes others wait
            revision = connection.execute(count_up).scalar_one_or_none()
            if revision is None:
                return False
            both = _with(statements, connection, table, where, attributes)
            new = {**said, "attributes": both, **({} if number is None else {"revision": revision})}
            connection.execute(table.update().where(*where).values(new))
        return True

    must_exist(statements, name, study)
    if not statements.database.attempt("annotate", change):
        must_exist(statements, name, study)  # it was deleted in between


def _with(
    statements: Statements, connection: Connection, table: Any, where: Any, new: Mapping[str, Any]
) -> str:
    """A row's attributes with the new ones over them; nobody changes them before this transaction
    has ended.
    """
    query = statements.sql.select(table.c.attributes).where(*where).with_for_update()
    old = connection.execute(query).scalar_one_or_none()
    return json.dumps(merged(json.loads(old or "{}"), new), allow_nan=False)


def heartbeat(statements: Statements, name: str, numbers: Sequence[int], worker: str) -> None:
    study, t = study_id(statements, name), statements.trials.c
    where = (
        t.study == study,
        t.number.in_(list(numbers)),
        t.worker == worker,
        t.state == "running",
    )
    statement = statements.trials.update().where(*where).values(heartbeat=statements.clock)
    statements.database.attempt("heartbeat", lambda connection: connection.execute(statement))


def reclaim(statements: Statements, name: str, attempts: int, meant: Meant) -> list[Trial]:
    study, t, sql = study_id(statements, name), statements.trials.c, statements.sql
    where = [t.study == study, t.state == "running"]
    if meant.numbers is None:
        where.append(t.heartbeat < statements.clock - meant.grace)
    else:
        where.append(t.number.in_(list(meant.numbers)))
    if meant.worker is not None:
        where.append(t.worker == meant.worker)
    over = t.attempts >= attempts
    statement = (
        statements.trials.update()
        .where(*where)
        .returning(*statements.columns)
        .values(
            state=sql.case((over, "failed"), else_="waiting"),
            finished=sql.case((over, utc_now()), else_=None),
            started=sql.case((over, t.started), else_=None),
            error=sql.case((over, DIED), else_=None),
            transient=sql.and_(over, sql.literal(attempts == 0)),
            worker=None,
            heartbeat=None,
            attempts=t.attempts - int(attempts == UNLIMITED),
        )
    )
    rows = statements.database.attempt(
        "reclaim", lambda connection: connection.execute(statement).all()
    )
    return sorted(
        (read_trial(statements, row, name) for row in rows), key=lambda trial: trial.number
    )
