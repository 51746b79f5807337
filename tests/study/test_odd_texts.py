"""Texts that no database and no file holds: half a character, and the byte zero."""

from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.errors import ConfigurationError, StorageError, TrialError, UnavailableError
from noregret.storage import SQLStorage
from noregret.storage.database import Database

SPACE = {"x": nr.Float(0, 1)}
ODD = ["caf\udce9", "a\x00b"]


@pytest.mark.parametrize("text", ODD)
def test_an_exception_with_such_a_text_is_kept(text: str, tmp_path: Path) -> None:
    def broken(p: Any) -> float:
        raise OSError(f"no file {text}")

    study = nr.Study.create("s", SPACE, "maximize", nr.RandomSearch(), storage=tmp_path / "s.db")
    study.run(broken, 2, catch=(OSError,))
    assert [trial.state for trial in study.trials] == ["failed", "failed"]
    said = study.trials[0].error or ""
    assert said.startswith("OSError: no file " + text[:1])
    assert "\\udce9" in said or "\\x00" in said


@pytest.mark.parametrize("text", ODD)
def test_notes_and_names_with_such_a_text_are_refused(text: str, tmp_path: Path) -> None:
    storage = SQLStorage(tmp_path / "s.db")
    study = nr.Study.create("s", SPACE, "maximize", nr.RandomSearch(), storage=storage)
    trial = study.ask()
    with pytest.raises(TrialError, match=r"a note holds .* at position \d.*nothing was recorded"):
        study.annotate(note=text)
    with pytest.raises(TrialError, match="a reason holds"):
        study.tell(trial, state="failed", reason=text)
    with pytest.raises(ConfigurationError, match="a study's name holds"):
        nr.Study.create(text, SPACE, "maximize", storage=storage)
    with pytest.raises(ConfigurationError, match="a study's name holds"):
        study.derived(text)
    with pytest.raises(ConfigurationError, match="name"):
        nr.Study(SPACE, "maximize", name=5)  # type: ignore[arg-type]
    with pytest.raises(StorageError) as refused:
        nr.Study.open(text, storage=storage)
    assert not isinstance(refused.value, UnavailableError)
    assert study.trials == [trial]
    assert storage.names() == ["s"]


def test_a_value_that_the_database_does_not_hold_is_not_tried_again(tmp_path: Path) -> None:
    """PostgreSQL's answer to the byte zero was taken for silence, and a run waited ten minutes."""
    database = Database(tmp_path / "s.db")
    refusal = database.sql.exc.DataError("INSERT", None, Exception("cannot contain NUL"))

    def refuse(connection: Any) -> None:
        raise refusal

    with pytest.raises(StorageError, match=r"cannot contain NUL.*nothing was changed") as caught:
        database.attempt("insert", refuse)
    assert not isinstance(caught.value, UnavailableError)
