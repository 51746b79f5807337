"""The tables of one database and the statements that every ask and tell needs, made once."""

from __future__ import annotations

from typing import Any

from noregret.storage.database import Database
from noregret.storage.schema import tables
from noregret.trials import STATES

ADVISORY = 0x6E6F5265  # a lock of PostgreSQL that is ours


def lock_of(sql: Any, study: Any) -> Any:
    """PostgreSQL's turn to add trials to a study, until the transaction ends; who waits is served
    in the order of arrival.
    """
    return sql.func.pg_advisory_xact_lock(ADVISORY, study)


class Statements:
    """What the rest of the storage works with: a database, its tables, its clock."""

    def __init__(self, database: Database) -> None:
        self.database, self.sql = database, database.sql
        self.studies, self.trials = tables(self.sql)
        self.lists = self.studies.metadata.tables["noregret_lists"]
        sql, table, t, bind = self.sql, self.trials, self.trials.c, self.sql.bindparam
        if database.is_sqlite:
            self.clock = (sql.func.julianday("now") - 2440587.5) * 86400.0
        else:  # by the server: machines disagree
            self.clock = sql.cast(sql.extract("epoch", sql.func.clock_timestamp()), sql.Double)
        attended = sql.case(
            (sql.and_(t.state == "running", t.heartbeat.is_not(None)), t.worker)
        ).label("attended_by")
        self.columns = [
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
            t.outcomes,
            t.feasible,
        ]
        mine = t.study == bind("study_id")
        self.select_new = (
            sql.select(*self.columns)
            .where(
                mine,
                sql.or_(t.number >= bind("from_number"), t.revision > bind("from_revision")),
            )
            .order_by(t.number)
        )
        self.select_changed = (
            sql.select(*self.columns)
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

        turn = sql.select(lock_of(sql, bind("study", type_=sql.Integer)).label("turn")).subquery()

        def insert_next(row: dict[str, Any]) -> Any:
            chosen = sql.select(*(row[name].label(name) for name in names)).where(
                sql.or_(values["number"] == 0, follows)
            )
            if not database.is_sqlite:  # behind those who wait for a number, not before them
                chosen = chosen.select_from(turn)
            return (
                table.insert().from_select(names, chosen).execution_options(preserve_rowcount=True)
            )

        self.insert_next, self.insert_beating = (
            insert_next(values),
            insert_next({**values, "heartbeat": self.clock}),
        )
        s = self.studies.c
        within = sql.case((sql.func.coalesce(t.feasible, 1) == 1, t.value))
        best = sql.case((s.goal == "maximize", sql.func.max(within)), else_=sql.func.min(within))
        # made once for all studies, so that no trial is compared with every other; one number for
        # both, since SQLite goes through all pairs where one part of them may be NULL
        new = table.alias("corrections").c
        replaced = sql.select(_one_number(sql, new.study, new.corrects)).where(
            new.corrects.is_not(None)
        )
        counts = sql.and_(t.study == s.id, _one_number(sql, t.study, t.number).not_in(replaced))
        self.overview = (
            sql.select(
                s.name,
                s.goal,
                sql.func.count(t.number),
                *(sql.func.count(sql.case((t.state == state, 1))) for state in STATES),
                best,
                s.created,
                sql.func.max(t.created),
                sql.func.max(t.finished),
            )
            .select_from(self.studies.outerjoin(table, counts))
            .group_by(s.id, s.name, s.goal, s.created)
        )
        self.finish = (
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
                outcomes=bind("new_outcomes", type_=sql.Text),
                feasible=bind("new_feasible", type_=sql.Integer),
            )
            .returning(*self.columns)
        )
        self.finish_moved = self.finish.values(params=bind("new_params"), asked=t.params)


def _one_number(sql: Any, study: Any, number: Any) -> Any:
    """A trial's study and number in one: both fit 32 bits."""
    return sql.cast(study, sql.BigInteger) * 2**31 + number
