"""A copy of a database in use, in one file."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from noregret.errors import StorageError
from noregret.storage.database import Database

if TYPE_CHECKING:
    from sqlalchemy import Connection


def backup(target: str | os.PathLike[str], storage: str | os.PathLike[str] | None = None) -> Path:
    """Copies a SQLite database into a new file with SQLite's own backup, while others use it.

    The copy holds every change that was acknowledged before the call, and needs no ``-wal``.

    Args:
        target: The new file. It must not exist.
        storage: The database to copy. Default: NOREGRET_STORAGE, or noregret.db.

    Returns:
        The path of the copy.

    Raises:
        StorageError: ``target`` exists or cannot be written, or the database is in PostgreSQL.
    """
    path = Path(target)
    database = Database(storage, must_exist=True)
    if not database.is_sqlite:
        raise StorageError(
            f"{database.shown} is no SQLite database: copy one in PostgreSQL with pg_dump"
        )
    if path.exists():
        raise StorageError(f"{str(path)!r} exists already: name a new file")
    import sqlite3  # there, or the database could not be opened

    # under another name until it is whole
    part = path.with_name(f"{path.name}.{os.getpid()}.part")

    def copy(connection: Connection) -> None:
        source = connection.connection.driver_connection
        assert source is not None
        with closing(sqlite3.connect(part, isolation_level=None)) as new:
            source.backup(new)
            new.execute("PRAGMA journal_mode=DELETE")  # all of it in one file

    try:
        database.attempt("back up", copy)
        part.rename(path)
    except (sqlite3.Error, OSError) as error:
        raise StorageError(f"could not write {str(path)!r} ({error}): nothing was copied") from None
    finally:
        part.unlink(missing_ok=True)
        database.engine.dispose()
    return path
