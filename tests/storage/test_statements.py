"""How many SQL statements one call sends. The limits only fall."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

import noregret as nr
from noregret.cli import cli
from noregret.storage import SQLStorage
from noregret.web.app import create_app
from noregret.web.security import Access
from tests.statements import counted_statements

# The target for ``show`` is 5.
SHOW, STUDY_PAGE = 18, 3


@pytest.fixture
def storage(tmp_path: Path) -> SQLStorage:
    storage = SQLStorage(tmp_path / "s.db")
    study = nr.Study.create("lab", {"x": nr.Float(0, 1)}, "maximize", storage=storage)
    for number in range(6):
        study.tell(study.ask(), float(number))
    return storage


def count(call: Callable[[], Any]) -> int:
    with counted_statements() as statements:
        call()
    return len(statements)


def test_a_storage_sends_few_statements(storage: SQLStorage) -> None:
    key = storage.key("lab")
    assert count(lambda: SQLStorage(storage.url)) == 1
    assert count(lambda: storage.open("lab")) == 1
    assert count(lambda: storage.trials(key)) == 1
    assert count(lambda: storage.trials(key)) == 1  # without news
    assert count(lambda: SQLStorage(storage.url).open("lab")) == 1 + 1
    assert count(storage.summaries) == 1


def test_an_ask_and_a_tell(storage: SQLStorage) -> None:
    study = nr.Study.open("lab", storage=storage)
    asked = list[nr.Trial]()
    assert count(lambda: asked.append(study.ask())) <= 2
    assert count(lambda: study.tell(asked[0], 1.0)) <= 2
    assert count(lambda: study.trials) <= 1


def test_the_shell_shows_a_study(storage: SQLStorage) -> None:
    def show() -> None:
        done = CliRunner().invoke(cli, ["show", "--storage", storage.url])
        assert done.exit_code == 0, done.output

    assert count(show) <= SHOW


def test_the_page_of_a_study(storage: SQLStorage) -> None:
    app = create_app(storage, Access(False, None, "127.0.0.1"))
    with TestClient(app, base_url="http://127.0.0.1:8080") as browser:

        def view(path: str) -> None:
            assert browser.get(path).status_code == 200

        assert count(lambda: view("/")) <= 1
        assert count(lambda: view("/studies/lab")) <= STUDY_PAGE
