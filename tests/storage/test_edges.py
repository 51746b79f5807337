"""Files that cannot be written, damaged ones, broken rules, passwords, no SQLite at all."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import noregret as nr
from noregret.errors import NoRegretError, StorageError, UnavailableError
from noregret.storage import SQLStorage, database, recover
from noregret.storage.database import Database, shown_url
from noregret.trials import Trial


def filled(path: Path, trials: int = 5) -> None:
    storage = SQLStorage(path)
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", name="lab", storage=storage)
    for number in range(trials):
        study.add({"x": number / trials}, float(number))
    storage.close()


def test_a_file_that_cannot_be_written_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a read-only mount: SQLite itself needs to write to read what WAL mode left."""
    filled(tmp_path / "s.db")
    before = sorted(os.listdir(tmp_path))
    monkeypatch.setattr(database, "can_write", lambda file: False)
    study = nr.Study.open("lab", storage=tmp_path / "s.db")
    assert len(study.trials) == 5
    assert nr.studies(tmp_path / "s.db")[0].best == 4.0
    assert study.recommended.value is not None
    with pytest.raises(UnavailableError, match="cannot be written"):
        study.ask()
    assert sorted(os.listdir(tmp_path)) == before


def test_what_is_still_in_the_log_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "s.db")
    kept = sqlite3.connect(tmp_path / "s.db")  # holds the log open
    kept.execute("UPDATE noregret_trials SET value = 77 WHERE number = 4")
    kept.commit()
    monkeypatch.setattr(database, "can_write", lambda file: False)
    assert nr.Study.open("lab", storage=tmp_path / "s.db").best.value == 77.0
    kept.close()


def test_a_damaged_row_is_named_and_the_others_are_saved(tmp_path: Path) -> None:
    filled(tmp_path / "s.db")
    raw = sqlite3.connect(tmp_path / "s.db")
    raw.execute("UPDATE noregret_trials SET params = '{broken' WHERE number = 2")
    raw.commit()
    raw.close()
    with pytest.raises(StorageError, match=r"trial 2 of study 'lab'.*damaged.*database recover"):
        _ = nr.Study.open("lab", storage=tmp_path / "s.db").trials
    found = recover(tmp_path / "s.db")
    assert [row["number"] for row in found.studies[0]["trials"]] == [0, 1, 3, 4]
    assert Trial.from_json(found.studies[0]["trials"][3]).value == 4.0
    assert len(found.lost) == 1
    assert "trial 2" in found.lost[0]
    raw = sqlite3.connect(tmp_path / "s.db")
    raw.execute("UPDATE noregret_studies SET space = '{'")
    raw.commit()
    raw.close()
    with pytest.raises(StorageError, match=r"row of study 'lab'.*damaged"):
        nr.Study.open("lab", storage=tmp_path / "s.db")


@pytest.mark.parametrize(
    "broken",
    [
        *("number = x'00ff'", "number = 'zz'", "number = 1e300", "number = -2"),
        *("state = 'zz'", "state = x'00'", "value = 'zz'", "value = x'00ff'", "noise_std = 'zz'"),
        *("attributes = -7", "revision = 'zz'", "created = x'00ff'", "finished = x'00ff'"),
    ],
)
def test_a_value_that_none_of_ours_wrote_is_named(tmp_path: Path, broken: str) -> None:
    """SQLite keeps it in any column; it was a TypeError or KeyError of Python's own."""
    filled(tmp_path / "s.db")
    raw = sqlite3.connect(tmp_path / "s.db")
    raw.execute(f"UPDATE noregret_trials SET {broken} WHERE number = 2")
    raw.commit()
    raw.close()
    study = nr.Study.open("lab", storage=tmp_path / "s.db")
    with pytest.raises(StorageError, match=r"of study 'lab'.*damaged.*noregret database recover"):
        study.ask()
    with pytest.raises(StorageError, match=r"of study 'lab'.*damaged"):  # nor the second time
        _ = study.trials
    assert nr.studies(tmp_path / "s.db")[0].name == "lab"
    found = recover(tmp_path / "s.db")
    assert len(found.studies[0]["trials"]) in (4, 5)  # a damaged remark is none of the value's


def test_rows_of_noise_cost_themselves_alone(tmp_path: Path) -> None:
    """Bytes where a study's number or a text was, as a page overwritten by noise has them: once an
    error of Python's own, and the rows between two such were passed over.
    """
    filled(tmp_path / "s.db", 6)
    raw = sqlite3.connect(tmp_path / "s.db")
    raw.execute("UPDATE noregret_trials SET study = x'ff00' WHERE number = 5")
    raw.execute("UPDATE noregret_trials SET params = CAST(x'ff7b' AS TEXT) WHERE number IN (1, 3)")
    raw.execute("UPDATE noregret_trials SET number = x'00ff' WHERE number = 4")
    raw.commit()
    raw.close()
    found = recover(tmp_path / "s.db")
    (lab,) = found.studies
    assert [trial["number"] for trial in lab["trials"]] == [0, 2]
    assert len(found.lost) == 4
    assert "trials of a study without a number (b'\\xff\\x00')" in found.lost
    raw = sqlite3.connect(tmp_path / "s.db")
    raw.execute("UPDATE noregret_studies SET name = CAST(x'ff' AS TEXT)")
    raw.commit()
    raw.close()
    (unnamed,) = recover(tmp_path / "s.db").studies
    assert unnamed["name"] is None
    assert len(unnamed["trials"]) == 2


def test_a_damaged_file_is_named_and_what_is_readable_is_saved(tmp_path: Path) -> None:
    filled(tmp_path / "s.db", 200)
    data = bytearray((tmp_path / "s.db").read_bytes())
    size = 4096
    middle = len(data) // size // 2  # among the trials
    for page in (middle, middle + 1):
        data[page * size : page * size + 512] = b"\xff" * 512
    (tmp_path / "s.db").write_bytes(bytes(data))
    with pytest.raises(StorageError, match="noregret database recover"):
        _ = nr.Study.open("lab", storage=tmp_path / "s.db").trials
    found = recover(tmp_path / "s.db")
    numbers = [row["number"] for row in found.studies[0]["trials"]]
    assert found.lost
    assert 0 < len(numbers) < 200
    assert len(set(numbers)) == len(numbers)
    (tmp_path / "none.db").write_bytes(b"nothing" * 1000)
    with pytest.raises(StorageError, match="nothing can be read"):
        recover(tmp_path / "none.db")


def test_a_broken_rule_is_not_always_a_taken_number(tmp_path: Path) -> None:
    """Another rule of the database was taken for a taken number, and asked again for ever."""
    filled(tmp_path / "s.db")
    raw = sqlite3.connect(tmp_path / "s.db")
    raw.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON noregret_trials"
        " BEGIN SELECT RAISE(ABORT, 'house rule'); END"
    )
    raw.commit()
    raw.close()
    study = nr.Study.open("lab", storage=tmp_path / "s.db")
    with pytest.raises(StorageError, match="house rule"):
        study.ask()
    with pytest.raises(StorageError, match="house rule"):
        study.add({"x": 0.5}, 1.0)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:s3cret@127.0.0.1:1/db",
        "postgresql://ada:s3c/r%40et@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?user=ada&password=s3cret",
        "postgresql://127.0.0.1:1/db?sslpassword=s3cret",
        "nosuch://ada:s3cret@host/db",
    ],
)
def test_no_message_has_a_password(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "FIRST_RETRY_SECONDS", 0.0)
    with pytest.raises(NoRegretError) as caught:
        SQLStorage(url)
    text = "".join([str(caught.value), repr(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "s3c" not in text
    assert "s3c" not in shown_url(url)


def test_python_without_sqlite(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['sqlite3'] = None; sys.modules['_sqlite3'] = None\n"
        "import noregret as nr\n"
        "nr.minimize(lambda p: p['x'], {'x': nr.Float(0, 1)}, trials=3)\n"
        "try: nr.Study.create('s', {'x': nr.Float(0, 1)}, 'minimize', storage='s.db')\n"
        "except nr.NoRegretError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "without SQLite" in done.stdout


def test_connections_say_where_without_a_password(tmp_path: Path) -> None:
    assert Database(tmp_path / "a b.db").shown == repr(f"sqlite:///{tmp_path / 'a b.db'}")
