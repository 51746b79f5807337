"""Files that somebody made to hurt: each is refused in little time and memory."""

import json
import sqlite3
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.errors import StorageError, TrialError
from noregret.storage import recover
from noregret.storage.codec import HEADER_BYTES, pack, unpack

DEEP = '{"a":' * 5_000 + "1" + "}" * 5_000


def written(path: Path, change: str, *values: Any) -> Path:
    """A study of three values, and a change of its rows."""
    study = nr.Study.create(
        "lab", {"x": nr.Float(0, 1)}, "maximize", nr.RandomSearch(), storage=path
    )
    for value in range(3):
        study.tell(study.ask(), float(value))
    connection = sqlite3.connect(path)
    connection.execute(change, values)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("corrects", [1, 2, -1, "x"])
def test_a_ring_of_corrections_is_damaged(corrects: Any, tmp_path: Path) -> None:
    """Trial 1 corrects itself, a later one, or none: who follows the chain never ends."""
    change = "UPDATE noregret_trials SET corrects = ? WHERE number = 1"
    path = written(tmp_path / "s.db", change, corrects)
    study = nr.Study.open("lab", storage=path)
    for call in (study.ask, study.result, lambda: study.trials, lambda: study.correct(0, 1.0)):
        with pytest.raises(StorageError, match=r"trial 1 of study 'lab' .* damaged .*corrects"):
            call()
    assert nr.studies(path)[0].name == "lab"
    found = recover(path)
    assert len(found.studies[0]["trials"]) == 3  # the outcome is kept, what it corrects is not
    assert found.studies[0]["trials"][1]["corrects"] is None
    assert found.lost[0].startswith("the corrects of trial 1")


def test_a_ring_of_corrections_is_not_made() -> None:
    rows = [nr.Trial(n, [0.5], "complete", 1.0, corrects=1 - n) for n in range(2)]
    with pytest.raises(TrialError, match="trial 0 corrects trial 1"):
        nr.Study([(0, 1)], "maximize", trials=rows)


def test_a_huge_number_costs_recover_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "s.db", f"UPDATE noregret_trials SET number = {2**62} WHERE number=1")
    tracemalloc.start()
    found = recover(path)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 10_000_000
    assert len(found.studies[0]["trials"]) == 3
    assert found.lost == [f"the rows of trials 1, 3 to {2**62 - 1} of study 'lab'"]
    with pytest.raises(StorageError, match=r"trial 1 .*there is no such row"):
        nr.Study.open("lab", storage=path).ask()


@pytest.mark.parametrize("column", ["params", "decision", "attributes", "asked", "outcomes"])
def test_a_deep_document_of_a_trial(column: str, tmp_path: Path) -> None:
    change = f"UPDATE noregret_trials SET {column} = ? WHERE number = 1"
    path = written(tmp_path / "s.db", change, DEEP)
    with pytest.raises(StorageError, match=r"trial 1 of study 'lab' .*100 levels deep"):
        nr.Study.open("lab", storage=path).ask()
    assert len(recover(path).studies[0]["trials"]) == (2 if column == "params" else 3)


@pytest.mark.parametrize("column", ["space", "strategy", "attributes", "origin", "context"])
def test_a_deep_document_of_a_study(column: str, tmp_path: Path) -> None:
    path = written(tmp_path / "s.db", f"UPDATE noregret_studies SET {column} = ?", DEEP)
    with pytest.raises(StorageError, match=r"the row of study 'lab' .*100 levels deep"):
        nr.Study.open("lab", storage=path)
    assert len(recover(path).studies[0]["trials"]) == 3


def test_a_text_that_is_no_unicode_is_damage_and_not_waited_for(tmp_path: Path) -> None:
    path = written(tmp_path / "s.db", "UPDATE noregret_trials SET note = CAST(x'61ff' AS TEXT)")
    with pytest.raises(StorageError, match="the file is damaged") as raised:
        nr.Study.open("lab", storage=path).ask()
    assert not getattr(raised.value, "passing", False)


@pytest.mark.parametrize("lie", ["none", "count"])
def test_a_bomb_in_a_list_is_not_unpacked(lie: str) -> None:
    """10 MB in a column of two numbers; and as many designs as that would be, and more."""
    key, content = pack(nr.Candidates([{"t": 1.0}, {"t": 2.0}]))
    start = HEADER_BYTES + int.from_bytes(content[:HEADER_BYTES], "little")
    header, bomb = json.loads(content[HEADER_BYTES:start]), zlib.compress(bytes(10**7), 9)
    header["columns"][0] |= {"packed": True, "size": len(bomb)}
    header["count"] = 2 if lie == "none" else 10**15
    text = json.dumps(header).encode()
    hostile = len(text).to_bytes(HEADER_BYTES, "little") + text + bomb
    tracemalloc.start()
    with pytest.raises(StorageError, match=r"a stored list of designs is damaged .*recover"):
        unpack(key, hostile)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
