"""The tables, their version, and how older ones become the newest.

Version 2 added to a trial who evaluates it, when that worker last gave a sign of life, how often it
was given out, and what it corrects. Version 3 has typed decisions instead of a flat ``info``, and
the default as a strategy of its own. Version 4 added notes, attributes, why a trial failed, when it
was given out, the point asked for where another was run, and where a derived study came from.
Version 5 keeps lists of designs in a table of their own. Version 6 added whether a failure was
transient, limits and context to a study, and to a trial what was measured beside its value.
"""

from __future__ import annotations

import json
import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noregret.errors import StorageError
from noregret.storage import codec, lists
from noregret.storage.database import Database, TakenError, storage_file
from noregret.storage.sqlite_file import WRITE_AHEAD
from noregret.trials import Decision, sign_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

log = logging.getLogger("noregret")
VERSION = 6  # written into every study's row
# columns of noregret_trials by the version that brought them
ADDED = {
    2: ("worker", "heartbeat", "attempts", "corrects"),
    3: ("decision",),
    4: ("asked", "error", "note", "attributes", "started", "revision"),
    6: ("transient", "outcomes", "feasible"),
}
# of noregret_studies
ADDED_TO_STUDIES = {
    4: ("note", "attributes", "origin", "revision"),
    6: ("outcomes", "context"),
}
# Number of looks, and seconds between them, at a file that another process may be setting up.
# Counted in looks, not in seconds: on a busy machine both processes are slow.
SET_UP_LOOKS, SET_UP_PAUSE = 40, 0.05
LISTS = 5  # the version that brought the table of lists and ``list`` to noregret_studies

OVERVIEW = ("study", "number", "state", "value", "corrects", "created", "finished", "feasible")


def tables(sql: Any) -> tuple[Any, Any]:
    metadata = sql.MetaData()
    sql.Table(  # equal lists are one row: its key is a digest of the content
        "noregret_lists",
        metadata,
        sql.Column("digest", sql.Text, primary_key=True),
        sql.Column("content", sql.LargeBinary, nullable=False),
    )
    studies = sql.Table(
        "noregret_studies",
        metadata,
        sql.Column("id", sql.Integer, primary_key=True),
        sql.Column("name", sql.Text, nullable=False, unique=True),
        *(
            sql.Column(name, sql.Text, nullable=False)
            for name in ("space", "goal", "strategy", "seed", "created", "library")
        ),
        sql.Column("version", sql.Integer, nullable=False),
        *(sql.Column(name, sql.Text) for name in ("note", "attributes", "origin")),
        # counts the changes of finished trials, which are read again for them
        sql.Column("revision", sql.Integer, nullable=False, server_default="0"),
        sql.Column("list", sql.Text, sql.ForeignKey("noregret_lists.digest")),
        *(sql.Column(name, sql.Text) for name in ADDED_TO_STUDIES[6]),
        sqlite_autoincrement=True,  # ids are never used again
    )
    trials = sql.Table(
        "noregret_trials",
        metadata,
        sql.Column(
            "study",
            sql.Integer,
            sql.ForeignKey("noregret_studies.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
        sql.Column("state", sql.Text, nullable=False),
        sql.Column("params", sql.Text, nullable=False),
        sql.Column("value", sql.Double),
        sql.Column("noise_std", sql.Double),
        sql.Column("decision", sql.Text, nullable=False),
        sql.Column("created", sql.Text, nullable=False),
        sql.Column("finished", sql.Text),
        sql.Column("worker", sql.Text),
        # seconds since 1970 by the database's clock; NULL: none is sent
        sql.Column("heartbeat", sql.Double),
        sql.Column("attempts", sql.Integer, nullable=False, server_default="1"),
        sql.Column("corrects", sql.Integer),
        *(
            sql.Column(name, sql.Text)
            for name in ("asked", "error", "note", "attributes", "started")
        ),
        # of the study when this row last changed after its end
        sql.Column("revision", sql.Integer, nullable=False, server_default="0"),
        # of a failure: it had nothing to do with the point
        sql.Column("transient", sql.Boolean, nullable=False, server_default=sql.false()),
        sql.Column("outcomes", sql.Text),  # JSON: name to [value, noise std or null]
        sql.Column("feasible", sql.Integer),  # 1: within all limits, 0: not; NULL: there are none
    )
    # everything that a list of studies shows, without the long texts of the rows
    sql.Index("noregret_overview", *(trials.c[name] for name in OVERVIEW))
    return studies, trials


def prepare(database: Database, studies: Any, trials: Any) -> None:
    """Creates the tables of a new database; refuses those of an older version. An index is no part
    of the version: where it is missing it is made, and where it cannot be made, done without.
    """

    def version() -> int | None:
        return database.attempt("set up", lambda connection: _found(database, connection))

    def create(connection: Connection) -> None:
        try:
            if database.is_sqlite:
                connection.exec_driver_sql(WRITE_AHEAD).close()
            with database.transaction(connection):  # all tables or none
                studies.metadata.create_all(connection)
        except BaseException:
            # in write-ahead mode a file without tables looks like a copy without its log
            if database.is_sqlite:
                with suppress(database.sql.exc.DBAPIError):
                    connection.exec_driver_sql("PRAGMA journal_mode=DELETE").close()
            raise

    found = version()
    if found is None and database.file is not None and database.file.lacks_log:
        found = _await_tables(database)
    if found is None:
        try:
            database.attempt("set up", create)
        except (TakenError, StorageError):
            found = version()  # another process may have created them at the same moment
            if found is None:
                raise
    if found is not None and found < VERSION:
        raise StorageError(
            f"{database.shown} holds studies in schema {found}, this noregret writes schema"
            f" {VERSION}: stop older workers, then run `noregret upgrade` on it (or"
            " noregret.storage.upgrade); nothing is lost, but older versions cannot open it"
            " afterwards"
        )
    if found is not None:
        with suppress(TakenError, StorageError):
            database.attempt("index", lambda connection: _index(database, connection, trials))


def _await_tables(database: Database) -> int:
    """The version of a file that is in write-ahead mode and had no tables when it was opened:
    either another process is setting it up, or its tables were in a log that is missing.
    """

    def look(connection: Connection) -> int | None:
        with database.transaction(connection):  # after a process that is creating them
            return _found(database, connection)

    for _ in range(SET_UP_LOOKS):
        found = database.attempt("set up", look)
        if found is not None:
            return found
        time.sleep(SET_UP_PAUSE)
    name = Path(storage_file(database.url) or "").name
    raise StorageError(
        f"{database.shown} has no tables, but was in use: it looks like a copy of a database"
        f" without {name}-wal, the file beside it with the latest changes. Copy with `noregret"
        " backup`, or copy both files while nothing writes; if this file is new, delete it"
    )


def _index(database: Database, connection: Connection, trials: Any) -> None:
    found = database.sql.inspect(connection).get_indexes("noregret_trials")
    present = {each["name"] for each in found}
    for index in trials.indexes:
        if index.name not in present:
            index.create(connection)


def upgrade(storage: str | os.PathLike[str] | None = None) -> tuple[int, int]:
    """Brings a database to the newest schema, in one transaction; the versions before and after."""
    database = Database(storage, must_exist=True)
    studies, trials = tables(database.sql)

    def change(connection: Connection) -> int:
        found = _found(database, connection)
        if found is None:
            raise StorageError(f"there are no studies in {database.shown}: nothing to upgrade")
        newest = connection.execute(
            database.sql.select(database.sql.func.max(studies.c.version))
        ).scalar_one()
        if newest is not None and newest > VERSION:
            raise StorageError(
                f"{database.shown} holds studies of a newer version of noregret (schema"
                f" {newest}): upgrade noregret"
            )
        if found < VERSION:
            with database.transaction(connection):
                if found < 2:
                    _add_columns(database, connection, trials, ADDED[2])
                if found < 3:
                    _type_decisions(connection, database.sql, studies, trials)
                if found < 4:
                    _add_columns(database, connection, trials, ADDED[4])
                    _add_columns(database, connection, studies, ADDED_TO_STUDIES[4])
                if found < LISTS:
                    _separate_lists(connection, database.sql, studies)
                if found < 6:
                    _add_columns(database, connection, trials, ADDED[6])
                    _add_columns(database, connection, studies, ADDED_TO_STUDIES[6])
                    # it covers another column now: whoever opens the database makes it anew
                    connection.exec_driver_sql("DROP INDEX IF EXISTS noregret_overview")
                connection.execute(
                    studies.update().where(studies.c.version < VERSION).values(version=VERSION)
                )
        return found

    try:
        return database.attempt("upgrade", change), VERSION
    finally:
        database.engine.dispose()


def _add_columns(
    database: Database, connection: Connection, table: Any, names: tuple[str, ...]
) -> None:
    there = {each["name"] for each in database.sql.inspect(connection).get_columns(table.name)}
    for name in (each for each in names if each not in there):
        column = database.sql.schema.CreateColumn(table.c[name]).compile(
            dialect=database.engine.dialect
        )
        connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {column}")


def _found(database: Database, connection: Connection) -> int | None:
    """The schema's version, by its columns; None without tables."""
    inspector = database.sql.inspect(connection)
    if not inspector.has_table("noregret_trials"):
        return None
    present = {column["name"] for column in inspector.get_columns("noregret_trials")}
    of_studies = {column["name"] for column in inspector.get_columns("noregret_studies")}
    there = {version: present.issuperset(names) for version, names in ADDED.items()}
    there[LISTS] = "list" in of_studies
    found = 1
    while there.get(found + 1, False):
        found += 1
    return found


def _type_decisions(connection: Connection, sql: Any, studies: Any, trials: Any) -> None:
    """Schema 2 to 3: ``info`` becomes a decision, and strategies lose the settings they had for the
    default.
    """
    connection.exec_driver_sql("ALTER TABLE noregret_trials RENAME COLUMN info TO decision")
    s, t = studies.c, trials.c
    for study, goal, strategy in connection.execute(sql.select(s.id, s.goal, s.strategy)).all():
        changed = json.dumps(strategy_of_schema_2(json.loads(strategy)))
        connection.execute(studies.update().where(s.id == study).values(strategy=changed))
        rows = connection.execute(sql.select(t.number, t.decision).where(t.study == study)).all()
        sign = sign_of(goal)
        new = [
            {
                "at_study": study,
                "at_number": number,
                "new": json.dumps(Decision.from_json(json.loads(old)).signed(sign).to_json()),
            }
            for number, old in rows
        ]
        if new:
            where = (t.study == sql.bindparam("at_study"), t.number == sql.bindparam("at_number"))
            statement = trials.update().where(*where).values(decision=sql.bindparam("new"))
            connection.execute(statement, new)


def _separate_lists(connection: Connection, sql: Any, studies: Any) -> None:
    """Schema 4 to 5: lists of designs move out of the studies' rows."""
    listed = studies.metadata.tables["noregret_lists"]
    listed.create(connection)
    connection.exec_driver_sql(
        "ALTER TABLE noregret_studies ADD COLUMN list TEXT REFERENCES noregret_lists (digest)"
    )
    s, kept = studies.c, set()
    query = sql.select(s.id, s.space).where(s.space.like('%"Candidates"%'))
    for study, text in connection.execute(query).all():
        data = json.loads(text)
        if data["type"] != "Candidates":  # a choice may be called so
            continue
        key, content = lists.pack(codec.from_json(data))
        if key not in kept:
            connection.execute(listed.insert().values(digest=key, content=content))
            kept.add(key)
        changed = {"space": json.dumps(space_of_list(key)), "list": key}
        connection.execute(studies.update().where(s.id == study).values(changed))


def space_of_list(key: str) -> dict[str, Any]:
    """What a study's row says about its space if that is a list."""
    return {"type": "Candidates", "list": key}


GONE = ("greedy_above", "quantisation", "monotone", "compress", "acquisition", "guarantee")


def strategy_of_schema_2(data: dict[str, Any]) -> dict[str, Any]:
    """A strategy as schema 2 stored it, in today's form. The default was ``AdaptiveGPUCB`` with the
    widening ``Stagnation``; whatever else was set beside that goes on as today's default. With
    ``guarantee`` it was the rigorous preset, which follows the data by a rule of its own now.
    """
    if data.get("type") != "AdaptiveGPUCB":
        return data
    widening = data.get("widening")
    if isinstance(widening, dict) and widening.get("type") == "Stagnation":
        kept = ("noise_std", "initial_points")
        return {"type": "InsuredGPUCB", **{name: data[name] for name in kept}}
    if data.get("guarantee"):
        same = ("norm_bound", "lengthscales", "kernel", "delta", "offset", "initial_points")
        return {
            "type": "RadiusGPUCB",
            "noise_bound": data["noise_std"],
            **{name: data[name] for name in same if name in data},
        }
    dropped = [name for name in GONE if data.get(name) not in (None, False, 0, "ucb")]
    if dropped:
        log.warning(
            "a study's strategy had %s set, which is gone: its next proposals may differ",
            " and ".join(dropped),
        )
    return {name: value for name, value in data.items() if name not in GONE}
