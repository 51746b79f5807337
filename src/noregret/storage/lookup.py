"""Which study a name or a key means, and whether it is still there."""

from __future__ import annotations

from typing import Any

from noregret.errors import StorageError, UnknownStudyError
from noregret.storage.protocol import StudyKey, made_anew
from noregret.storage.rows import key_of
from noregret.storage.statements import Statements


def find(statements: Statements, name: str) -> Any:
    """A study's row by its name, or by its key; None if it is not there."""
    s = statements.studies.c
    columns = (s.id, s.space, s.goal, s.strategy, s.seed, s.version, s.created, s.list)
    remarks = (s.note, s.attributes, s.origin, s.outcomes, s.context)
    query = statements.sql.select(*columns, *remarks).where(s.name == str(name))
    row = statements.database.attempt(
        "open", lambda connection: connection.execute(query).one_or_none()
    )
    known = getattr(name, "identity", None)
    if row is not None and known not in (None, key_of(name, row.id, row.created).identity):
        raise StorageError(made_anew(name))
    return row


def key(statements: Statements, name: str) -> StudyKey:
    row = find(statements, name)
    if row is None:
        raise unknown(statements, name)
    return key_of(name, row.id, row.created)


def unknown(statements: Statements, name: str) -> UnknownStudyError:
    return UnknownStudyError(
        f"there is no study named {str(name)!r}; there are {names(statements)!r}"
    )


def names(statements: Statements) -> list[str]:
    query = statements.sql.select(statements.studies.c.name)
    return sorted(
        str(name)
        for name in statements.database.attempt(
            "list", lambda connection: connection.execute(query).scalars().all()
        )
    )


def study_id(statements: Statements, name: str) -> int:
    known = name if isinstance(name, StudyKey) else key(statements, name)
    return int(known.identity.partition("@")[0])


def must_exist(statements: Statements, name: str, study: int) -> None:
    """Raises if the study was deleted, by whomever."""
    s = statements.studies.c
    query = statements.sql.select(s.id, s.created).where(s.name == str(name))
    now = statements.database.attempt(
        "read", lambda connection: connection.execute(query).one_or_none()
    )
    if now is None:
        raise UnknownStudyError(
            f"there is no study named {str(name)!r} any more; there are {names(statements)!r}"
        )
    key = key_of(name, now.id, now.created)
    if now.id != study or (isinstance(name, StudyKey) and key.identity != name.identity):
        raise StorageError(made_anew(name))
