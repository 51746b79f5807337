"""New trials under the next free numbers, whoever else adds some at the same moment."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from noregret.errors import StorageError
from noregret.storage.database import GoneError, TakenError
from noregret.storage.kept_trials import read_trial
from noregret.storage.lookup import must_exist, study_id
from noregret.storage.protocol import made_anew
from noregret.storage.rows import row_of
from noregret.storage.statements import Statements, lock_of
from noregret.trials import Trial

if TYPE_CHECKING:
    from sqlalchemy import Connection


def insert(
    statements: Statements, name: str, trials: Sequence[Trial], worker: str | None = None
) -> bool:
    if not trials:
        return True
    study, numbers = study_id(statements, name), [trial.number for trial in trials]
    if numbers[0] < 0 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return False
    # by which an insert whose answer got lost is recognised
    ticket = worker or uuid.uuid4().hex
    rows = [row_of(study, trial, ticket) for trial in trials]
    first = statements.insert_next if worker is None else statements.insert_beating

    def add(connection: Connection) -> bool:
        if len(rows) == 1:
            return connection.execute(first, rows[0]).rowcount == 1
        with statements.database.transaction(connection):
            done = connection.execute(first, rows[0]).rowcount == 1
            if done:
                connection.execute(statements.trials.insert(), rows[1:])
        return done

    try:
        done, attempts = statements.database.counted("insert", add)
    except TakenError as taken:
        done, attempts = False, taken.attempts
    except GoneError:
        done, attempts = False, 1
    if not done:
        must_exist(statements, name, study)
    return done or (attempts > 1 and holder(statements, study, numbers[0]) == ticket)


@dataclass(frozen=True, slots=True)
class Bounds:
    """When nothing is added: beyond so many trials, or after a look at those that came."""

    below: float = math.inf
    unless: Callable[[Sequence[Trial]], bool] | None = None


def append(
    statements: Statements,
    name: str,
    trials: Sequence[Trial],
    worker: str | None,
    bounds: Bounds,
) -> list[Trial] | None:
    if not trials:
        return []
    study, t, sql = study_id(statements, name), statements.trials.c, statements.sql
    ticket = worker or uuid.uuid4().hex
    rows = [row_of(study, trial, ticket) for trial in trials]
    highest = sql.select(sql.func.max(t.number)).where(t.study == study)
    lock = sql.select(lock_of(sql, study))
    mine = sql.select(t.number).where(
        *(t[name] == rows[0][name] for name in ("study", "worker", "created", "params")),
        t.decision == rows[0]["decision"],
    )
    expected = trials[0].number
    since = sql.select(*statements.columns).where(t.study == study, t.number >= expected)
    tried = False

    def add(connection: Connection) -> int | None:
        nonlocal tried
        with statements.database.transaction(connection):
            if not statements.database.is_sqlite:  # others that add wait here, in their order
                connection.execute(lock)
            if tried:  # an attempt whose answer got lost may have succeeded
                found: int | None = connection.execute(mine).scalars().first()
                if found is not None:
                    return found
            tried = True
            last = connection.execute(highest).scalar_one()
            first = 0 if last is None else last + 1
            if first + len(rows) > bounds.below:
                return None
            if bounds.unless is not None and first > expected:
                came = connection.execute(since.order_by(t.number)).all()
                if bounds.unless([read_trial(statements, row, name) for row in came]):
                    return None
            numbered = [row | {"number": first + index} for index, row in enumerate(rows)]
            if worker is None:
                connection.execute(statements.trials.insert(), numbered)
            else:  # the clock is the database's
                for row in numbered:
                    connection.execute(
                        statements.trials.insert().values(row | {"heartbeat": statements.clock})
                    )
            return first

    while True:
        try:
            first = statements.database.attempt("append", add)
        except TakenError:  # PostgreSQL: by an older noregret, which does not wait its turn
            continue
        except GoneError:
            must_exist(statements, name, study)
            raise StorageError(made_anew(name)) from None
        if first is None:
            return None
        numbers = range(first, first + len(rows))
        return [
            replace(
                trial,
                number=number,
                created=row["created"],
                finished=row["finished"],
                worker=worker if trial.state == "running" else None,
            )
            for trial, number, row in zip(trials, numbers, rows, strict=True)
        ]


def holder(statements: Statements, study: int, number: int) -> str | None:
    t = statements.trials.c
    query = statements.sql.select(t.worker).where(t.study == study, t.number == number)
    holder: str | None = statements.database.attempt(
        "read", lambda connection: connection.execute(query).scalar_one_or_none()
    )
    return holder
