"""A connection to SQLite or PostgreSQL: which database, how it is opened, and what happens when it
does not answer.
"""

from __future__ import annotations

import os
import random
import re
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from noregret.errors import MissingExtraError, StorageError, UnavailableError
from noregret.storage.sqlite_file import SQLiteFile, configure

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.exc import DBAPIError

DEFAULT_FILE = "noregret.db"
LOCK_SECONDS = 30.0  # how long SQLite waits for another writer while nothing is written
LONGEST_QUEUE = 600.0  # seconds that a queue of writers is waited for while it moves
PATIENCE = 10.0  # seconds for which a statement is tried again after a lost connection
# the same while nothing has answered yet: a mistyped address should not take long to find out
FIRST_PATIENCE = 1.0
LONGEST_WAIT = 1.0  # between two attempts
LONGEST_LOCKED_WAIT = 0.1  # the same where SQLite reports a lock: it is held briefly
CALL_AGAIN = "nothing was changed as far as is known; call again once the database answers"
DISK_FULL = "the disk is full; nothing was changed, free some space and call again"
DAMAGED = (
    "the file is damaged, or no database at all. Keep it as it is and work on a copy: `noregret"
    " recover` exports every trial that can still be read"
)
DISK_FULL_STATE = "53100"  # the only SQLSTATE among PostgreSQL's operational errors that stays
# a connection that the server refused for good has no SQLSTATE: libpq gives its text alone
REFUSED = ("does not exist", "password")
UNDECODABLE = "Could not decode to UTF-8"  # sqlite3's words, which have no code

PASSWORD = re.compile("://[^@/]*@")  # and the user before it: for no message

T = TypeVar("T")


def storage_url(storage: str | os.PathLike[str] | None = None) -> str:
    """A database's URL from a URL, a file's path, or nothing: NOREGRET_STORAGE, or noregret.db in
    the working folder.
    """
    chosen = (
        os.fspath(storage)
        if storage is not None
        else os.environ.get("NOREGRET_STORAGE") or DEFAULT_FILE
    )
    if chosen.startswith(("postgres://", "postgresql://")):
        return "postgresql+psycopg://" + chosen.split("://", 1)[1]
    if "://" in chosen:
        return chosen
    # in a file's name both are letters like others
    return "sqlite:///" + str(Path(chosen)).replace("%", "%25").replace("?", "%3F")


def storage_file(url: str) -> str | None:
    """The file of a SQLite database's URL; None where there is none of its own name: PostgreSQL,
    memory, and SQLite's own addresses (file:…).
    """
    path = unquote(url.partition(":///")[2].partition("?")[0])
    is_file = url.startswith("sqlite") and path and not path.startswith((":", "file:"))
    return path if is_file else None


class SQLite(IntEnum):
    """Its primary result codes; this Python need not have the module."""

    ERROR, BUSY, LOCKED, READONLY = 1, 5, 6, 8
    CORRUPT, FULL, CANTOPEN, NOTADB = 11, 13, 14, 26


class TakenError(Exception):
    """A row with this key exists, after that many attempts."""

    def __init__(self, attempts: int) -> None:
        super().__init__(attempts)
        self.attempts = attempts


class GoneError(Exception):
    """The row that this one belongs to does not exist (any more)."""


class Database:
    """Every statement is a transaction of its own, so none is ever left open; several go through
    ``transaction``.

    A forked child gets connections of its own: two processes on one connection would mix up their
    answers.
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
                f"{kind} is not supported, got {PASSWORD.sub('://', self.url)!r}: studies are kept"
                " in SQLite (a file, or sqlite:///study.db) for one machine, or in PostgreSQL"
                " (postgresql://user@host/db) for several"
            )
        self._patience = FIRST_PATIENCE
        path = storage_file(self.url)
        self.file = None if path is None else SQLiteFile(Path(path))
        try:
            self.engine = _engine(self.url, self.file)
        except (sqlalchemy.exc.ArgumentError, sqlalchemy.exc.NoSuchModuleError) as error:
            raise StorageError(
                f"{self.shown} is not a database this can open ({_reason(error)}): give a file, or"
                " a URL such as sqlite:///study.db or postgresql://host/db"
            ) from None
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                f"{self.url.split(':')[0]} needs {error.name}: install it with `pip install"
                " noregret[postgres]`"
            ) from None
        if must_exist and path is not None and not Path(path).exists():
            raise StorageError(
                f"there is no file {path!r}: create a study first, or say where it is (storage, or"
                " NOREGRET_STORAGE)"
            )
        # of the moment when it was opened: the working folder may change, or be another elsewhere
        self._file = None if path is None else str(Path(path).absolute())
        weakref.finalize(self, self.engine.dispose)
        _in_use.add(self)

    @property
    def shown(self) -> str:
        """The address as messages have it, without a password."""
        return shown_url(self.url)

    @property
    def address(self) -> str:
        """The URL by which another process on this machine opens the same database."""
        if self._file is not None:
            _, mark, options = self.url.partition("?")
            return storage_url(self._file) + mark + options
        if self.is_sqlite:
            raise StorageError(
                f"{self.shown} is in the memory of this process, and no other can open it: keep"
                " the study in a file or in PostgreSQL"
            )
        return self.url

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    def attempt(self, what: str, action: Callable[[Connection], T]) -> T:
        result, _ = self.counted(what, action)
        return result

    def counted(self, what: str, action: Callable[[Connection], T]) -> tuple[T, int]:
        """An action, tried again after a lost connection and while SQLite's lock is taken; how many
        attempts may have changed something. Every failure in words.

        A lock counts as taken for good when nothing was written for LOCK_SECONDS: where hundreds of
        processes write in turn, the queue moves, and SQLite serves it in no order.
        """
        errors = self.sql.exc
        begin, attempt, pause = time.monotonic(), 0, 0.05
        written, moved = self._written(), begin
        while True:
            attempt += 1
            settled, failure = self._settled(), None
            try:
                self._check_file(what)  # before: a connection would make a new file
                with self.engine.connect() as connection:
                    result = _uninterrupted(connection, action)
                self._check_file(what)  # after: what was written to a deleted file is lost
            except errors.IntegrityError as error:
                match _broken(error.orig):
                    case "unique":
                        raise TakenError(attempt) from None
                    case "foreign key":
                        raise GoneError from None
                raise StorageError(
                    f"could not {what} in {self.shown}: the database refuses the row"
                    f" ({_reason(error.orig)}); nothing was changed. Its tables were altered, or"
                    " the value is none that they hold"
                ) from None
            except (errors.DataError, UnicodeEncodeError) as error:
                refusal = getattr(error, "orig", error)
                raise StorageError(
                    f"could not {what} in {self.shown}: a text or a number is none that the"
                    f" database holds ({_reason(refusal)}); nothing was changed"
                ) from None
            except errors.DBAPIError as error:
                failure = error
            was_written = self._settled() != settled  # while it was read without a lock
            if failure is None and not was_written:
                self._patience = PATIENCE
                return result, attempt
            is_locked = failure is not None and _is_locked(failure.orig)
            now = time.monotonic()
            if self._written() != written and now < begin + LONGEST_QUEUE:
                written, moved = self._written(), now
            stalled = now - (moved if is_locked else begin)
            if stalled + pause > (LOCK_SECONDS if is_locked else self._patience) or not (
                was_written or is_locked or self._may_pass(failure)
            ):
                raise self._unavailable(what, failure, now - begin)
            attempt -= is_locked  # nothing was changed by that one
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, LONGEST_LOCKED_WAIT if is_locked else LONGEST_WAIT)

    def _may_pass(self, failure: DBAPIError | None) -> bool:
        if failure is None:
            return True
        passing = isinstance(failure, self.sql.exc.OperationalError)
        return (failure.connection_invalidated or passing) and _lasting(failure.orig) is None

    def _unavailable(
        self, what: str, failure: DBAPIError | None, waited: float
    ) -> UnavailableError:
        cause = None if failure is None else failure.orig
        reason = "another process writes it" if cause is None else _reason(cause)
        advice = _lasting(cause) or CALL_AGAIN
        if _is_locked(cause):
            advice = (
                f"waited {waited:.1f} s while another process held the lock; nothing was changed,"
                " call again"
            )
        return UnavailableError(
            f"could not {what} in {self.shown} ({reason}): {advice}",
            self._may_pass(failure) and not _is_locked(cause),
        )

    def _settled(self) -> tuple[int, ...] | None:
        return None if self.file is None else self.file.settled

    def _written(self) -> tuple[int, ...]:
        return () if self.file is None else self.file.written

    def _check_file(self, what: str) -> None:
        if self.file is not None and self.file.was_replaced:
            raise UnavailableError(
                f"could not {what} in {self.shown}: the file was deleted or replaced while it was"
                " open, so what is written now would be lost. Put the file back, or open the"
                " storage again"
            )

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[None]:
        """All of it or nothing; SQLite's lock is taken at the start, so that it cannot be refused
        halfway.
        """
        connection.exec_driver_sql("BEGIN IMMEDIATE" if self.is_sqlite else "BEGIN")
        try:
            yield
            connection.exec_driver_sql("COMMIT")
        except BaseException:
            # a lost connection has done it already, and so may a full disk have
            with suppress(self.sql.exc.DBAPIError, self.sql.exc.InvalidRequestError):
                connection.exec_driver_sql("ROLLBACK")
            raise


def _uninterrupted(connection: Connection, action: Callable[[Connection], T]) -> T:
    """An interrupt may leave a statement half read, and with it SQLite's lock: the connection is
    closed then.
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
        # kept: to close a connection here might end it for the parent too
        _inherited.append(database.engine.pool)
        database.engine.dispose(close=False)


_in_use: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[Any] = []
if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork)


def shown_url(url: str) -> str:
    """A database's address with every password in it hidden, whether in its usual place or as an
    option.
    """
    hidden = re.sub(r"(://[^/@:]*):.*@", r"\1:***@", url)
    return repr(re.sub(r"(?i)(password[^=&;]*=)[^&;]*", r"\1***", hidden))


def _reason(error: BaseException | None) -> str:
    """A driver's words, without passwords."""
    text = re.sub(r"(?i)(password=)\S+", r"\1***", str(error).strip())
    return re.sub(r"(://[^/@:\s]*):[^/\s]*@", r"\1:***@", text)


# the log's index is being rebuilt by a process that may write it
PASSING_READONLY = (264, 1288)  # SQLITE_READONLY_RECOVERY, SQLITE_READONLY_CANTINIT
UNIQUE_CODES, FOREIGN_KEY_CODE = (1555, 2067), 787  # SQLite's extended codes
UNIQUE_STATE, FOREIGN_KEY_STATE = "23505", "23503"  # PostgreSQL's


def _broken(error: BaseException | None) -> str:
    """Which rule of the database a row broke."""
    code, state = getattr(error, "sqlite_errorcode", None), getattr(error, "sqlstate", None)
    if code in UNIQUE_CODES or state == UNIQUE_STATE:
        return "unique"
    if code == FOREIGN_KEY_CODE or state == FOREIGN_KEY_STATE:
        return "foreign key"
    return "other"


def _lasting(error: BaseException | None) -> str | None:
    """What to do about a driver's error if trying again is no use; None if it may pass."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        match code & 0xFF:  # an extended code has its primary one in the last byte
            case SQLite.READONLY if code not in PASSING_READONLY:
                return "the file or its folder cannot be written; nothing was changed"
            case SQLite.FULL:
                return DISK_FULL
            case SQLite.CANTOPEN:
                return (
                    "the folder does not exist or cannot be read; or it cannot be written and the"
                    " last changes are still in the file's -wal: copy both to a folder that can"
                )
            case SQLite.CORRUPT | SQLite.NOTADB:
                return DAMAGED
            case SQLite.ERROR:
                return CALL_AGAIN  # a table that is missing
        return None
    state = getattr(error, "sqlstate", None)
    if state is not None:
        return DISK_FULL if state == DISK_FULL_STATE else None
    if UNDECODABLE in str(error):
        return DAMAGED
    return CALL_AGAIN if any(word in str(error) for word in REFUSED) else None


def _is_locked(error: BaseException | None) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (SQLite.BUSY, SQLite.LOCKED)


def _engine(url: str, file: SQLiteFile | None) -> Engine:
    import sqlalchemy
    from sqlalchemy import event

    if not url.startswith("sqlite"):
        return sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    try:
        import sqlite3
    except ImportError:
        raise MissingExtraError(
            "this Python was built without SQLite: use one that has the module sqlite3, or"
            " PostgreSQL"
        ) from None
    if sqlite3.sqlite_version_info < (3, 35):
        raise StorageError(
            f"this Python's SQLite is {sqlite3.sqlite_version}, noregret needs 3.35 or newer: use a"
            " newer Python, or PostgreSQL"
        )
    parsed, options = sqlalchemy.make_url(url), {"timeout": LOCK_SECONDS}
    if file is not None:  # the versions of SQLAlchemy read escapes in it differently
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
            configure(connection, file)
        except BaseException:
            connection.close()
            raise

    return engine
