"""One SQLite file while it is in use: whether it is still the same file, and how it is read where
it cannot be written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote


class SQLiteFile:
    """The file of one ``Database``. ``frozen``: this process cannot write it.

    SQLite keeps recent changes in a second file beside it, the write-ahead log (``-wal``).
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._log = self.path.with_name(self.path.name + "-wal")
        self.frozen = not can_write(path)
        self._had_log = self._log.exists()
        self._identity: tuple[int, int] | None = None
        self._lacks_log: bool | None = None

    @property
    def lacks_log(self) -> bool:
        """Whether it looked like a copy without its log when it was first opened."""
        return bool(self._lacks_log)

    def opened(self, mode: str, is_empty: bool) -> None:
        """Called for each connection, with the journal mode it found and whether there are no
        tables. Only the first look counts: afterwards the state may be our own work.
        """
        if self._identity is None:
            self._identity = _identity(self.path)
        if self._lacks_log is None:
            self._lacks_log = mode == "wal" and is_empty and not self._had_log

    @property
    def was_replaced(self) -> bool:
        """Whether the path now leads to another file than the one opened, or to none."""
        return self._identity is not None and _identity(self.path) != self._identity

    @property
    def written(self) -> tuple[int, ...]:
        """Size and time of the file and of its log: they change when somebody writes."""
        found: list[int] = []
        for path in (self.path, self._log):
            try:
                status = path.stat()
            except OSError:
                continue
            found += [status.st_size, status.st_mtime_ns]
        return tuple(found)

    @property
    def settled(self) -> tuple[int, ...] | None:
        """Inode, size and time of a file that cannot be written here and has no log: nobody is
        writing it. None while a log exists, and where the file can be written.
        """
        if not self.frozen or _size(self._log):
            return None
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def read_only_address(self) -> str:
        """The URI that reads it now. SQLite must not take locks in a folder that it cannot write:
        ``immutable`` does without them, and is right only while nobody writes.
        """
        immutable = "" if self.settled is None else "&immutable=1"
        return f"file:{quote(str(self.path))}?mode=ro{immutable}"


def can_write(file: Path) -> bool:
    """Whether SQLite can: it also creates files in the same folder."""
    return not file.exists() or (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def configure(connection: Any, file: SQLiteFile | None) -> None:
    """Sets up a new connection of the driver."""
    if file is not None and file.frozen:
        return
    # the mode is read first: setting it would hide which one the file had
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    is_empty = connection.execute("PRAGMA schema_version").fetchone() == (0,)
    if file is not None:
        file.opened(mode, is_empty)
    if not is_empty:  # else together with the tables: see ``schema.prepare``
        connection.execute(WRITE_AHEAD)
    # a value whose tell returned survives a power cut
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


# Readers and a writer at once, one flush per change. SQLite does not call its busy handler here.
WRITE_AHEAD = "PRAGMA journal_mode=WAL"
