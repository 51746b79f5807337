"""Counts the SQL statements that a call sends to its database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine


@contextmanager
def counted_statements() -> Iterator[list[str]]:
    """Collects the statements of every database in this process while the block runs.

    The settings of a new connection (PRAGMA …) do not pass through SQLAlchemy and are not counted.
    """
    statements: list[str] = []

    def record(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", record)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", record)
