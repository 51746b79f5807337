"""What others do to the database meanwhile is answered in words, and never with its address."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import noregret as nr
from noregret.errors import StorageError, UnavailableError
from noregret.storage import SQLStorage
from noregret.web.security import outward

MADE = {
    "name": "made",
    "goal": "minimize",
    "space": {
        "kind": "box",
        "parameters": [{"kind": "float", "name": "x", "low": 0, "high": 1}],
    },
    "strategy": {"kind": "random"},
    "unit": "%",
}
LAB = "/api/studies/lab"
REQUESTS: list[tuple[str, Any]] = [
    ("/api/studies", MADE),
    (f"{LAB}/derive", MADE),
    (f"{LAB}/ask", {}),
    (f"{LAB}/trials", {"params": {"x": 0.5}, "value": 1.0}),
    (f"{LAB}/trials", {"params": {"x": 0.5}}),
    (f"{LAB}/trials/2/tell", {"value": 1.0}),
    (f"{LAB}/trials/0/correct", {"value": 1.0}),
    (f"{LAB}/trials/2/withdraw", {"then": "later"}),
    (f"{LAB}/trials/2/withdraw", {"then": "never"}),
    (f"{LAB}/trials/1/retry", {}),
    (f"{LAB}/annotate", {"note": "hot"}),
    (f"{LAB}/trials/0/annotate", {"note": "hot"}),
]


def fill(storage: SQLStorage) -> None:
    for name in storage.names():
        nr.delete_study(name, storage)
    study = nr.Study.create(
        "lab", {"x": nr.Float(0, 1)}, "minimize", nr.RandomSearch(), storage=storage
    )
    study.tell(study.ask(), 1.0)
    study.tell(study.ask(), state="failed")
    study.ask()


@pytest.mark.parametrize(("path", "body"), REQUESTS)
def test_a_study_that_is_deleted_at_any_moment_is_not_found(
    browser: TestClient,
    storage: SQLStorage,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    body: dict[str, Any],
) -> None:
    elsewhere, original, left = SQLStorage(storage.url), storage._database.counted, 0

    def counted(what: str, action: Callable[[Any], Any]) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            for name in elsewhere.names():
                elsewhere.delete(name)
        return original(what, action)

    monkeypatch.setattr(storage._database, "counted", counted)
    moments, done = 0, False
    while not done:
        fill(elsewhere)
        moments += 1
        left = moments  # accesses to the database until then
        answer = browser.post(path, json=body)
        done = left > 0
        assert answer.status_code in (200, 201, 204, 404), (moments, answer.text)
    assert moments > 2
    assert answer.is_success
    elsewhere.close()


@pytest.mark.parametrize("path", ["/api/studies", "/api/studies/first/trials", "/studies/first"])
def test_a_database_that_fails_is_not_located(
    browser: TestClient,
    storage: SQLStorage,
    tmp_path: Path,
    path: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with sqlite3.connect(tmp_path / "studies.db") as connection:
        connection.execute("ALTER TABLE noregret_studies RENAME TO gone")
    connection.close()
    answer = browser.get(path)
    assert answer.status_code == 503
    assert "the server's log says why" in answer.text.replace("&#39;", "'")
    assert str(tmp_path) not in answer.text
    assert "studies.db" not in answer.text
    assert str(tmp_path / "studies.db") in caplog.text


def test_other_errors_of_the_storage_keep_their_advice() -> None:
    url = "postgresql+psycopg://me:secret@db.example/lab"
    error = StorageError("'postgresql+psycopg://me:***@db.example/lab' has schema 2: upgrade it")
    assert outward(error, url) == "the database has schema 2: upgrade it"
    driver = UnavailableError("could not read (no route to db.example)")
    assert "db.example" not in outward(driver, url)
