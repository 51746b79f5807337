"""Databases written by older versions of noregret."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy

import noregret as nr
from noregret.errors import StorageError
from noregret.storage import SQLStorage, codec, upgrade
from noregret.storage.schema import VERSION
from tests.databases import make_url

# schema 1, as version 0.1.0 created it
VERSION_1 = (
    """CREATE TABLE noregret_studies (id {serial}, name TEXT NOT NULL UNIQUE, space TEXT NOT NULL,
       goal TEXT NOT NULL, strategy TEXT NOT NULL, seed TEXT NOT NULL, created TEXT NOT NULL,
       library TEXT NOT NULL, version INTEGER NOT NULL)""",
    """CREATE TABLE noregret_trials (
       study INTEGER NOT NULL REFERENCES noregret_studies (id) ON DELETE CASCADE,
       number INTEGER NOT NULL, state TEXT NOT NULL, params TEXT NOT NULL, value {double},
       noise_std {double}, info TEXT NOT NULL, created TEXT NOT NULL, finished TEXT,
       PRIMARY KEY (study, number))""",
)
TYPES = {
    "sqlite": {"serial": "INTEGER PRIMARY KEY AUTOINCREMENT", "double": "DOUBLE"},
    "postgresql": {"serial": "SERIAL PRIMARY KEY", "double": "DOUBLE PRECISION"},
}
WHEN = "2026-01-01T00:00:00.000+00:00"


def write_version_1(url: str, kind: str, study: nr.Study) -> None:
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        for table in VERSION_1:
            connection.exec_driver_sql(table.format(**TYPES[kind]))
        row = {
            "name": "old",
            "space": json.dumps(codec.to_json(study.space)),
            "goal": study.goal,
            "strategy": json.dumps(codec.to_json(study.strategy)),
            "seed": str(study.seed),
            "created": WHEN,
            "library": "0.1.0",
            "version": 1,
        }
        names = ", ".join(row)
        connection.execute(
            sqlalchemy.text(f"INSERT INTO noregret_studies ({names}) VALUES (:{', :'.join(row)})"),
            row,
        )
        for trial in study.trials:
            data = trial.to_json()
            connection.execute(
                sqlalchemy.text(
                    "INSERT INTO noregret_trials VALUES (1, :number, :state, :params, :value,"
                    " :noise_std, :info, :created, :finished)"
                ),
                {
                    **{key: data[key] for key in ("number", "state", "value", "noise_std")},
                    "params": json.dumps(data["params"]),
                    "info": json.dumps(data["info"]),
                    "created": WHEN,
                    "finished": WHEN if trial.is_finished else None,
                },
            )
    engine.dispose()


def old_study() -> nr.Study:
    study = nr.Study({"x": nr.Float(0, 1)}, "minimize", seed=5).run(lambda p: p["x"] ** 2, 8)
    study.tell(study.ask(), state="failed")
    study.ask()
    return study


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_version_1_is_upgraded_without_loss(kind: str, request: pytest.FixtureRequest) -> None:
    url, old = make_url(kind, request), old_study()
    write_version_1(url, kind, old)
    for _ in range(2):
        with pytest.raises(
            StorageError, match=r"schema 1, this noregret writes schema 2: .* `noregret upgrade`"
        ):
            nr.Study.open("old", storage=url)
    assert upgrade(url) == (1, VERSION)
    assert upgrade(url) == (VERSION, VERSION)
    storage = SQLStorage(url)
    storage.create(replace(storage.open("old"), name="new"))
    with storage._database.engine.connect() as connection:
        assert connection.exec_driver_sql(
            "SELECT version FROM noregret_studies"
        ).scalars().all() == [VERSION, VERSION]
    storage.delete("new")
    study = nr.Study.open("old", storage=storage)
    assert (study.space, study.goal, study.strategy, study.seed) == (
        old.space,
        old.goal,
        old.strategy,
        old.seed,
    )
    assert study.trials == old.trials
    assert {t.created for t in study.trials} == {WHEN}
    assert study.summaries(storage=storage)[0].best == old.best.value
    assert study.reclaim(grace=0.001) == []  # nobody promised signs of life for what was running
    assert [t.number for t in study.reclaim(numbers=[9])] == [9]
    again = study.ask()
    assert again.number == 9
    study.tell(again, 0.5)
    old.tell(9, 0.5)
    ours, theirs = study.ask(), old.ask()
    assert ours.params == theirs.params
    study.correct(3, 1.0)
    storage.close()


def test_an_empty_database_of_version_1(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "s.db")
    for table in VERSION_1:
        database.execute(table.format(**TYPES["sqlite"]))
    database.close()
    with pytest.raises(StorageError, match="schema 1"):
        nr.Study.create("s", {"x": nr.Float(0, 1)}, storage=tmp_path / "s.db")
    assert upgrade(tmp_path / "s.db") == (1, VERSION)
    nr.Study.create("s", {"x": nr.Float(0, 1)}, storage=tmp_path / "s.db").ask()


def test_upgrading_what_holds_no_studies(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no file"):
        upgrade(tmp_path / "s.db")
    sqlite3.connect(tmp_path / "s.db").close()
    with pytest.raises(StorageError, match="no studies"):
        upgrade(tmp_path / "s.db")


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    nr.Study.create("s", {"x": nr.Float(0, 1)}, storage=tmp_path / "s.db")
    database = sqlite3.connect(tmp_path / "s.db")
    database.execute("UPDATE noregret_studies SET version = 99")
    database.commit()
    row = database.execute("SELECT goal, seed, library FROM noregret_studies").fetchone()
    database.close()
    assert row == ("maximize", "0", nr.__version__)
    with pytest.raises(StorageError, match="newer version"):
        nr.Study.open("s", storage=tmp_path / "s.db")
    with pytest.raises(StorageError, match="newer version"):
        upgrade(tmp_path / "s.db")
