"""Studies in SQLite or PostgreSQL through SQLAlchemy Core: two tables, JSON text, UTC times, every change one statement.

A trial's row changes once, from running to its end, so what was read finished is never read again. Needs the extra ``sql``.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from noregret import codec
from noregret.errors import MissingExtraError, StorageError
from noregret.storage.protocol import StudyRecord
from noregret.trial import Trial

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Row

VERSION = 1  # of the schema, written into every study's row
DEFAULT_FILE = "noregret.db"
ATTEMPTS = 6  # of a statement that a lock or a lost connection stopped; waits double from 50 ms
LOCK_SECONDS = 30.0  # how long SQLite waits for another writer
FINAL = (
    "readonly",
    "full",
    "unable to open",
    "does not exist",
    "password",
    "no such table",
    "malformed",
    "not a database",
)  # trying again is no use

T = TypeVar("T")


def storage_url(storage: str | os.PathLike[str] | None = None) -> str:
    """A database's URL from a URL, a file's path, or nothing: NOREGRET_STORAGE, or noregret.db in the working folder."""
    chosen = os.fspath(storage) if storage is not None else os.environ.get("NOREGRET_STORAGE") or DEFAULT_FILE
    if chosen.startswith(("postgres://", "postgresql://")):
        return "postgresql+psycopg://" + chosen.split("://", 1)[1]
    return chosen if "://" in chosen else f"sqlite:///{Path(chosen)}"


class SQLStorage:
    """Safe for any number of threads, processes and machines; an instance may not be shared across a fork."""

    def __init__(self, storage: str | os.PathLike[str] | None = None) -> None:
        try:
            import sqlalchemy
        except ImportError:
            raise MissingExtraError("a stored study needs SQLAlchemy: install it with `pip install noregret[sql]`") from None
        self._sql = sqlalchemy
        self.url = storage_url(storage)
        try:
            self._engine = _engine(self.url)
        except (sqlalchemy.exc.ArgumentError, sqlalchemy.exc.NoSuchModuleError) as error:
            raise StorageError(
                f"{self.url!r} is not a database this can open ({error}): give a file, or a URL such as sqlite:///study.db or postgresql://host/db"
            ) from None
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                f"{self.url.split(':')[0]} needs {error.name}: install it with `pip install noregret[postgres]`"
            ) from None
        self._studies, self._trials = _tables(sqlalchemy)
        self._lock = threading.Lock()
        self._ids: dict[str, int] = {}
        self._read: dict[int, list[Trial]] = {}  # finished trials never change
        self._attempt("set up", lambda connection: self._studies.metadata.create_all(connection))

    # -- the protocol --

    def create(self, record: StudyRecord) -> None:
        row = {
            "name": record.name, "space": json.dumps(codec.to_json(record.space)), "goal": record.goal,
            "strategy": json.dumps(codec.to_json(record.strategy)), "seed": str(record.seed), "created": _now(), "library": version("noregret"), "version": VERSION,
        }  # fmt: skip
        try:
            self._attempt("create", lambda connection: connection.execute(self._studies.insert().values(row)))
        except _TakenError:
            raise StorageError(f"a study named {record.name!r} exists already: open it, or choose another name") from None

    def open(self, name: str) -> StudyRecord:
        s = self._studies.c
        query = self._sql.select(s.id, s.space, s.goal, s.strategy, s.seed, s.version).where(s.name == name)
        row = self._attempt("open", lambda connection: connection.execute(query).one_or_none())
        if row is None:
            raise StorageError(f"there is no study named {name!r}; there are {self.names()!r}")
        if row.version > VERSION:
            raise StorageError(
                f"study {name!r} was written by a newer version of noregret (schema {row.version}, this one reads {VERSION}): upgrade noregret"
            )
        self._ids[name] = row.id
        return StudyRecord(name, codec.from_json(json.loads(row.space)), row.goal, codec.from_json(json.loads(row.strategy)), int(row.seed))

    def names(self) -> list[str]:
        query = self._sql.select(self._studies.c.name)
        return sorted(self._attempt("list", lambda connection: connection.execute(query).scalars().all()))

    def trials(self, name: str) -> list[Trial]:
        study, t = self._id(name), self._trials.c
        with self._lock:
            known = self._read.setdefault(study, [])
            settled = next((i for i, trial in enumerate(known) if trial.state == "running"), len(known))
            query = self._sql.select(self._trials).where(t.study == study, t.number >= settled).order_by(t.number)
            rows = self._attempt("read", lambda connection: connection.execute(query).all())
            if not rows and settled == 0:
                self._must_exist(name, study)
            known[settled:] = [_trial(row) for row in rows]
            return list(known)

    def insert(self, name: str, trial: Trial) -> bool:
        study, t, sql = self._id(name), self._trials.c, self._sql
        row = {"study": study, "number": trial.number, "created": _now(), **_columns(trial)}
        count = sql.select(sql.func.count()).select_from(self._trials).where(t.study == study).scalar_subquery()
        exists = sql.select(self._studies.c.id).where(self._studies.c.id == study).exists()
        values = sql.select(*(sql.literal(value, self._trials.c[column].type) for column, value in row.items())).where(
            count == trial.number, exists
        )
        statement = self._trials.insert().from_select(list(row), values).execution_options(preserve_rowcount=True)
        try:
            count_done, attempts = self._counted("insert", lambda connection: connection.execute(statement).rowcount)
        except _TakenError as taken:
            count_done, attempts = 0, taken.attempts
        if count_done == 1:
            return True
        self._must_exist(name, study)
        return self._stands(study, trial, attempts)

    def finish(self, name: str, trial: Trial) -> bool:
        study, t = self._id(name), self._trials.c
        where = (t.study == study, t.number == trial.number, t.state == "running")
        statement = self._trials.update().where(*where).values(finished=_now(), **_columns(trial))
        count, attempts = self._counted("finish", lambda connection: connection.execute(statement).rowcount)
        if count == 1:
            return True
        self._must_exist(name, study)
        return self._stands(study, trial, attempts)

    def close(self) -> None:
        """Gives the connections back; the storage may be used again."""
        self._engine.dispose()

    # -- inside --

    def _id(self, name: str) -> int:
        if name not in self._ids:
            self.open(name)
        return self._ids[name]

    def _must_exist(self, name: str, study: int) -> None:
        """Raises if the study was deleted, by whomever."""
        query = self._sql.select(self._studies.c.id).where(self._studies.c.name == name)
        now = self._attempt("read", lambda connection: connection.execute(query).scalar_one_or_none())
        if now is None:
            raise StorageError(f"there is no study named {name!r} any more; there are {self.names()!r}")
        if now != study:
            raise StorageError(f"study {name!r} was deleted and made anew by another process: open it again")

    def _stands(self, study: int, trial: Trial, attempts: int) -> bool:
        """Whether this very row is there: an attempt whose answer got lost may have succeeded."""
        if attempts == 1:
            return False
        t = self._trials.c
        query = self._sql.select(self._trials).where(t.study == study, t.number == trial.number)
        row = self._attempt("read", lambda connection: connection.execute(query).one_or_none())
        return row is not None and _trial(row) == trial

    def _attempt(self, what: str, action: Callable[[Connection], T]) -> T:
        result, _ = self._counted(what, action)
        return result

    def _counted(self, what: str, action: Callable[[Connection], T]) -> tuple[T, int]:
        """One transaction, tried again after a lock or a lost connection; how many attempts it took. Every failure in words."""
        errors = self._sql.exc
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._engine.begin() as connection:
                    result = action(connection)
                return result, attempt
            except errors.IntegrityError:
                raise _TakenError(attempt) from None
            except errors.DBAPIError as error:
                passing = error.connection_invalidated or isinstance(error, errors.OperationalError)
                text = str(error.orig).strip()
                if not passing or any(word in text for word in FINAL) or attempt == ATTEMPTS:
                    raise StorageError(f"could not {what} in {self._engine.url!r} ({text}): {_advice(text)}") from None
                time.sleep(0.05 * 2 ** (attempt - 1))
        raise AssertionError  # the last attempt returned or raised


class _TakenError(Exception):
    def __init__(self, attempts: int) -> None:
        super().__init__(attempts)
        self.attempts = attempts


def _advice(text: str) -> str:
    if "readonly" in text:
        return "the file or its folder cannot be written; nothing was changed"
    if "full" in text:
        return "the disk is full; nothing was changed, free some space and call again"
    if "locked" in text:
        return f"another process held the lock for longer than {LOCK_SECONDS:g} s; nothing was changed, call again"
    if "unable to open" in text:
        return "the folder does not exist or cannot be read"
    return "nothing was changed as far as is known; call again once the database answers"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _columns(trial: Trial) -> dict[str, Any]:
    data = trial.to_json()
    try:
        return {
            "state": data["state"], "params": json.dumps(data["params"], allow_nan=False), "value": data["value"], "noise_std": data["noise_std"],
            "info": json.dumps(data["info"], allow_nan=False),
        }  # fmt: skip
    except (TypeError, ValueError) as error:
        raise StorageError(f"trial {trial.number} holds something that is not JSON ({error}): {data['params']!r}") from None


def _trial(row: Row[Any]) -> Trial:
    return Trial.from_json(
        {
            "number": row.number, "params": json.loads(row.params), "state": row.state, "value": row.value, "noise_std": row.noise_std,
            "info": json.loads(row.info),
        }
    )  # fmt: skip


def _tables(sql: Any) -> tuple[Any, Any]:
    metadata = sql.MetaData()
    studies = sql.Table(
        "noregret_studies", metadata,
        sql.Column("id", sql.Integer, primary_key=True), sql.Column("name", sql.Text, nullable=False, unique=True),
        *(sql.Column(name, sql.Text, nullable=False) for name in ("space", "goal", "strategy", "seed", "created", "library")),
        sql.Column("version", sql.Integer, nullable=False), sqlite_autoincrement=True,  # ids are never used again
    )  # fmt: skip
    trials = sql.Table(
        "noregret_trials", metadata,
        sql.Column("study", sql.Integer, sql.ForeignKey("noregret_studies.id", ondelete="CASCADE"), primary_key=True),
        sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
        sql.Column("state", sql.Text, nullable=False), sql.Column("params", sql.Text, nullable=False),
        sql.Column("value", sql.Double), sql.Column("noise_std", sql.Double), sql.Column("info", sql.Text, nullable=False),
        sql.Column("created", sql.Text, nullable=False), sql.Column("finished", sql.Text),
    )  # fmt: skip
    return studies, trials


def _engine(url: str) -> Engine:
    import sqlalchemy
    from sqlalchemy import event

    if not url.startswith("sqlite"):
        return sqlalchemy.create_engine(url, pool_pre_ping=True)
    engine = sqlalchemy.create_engine(url, connect_args={"timeout": LOCK_SECONDS})

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # the driver would begin transactions on its own
        connection.execute("PRAGMA journal_mode=WAL")  # readers and a writer at once, one flush per change
        connection.execute("PRAGMA synchronous=FULL")  # a value whose tell returned survives a power cut
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine
