"""A list of studies is made in one pass: by its query plan, not by a clock."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.storage import SQLStorage, StudyRecord
from noregret.trials import Trial
from tests.databases import make_url


def plans(storage: SQLStorage) -> list[str]:
    """How SQLite makes the summaries, statement by statement."""
    said: list[str] = []
    engine = storage._database.engine
    with engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        asked: list[str] = []
        raw.set_trace_callback(asked.append)
        connection.execute(storage._overview()).all()
        raw.set_trace_callback(None)
        for statement in asked:
            said += [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}")]
    return said


def filled(path: Path, trials: int, corrected: int = 2) -> SQLStorage:
    """A study whose first trials are corrected: 0 to another value, the others to failures."""
    storage = SQLStorage(path)
    first = [Trial(n, {"x": n / trials}, "complete", float(n)) for n in range(trials)]
    corrections = [
        Trial(trials + n, {"x": n / trials}, "failed" if n else "complete", None if n else 50.0)
        for n in range(corrected)
    ]
    rows = [*first, *(replace(trial, corrects=n) for n, trial in enumerate(corrections))]
    space = nr.Space({"x": nr.Float(0, 1)})
    storage.create(StudyRecord("study", space, "minimize", nr.RandomSearch(), 0), rows)
    return storage


def test_no_trial_is_compared_with_another_and_no_long_text_is_read(tmp_path: Path) -> None:
    """Today's code joined every trial with every correction: quadratic."""
    storage = filled(tmp_path / "s.db", 10)
    said = plans(storage)
    of_trials = [line for line in said if re.match(r"(SCAN|SEARCH) (corrections|noregret_t)", line)]
    assert len(of_trials) == 2  # all of them once, and once for what is corrected
    assert all("COVERING INDEX noregret_overview" in line for line in of_trials)
    assert not any("CORRELATED" in line or "AUTOMATIC" in line for line in said)
    (summary,) = storage.summaries()
    assert (summary.trials, summary.complete, summary.failed, summary.best) == (10, 9, 1, 2.0)


def test_steps_grow_with_the_trials_and_not_with_their_square(tmp_path: Path) -> None:
    def steps(trials: int) -> int:
        storage, count = filled(tmp_path / f"{trials}.db", trials, trials // 2), 0

        def counted() -> int:
            nonlocal count
            count += 1
            return 0

        with storage._database.engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            raw.set_progress_handler(counted, 10)
            connection.execute(storage._overview()).all()
            raw.set_progress_handler(None, 0)
        return count

    assert steps(400) < 5 * steps(100)  # four times as many; squared it would be sixteen


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_database_without_the_index_gets_it(kind: str, request: pytest.FixtureRequest) -> None:
    """Indexes are not versioned."""
    url = make_url(kind, request)
    storage = SQLStorage(url)
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", storage=storage)
    study.add({"x": 0.5}, 1.0)
    with storage._database.engine.connect() as connection:
        connection.exec_driver_sql("DROP INDEX noregret_overview")
    assert storage.summaries()[0].best == 1.0  # without it, too
    storage.close()
    again = SQLStorage(url)
    with again._database.engine.connect() as connection:
        found = again._database.sql.inspect(connection).get_indexes("noregret_trials")
    assert [index["name"] for index in found] == ["noregret_overview"]
    assert again.summaries()[0].best == 1.0
