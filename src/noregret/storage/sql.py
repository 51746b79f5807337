"""Studies in SQLite or PostgreSQL through SQLAlchemy Core: three tables, JSON text, UTC times,
every change one statement.

What was read finished changes in its remarks only: it is read again for them, and for nothing else.
Needs the extra ``sql``.
"""

from __future__ import annotations

import json
import math
import os
import threading
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from noregret.errors import StorageError, StudyExistsError, UnknownStudyError
from noregret.space import Candidates
from noregret.storage import codec, lists
from noregret.storage.database import Database, GoneError, TakenError
from noregret.storage.protocol import DIED, StudyKey, StudyRecord, StudySummary, made_anew
from noregret.storage.schema import VERSION, prepare, space_of_list, tables
from noregret.trials import STATES, About, State, Trial, utc_now

if TYPE_CHECKING:
    from sqlalchemy import Connection


class SQLStorage:
    """Safe for any number of threads, processes and machines. must_exist: a SQLite file that is not
    there is an error, not made.
    """

    shared = True

    def __init__(
        self, storage: str | os.PathLike[str] | None = None, *, must_exist: bool = False
    ) -> None:
        self._database = Database(storage, must_exist=must_exist)
        self.url = self._database.url
        self._sql = self._database.sql
        self._studies, self._trials = tables(self._sql)
        self._lists = self._studies.metadata.tables["noregret_lists"]
        self._lock = threading.Lock()
        self._read: dict[
            int, tuple[list[Trial], set[int]]
        ] = {}  # by study: its trials, and the numbers of those not finished
        self._revisions: dict[int, int] = {}  # by study: the newest change of a finished trial read
        prepare(self._database, self._studies, self._trials)
        self._statements()

    def _statements(self) -> None:
        """What every ask and tell needs, made once."""
        sql, table, t, bind = self._sql, self._trials, self._trials.c, self._sql.bindparam
        if self._database.is_sqlite:
            self._clock = (sql.func.julianday("now") - 2440587.5) * 86400.0
        else:  # by the server: machines disagree
            self._clock = sql.cast(sql.extract("epoch", sql.func.clock_timestamp()), sql.Double)
        attended = sql.case(
            (sql.and_(t.state == "running", t.heartbeat.is_not(None)), t.worker)
        ).label("attended_by")
        self._columns = [
            t.number,
            t.state,
            t.params,
            t.value,
            t.noise_std,
            t.decision,
            t.corrects,
            t.created,
            t.finished,
            attended,
            t.asked,
            t.error,
            t.note,
            t.attributes,
            t.started,
            t.revision,
            t.transient,
        ]
        mine = t.study == bind("study_id")
        self._select_new = (
            sql.select(*self._columns)
            .where(
                mine,
                sql.or_(t.number >= bind("from_number"), t.revision > bind("from_revision")),
            )
            .order_by(t.number)
        )
        self._select_changed = (
            sql.select(*self._columns)
            .where(
                mine,
                sql.or_(
                    t.number >= bind("from_number"),
                    t.revision > bind("from_revision"),
                    t.number.in_(bind("unfinished", expanding=True)),
                ),
            )
            .order_by(t.number)
        )
        before = table.alias("before")
        follows = sql.exists().where(
            before.c.study == bind("study", type_=sql.Integer),
            before.c.number == bind("number", type_=sql.Integer) - 1,
        )
        names = [column.name for column in table.c]
        values = {name: bind(name, type_=t[name].type) for name in names}

        def insert_next(row: dict[str, Any]) -> Any:
            chosen = sql.select(*(row[name].label(name) for name in names)).where(
                sql.or_(values["number"] == 0, follows)
            )
            return (
                table.insert().from_select(names, chosen).execution_options(preserve_rowcount=True)
            )

        self._insert_next, self._insert_beating = (
            insert_next(values),
            insert_next({**values, "heartbeat": self._clock}),
        )
        s = self._studies.c
        best = sql.case((s.goal == "maximize", sql.func.max(t.value)), else_=sql.func.min(t.value))
        self._aggregates = (
            sql.select(
                s.id,
                sql.func.count(t.corrects).label("corrections"),
                s.name,
                s.goal,
                sql.func.count(t.number),
                *(sql.func.count(sql.case((t.state == state, 1))) for state in STATES),
                best,
                s.created,
                sql.func.max(t.created),
                sql.func.max(t.finished),
            )
            .select_from(self._studies.outerjoin(table, t.study == s.id))
            .group_by(s.id, s.name, s.goal, s.created)
        )
        self._select_outcomes = sql.select(t.study, t.number, t.state, t.value, t.corrects).where(
            t.study.in_(bind("studies", expanding=True))
        )
        self._finish = (
            table.update()
            .where(mine, t.number == bind("at_number"), t.state.in_(["running", "waiting"]))
            .values(
                state=bind("new_state"),
                value=bind("new_value"),
                noise_std=bind("new_noise_std"),
                finished=bind("now"),
                error=bind("new_error"),
                note=sql.func.coalesce(bind("new_note", type_=sql.Text), t.note),
                attributes=sql.func.coalesce(bind("new_attributes", type_=sql.Text), t.attributes),
                transient=bind("new_transient"),
            )
            .returning(*self._columns)
        )
        self._finish_moved = self._finish.values(params=bind("new_params"), asked=t.params)

    # -- studies --

    def create(self, record: StudyRecord) -> StudyKey:
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
            "attributes": _attributes(record.attributes),
            "origin": None if record.origin is None else json.dumps(dict(record.origin)),
            "list": None if listed is None else listed[0],
        }

        def add(connection: Connection) -> int:
            statement = self._studies.insert().values(row).returning(self._studies.c.id)
            if listed is None:
                made: int = connection.execute(statement).scalar_one()
                return made
            with self._database.transaction(connection):
                self._keep_list(connection, *listed)
                made = connection.execute(statement).scalar_one()
            assert isinstance(made, int)
            return made

        try:
            study = self._database.attempt("create", add)
        except TakenError as taken:
            found = self._find(record.name) if taken.attempts > 1 else None
            if found is None or found.created != row["created"] or found.space != row["space"]:
                raise StudyExistsError(
                    f"a study named {record.name!r} exists already: open it, or choose another name"
                ) from None
            study = found.id  # by an attempt whose answer got lost
        return _key(record.name, study, row["created"])

    def _keep_list(self, connection: Connection, key: str, content: bytes) -> None:
        """A list, unless it is there; nobody can remove it before this transaction has ended."""
        there = (
            self._sql.select(self._lists.c.digest)
            .where(self._lists.c.digest == key)
            .with_for_update(read=True, key_share=True)
        )
        if connection.execute(there).scalar_one_or_none() is None:
            connection.execute(
                self._sql.text(
                    "INSERT INTO noregret_lists (digest, content) VALUES (:digest, :content)"
                    " ON CONFLICT (digest) DO NOTHING"
                ),
                {"digest": key, "content": content},
            )

    def _read_list(self, key: str) -> Candidates:
        known = lists.is_open(key)
        if known is not None:
            return known
        query = self._sql.select(self._lists.c.content).where(self._lists.c.digest == key)
        content = self._database.attempt(
            "open", lambda connection: connection.execute(query).scalar_one_or_none()
        )
        if content is None:
            raise StorageError(
                f"the list of designs {key} of a stored study is gone: it is damaged"
            )
        return lists.unpack(key, content)

    def _find(self, name: str) -> Any:
        """A study's row by its name, or by its key; None if it is not there."""
        s = self._studies.c
        columns = (s.id, s.space, s.goal, s.strategy, s.seed, s.version, s.created, s.list)
        remarks = (s.note, s.attributes, s.origin)
        query = self._sql.select(*columns, *remarks).where(s.name == str(name))
        row = self._database.attempt(
            "open", lambda connection: connection.execute(query).one_or_none()
        )
        known = getattr(name, "identity", None)
        if row is not None and known not in (None, _key(name, row.id, row.created).identity):
            raise StorageError(made_anew(name))
        return row

    def key(self, name: str) -> StudyKey:
        row = self._find(name)
        if row is None:
            raise self._unknown(name)
        return _key(name, row.id, row.created)

    def _unknown(self, name: str) -> UnknownStudyError:
        return UnknownStudyError(
            f"there is no study named {str(name)!r}; there are {self.names()!r}"
        )

    def open(self, name: str) -> StudyRecord:
        row = self._find(name)
        if row is None:
            raise self._unknown(name)
        if row.version > VERSION:
            raise StorageError(
                f"study {name!r} was written by a newer version of noregret (schema {row.version},"
                f" this one reads {VERSION}): upgrade noregret"
            )
        key = _key(name, row.id, row.created)
        try:
            space, strategy = (json.loads(text) for text in (row.space, row.strategy))
            seed = int(row.seed)
        except ValueError as error:
            raise StorageError(
                f"the row of study {str(name)!r} in {self._database.shown} is damaged ({error})."
                " Its trials may be intact: `noregret recover` exports every one that can be read"
            ) from None
        return StudyRecord(
            str(name),
            codec.from_json(space) if row.list is None else self._read_list(row.list),
            row.goal,
            codec.from_json(strategy),
            seed,
            key=key,
            note=row.note,
            attributes=json.loads(row.attributes or "{}"),
            origin=None if row.origin is None else json.loads(row.origin),
        )

    def delete(self, name: str) -> None:
        # its trials go with it
        s = self._studies.c
        statement = self._studies.delete().where(s.name == str(name))
        if isinstance(name, StudyKey):
            statement = statement.where(s.id == self._id(name))
        count, attempts = self._database.counted(
            "delete", lambda connection: connection.execute(statement).rowcount
        )
        if count == 0 and attempts == 1:
            raise self._unknown(name)
        with suppress(GoneError):  # a study with that list is made at this moment
            self._database.attempt("delete", self._drop_lists)

    def _drop_lists(self, connection: Connection) -> None:
        """Lists of which no study is left."""
        used = self._sql.exists().where(self._studies.c.list == self._lists.c.digest)
        connection.execute(self._lists.delete().where(~used))

    def names(self) -> list[str]:
        query = self._sql.select(self._studies.c.name)
        return sorted(
            self._database.attempt(
                "list", lambda connection: connection.execute(query).scalars().all()
            )
        )

    def summaries(self) -> list[StudySummary]:
        rows, corrected = self._database.attempt("list", self._overview)
        made = []
        for row in rows:
            study, corrections, *numbers = row
            if corrections:
                numbers[2:-3] = _standing(corrected[study], numbers[1])
            made.append(_summary(numbers))
        return sorted(made, key=lambda summary: summary.name)

    def _overview(self, connection: Connection) -> tuple[list[Any], dict[int, list[Any]]]:
        """One pass over the trials, and another over the studies that have corrections, whose
        counts need to know which trials these replace. Both read the index ``noregret_overview``
        alone, and neither compares trials with trials.
        """
        rows = list(connection.execute(self._aggregates).all())
        corrected: dict[int, list[Any]] = {row.id: [] for row in rows if row.corrections}
        if corrected:
            studies = {"studies": sorted(corrected)}
            for study, *rest in connection.execute(self._select_outcomes, studies):
                corrected[study].append(rest)
        return rows, corrected

    # -- trials --

    def trials(self, name: str) -> list[Trial]:
        study = self._id(name)
        with self._lock:
            known, unfinished = self._read.setdefault(study, ([], set()))
            query = self._select_changed if unfinished else self._select_new
            values = {
                "study_id": study,
                "from_number": len(known),
                "from_revision": self._revisions.get(study, 0),
                **({"unfinished": sorted(unfinished)} if unfinished else {}),
            }
            rows = self._database.attempt(
                "read", lambda connection: connection.execute(query, values).all()
            )
            if not rows and isinstance(name, StudyKey):
                self._must_exist(name, study)
            for row in rows:
                trial = self._trial(row, name)
                known[trial.number : trial.number + 1] = [trial]
                self._revisions[study] = max(self._revisions.get(study, 0), row.revision)
                (unfinished.discard if trial.is_finished else unfinished.add)(trial.number)
            return list(known)

    def insert(self, name: str, trials: Sequence[Trial], worker: str | None = None) -> bool:
        if not trials:
            return True
        study, numbers = self._id(name), [trial.number for trial in trials]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            return False
        # by which an insert whose answer got lost is recognised
        ticket = worker or uuid.uuid4().hex
        rows = [_row(study, trial, ticket) for trial in trials]
        first = self._insert_next if worker is None else self._insert_beating

        def add(connection: Connection) -> bool:
            if len(rows) == 1:
                return connection.execute(first, rows[0]).rowcount == 1
            with self._database.transaction(connection):
                done = connection.execute(first, rows[0]).rowcount == 1
                if done:
                    connection.execute(self._trials.insert(), rows[1:])
            return done

        try:
            done, attempts = self._database.counted("insert", add)
        except TakenError as taken:
            done, attempts = False, taken.attempts
        except GoneError:
            done, attempts = False, 1
        if not done:
            self._must_exist(name, study)
        return done or (attempts > 1 and self._holder(study, numbers[0]) == ticket)

    def append(
        self,
        name: str,
        trials: Sequence[Trial],
        worker: str | None = None,
        below: float = math.inf,
    ) -> list[Trial] | None:
        if not trials:
            return []
        study, t, sql = self._id(name), self._trials.c, self._sql
        ticket = worker or uuid.uuid4().hex
        rows = [_row(study, trial, ticket) for trial in trials]
        highest = sql.select(sql.func.max(t.number)).where(t.study == study)
        lock = sql.select(sql.func.pg_advisory_xact_lock(ADVISORY, study))
        mine = sql.select(t.number).where(
            *(t[name] == rows[0][name] for name in ("study", "worker", "created", "params")),
            t.decision == rows[0]["decision"],
        )
        tried = False

        def add(connection: Connection) -> int | None:
            nonlocal tried
            with self._database.transaction(connection):
                if not self._database.is_sqlite:  # others that append wait here, in their order
                    connection.execute(lock)
                if tried:  # an attempt whose answer got lost may have succeeded
                    found: int | None = connection.execute(mine).scalars().first()
                    if found is not None:
                        return found
                tried = True
                last = connection.execute(highest).scalar_one()
                first = 0 if last is None else last + 1
                if first + len(rows) > below:
                    return None
                numbered = [row | {"number": first + index} for index, row in enumerate(rows)]
                if worker is None:
                    connection.execute(self._trials.insert(), numbered)
                else:  # the clock is the database's
                    for row in numbered:
                        connection.execute(
                            self._trials.insert().values(row | {"heartbeat": self._clock})
                        )
                return first

        while True:
            try:
                first = self._database.attempt("append", add)
            except TakenError:  # PostgreSQL: by an insert, which does not wait
                continue
            except GoneError:
                self._must_exist(name, study)
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

    def claim(self, name: str, number: int, worker: str | None = None) -> Trial | None:
        study, t = self._id(name), self._trials.c
        ticket = worker or uuid.uuid4().hex
        statement = (
            self._trials.update()
            .where(t.study == study, t.number == number, t.state == "waiting")
            .values(
                state="running",
                started=utc_now(),
                worker=ticket,
                heartbeat=None if worker is None else self._clock,
                attempts=t.attempts + 1,
            )
            .returning(*self._columns)
        )
        row, attempts = self._database.counted(
            "claim", lambda connection: connection.execute(statement).one_or_none()
        )
        if row is not None:
            return self._trial(row, name)
        if attempts > 1 and self._holder(study, number) == ticket:
            return self.trials(name)[number]
        return None

    def finish(
        self,
        name: str,
        number: int,
        state: State,
        value: float | None,
        noise_std: float | None,
        *,
        worker: str | None = None,
        about: About | None = None,
    ) -> Trial | None:
        study, t, about = self._id(name), self._trials.c, about or About()
        statement = self._finish if about.params is None else self._finish_moved
        if worker is not None:
            statement = statement.where(t.worker == worker, t.state == "running")
        moved = {} if about.params is None else {"new_params": _params(about.params)}
        values = {
            **moved,
            "study_id": study,
            "at_number": number,
            "new_state": state,
            "new_value": value,
            "new_noise_std": noise_std,
            "now": utc_now(),
            "new_error": about.error,
            "new_note": about.note,
            "new_attributes": _attributes(about.attributes),
            "new_transient": about.transient,
        }
        row, attempts = self._database.counted(
            "finish", lambda connection: connection.execute(statement, values).one_or_none()
        )
        if row is not None:
            return self._trial(row, name)
        self._must_exist(name, study)
        if attempts > 1:  # an attempt whose answer got lost may have succeeded
            found = next((trial for trial in self.trials(name)[number : number + 1]), None)
            if found is not None and (
                found.state,
                found.value,
                found.noise_std,
                found.finished,
            ) == (
                state,
                value,
                noise_std,
                values["now"],
            ):
                return found
        return None

    def annotate(
        self, name: str, number: int | None, note: str | None, attributes: Mapping[str, Any]
    ) -> None:
        study, s, t = self._id(name), self._studies.c, self._trials.c
        new = {"note": note, "attributes": _attributes(attributes)}
        mine = self._studies.update().where(s.id == study)
        count_up = mine.values(revision=s.revision + 1).returning(s.revision)

        def change(connection: Connection) -> None:
            if number is None:
                connection.execute(mine.values(**new))
                return
            with self._database.transaction(connection):  # the study's row makes others wait
                revision = connection.execute(count_up).scalar_one()
                where = (t.study == study, t.number == number)
                connection.execute(
                    self._trials.update().where(*where).values(**new, revision=revision)
                )

        self._must_exist(name, study)
        self._database.attempt("annotate", change)

    def heartbeat(self, name: str, numbers: Sequence[int], worker: str) -> None:
        study, t = self._id(name), self._trials.c
        where = (
            t.study == study,
            t.number.in_(list(numbers)),
            t.worker == worker,
            t.state == "running",
        )
        statement = self._trials.update().where(*where).values(heartbeat=self._clock)
        self._database.attempt("heartbeat", lambda connection: connection.execute(statement))

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
        where = [t.study == study, t.state == "running"]
        if numbers is None:
            where.append(t.heartbeat < self._clock - grace)
        else:
            where.append(t.number.in_(list(numbers)))
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
            )
        )
        rows = self._database.attempt(
            "reclaim", lambda connection: connection.execute(statement).all()
        )
        return sorted((self._trial(row, name) for row in rows), key=lambda trial: trial.number)

    def close(self) -> None:
        """Gives the connections back; the storage may be used again."""
        self._database.engine.dispose()

    # -- inside --

    def _id(self, name: str) -> int:
        key = name if isinstance(name, StudyKey) else self.key(name)
        return int(key.identity.partition("@")[0])

    def _must_exist(self, name: str, study: int) -> None:
        """Raises if the study was deleted, by whomever."""
        s = self._studies.c
        query = self._sql.select(s.id, s.created).where(s.name == str(name))
        now = self._database.attempt(
            "read", lambda connection: connection.execute(query).one_or_none()
        )
        if now is None:
            self._read.pop(study, None)
            raise UnknownStudyError(
                f"there is no study named {str(name)!r} any more; there are {self.names()!r}"
            )
        key = _key(name, now.id, now.created)
        if now.id != study or (isinstance(name, StudyKey) and key.identity != name.identity):
            self._read.pop(study, None)
            raise StorageError(made_anew(name))

    def _trial(self, row: Any, name: str) -> Trial:
        try:
            return _trial(row)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise StorageError(
                f"trial {row[0]} of study {str(name)!r} in {self._database.shown} is damaged"
                f" ({type(error).__name__}: {error}). The other trials are not concerned:"
                " `noregret recover` exports every one that can be read"
            ) from None

    def _holder(self, study: int, number: int) -> str | None:
        t = self._trials.c
        query = self._sql.select(t.worker).where(t.study == study, t.number == number)
        holder: str | None = self._database.attempt(
            "read", lambda connection: connection.execute(query).scalar_one_or_none()
        )
        return holder


ADVISORY = 0x6E6F5265  # a lock of PostgreSQL that is ours


def _key(name: str, study: int, created: str) -> StudyKey:
    """An id is never used again in its table; with its time it is not in another table either."""
    return StudyKey(str(name), f"{study}@{created}")


def _row(study: int, trial: Trial, ticket: str) -> dict[str, Any]:
    data, now = trial.to_json(), utc_now()
    try:
        return {
            "study": study,
            "number": trial.number,
            "state": trial.state,
            "params": json.dumps(data["params"], allow_nan=False),
            "value": trial.value,
            "noise_std": trial.noise_std,
            "decision": json.dumps(data["decision"], allow_nan=False),
            "created": trial.created or now,
            "finished": (trial.finished or now) if trial.is_finished else None,
            "worker": ticket,
            "heartbeat": None,
            "attempts": int(trial.state == "running"),
            "corrects": trial.corrects,
            "asked": None if trial.asked is None else json.dumps(data["asked"], allow_nan=False),
            "error": trial.error,
            "note": trial.note,
            "attributes": _attributes(trial.attributes),
            "started": trial.started or (now if trial.state == "running" else None),
            "revision": 0,
            "transient": trial.transient,
        }
    except (TypeError, ValueError) as error:
        raise StorageError(
            f"trial {trial.number} holds something that is not JSON ({error}): {data['params']!r}"
        ) from None


def _params(params: Any) -> str:
    plain = params.tolist() if hasattr(params, "tolist") else dict(params)
    return json.dumps(plain, allow_nan=False)


def _attributes(attributes: Mapping[str, Any]) -> str | None:
    return json.dumps(dict(attributes), allow_nan=False) if attributes else None


def _trial(row: Any) -> Trial:
    return Trial.from_json(
        {
            **row._mapping,
            "params": json.loads(row.params),
            "decision": json.loads(row.decision),
            "worker": row.attended_by,
            "asked": None if row.asked is None else json.loads(row.asked),
            "attributes": json.loads(row.attributes or "{}"),
        }
    )


def _standing(rows: Sequence[Any], goal: str) -> list[Any]:
    """Count, counts by state and best of the trials that no other corrects."""
    replaced = {corrects for *_, corrects in rows if corrects is not None}
    left = [(state, value) for number, state, value, _ in rows if number not in replaced]
    states = Counter(state for state, _ in left)
    values = [value for state, value in left if state == "complete"]
    best = (max if goal == "maximize" else min)(values, default=None)
    return [len(left), *(states[state] for state in STATES), best]


def _summary(row: Any) -> StudySummary:
    name, goal, count, waiting, running, complete, failed, withdrawn, best, created, *activity = row
    last = max([created, *(text for text in activity if text is not None)])
    return StudySummary(
        name, goal, count, waiting, running, complete, failed, best, created, last, withdrawn
    )
