"""Studies made, read and deleted, with their lists of designs."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from noregret.errors import StorageError, StudyExistsError
from noregret.space import Candidates, Space
from noregret.storage import codec, lists
from noregret.storage.database import GoneError, TakenError
from noregret.storage.documents import load, load_dict
from noregret.storage.lookup import find, study_id, unknown
from noregret.storage.protocol import StudyKey, StudyRecord, check_first
from noregret.storage.rows import attributes_text, key_of, row_of
from noregret.storage.schema import VERSION, space_of_list
from noregret.storage.statements import Statements
from noregret.strategies import Strategy
from noregret.trials import LIMITS, Trial, utc_now

if TYPE_CHECKING:
    from sqlalchemy import Connection

LIST_ATTEMPTS = 20  # of making a study whose list others delete at the same time


def create(statements: Statements, record: StudyRecord, trials: Sequence[Trial] = ()) -> StudyKey:
    check_first(trials)
    listed = lists.pack(record.space) if isinstance(record.space, Candidates) else None
    space = codec.to_json(record.space) if listed is None else space_of_list(listed[0])
    row: dict[str, Any] = {
        "name": record.name,
        "space": json.dumps(space),
        "goal": record.goal,
        "strategy": json.dumps(codec.to_json(record.strategy)),
        "seed": str(record.seed),
        "created": utc_now(),
        "library": version("noregret"),
        "version": VERSION,
        "note": record.note,
        "attributes": attributes_text(record.attributes),
        "origin": None if record.origin is None else json.dumps(dict(record.origin)),
        "list": None if listed is None else listed[0],
        "outcomes": json.dumps(codec.to_json(record.outcomes)) if record.outcomes else None,
        "context": json.dumps(record.context) if record.context else None,
    }

    def add(connection: Connection) -> int:
        statement = statements.studies.insert().values(row).returning(statements.studies.c.id)
        if listed is None and not trials:
            made: int = connection.execute(statement).scalar_one()
            return made
        with statements.database.transaction(connection):  # others see all of it, or nothing
            if listed is not None:
                keep_list(statements, connection, *listed)
            made = connection.execute(statement).scalar_one()
            if trials:
                rows = [row_of(made, trial, uuid.uuid4().hex) for trial in trials]
                connection.execute(statements.trials.insert(), rows)
        return made

    try:
        study = _with_its_list(lambda: statements.database.attempt("create", add))
    except TakenError as taken:
        found = find(statements, record.name) if taken.attempts > 1 else None
        if found is None or found.created != row["created"] or found.space != row["space"]:
            raise StudyExistsError(
                f"a study named {record.name!r} exists already: open it, or choose another name"
            ) from None
        study = found.id  # by an attempt whose answer got lost
    return key_of(record.name, study, row["created"])


def _with_its_list(make: Callable[[], int]) -> int:
    """Makes a study again whose list was deleted at that moment, with the last other study that had
    it: PostgreSQL sees the list when it is kept, and no longer when the study refers to it.
    """
    for _ in range(LIST_ATTEMPTS - 1):
        with suppress(GoneError):
            return make()
    return make()


def read(statements: Statements, name: str) -> StudyRecord:
    row = find(statements, name)
    if row is None:
        raise unknown(statements, name)
    if isinstance(row.version, int) and row.version > VERSION:
        raise StorageError(
            f"study {name!r} was written by a newer version of noregret (schema {row.version},"
            f" this one reads {VERSION}): upgrade noregret"
        )
    key = key_of(name, row.id, row.created)
    space = None if row.list is None else read_list(statements, row.list)
    try:
        return checked(
            StudyRecord(
                str(name),
                codec.from_json(load(row.space)) if space is None else space,
                row.goal,
                codec.from_json(load(row.strategy)),
                int(row.seed),
                key=key,
                note=row.note,
                attributes=load_dict(row.attributes),
                origin=None if row.origin is None else load_dict(row.origin),
                outcomes={} if row.outcomes is None else codec.from_json(load(row.outcomes)),
                context=tuple(load(row.context or "[]")),
            )
        )
    except DAMAGED as error:
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise StorageError(
            f"the row of study {str(name)!r} in {statements.database.shown} is damaged ({why})."
            " Its trials may be intact: `noregret recover` exports every one that can be read"
        ) from None


# what values of ours, or of others, raise where they are made of something else than they wrote
DAMAGED = (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, IndexError)


def checked(record: StudyRecord) -> StudyRecord:
    """A record whose parts are what they must be; ValueError else."""
    parts = {
        "space": isinstance(record.space, Space | Candidates),
        "goal": record.goal in ("maximize", "minimize"),
        "strategy": isinstance(record.strategy, Strategy),
        "seed": record.seed >= 0,
        "note": isinstance(record.note, str | None),
        "origin": record.origin is None or isinstance(record.origin.get("study"), str),
        "outcomes": isinstance(record.outcomes, dict)
        and all(isinstance(each, LIMITS) for each in record.outcomes.values()),
    }
    for name, sound in parts.items():
        if not sound:
            raise ValueError(f"its {name} is {str(getattr(record, name))[:80]}")
    strange = [name for name in record.context if name not in record.space.parameters]
    if strange:
        raise ValueError(f"its context names {strange!r}")
    return record


def delete(statements: Statements, name: str) -> None:
    # its trials go with it
    s = statements.studies.c
    statement = statements.studies.delete().where(s.name == str(name))
    if isinstance(name, StudyKey):
        statement = statement.where(s.id == study_id(statements, name))
    count, attempts = statements.database.counted(
        "delete", lambda connection: connection.execute(statement).rowcount
    )
    if count == 0 and attempts == 1:
        raise unknown(statements, name)
    with suppress(GoneError):  # a study with that list is made at this moment
        statements.database.attempt("delete", lambda connection: drop_lists(statements, connection))


def drop_lists(statements: Statements, connection: Connection) -> None:
    """Lists of which no study is left."""
    used = statements.sql.exists().where(statements.studies.c.list == statements.lists.c.digest)
    connection.execute(statements.lists.delete().where(~used))


def keep_list(statements: Statements, connection: Connection, key: str, content: bytes) -> None:
    """A list, unless it is there; nobody can remove it before this transaction has ended."""
    there = (
        statements.sql.select(statements.lists.c.digest)
        .where(statements.lists.c.digest == key)
        .with_for_update(read=True, key_share=True)
    )
    if connection.execute(there).scalar_one_or_none() is None:
        connection.execute(
            statements.sql.text(
                "INSERT INTO noregret_lists (digest, content) VALUES (:digest, :content)"
                " ON CONFLICT (digest) DO NOTHING"
            ),
            {"digest": key, "content": content},
        )


def read_list(statements: Statements, key: str) -> Candidates:
    known = lists.is_open(key)
    if known is not None:
        return known
    query = statements.sql.select(statements.lists.c.content).where(
        statements.lists.c.digest == key
    )
    content = statements.database.attempt(
        "open", lambda connection: connection.execute(query).scalar_one_or_none()
    )
    if content is None:
        raise StorageError(f"the list of designs {key} of a stored study is gone: it is damaged")
    return lists.unpack(key, content)
