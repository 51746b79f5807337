"""Studies in SQLite or PostgreSQL through SQLAlchemy Core: three tables, JSON text, UTC times.

Every change is one statement or one short transaction. A change whose answer got lost with the
connection is tried again, and recognised by its ticket: the worker's name, or a random token.
"""

from __future__ import annotations

import json
import math
import os
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from noregret.errors import StorageError
from noregret.space import Candidates
from noregret.storage import codec
from noregret.storage.database import Database, GoneError, TakenError
from noregret.storage.protocol import (
    DIED,
    UNLIMITED,
    StudyKey,
    StudyRecord,
    StudySummary,
    check_numbering,
    study_exists,
    study_replaced,
    unknown_study,
)
from noregret.storage.schema import (
    ENDING_COLUMNS,
    check_version,
    prepare,
    record_of,
    row_of,
    study_key,
    study_row,
    summary_of,
    tables,
    trial_of,
)
from noregret.trials import STATES, Ending, Trial, merged, utc_now

if TYPE_CHECKING:
    from sqlalchemy import Connection

ADVISORY = 0x6E6F5265  # the first key of our advisory locks in PostgreSQL
LIST_ATTEMPTS = 20  # to create a study whose list of designs others delete at the same moment


@dataclass(slots=True)
class _Cache:
    """The trials of a study read so far. Of a finished trial only an annotation is read again."""

    trials: list[Trial] = field(default_factory=list)
    unfinished: set[int] = field(default_factory=set)  # numbers
    revision: int = 0  # the newest annotation seen


class SQLStorage:
    """Studies in a SQLite file or a PostgreSQL database. Needs the extra ``sql``.

    Safe for any number of threads, processes and machines.

    Args:
        storage: A file or URL. Default: NOREGRET_STORAGE, or noregret.db.
        must_exist: Refuse a SQLite file that does not exist, instead of creating it.

    Raises:
        StorageError: The database cannot be opened, or has a schema of another version.
        MissingExtraError: SQLAlchemy or the database's driver is not installed.
    """

    shared = True

    def __init__(
        self, storage: str | os.PathLike[str] | None = None, *, must_exist: bool = False
    ) -> None:
        self._database = Database(storage, must_exist=must_exist)
        self._sql = self._database.sql
        self.url = self._database.url
        metadata = tables(self._sql)
        self._lists, self._studies, self._trials = (
            metadata.tables[f"noregret_{name}"] for name in ("lists", "studies", "trials")
        )
        self._lock = threading.Lock()  # guards the cache
        self._cache: dict[int, _Cache] = {}  # by the study's id
        self._build_statements()
        try:
            prepare(self._database, metadata)
        except BaseException:
            self.close()
            raise

    def __reduce__(self) -> tuple[Callable[[str], SQLStorage], tuple[str]]:
        """A copy, here or in another process, is opened by the address."""
        return partial(SQLStorage, must_exist=True), (self._database.address,)

    def close(self) -> None:
        """Closes the connections. The storage can be used again."""
        self._database.engine.dispose()

    def _build_statements(self) -> None:
        """The statements that reading and asking use each time, built once."""
        sql, t, bind = self._sql, self._trials.c, self._sql.bindparam
        if self._database.is_sqlite:
            self._clock: Any = (sql.func.julianday("now") - 2440587.5) * 86400.0
        else:  # the server's: the machines' clocks may differ
            self._clock = sql.cast(sql.extract("epoch", sql.func.clock_timestamp()), sql.Double)
        attended = sql.case((sql.and_(t.state == "running", t.heartbeat.is_not(None)), t.worker))
        internal = ("study", "worker", "heartbeat", "attempts")
        self._columns = [column for column in t if column.name not in internal]
        self._columns.append(attended.label("attended_by"))
        is_news = sql.or_(
            t.number >= bind("from_number"),
            t.revision > bind("from_revision"),
            t.number.in_(bind("unfinished", expanding=True)),
        )
        s = self._studies.c
        # a row without a trial says that the study exists and has no news
        self._select_news = (
            sql.select(*self._columns)
            .select_from(self._studies.outerjoin(self._trials, (t.study == s.id) & is_news))
            .where(s.id == bind("study_id"), s.created == bind("study_created"))
            .order_by(t.number)
        )
        self._insert_next = self._insert_after_last()

    def _insert_after_last(self) -> Any:
        """Inserts a trial if the number before its own exists, in one statement."""
        sql, t, before = self._sql, self._trials.c, self._trials.alias("before").c
        values: dict[str, Any] = {c.name: sql.bindparam(c.name, type_=c.type) for c in t}
        attended = sql.bindparam("attended", type_=sql.Boolean)
        values["heartbeat"] = sql.case((attended, self._clock))
        is_last = (before.study == values["study"], before.number == values["number"] - 1)
        follows = sql.exists().where(*is_last)
        row = sql.select(*(item.label(name) for name, item in values.items()))
        row = row.where(sql.or_(values["number"] == 0, follows))
        if not self._database.is_sqlite:  # after those that wait for a number, not before them
            row = row.select_from(sql.select(self._turn(values["study"]).label("turn")).subquery())
        statement = self._trials.insert().from_select(list(values), row)
        return statement.execution_options(preserve_rowcount=True)

    def _turn(self, study: Any) -> Any:
        """PostgreSQL's lock for adding trials to a study, until the transaction ends. It serves in
        the order of arrival.
        """
        return self._sql.func.pg_advisory_xact_lock(ADVISORY, study)

    def _fetch(self, what: str, statement: Any, values: Any = None) -> Sequence[Any]:
        return self._database.attempt(what, lambda c: c.execute(statement, values).all())

    # -- studies --

    def create(self, record: StudyRecord, trials: Sequence[Trial] = ()) -> StudyKey:
        check_numbering(trials)
        packed = codec.pack(record.space) if isinstance(record.space, Candidates) else None
        row = study_row(record, None if packed is None else packed[0])

        def add(connection: Connection) -> int:
            with self._database.transaction(connection):  # others see all of it, or nothing
                if packed is not None:
                    self._keep_list(connection, *packed)
                insert = self._studies.insert().values(row).returning(self._studies.c.id)
                study: int = connection.execute(insert).scalar_one()
                if trials:
                    added = (trial.as_added(trial.number, None) for trial in trials)
                    rows = [row_of(study, trial, uuid.uuid4().hex) for trial in added]
                    connection.execute(self._trials.insert(), rows)
            return study

        for _ in range(LIST_ATTEMPTS):
            # GoneError, in PostgreSQL: the list was deleted at this moment with its last study
            with suppress(GoneError):
                try:
                    study = self._database.attempt("create", add)
                except TakenError as taken:
                    existing = self._find(record.name) if taken.attempts > 1 else None
                    same = ("created", "space")  # by an attempt whose answer got lost
                    if existing is None or any(existing[name] != row[name] for name in same):
                        raise study_exists(record.name) from None
                    study = existing["id"]
                return study_key({**row, "id": study})
        raise StorageError(f"could not create {record.name!r}: its list was deleted; call again")

    def open(self, name: str) -> StudyRecord:
        return self._record(self._row(name))

    def key(self, name: str) -> StudyKey:
        return study_key(self._row(name))

    def delete(self, name: str) -> None:
        s = self._studies.c
        statement = self._studies.delete().where(s.name == str(name))  # its trials go with it
        if isinstance(name, StudyKey):
            statement = statement.where(s.id == self._id(name))
        count, attempts = self._database.counted("delete", lambda c: c.execute(statement).rowcount)
        if count == 0 and attempts == 1:
            raise unknown_study(name, self.names())
        used = self._sql.exists().where(s.list == self._lists.c.digest)
        unused = self._lists.delete().where(~used)
        with suppress(GoneError):  # a study with that list is being created
            self._database.attempt("delete", lambda c: c.execute(unused))

    def names(self) -> list[str]:
        rows = self._fetch("list", self._sql.select(self._studies.c.name))
        return sorted(str(name) for (name,) in rows)

    def summaries(self) -> list[StudySummary]:
        rows = self._fetch("list", self._overview())
        return sorted(map(summary_of, rows), key=lambda summary: summary.name)

    def _overview(self) -> Any:
        """One pass over the trials, in the index that covers it.

        The corrected trials are listed first, so that no trial is compared with every other. Study
        and number are joined to one number (both fit 32 bits): SQLite goes through all pairs where
        one part of them may be NULL.
        """
        sql, s, t = self._sql, self._studies.c, self._trials.c
        new = self._trials.alias("corrections").c

        def joined(study: Any, number: Any) -> Any:
            return sql.cast(study, sql.BigInteger) * 2**31 + number

        feasible = sql.case((sql.func.coalesce(t.feasible, 1) == 1, t.value))
        largest, smallest = sql.func.max(feasible), sql.func.min(feasible)
        corrected = sql.select(joined(new.study, new.corrects)).where(new.corrects.is_not(None))
        counts = sql.and_(t.study == s.id, joined(t.study, t.number).not_in(corrected))
        return (
            sql.select(
                s.name,
                s.goal,
                s.created,
                sql.func.count(t.number).label("trials"),
                *(sql.func.count(sql.case((t.state == state, 1))).label(state) for state in STATES),
                sql.case((s.goal == "maximize", largest), else_=smallest).label("best"),
                sql.func.max(t.created).label("last_created"),
                sql.func.max(t.finished).label("last_finished"),
            )
            .select_from(self._studies.outerjoin(self._trials, counts))
            .group_by(s.id, s.name, s.goal, s.created)
        )

    # -- which study --

    def _find(self, name: str) -> Mapping[str, Any] | None:
        """The row of the study with this name or key; None if there is none."""
        query = self._sql.select(self._studies).where(self._studies.c.name == str(name))
        rows = self._fetch("open", query)
        if not rows:
            return None
        row: Mapping[str, Any] = rows[0]._mapping
        if isinstance(name, StudyKey) and name.identity != study_key(row).identity:
            raise study_replaced(name)
        return row

    def _row(self, name: str) -> Mapping[str, Any]:
        row = self._find(name)
        if row is None:
            raise unknown_study(name, self.names())
        return row

    def _identify(self, name: str) -> tuple[int, str]:
        """The id and the time of creation of the study with this name or key."""
        key = name if isinstance(name, StudyKey) else self.key(name)
        study, _, created = key.identity.partition("@")
        return int(study), created

    def _id(self, name: str) -> int:
        return self._identify(name)[0]

    def _gone(self, name: str, study: int) -> StorageError:
        """What to raise of a study that was deleted meanwhile."""
        self._cache.pop(study, None)
        is_gone = self._find(name) is None
        return unknown_study(name, self.names()) if is_gone else study_replaced(name)

    def _must_exist(self, name: str, study: int) -> None:
        """Raises StorageError if the study was deleted meanwhile."""
        row = self._find(name)
        if row is None or row["id"] != study:
            raise self._gone(name, study)

    def _record(self, row: Mapping[str, Any]) -> StudyRecord:
        name = str(row["name"])
        check_version(row["version"], f"study {name!r}")
        space = None if row["list"] is None else self._read_list(row["list"])
        try:
            return record_of(row, space)
        except codec.MALFORMED as error:
            why = str(error) if isinstance(error, ValueError) else _described(error)
            raise StorageError(
                f"the row of study {name!r} in {self._database.shown} is damaged ({why}). Its"
                " trials may be intact: `noregret database recover` exports all that can be read"
            ) from None

    # -- lists of designs --

    def _keep_list(self, connection: Connection, digest: str, content: bytes) -> None:
        """Stores a list unless it is there. No one can remove it before the transaction ends."""
        existing = (
            self._sql.select(self._lists.c.digest)
            .where(self._lists.c.digest == digest)
            .with_for_update(read=True, key_share=True)
        )
        if connection.execute(existing).scalar_one_or_none() is None:
            insert = self._sql.text(
                "INSERT INTO noregret_lists (digest, content) VALUES (:digest, :content)"
                " ON CONFLICT (digest) DO NOTHING"
            )
            connection.execute(insert, {"digest": digest, "content": content})

    def _read_list(self, digest: str) -> Candidates:
        space = codec.open_lists.get(digest)
        if space is not None:
            return space
        query = self._sql.select(self._lists.c.content).where(self._lists.c.digest == digest)
        rows = self._fetch("open", query)
        if not rows:
            raise StorageError(f"a stored study's list of designs {digest} is gone")
        return codec.unpack(digest, rows[0][0])

    # -- reading trials --

    def trials(self, name: str) -> list[Trial]:
        key = name if isinstance(name, StudyKey) else self.key(name)
        study, created = self._identify(key)
        with self._lock:
            cache = self._cache.setdefault(study, _Cache())
            values = {
                "study_id": study,
                "study_created": created,
                "from_number": len(cache.trials),
                "from_revision": cache.revision,
                "unfinished": sorted(cache.unfinished),
            }
            rows = self._fetch("read", self._select_news, values)
            if not rows:
                raise self._gone(key, study)
            for row in rows:
                if row.state is None:  # no news
                    break
                trial = self._trial(row, key)
                if trial.number > len(cache.trials):  # all later ones would get wrong numbers
                    raise self._damaged(key, len(cache.trials), "there is no such row")
                cache.trials[trial.number : trial.number + 1] = [trial]
                cache.revision = max(cache.revision, row.revision)
                change = cache.unfinished.discard if trial.is_finished else cache.unfinished.add
                change(trial.number)
            return list(cache.trials)

    def _trial(self, row: Any, name: str) -> Trial:
        try:
            return trial_of(row._mapping)
        except codec.MALFORMED as error:
            raise self._damaged(name, row.number, _described(error)) from None

    def _damaged(self, name: str, number: Any, why: str) -> StorageError:
        return StorageError(
            f"trial {number} of study {str(name)!r} in {self._database.shown} is damaged ({why})."
            " The other trials are not concerned: `noregret database recover` exports them"
        )

    # -- adding trials --

    def append(
        self,
        name: str,
        trials: Sequence[Trial],
        worker: str | None = None,
        below: float = math.inf,
        unless: Callable[[Sequence[Trial]], bool] | None = None,
    ) -> list[Trial] | None:
        if not trials:
            return []
        sql, t, study, expected = self._sql, self._trials.c, self._id(name), trials[0].number
        ticket, attended = worker or uuid.uuid4().hex, worker is not None
        added = [trial.as_added(trial.number, worker) for trial in trials]
        rows = [{**row_of(study, trial, ticket), "attended": attended} for trial in added]
        # one statement is enough where the expected number is still free
        may_be_quick = unless is not None and len(rows) == 1 and 0 <= expected < below
        same = ("study", "worker", "created", "params", "decision")
        tried = False

        def add(connection: Connection) -> int | None:
            nonlocal tried
            if may_be_quick and not tried:
                tried = True
                if connection.execute(self._insert_next, rows[0]).rowcount == 1:
                    return expected
            with self._database.transaction(connection):
                if not self._database.is_sqlite:
                    connection.execute(sql.select(self._turn(study)))
                if tried:  # an attempt whose answer got lost may have succeeded
                    own = sql.select(t.number).where(*(t[name] == rows[0][name] for name in same))
                    number: int | None = connection.execute(own).scalars().first()
                    if number is not None:
                        return number
                tried = True
                last_number = sql.select(sql.func.max(t.number)).where(t.study == study)
                last = connection.execute(last_number).scalar_one()
                first: int = 0 if last is None else last + 1
                if first + len(rows) > below:
                    return None
                if unless is not None and first > expected:
                    newer = sql.select(*self._columns).where(t.study == study, t.number >= expected)
                    others = connection.execute(newer.order_by(t.number)).all()
                    if unless([self._trial(row, name) for row in others]):
                        return None
                numbered = [{**row, "number": first + index} for index, row in enumerate(rows)]
                connection.execute(self._insert_next, numbered)
            return first

        while True:
            try:
                first = self._database.attempt("append", add)
            except TakenError:  # by a writer that does not take the lock
                continue
            except GoneError:
                raise self._gone(name, study) from None
            break
        if first is None:
            return None
        return [replace(trial, number=number) for number, trial in enumerate(added, first)]

    # -- changing trials --

    def claim(self, name: str, number: int, worker: str | None = None) -> Trial | None:
        study, t, ticket = self._id(name), self._trials.c, worker or uuid.uuid4().hex
        at = (t.study == study, t.number == number)
        new = {"state": "running", "started": utc_now(), "worker": ticket}
        heartbeat = None if worker is None else self._clock
        statement = self._trials.update().where(*at, t.state == "waiting").values(new)
        statement = statement.values(heartbeat=heartbeat, attempts=t.attempts + 1)
        statement = statement.returning(*self._columns)
        rows, attempts = self._database.counted("claim", lambda c: c.execute(statement).all())
        if not rows and attempts > 1:  # an attempt whose answer got lost may have succeeded
            own = self._sql.select(*self._columns).where(*at, t.worker == ticket)
            rows = self._fetch("read", own)
        return self._trial(rows[0], name) if rows else None

    def finish(
        self, name: str, number: int, ending: Ending, worker: str | None = None
    ) -> Trial | None:
        study, sql, t = self._id(name), self._sql, self._trials.c
        row = row_of(study, Trial(0, {}).ended(ending).as_added(0, None), "")
        at = sql.and_(t.study == study, t.number == number)
        allowed = t.state.in_(["running", "waiting"])
        if worker is not None:
            allowed = sql.and_(t.worker == worker, t.state == "running")
        new: dict[str, Any] = {column: row[column] for column in ENDING_COLUMNS}
        if ending.note is not None:
            new["note"] = ending.note
        if ending.params is not None:
            new |= {"params": row["params"], "asked": t.params}

        def end(connection: Connection) -> Any:
            update = self._trials.update().where(at, allowed).values(new)
            update = update.returning(*self._columns)
            if not ending.attributes:
                return connection.execute(update).one_or_none()
            with self._database.transaction(connection):
                both = self._merged(connection, t.attributes, at, ending.attributes)
                return connection.execute(update.values(attributes=both)).one_or_none()

        ended, attempts = self._database.counted("finish", end)
        if ended is not None:
            return self._trial(ended, name)
        self._must_exist(name, study)
        if attempts > 1:  # an attempt whose answer got lost may have succeeded
            for trial in self.trials(name)[number : number + 1]:
                stored = (trial.state, trial.value, trial.noise_std, trial.finished)
                if stored == (ending.state, ending.value, ending.noise_std, row["finished"]):
                    return trial
        return None

    def annotate(
        self, name: str, number: int | None, note: str | None, attributes: Mapping[str, Any]
    ) -> None:
        study, created = self._identify(name)
        s, t = self._studies.c, self._trials.c
        count_up = (
            self._studies.update()
            .where(s.id == study, s.created == created)
            .values(revision=s.revision + 1)
            .returning(s.revision)
        )
        table = self._studies if number is None else self._trials
        row = s.id == study if number is None else (t.study == study) & (t.number == number)
        new: dict[str, Any] = {} if note is None else {"note": note or None}

        def change(connection: Connection) -> bool:
            with self._database.transaction(connection):  # the study's row makes others wait
                revision = connection.execute(count_up).scalar_one_or_none()
                if revision is None:
                    return False
                new["attributes"] = self._merged(connection, table.c.attributes, row, attributes)
                if number is not None:
                    new["revision"] = revision
                connection.execute(table.update().where(row).values(new))
            return True

        if not self._database.attempt("annotate", change):
            self._must_exist(name, study)

    def _merged(
        self, connection: Connection, column: Any, row: Any, attributes: Mapping[str, Any]
    ) -> str:
        """A row's attributes with new ones. No one changes them before this transaction ends."""
        query = self._sql.select(column).where(row).with_for_update()
        try:
            old = codec.load_dict(connection.execute(query).scalar_one_or_none())
        except ValueError as error:
            raise StorageError(f"attributes are damaged ({error}): nothing was changed") from None
        return json.dumps(merged(old, attributes), allow_nan=False)

    def heartbeat(self, name: str, numbers: Sequence[int], worker: str) -> None:
        study, t = self._id(name), self._trials.c
        mine = (t.worker == worker, t.state == "running", t.number.in_(list(numbers)))
        statement = self._trials.update().where(t.study == study, *mine)
        statement = statement.values(heartbeat=self._clock)
        self._database.attempt("heartbeat", lambda c: c.execute(statement))

    def reclaim(
        self,
        name: str,
        attempts: int,
        *,
        grace: float = 0.0,
        numbers: Sequence[int] | None = None,
        worker: str | None = None,
    ) -> list[Trial]:
        study, t, sql = self._id(name), self._trials.c, self._sql
        silent = t.heartbeat < self._clock - grace
        lost = silent if numbers is None else t.number.in_(list(numbers))
        where = [t.study == study, t.state == "running", lost]
        if worker is not None:
            where.append(t.worker == worker)
        over = t.attempts >= attempts
        statement = (
            self._trials.update()
            .where(*where)
            .returning(*self._columns)
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
        rows = self._fetch("reclaim", statement)
        return sorted((self._trial(row, name) for row in rows), key=lambda trial: trial.number)


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
