"""A connection to SQLite or PostgreSQL: how it is opened, retried, and named in messages.

A SQLite database is also a file: it can be replaced while open, copied without its log, or be
readable only.
"""

from __future__ import annotations

import os
import random
import re
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

from noregret.errors import MissingExtraError, StorageError, UnavailableError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.exc import DBAPIError

DEFAULT_FILE = "noregret.db"
LOCK_SECONDS = 30.0  # longest wait for SQLite's lock while nothing is written
MAX_QUEUE_SECONDS = 600.0  # longest wait for SQLite's lock while other processes write in turn
RETRY_SECONDS = 10.0  # a statement is retried for this long after a lost connection
# The same before the first answer: a mistyped address should be reported soon.
FIRST_RETRY_SECONDS = 1.0
MAX_PAUSE = 1.0  # seconds between two attempts
MAX_LOCKED_PAUSE = 0.1  # the same where SQLite reports a lock, which is held briefly
# Readers and a writer at once, one flush per change. SQLite does not call its busy handler here.
WRITE_AHEAD = "PRAGMA journal_mode=WAL"

CALL_AGAIN = "probably nothing was changed; call again once the database answers"
DISK_FULL = "the disk is full; nothing was changed, free some space and call again"
DAMAGED = (
    "the file is damaged, or no database at all. Keep it as it is and work on a copy:"
    " `noregret database recover` exports every trial that can still be read"
)
DISK_FULL_STATE = "53100"  # the one SQLSTATE among PostgreSQL's operational errors that stays
# A connection that the server refuses for good has no SQLSTATE, only libpq's text.
REFUSED = ("does not exist", "password")
UNDECODABLE = "Could not decode to UTF-8"  # sqlite3's text, which has no code
# The log's index is being rebuilt by a process that can write it.
TRANSIENT_READONLY = (264, 1288)  # SQLITE_READONLY_RECOVERY, SQLITE_READONLY_CANTINIT
UNIQUE_CODES, FOREIGN_KEY_CODE = (1555, 2067), 787  # SQLite's extended codes
UNIQUE_STATE, FOREIGN_KEY_STATE = "23505", "23503"  # PostgreSQL's

T = TypeVar("T")


# -- addresses --


def storage_url(storage: str | os.PathLike[str] | None = None) -> str:
    """Returns a database's URL.

    Args:
        storage: A URL or a file's path. Default: NOREGRET_STORAGE, or noregret.db in the working
            folder.
    """
    default = os.environ.get("NOREGRET_STORAGE") or DEFAULT_FILE
    text = default if storage is None else os.fspath(storage)
    if text.startswith(("postgres://", "postgresql://")):
        return "postgresql+psycopg://" + text.split("://", 1)[1]
    if "://" in text:
        return text
    # both are ordinary characters of a file's name
    return "sqlite:///" + str(Path(text)).replace("%", "%25").replace("?", "%3F")


def storage_file(url: str) -> str | None:
    """Returns the file of a SQLite database's URL; None for PostgreSQL, for databases in memory,
    and for SQLite's own addresses (file:…).

    Args:
        url: What ``storage_url`` returned.
    """
    path = unquote(url.partition(":///")[2].partition("?")[0])
    is_file = url.startswith("sqlite") and path and not path.startswith((":", "file:"))
    return path if is_file else None


def shown_url(url: str) -> str:
    """Returns a database's address for messages, with every password in it hidden.

    Args:
        url: The address. A password may be in its usual place or among the options.
    """
    hidden = re.sub(r"(://[^/@:]*):.*@", r"\1:***@", url)
    return repr(re.sub(r"(?i)(password[^=&;]*=)[^&;]*", r"\1***", hidden))


# -- connections --


class SQLite(IntEnum):
    """SQLite's primary result codes: this Python may lack the module sqlite3."""

    ERROR, BUSY, LOCKED, READONLY = 1, 5, 6, 8
    CORRUPT, FULL, CANTOPEN, NOTADB = 11, 13, 14, 26


# What to do about an error that a retry does not cure.
ADVICE: dict[int, str] = {
    SQLite.READONLY: "the file or its folder cannot be written; nothing was changed",
    SQLite.FULL: DISK_FULL,
    SQLite.CANTOPEN: "the folder does not exist or cannot be read; or it cannot be written and the"
    " last changes are still in the file's -wal: copy both to a folder that can",
    SQLite.CORRUPT: DAMAGED,
    SQLite.NOTADB: DAMAGED,
    SQLite.ERROR: CALL_AGAIN,  # a table is missing
}


class TakenError(Exception):
    """A row with this key exists."""

    def __init__(self, attempts: int) -> None:
        super().__init__(attempts)
        self.attempts = attempts


class GoneError(Exception):
    """The row that this one belongs to does not exist (any more)."""


class Database:
    """One database and its connections.

    Every statement is a separate transaction, so that none is left open; several go through
    ``transaction``. A forked child gets its own connections: two processes on one connection would
    mix up their answers.
    """

    def __init__(
        self, storage: str | os.PathLike[str] | None = None, *, must_exist: bool = False
    ) -> None:
        try:
            import sqlalchemy
        except ImportError:
            raise MissingExtraError(
                "a stored study needs SQLAlchemy: install it with `pip install noregret[sql]`"
            ) from None
        self.sql = sqlalchemy
        self.url = storage_url(storage)
        kind = self.url.split("://")[0].split("+")[0]
        if kind not in ("sqlite", "postgresql"):
            raise StorageError(
                f"{kind} is not supported, got {self.shown}: use SQLite (a file or sqlite:///…)"
                " or PostgreSQL (postgresql://user@host/db)"
            )
        self._retry_seconds = FIRST_RETRY_SECONDS
        path = storage_file(self.url)
        self.file = None if path is None else SQLiteFile(Path(path))
        try:
            self.engine = _engine(self.url, self.file)
        except (sqlalchemy.exc.ArgumentError, sqlalchemy.exc.NoSuchModuleError) as error:
            raise StorageError(
                f"{self.shown} is no address of a database ({_reason(error)}): give a file or URL"
            ) from None
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                f"{error.name} is missing: install it with `pip install noregret[postgres]`"
            ) from None
        if must_exist and path is not None and not Path(path).exists():
            raise StorageError(f"there is no file {path!r}: create a study, or give its storage")
        weakref.finalize(self, self.engine.dispose)
        _in_use.add(self)

    @property
    def shown(self) -> str:
        """The address for messages, without a password."""
        return shown_url(self.url)

    @property
    def address(self) -> str:
        """The URL by which another process on this machine opens the same database."""
        if self.file is not None:
            _, mark, options = self.url.partition("?")
            return storage_url(self.file.path) + mark + options
        if self.is_sqlite:
            raise StorageError(f"{self.shown} is in the memory of this process: use a file")
        return self.url

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    def attempt(self, what: str, action: Callable[[Connection], T]) -> T:
        """Returns an action's result; see ``counted``."""
        result, _ = self.counted(what, action)
        return result

    def counted(self, what: str, action: Callable[[Connection], T]) -> tuple[T, int]:
        """Runs an action, and retries it after a lost connection and while SQLite is locked.

        A lock is given up when nothing was written for LOCK_SECONDS: where hundreds of processes
        write in turn the queue moves, and SQLite serves it in no order.

        Args:
            what: The action in a word, for messages.
            action: Is called with a connection, once per attempt.

        Returns:
            The action's result, and the number of attempts that may have changed something.

        Raises:
            TakenError: A row with this key exists.
            GoneError: The row that a new one belongs to does not exist.
            UnavailableError: The database did not answer, or cannot be written.
            StorageError: The database refuses a value.
        """
        errors = self.sql.exc
        begin, attempt, pause = time.monotonic(), 0, 0.05
        written, moved = self._written(), begin
        while True:
            attempt += 1
            settled, failure = self._settled(), None
            try:
                self._check_file(what)  # before: a connection would create a new file
                with self.engine.connect() as connection:
                    result = _closed_if_interrupted(connection, action)
                self._check_file(what)  # after: what was written to a deleted file is lost
            except errors.IntegrityError as error:
                match _broken_rule(error.orig):
                    case "unique":
                        raise TakenError(attempt) from None
                    case "foreign key":
                        raise GoneError from None
                raise StorageError(
                    f"could not {what} in {self.shown}: the database refuses the row"
                    f" ({_reason(error.orig)}); nothing was changed"
                ) from None
            except (errors.DataError, UnicodeEncodeError) as error:
                refusal = getattr(error, "orig", error)
                raise StorageError(
                    f"could not {what} in {self.shown}: a value is none that the database holds"
                    f" ({_reason(refusal)}); nothing was changed"
                ) from None
            except errors.DBAPIError as error:
                failure = error
            was_written = self._settled() != settled  # while it was read without a lock
            if failure is None and not was_written:
                self._retry_seconds = RETRY_SECONDS
                return result, attempt
            is_locked = failure is not None and _is_locked(failure.orig)
            now = time.monotonic()
            if self._written() != written and now < begin + MAX_QUEUE_SECONDS:
                written, moved = self._written(), now
            stalled = now - (moved if is_locked else begin)
            if stalled + pause > (LOCK_SECONDS if is_locked else self._retry_seconds) or not (
                was_written or is_locked or self._is_transient(failure)
            ):
                raise self._unavailable(what, failure, now - begin)
            attempt -= is_locked  # that one changed nothing
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, MAX_LOCKED_PAUSE if is_locked else MAX_PAUSE)

    def _is_transient(self, failure: DBAPIError | None) -> bool:
        if failure is None:
            return True
        operational = isinstance(failure, self.sql.exc.OperationalError)
        return (failure.connection_invalidated or operational) and _advice(failure.orig) is None

    def _unavailable(
        self, what: str, failure: DBAPIError | None, waited: float
    ) -> UnavailableError:
        cause = None if failure is None else failure.orig
        reason = "another process writes it" if cause is None else _reason(cause)
        advice = _advice(cause) or CALL_AGAIN
        if _is_locked(cause):
            advice = (
                f"waited {waited:.1f} s while another process held the lock; nothing was changed,"
                " call again"
            )
        return UnavailableError(
            f"could not {what} in {self.shown} ({reason}): {advice}",
            self._is_transient(failure) and not _is_locked(cause),
        )

    def _settled(self) -> tuple[int, ...] | None:
        return None if self.file is None else self.file.settled

    def _written(self) -> tuple[int, ...]:
        return () if self.file is None else self.file.written

    def _check_file(self, what: str) -> None:
        if self.file is not None and self.file.was_replaced:
            raise UnavailableError(
                f"could not {what} in {self.shown}: the file was deleted or replaced while it was"
                " open. Put it back, or open the storage again"
            )

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[None]:
        """All of it or nothing. SQLite's lock is taken at the start, so that it cannot be refused
        halfway.
        """
        connection.exec_driver_sql("BEGIN IMMEDIATE" if self.is_sqlite else "BEGIN")
        try:
            yield
            connection.exec_driver_sql("COMMIT")
        except BaseException:
            # a lost connection, and sometimes a full disk, has rolled it back already
            with suppress(self.sql.exc.DBAPIError, self.sql.exc.InvalidRequestError):
                connection.exec_driver_sql("ROLLBACK")
            raise


def _closed_if_interrupted(connection: Connection, action: Callable[[Connection], T]) -> T:
    """Closes the connection after an interrupt, which may leave a statement half read, and with it
    SQLite's lock.
    """
    try:
        return action(connection)
    except Exception:
        raise
    except BaseException:
        connection.invalidate()
        raise


def _after_fork() -> None:
    for database in _in_use:
        # kept: closing a connection here might end it for the parent too
        _inherited.append(database.engine.pool)
        database.engine.dispose(close=False)


_in_use: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[Any] = []
if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork)


def _engine(url: str, file: SQLiteFile | None) -> Engine:
    import sqlalchemy
    from sqlalchemy import event

    if not url.startswith("sqlite"):
        return sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    try:
        import sqlite3
    except ImportError:
        raise MissingExtraError(
            "this Python is without SQLite: use another, or PostgreSQL"
        ) from None
    if sqlite3.sqlite_version_info < (3, 35):
        raise StorageError(f"SQLite is {sqlite3.sqlite_version}, not 3.35 or newer: update Python")
    parsed, options = sqlalchemy.make_url(url), {"timeout": LOCK_SECONDS}
    if file is not None:  # versions of SQLAlchemy differ in reading escapes
        parsed = parsed.set(database=str(file.path))
    # a connection that cannot write is opened for each call: others may begin to write any time
    frozen = {"poolclass": sqlalchemy.NullPool} if file is not None and file.frozen else {}
    engine = sqlalchemy.create_engine(
        parsed, isolation_level="AUTOCOMMIT", connect_args=options, **frozen
    )

    if file is not None and file.frozen:

        @event.listens_for(engine, "do_connect")
        def _address(dialect: Any, record: Any, arguments: list[Any], named: Any) -> None:
            arguments[0], named["uri"] = file.read_only_address(), True

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, record: Any) -> None:
        try:
            _configure(connection, file)
        except BaseException:
            connection.close()
            raise

    return engine


def _configure(connection: Any, file: SQLiteFile | None) -> None:
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


# -- the drivers' errors --


def _reason(error: BaseException | None) -> str:
    """A driver's message without passwords."""
    text = re.sub(r"(?i)(password=)\S+", r"\1***", str(error).strip())
    return re.sub(r"(://[^/@:\s]*):[^/\s]*@", r"\1:***@", text)


def _broken_rule(error: BaseException | None) -> str:
    """Which rule of the database a row broke: "unique", "foreign key" or "other"."""
    code, state = getattr(error, "sqlite_errorcode", None), getattr(error, "sqlstate", None)
    if code in UNIQUE_CODES or state == UNIQUE_STATE:
        return "unique"
    if code == FOREIGN_KEY_CODE or state == FOREIGN_KEY_STATE:
        return "foreign key"
    return "other"


def _advice(error: BaseException | None) -> str | None:
    """What to do about a driver's error that a retry does not cure; None if one may."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        # an extended code has its primary one in the last byte
        return None if code in TRANSIENT_READONLY else ADVICE.get(code & 0xFF)
    state = getattr(error, "sqlstate", None)
    if state is not None:
        return DISK_FULL if state == DISK_FULL_STATE else None
    if UNDECODABLE in str(error):
        return DAMAGED
    return CALL_AGAIN if any(word in str(error) for word in REFUSED) else None


def _is_locked(error: BaseException | None) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (SQLite.BUSY, SQLite.LOCKED)


# -- the file of a SQLite database --


class SQLiteFile:
    """The file of one ``Database``, and its write-ahead log (``-wal``) with the recent changes."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # now: the working folder may change
        self._log = self.path.with_name(self.path.name + "-wal")
        self.frozen = not can_write(path)  # this process cannot write it
        self._had_log = self._log.exists()
        self._identity: tuple[int, int] | None = None
        self.lacks_log = False  # it looked like a copy without its log when it was first opened

    def opened(self, mode: str, is_empty: bool) -> None:
        """Records what a new connection found. Only the first one counts: afterwards the state may
        be our own work.

        Args:
            mode: The journal mode.
            is_empty: Whether there are no tables.
        """
        if self._identity is None:
            self._identity = self._current_identity()
            self.lacks_log = mode == "wal" and is_empty and not self._had_log

    @property
    def was_replaced(self) -> bool:
        """Whether the path now leads to another file than the one opened, or to none."""
        return self._identity is not None and self._current_identity() != self._identity

    def _current_identity(self) -> tuple[int, int] | None:
        status = _status(self.path)
        return None if status is None else (status.st_dev, status.st_ino)

    @property
    def written(self) -> tuple[int, ...]:
        """Size and time of the file and of its log: they change when somebody writes."""
        there = filter(None, map(_status, (self.path, self._log)))
        return tuple(part for status in there for part in (status.st_size, status.st_mtime_ns))

    @property
    def settled(self) -> tuple[int, ...] | None:
        """Inode, size and time of a file that cannot be written here and has no log: no process is
        writing it. None while a log exists, and where the file can be written.
        """
        if not self.frozen:
            return None
        log, status = _status(self._log), _status(self.path)
        if status is None or (log is not None and log.st_size > 0):
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def read_only_address(self) -> str:
        """The URI that reads it now. SQLite must not take locks in a folder that it cannot write:
        ``immutable`` does without them, and is right only while no process writes.
        """
        immutable = "" if self.settled is None else "&immutable=1"
        return f"file:{quote(str(self.path))}?mode=ro{immutable}"


def can_write(file: Path) -> bool:
    """Whether SQLite can write a file: it also creates files in the same folder."""
    return not file.exists() or (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


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
        raise StorageError(f"{database.shown} is no SQLite database: copy it with pg_dump")
    if path.exists():
        raise StorageError(f"{str(path)!r} exists already: name a new file")
    import sqlite3  # there, or the database could not be opened

    # under another name until it is complete
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
