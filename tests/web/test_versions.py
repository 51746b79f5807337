"""A page shows the study that is there now, all of it, and reads it once."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy

import noregret as nr
from noregret.storage import SQLStorage
from noregret.web.fitting import Models, Summary
from noregret.web.library import Library, Snapshot
from tests.web.conftest import Clients


def test_every_change_of_a_trial_is_a_new_version(storage: SQLStorage) -> None:
    study = nr.Study.create(
        "swap", {"x": nr.Float(0, 1)}, "maximize", nr.RandomSearch(), storage=storage
    )
    seen = [study.ask().number, study.ask().number]

    def version() -> str:
        return Snapshot(study, storage.open("swap"), study.trials).version

    versions = [version()]

    def changed() -> bool:
        versions.append(version())
        return versions[-1] not in versions[:-1]

    study.reclaim(numbers=[seen[0]])
    assert changed()
    study.ask()
    study.reclaim(numbers=[seen[1]])  # as many run and wait as before, but others
    assert changed()
    study.annotate(0, attributes={"who": "anna"})
    assert changed()
    study.annotate(1, attributes={"who": "anna"})
    study.annotate(0, attributes={"who": None})  # said of another trial
    assert changed()
    study.annotate(attributes={"unit": "g"})
    assert changed()
    versions.append(version())
    assert versions[-1] == versions[-2]


def test_the_model_of_a_deleted_study_is_not_shown_for_a_new_one() -> None:
    class Canned(Models):
        async def call(self, function: Any, name: str, *arguments: Any) -> Any:
            return Summary("1", recommended={"number": 3})

    async def look() -> None:
        models = Canned("sqlite://")
        assert models.look("lab", "old", "1") == Summary(fitting=True)
        await asyncio.sleep(0.01)
        answer = models.look("lab", "old", "1")
        assert answer.version == "1"
        assert not answer.fitting
        assert models.last("lab", "old") == answer
        assert models.last("lab", "new") is None
        assert models.look("lab", "new", "2") == Summary(fitting=True)
        await asyncio.sleep(0.01)
        assert models.last("lab", "old") is None

    asyncio.run(look())


MOST_STATEMENTS = 3  # SQL statements of one page view


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """The SQL statements that were executed."""
    executed: list[str] = []

    def record(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        executed.append(statement)

    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", record)
    yield executed
    sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", record)


def test_a_page_view_takes_three_statements(
    clients: Clients, storage: SQLStorage, statements: list[str]
) -> None:
    client = clients()
    library: Library = client.app.state.library  # type: ignore[attr-defined]
    library._fresh_seconds = 60.0  # a loaded machine takes longer than half a second
    for path in ("", "", "/trust", "/lab", "/trials/3"):  # the first view opens the study
        library._snapshots.clear()
        statements.clear()
        assert client.get(f"/studies/first{path}").status_code == 200
        assert 0 < len(statements) <= MOST_STATEMENTS, (path, statements)
        statements.clear()
        client.get(f"/studies/first{path}")  # viewers at the same time share the reading
        assert statements == []
    client.get("/")
    assert len(statements) == 1
