"""The tables: their columns, their version, and how studies and trials become rows and back."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from noregret.errors import StorageError
from noregret.space import Candidates, Space
from noregret.storage import codec
from noregret.storage.codec import load_dict, load_json
from noregret.storage.database import WRITE_AHEAD, Database, TakenError
from noregret.storage.protocol import StudyKey, StudyRecord, StudySummary
from noregret.strategies import Strategy
from noregret.trials import STATES, Limit, Trial, check_time, utc_now

if TYPE_CHECKING:
    from sqlalchemy import Connection, MetaData

VERSION = 1  # of the schema; written into every study's row
# By version: brings a database from that version to the next. The first schema has none.
MIGRATIONS: dict[int, Callable[[Database, Connection], None]] = {}
# Number of looks, and seconds between them, at a file that another process may be setting up.
# Counted in looks, not in seconds: on a busy machine both processes are slow.
SET_UP_LOOKS, SET_UP_PAUSE = 40, 0.05
# what ``finish`` sets
ENDING_COLUMNS = (
    *("state", "value", "noise_std", "finished"),
    *("error", "transient", "outcomes", "feasible"),
)
OVERVIEW_INDEX = "noregret_overview"


# -- tables --


def tables(sql: Any) -> MetaData:
    """Returns ``noregret_lists``, ``noregret_studies`` and ``noregret_trials``."""
    metadata: MetaData = sql.MetaData()
    sql.Table(  # equal lists are one row: the key is a digest of the content
        "noregret_lists",
        metadata,
        sql.Column("digest", sql.Text, primary_key=True),
        sql.Column("content", sql.LargeBinary, nullable=False),
    )
    sql.Table(
        "noregret_studies",
        metadata,
        sql.Column("id", sql.Integer, primary_key=True),
        sql.Column("name", sql.Text, nullable=False, unique=True),
        *_texts(sql, "space", "goal", "strategy", "seed", "created", "library", nullable=False),
        sql.Column("version", sql.Integer, nullable=False),
        *_texts(sql, "note", "attributes", "origin", "outcomes", "context"),
        # counts the annotations; annotated trials carry it, so that readers fetch them again
        sql.Column("revision", sql.Integer, nullable=False, server_default="0"),
        sql.Column("list", sql.Text, sql.ForeignKey("noregret_lists.digest")),
        sqlite_autoincrement=True,  # an id is never used again
    )
    study = sql.ForeignKey("noregret_studies.id", ondelete="CASCADE")
    trials = sql.Table(
        "noregret_trials",
        metadata,
        sql.Column("study", sql.Integer, study, primary_key=True),
        sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
        *_texts(sql, "state", "params", nullable=False),
        sql.Column("value", sql.Double),
        sql.Column("noise_std", sql.Double),
        *_texts(sql, "decision", "created", nullable=False),
        *_texts(sql, "finished", "worker"),
        # seconds since 1970 by the database's clock; NULL: no heartbeats are sent
        sql.Column("heartbeat", sql.Double),
        sql.Column("attempts", sql.Integer, nullable=False, server_default="1"),
        sql.Column("corrects", sql.Integer),
        *_texts(sql, "asked", "error", "note", "attributes", "started"),
        # the study's revision when this trial was last annotated
        sql.Column("revision", sql.Integer, nullable=False, server_default="0"),
        # of a failure: it says nothing about the point
        sql.Column("transient", sql.Boolean, nullable=False, server_default=sql.false()),
        sql.Column("outcomes", sql.Text),  # JSON: name to [value, noise std or null]
        sql.Column("feasible", sql.Integer),  # 1: within all limits, 0: not; NULL: no limits
    )
    # covers the list of studies, so that no long texts are read for it
    names = ("study", "number", "state", "value", "corrects", "created", "finished", "feasible")
    sql.Index(OVERVIEW_INDEX, *(trials.c[name] for name in names))
    return metadata


def _texts(sql: Any, *names: str, nullable: bool = True) -> list[Any]:
    return [sql.Column(name, sql.Text, nullable=nullable) for name in names]


# In one statement: our tables and indexes that exist, and their columns.
LAYOUT = {
    "sqlite": "SELECT o.name, c.name FROM sqlite_master AS o"
    " LEFT JOIN pragma_table_info(o.name) AS c ON TRUE WHERE o.name IN ({})",
    "postgresql": "SELECT o.relname, c.attname FROM pg_class AS o"
    " LEFT JOIN pg_attribute AS c ON c.attrelid = o.oid AND c.attnum > 0"
    " WHERE pg_table_is_visible(o.oid) AND o.relname IN ({})",
}


def prepare(database: Database, metadata: MetaData) -> None:
    """Creates the tables of a new database, and checks the columns of existing ones.

    Indexes are not versioned: a missing one is created, and failure to do so is ignored.
    """

    def look(connection: Connection) -> set[tuple[str, str | None]]:
        names = ", ".join(f"'{name}'" for name in (*metadata.tables, OVERVIEW_INDEX))
        query = LAYOUT[database.engine.dialect.name].format(names)
        return {(row[0], row[1]) for row in connection.exec_driver_sql(query)}

    def look_alone(connection: Connection) -> set[tuple[str, str | None]]:
        with database.transaction(connection):  # waits for a process that is creating them
            return look(connection)

    def create(connection: Connection) -> None:
        try:
            if database.is_sqlite:
                connection.exec_driver_sql(WRITE_AHEAD).close()
            with database.transaction(connection):  # all tables or none
                metadata.create_all(connection)
        except BaseException:
            # in write-ahead mode a file without tables looks like a copy without its log
            if database.is_sqlite:
                with suppress(database.sql.exc.DBAPIError):
                    connection.exec_driver_sql("PRAGMA journal_mode=DELETE").close()
            raise

    layout = database.attempt("set up", look)
    if not layout and database.file is not None and database.file.lacks_log:
        # another process is setting it up, or its tables were in a log that is missing
        for _ in range(SET_UP_LOOKS):
            layout = database.attempt("set up", look_alone)
            if layout:
                break
            time.sleep(SET_UP_PAUSE)
        else:
            raise StorageError(
                f"{database.shown} has no tables: it looks like a copy without"
                f" {database.file.path.name}-wal. Copy with `noregret database backup`, or both"
                " files while nothing writes; if this file is new, delete it"
            )
    if not layout:
        try:
            database.attempt("set up", create)
            return
        except (TakenError, StorageError):
            layout = database.attempt("set up", look)  # another process may have been first
            if not layout:
                raise
    for table in metadata.tables.values():
        for column in table.columns:
            if (table.name, column.name) not in layout:
                raise StorageError(
                    f"{database.shown} has no column {table.name}.{column.name}:"
                    " `noregret database upgrade`"
                )
    if OVERVIEW_INDEX not in {name for name, _ in layout}:
        (index,) = metadata.tables["noregret_trials"].indexes
        with suppress(TakenError, StorageError):
            database.attempt("index", index.create)


def check_version(number: Any, holder: str) -> int:
    """Raises StorageError for a schema version that this noregret does not read."""
    if not isinstance(number, int):
        raise StorageError(f"{holder} names the schema {number!r}: it is damaged")
    if number > VERSION:
        raise StorageError(f"a newer version wrote {holder} (schema {number} > {VERSION}): upgrade")
    return number


def upgrade(storage: str | os.PathLike[str] | None = None) -> tuple[int, int]:
    """Brings a database to the newest schema, in one transaction.

    Args:
        storage: A file or URL. Default: NOREGRET_STORAGE, or noregret.db.

    Returns:
        The schema's versions before and after.

    Raises:
        StorageError: There are no studies, or a newer version of noregret wrote them.
    """
    database = Database(storage, must_exist=True)
    studies = tables(database.sql).tables["noregret_studies"]
    sql, column = database.sql, studies.c.version

    def change(connection: Connection) -> int:
        if not sql.inspect(connection).has_table(studies.name):
            raise StorageError(f"there are no studies in {database.shown}: nothing to upgrade")
        versions = connection.execute(sql.select(column).distinct()).scalars().all()
        checked = (check_version(number, database.shown) for number in versions)
        before = min(checked, default=VERSION)
        if before < VERSION:
            with database.transaction(connection):
                for number in range(before, VERSION):
                    MIGRATIONS[number](database, connection)
                connection.execute(studies.update().values(version=VERSION))
        return before

    try:
        return database.attempt("upgrade", change), VERSION
    finally:
        database.engine.dispose()


# -- studies as rows --


def study_key(row: Mapping[str, Any]) -> StudyKey:
    """An id is never used again in its table; with its time it is not in another table either."""
    return StudyKey(str(row["name"]), f"{row['id']}@{row['created']}")


def study_row(record: StudyRecord, digest: str | None) -> dict[str, Any]:
    """Returns a new study's row. digest: of its list of designs."""
    space = codec.to_json(record.space) if digest is None else None
    return {
        "name": record.name,
        "space": json.dumps(space or {"type": "Candidates", "list": digest}),
        "goal": record.goal,
        "strategy": json.dumps(codec.to_json(record.strategy)),
        "seed": str(record.seed),
        "created": utc_now(),
        "library": version("noregret"),
        "version": VERSION,
        "note": record.note,
        "attributes": _text(dict(record.attributes)),
        "origin": _text(dict(record.origin or {})),
        "list": digest,
        "outcomes": _text(codec.to_json(record.outcomes) if record.outcomes else None),
        "context": _text(record.context),
    }


def record_of(row: Mapping[str, Any], space: Candidates | None) -> StudyRecord:
    """Returns the record of a study's row. space: its list of designs, if it has one.

    Raises:
        ValueError, or what else malformed content raises.
    """
    check_time("created", row["created"])
    record = StudyRecord(
        str(row["name"]),
        codec.from_json(load_json(row["space"])) if space is None else space,
        row["goal"],
        codec.from_json(load_json(row["strategy"])),
        int(row["seed"]),
        key=study_key(row),
        note=row["note"],
        attributes=load_dict(row["attributes"]),
        origin=None if row["origin"] is None else load_dict(row["origin"]),
        outcomes={} if row["outcomes"] is None else codec.from_json(load_json(row["outcomes"])),
        context=tuple(load_json(row["context"] or "[]")),
    )
    valid = {
        "space": isinstance(record.space, Space | Candidates),
        "goal": record.goal in ("maximize", "minimize"),
        "strategy": isinstance(record.strategy, Strategy),
        "seed": record.seed >= 0,
        "note": isinstance(record.note, str | None),
        "origin": record.origin is None or isinstance(record.origin.get("study"), str),
        "outcomes": isinstance(record.outcomes, dict)
        and all(isinstance(limit, Limit) for limit in record.outcomes.values()),
    }
    for name, is_valid in valid.items():
        if not is_valid:
            raise ValueError(f"its {name} is {row[name]!r:.80}")
    unknown = [name for name in record.context if name not in record.space.parameters]
    if unknown:
        raise ValueError(f"its context names {unknown!r}")
    return record


def summary_of(row: Any) -> StudySummary:
    """Returns the summary of a study. Of a damaged row it leaves out what is no number or text:
    opening the study reports the damage.
    """
    times = [row.created, row.last_created, row.last_finished]
    texts = [text for text in times if isinstance(text, str)] or [str(row.created)]
    return StudySummary(
        str(row.name),
        row.goal,
        row.trials,
        best=row.best if isinstance(row.best, float | int) else None,
        created=str(row.created),
        last_activity=max(texts),
        **{state: row._mapping[state] for state in STATES},
    )


# -- trials as rows --


def row_of(study: int, trial: Trial, ticket: str) -> dict[str, Any]:
    """Returns a trial's row. ticket: its worker, or a token of this insertion.

    Raises:
        StorageError: The trial holds something that cannot be stored.
    """
    data = trial.to_json()
    try:
        Trial.from_json(data)  # what is written can be read
        noise = data.pop("outcome_noise", {})
        pairs = {name: [value, noise.get(name)] for name, value in trial.outcomes.items()}
        data |= {"outcomes": pairs}
        return {
            "study": study,
            **{name: _text(v) if isinstance(v, dict | list) else v for name, v in data.items()},
            "feasible": None if trial.feasible is None else int(trial.feasible),
            "worker": ticket,
            "heartbeat": None,
            "attempts": int(trial.state == "running"),
            "revision": 0,
        }
    except (TypeError, ValueError) as error:
        raise StorageError(
            f"trial {trial.number} holds something that is not JSON ({error}): {data['params']!r}"
        ) from None


def _text(value: Any) -> str | None:
    """Returns JSON; None for nothing and for what is empty."""
    return json.dumps(value, allow_nan=False) if value else None


def trial_of(row: Mapping[str, Any]) -> Trial:
    """Returns the trial of a row. SQLite keeps any value in a column, so each is checked.

    Raises:
        ValueError, or what else malformed content raises: see ``codec.MALFORMED``.
    """
    outcomes, flags = load_dict(row["outcomes"]), {}
    for name in ("transient", "feasible"):  # SQLite's truth values are 0 and 1
        if row[name] not in (None, 0, 1):
            raise ValueError(f"its {name} is {row[name]!r}")
        flags[name] = None if row[name] is None else bool(row[name])
    if not isinstance(row.get("revision", 0), int):
        raise ValueError(f"its revision is {row['revision']!r:.80}")
    return Trial.from_json(
        {
            **row,
            **flags,
            "params": load_json(row["params"]),
            "decision": load_dict(row["decision"]),
            "worker": row.get("attended_by"),
            "asked": None if row["asked"] is None else load_json(row["asked"]),
            "attributes": load_dict(row["attributes"]),
            "outcomes": {name: value for name, (value, _) in outcomes.items()},
            "outcome_noise": {name: std for name, (_, std) in outcomes.items() if std is not None},
        }
    )
