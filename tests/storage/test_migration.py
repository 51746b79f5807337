"""Databases written by older versions of noregret."""

import dataclasses
import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy

import noregret as nr
from noregret.errors import StorageError
from noregret.space import as_space
from noregret.storage import SQLStorage, codec, upgrade
from noregret.storage.schema import VERSION
from noregret.strategies import algorithm_of
from noregret.trials import Decision, sign_of
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
COLUMNS_1 = ("study", "number", "state", "params", "value", "noise_std", "info", "finished")
WHEN = "2026-01-01T00:00:00.000+00:00"


FIXTURES = Path(__file__).parent / "fixtures"
# what the version that wrote schema2.sql proposed next in each of its studies
NEXT: dict[str, Any] = json.loads((FIXTURES / "schema2-next.json").read_text(encoding="utf-8"))
QUIET = pytest.mark.filterwarnings("ignore::noregret.errors.GuaranteeWarning")


def write_version_2(path: Path) -> Path:
    """Studies as schema 2 held them, written by the last version that did."""
    database = sqlite3.connect(path)
    database.executescript((FIXTURES / "schema2.sql").read_text(encoding="utf-8"))
    database.close()
    return path


def rows_of_version_2(path: Path, query: str) -> list[dict[str, Any]]:
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    rows = [dict(row) for row in database.execute(query)]
    database.close()
    return rows


def write_version_1(url: str, kind: str, path: Path) -> None:
    """The default's study of schema 2 up to its first correction, which schema 1 did not know."""
    write_version_2(path)
    study = rows_of_version_2(path, "SELECT * FROM noregret_studies WHERE name = 'default'")[0]
    trials = rows_of_version_2(
        path, "SELECT * FROM noregret_trials WHERE study = 1 AND number < 20"
    )
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        for table in VERSION_1:
            connection.exec_driver_sql(table.format(**TYPES[kind]))
        row = {**study, "name": "old", "created": WHEN, "version": 1}
        row.pop("id")
        names = ", ".join(row)
        connection.execute(
            sqlalchemy.text(f"INSERT INTO noregret_studies ({names}) VALUES (:{', :'.join(row)})"),
            row,
        )
        for trial in trials:
            kept = {key: trial[key] for key in COLUMNS_1} | {"created": WHEN}
            connection.execute(
                sqlalchemy.text(
                    f"INSERT INTO noregret_trials ({', '.join(kept)}) VALUES (:{', :'.join(kept)})"
                ),
                kept,
            )
    engine.dispose()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_version_1_is_upgraded_without_loss(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = make_url(kind, request)
    write_version_1(url, kind, tmp_path / "of-version-2.db")
    for _ in range(2):
        with pytest.raises(
            StorageError,
            match=rf"schema 1, this noregret writes schema {VERSION}: .* `noregret upgrade`",
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
    assert (study.goal, study.strategy, study.seed) == ("minimize", nr.InsuredGPUCB(), 4)
    assert len(study.trials) == 20
    assert all(trial.decision.chosen for trial in study.trials)  # the default's rule is another now
    assert {t.created for t in study.trials} == {WHEN}
    assert study.summaries(storage=storage)[0].best == study.best.value
    assert study.reclaim(grace=0.001) == []  # nobody promised signs of life for what was running
    assert [t.number for t in study.reclaim(numbers=[10])] == [10]
    again = study.ask()
    assert again.number == 10
    study.tell(again, 0.5)
    study.correct(3, 1.0)
    storage.close()


def test_version_2_is_refused_before_the_upgrade(tmp_path: Path) -> None:
    path = write_version_2(tmp_path / "s.db")
    for name in NEXT:
        with pytest.raises(
            StorageError,
            match=rf"schema 2, this noregret writes schema {VERSION}: .* `noregret upgrade`",
        ):
            nr.Study.open(name, storage=path)
    assert upgrade(path) == (2, VERSION)
    assert upgrade(path) == (VERSION, VERSION)
    assert sorted(nr.Study.names(storage=path)) == sorted(NEXT)


@QUIET
@pytest.mark.parametrize("name", NEXT)
def test_a_study_of_version_2_goes_on_as_if_nothing_had_been(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_version_2(tmp_path / "s.db")
    before = rows_of_version_2(
        path,
        "SELECT * FROM noregret_trials WHERE study ="
        f" (SELECT id FROM noregret_studies WHERE name = '{name}') ORDER BY number",
    )
    upgrade(path)
    study = nr.Study.open(name, storage=path)
    for row, trial in zip(before, study.trials, strict=True):
        info = json.loads(row["info"])
        for key in ("number", "state", "value", "noise_std", "corrects", "created", "finished"):
            assert getattr(trial, key) == row[key], key
        assert trial.params == json.loads(row["params"])
        assert list(trial.decision.pending) == info.get("pending", [])
        assert trial.decision.fixed == info.get("fixed")
        assert (trial.decision.model is not None) == ("h" in info)
        if row["corrects"] is not None:
            assert trial.decision == Decision("correction")
        if trial.decision.model is not None:
            check_decision(trial, info, sign_of(study.goal))
    if name != "list":
        waiting = study.ask()
        assert waiting.decision == Decision("enqueued")
        assert any(trial.corrects is not None for trial in study.trials)
        assert any(trial.decision.pending for trial in study.trials)
    following = goes_on(study, caplog)
    if name in ("default", "list", "own"):  # it goes on as today's default, by another rule
        assert study.strategy == nr.InsuredGPUCB()
        assert following.decision.source == "model"
    elif name == "rigorous":  # a strategy of its own now, whose proposals differ
        assert study.strategy == nr.RadiusGPUCB(0.1)
        assert following.why.proved
        assert study.certificate().proved
    else:
        encode = study.space.encode
        np.testing.assert_allclose(encode(following.params), encode(NEXT[name]), rtol=0, atol=1e-6)


def goes_on(study: nr.Study, caplog: pytest.LogCaptureFixture) -> nr.Trial:
    """The next trial of an older study. A strategy whose rule is another now says so once, and its
    earlier proposals are not derived; those of the others are, and all new ones.
    """
    changed = algorithm_of(study.strategy) > 0
    old = sum(trial.decision.chosen for trial in study.trials)
    before = study.replay()
    assert before.number is None
    assert (before.agreed, before.skipped) == ((0, old) if changed else (old, 0))
    with caplog.at_level("WARNING", "noregret"):
        following, _ = study.ask(), study.ask()
    assert following.decision.algorithm == algorithm_of(study.strategy)
    assert len(caplog.records) == changed
    if changed:
        rule = algorithm_of(study.strategy)
        said = f"from trial {following.number} on algorithm {rule} decides"
        assert said in caplog.records[0].getMessage()
        assert study.algorithms[-1] == (following.number, rule)
        assert study.algorithms[0][1] == 0
    after = study.replay()
    assert (after.number, after.skipped) == (None, before.skipped)
    assert (after.agreed, after.since) == (before.agreed + 2, before.since)
    assert after.since <= following.number
    return following


def check_decision(trial: nr.Trial, info: dict[str, Any], sign: float) -> None:
    """The flat dictionary of schema 2, whose forecasts were to be maximised."""
    why, memory = trial.why, trial.decision.memory
    assert why.mean == sign * info["mean"]
    lower = info.get("recommended_lower")
    assert why.recommended_bound == (None if lower is None else sign * lower)
    names = {field.name for field in dataclasses.fields(why)}
    for key, old in info.items():
        if key in ("source", "pending", "fixed", "mean", "recommended_lower"):
            continue
        new = getattr(why, key) if key in names else memory[key]
        assert json.loads(json.dumps(new)) == old, key


@QUIET
def test_forecasts_of_a_loss_are_losses_after_the_upgrade(tmp_path: Path) -> None:
    path = write_version_2(tmp_path / "s.db")
    upgrade(path)
    study = nr.Study.open("log-ei", storage=path)
    assert study.goal == "minimize"
    for trial in study.trials:
        if trial.decision.model is not None and trial.state == "complete":
            assert 0 < trial.why.mean < 1  # all values are, and −value was forecast
    assert study.trials[-2].corrects == 3
    assert study.recommended.number != 3


def test_an_empty_database_of_version_1(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "s.db")
    for table in VERSION_1:
        database.execute(table.format(**TYPES["sqlite"]))
    database.close()
    with pytest.raises(StorageError, match="schema 1"):
        nr.Study.create("s", {"x": nr.Float(0, 1)}, "maximize", storage=tmp_path / "s.db")
    assert upgrade(tmp_path / "s.db") == (1, VERSION)
    nr.Study.create("s", {"x": nr.Float(0, 1)}, "maximize", storage=tmp_path / "s.db").ask()


def test_lists_of_version_4_move_into_a_table_of_their_own(tmp_path: Path) -> None:
    """Schema 3 is today's without the table of lists, and with the designs in the study's row."""
    path, rows = tmp_path / "s.db", [{"t": t, "s": s} for t in (20, 40) for s in ("water", "dmf")]
    spaces: dict[str, Any] = {
        "one": nr.Candidates(rows),
        "two": nr.Candidates(rows),
        "other": nr.Candidates([[1.0, 2.0], [3.0, 4.0]]),
        "box": {"x": nr.Float(0, 1), "kind": nr.Choice(["Candidates", "Space"])},
    }
    for name, space in spaces.items():
        study = nr.Study.create(name, space, "maximize", storage=path)
        study.tell(study.ask(), 1.0)
    wanted = {name: nr.Study.open(name, storage=path).ask().params for name in spaces}
    trials = {name: nr.Study.open(name, storage=path).trials for name in spaces}
    database = sqlite3.connect(path)
    for name, space in spaces.items():
        if name != "box":
            text = json.dumps(codec.to_json(space))
            query = "UPDATE noregret_studies SET space = ?, version = 4 WHERE name = ?"
            database.execute(query, (text, name))
    database.execute("UPDATE noregret_studies SET version = 4")
    database.execute("DELETE FROM noregret_trials WHERE number = 1")
    columns = "id, name, space, goal, strategy, seed, created, library, version"
    older = VERSION_1[0].format(**TYPES["sqlite"]).replace("noregret_studies", "older")
    database.execute(older)
    for column in ("note TEXT", "attributes TEXT", "origin TEXT", "revision INTEGER DEFAULT 0"):
        database.execute(f"ALTER TABLE older ADD COLUMN {column}")
    database.execute(f"INSERT INTO older ({columns}) SELECT {columns} FROM noregret_studies")
    database.execute("DROP TABLE noregret_studies")
    database.execute("ALTER TABLE older RENAME TO noregret_studies")
    database.execute("DROP TABLE noregret_lists")
    database.execute("ALTER TABLE noregret_trials DROP COLUMN transient")
    database.commit()
    database.close()
    with pytest.raises(StorageError, match="schema 4"):
        nr.Study.open("one", storage=path)
    assert upgrade(path) == (4, VERSION)
    assert upgrade(path) == (VERSION, VERSION)
    assert len(rows_of_version_2(path, "SELECT digest FROM noregret_lists")) == 2  # one is shared
    for name, space in spaces.items():
        study = nr.Study.open(name, storage=path)
        assert study.space == as_space(space)
        assert [t.to_json() for t in study.trials] == [trials[name][0].to_json()]
        np.testing.assert_equal(study.ask().params, wanted[name])


def test_upgrading_what_holds_no_studies(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no file"):
        upgrade(tmp_path / "s.db")
    sqlite3.connect(tmp_path / "s.db").close()
    with pytest.raises(StorageError, match="no studies"):
        upgrade(tmp_path / "s.db")


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    nr.Study.create("s", {"x": nr.Float(0, 1)}, "maximize", storage=tmp_path / "s.db")
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


THIRD: dict[str, Any] = json.loads((FIXTURES / "schema3-next.json").read_text(encoding="utf-8"))


def write_version_3(path: Path) -> Path:
    """Studies as schema 3 held them, written by the last version that did."""
    database = sqlite3.connect(path)
    database.executescript((FIXTURES / "schema3.sql").read_text(encoding="utf-8"))
    database.close()
    return path


def test_version_3_is_refused_before_the_upgrade(tmp_path: Path) -> None:
    path = write_version_3(tmp_path / "s.db")
    with pytest.raises(StorageError, match=r"schema 3, .* `noregret upgrade`"):
        nr.Study.open("lab", storage=path)
    assert upgrade(path) == (3, VERSION)
    assert upgrade(path) == (VERSION, VERSION)


@pytest.mark.parametrize("name", THIRD)
def test_a_study_of_version_3_goes_on_as_if_nothing_had_been(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_version_3(tmp_path / "s.db")
    before = rows_of_version_2(
        path,
        "SELECT * FROM noregret_trials WHERE study ="
        f" (SELECT id FROM noregret_studies WHERE name = '{name}') ORDER BY number",
    )
    upgrade(path)
    study = nr.Study.open(name, storage=path)
    assert len(study.trials) == len(before) > 2
    for row, trial in zip(before, study.trials, strict=True):
        for key in ("number", "state", "value", "noise_std", "corrects", "created", "finished"):
            assert getattr(trial, key) == row[key], key
        assert trial.to_json()["params"] == json.loads(row["params"])
        assert trial.decision == Decision.from_json(json.loads(row["decision"]))
        assert (trial.note, trial.error, trial.attributes) == (None, None, {})
        assert (trial.asked, trial.started, trial.duration) == (None, None, None)
    assert (study.note, study.attributes) == (None, {})
    if name == "lab":
        waiting = next(trial for trial in study.trials if trial.state == "waiting")
        study.tell(waiting, state="failed", reason="the pump stopped")
        study.annotate(0, note="first of all")
        study = nr.Study.open(name, storage=path)
        assert study.trials[waiting.number].error == "the pump stopped"
        assert study.trials[0].note == "first of all"
    encode, following = study.space.encode, goes_on(study, caplog)
    ours = isinstance(study.strategy, nr.InsuredGPUCB)  # whose rule is another now
    assert ours or np.abs(encode(following.params) - encode(THIRD[name])).max() <= 1e-6


FIFTH: dict[str, Any] = json.loads((FIXTURES / "schema5-next.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", FIFTH)
def test_a_study_of_version_5_goes_on_as_if_nothing_had_been(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "s.db"
    database = sqlite3.connect(path)
    database.executescript((FIXTURES / "schema5.sql").read_text(encoding="utf-8"))
    database.close()
    with pytest.raises(StorageError, match=r"schema 5, .* `noregret upgrade`"):
        nr.Study.open(name, storage=path)
    before = rows_of_version_2(
        path,
        "SELECT * FROM noregret_trials WHERE study ="
        f" (SELECT id FROM noregret_studies WHERE name = '{name}') ORDER BY number",
    )
    assert upgrade(path) == (5, VERSION)
    assert upgrade(path) == (VERSION, VERSION)
    study = nr.Study.open(name, storage=path)
    assert (study.outcomes, study.context) == ({}, ())
    assert len(study.trials) == len(before) > 3
    for row, trial in zip(before, study.trials, strict=True):
        for key in ("number", "state", "value", "noise_std", "corrects", "note", "error"):
            assert getattr(trial, key) == row[key], key
        assert (trial.outcomes, trial.outcome_noise, trial.feasible) == ({}, {}, None)
    encode, following = study.space.encode, goes_on(study, caplog)
    ours = isinstance(study.strategy, nr.InsuredGPUCB)  # whose rule is another now
    assert ours or np.abs(encode(following.params) - encode(FIFTH[name])).max() <= 1e-6
    assert study.summaries(storage=path)[0].best is not None
    columns = rows_of_version_2(path, "PRAGMA index_info(noregret_overview)")
    assert "feasible" in [column["name"] for column in columns]  # made anew with the new column


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_failures_of_schema_5_are_the_points(kind: str, request: pytest.FixtureRequest) -> None:
    url = make_url(kind, request)
    study = nr.Study.create("s", {"x": nr.Float(0, 1)}, "maximize", storage=url)
    study.tell(study.ask(), state="failed")
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE noregret_trials DROP COLUMN transient")
        connection.exec_driver_sql("UPDATE noregret_studies SET version = 5")
    engine.dispose()
    with pytest.raises(StorageError, match="schema 5"):
        nr.Study.open("s", storage=url)
    assert upgrade(url) == (5, VERSION)
    opened = nr.Study.open("s", storage=url)
    assert [trial.transient for trial in opened.trials] == [False]
    opened.retry(0)
    opened.tell(opened.ask(), state="failed", transient=True)
    assert [trial.transient for trial in opened.trials] == [False, True]
