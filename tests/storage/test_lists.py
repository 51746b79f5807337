"""Lists of designs in a database: once each, compressed, and gone with their last study."""

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import StorageError, StudyExistsError
from noregret.storage import SQLStorage, codec
from noregret.storage.codec import pack, unpack
from tests.databases import make_url

KINDS = ["sqlite", "postgresql"]
RNG = np.random.default_rng(0)
ODD = [
    {"f": -1.5, "i": 2**52, "m": 1, "s": "ä", "n": None, "t": True},
    {"f": 1e-300, "i": -5, "m": 2.5, "s": "z", "n": "x", "t": False},
    {"f": 0.1, "i": 0, "m": 3, "s": "q", "n": 4, "t": False},
]
SPACES: dict[str, Any] = {
    "odd": lambda: nr.Candidates(ODD),
    "numbers": lambda: nr.Candidates(RNG.random((3000, 3))),
    "long": lambda: nr.Candidates({"x": np.arange(20_000), "s": ["a", "b", "c", "d"] * 5_000}),
    "grid": lambda: nr.Candidates(RNG.integers(0, 50, (20_000, 3)) / 10),
    "texts": lambda: nr.Candidates({"x": np.arange(900), "s": ["a", "b", "c"] * 300}),
}


@pytest.mark.parametrize("name", SPACES)
def test_a_list_comes_back_to_the_bit(name: str) -> None:
    space = SPACES[name]()
    key, content = pack(space)
    again = unpack(key, content)
    assert again == space
    assert again is not space
    assert again.parameters == space.parameters
    assert np.array_equal(again.enumeration(), space.enumeration())
    assert [type(v) for v in dict(again.parameters)] == [type(v) for v in dict(space.parameters)]
    for row in (0, 1, 2):
        assert repr(again.rows[row]) == repr(space.rows[row])
    assert pack(again) == (key, content)


def test_the_key_is_the_content() -> None:
    keys = {pack(SPACES[name]())[0] for name in SPACES}
    assert len(keys) == len(SPACES)
    assert pack(nr.Candidates(ODD))[0] == pack(nr.Candidates(list(ODD)))[0]
    assert pack(nr.Candidates(ODD))[0] != pack(nr.Candidates(ODD[::-1]))[0]
    assert pack(nr.Candidates([[1.0], [2.0]]))[0] != pack(nr.Candidates([[1.0], [3.0]]))[0]


def test_what_has_something_in_common_is_compressed() -> None:
    numbers, grid = SPACES["numbers"](), SPACES["grid"]()
    assert len(pack(grid)[1]) < 0.5 * len(grid) * 3 * 8
    assert len(pack(numbers)[1]) < len(numbers) * 3 * 8 + 1000  # noise cannot be, and is not


def test_a_list_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_LIST_BYTES", 1000)
    with pytest.raises(StorageError, match="too long to be stored"):
        pack(SPACES["numbers"]())


@pytest.mark.parametrize("cut", [4, 60, -5])
def test_damaged_bytes_are_said_to_be(cut: int) -> None:
    key, content = pack(nr.Candidates(ODD))
    with pytest.raises(StorageError, match="damaged"):
        unpack(key, content[:cut])


def counted(storage: SQLStorage) -> int:
    with storage._database.engine.connect() as connection:
        query = "SELECT count(*) FROM noregret_lists"
        count: int = connection.exec_driver_sql(query).scalar_one()
    return count


@pytest.mark.parametrize("kind", KINDS)
def test_equal_lists_are_kept_once_and_go_with_their_last_study(
    kind: str, request: pytest.FixtureRequest
) -> None:
    storage = SQLStorage(make_url(kind, request))
    for name in ("a", "b"):
        nr.Study.create(name, nr.Candidates(ODD), "maximize", storage=storage)
    with pytest.raises(StudyExistsError):
        nr.Study.create("a", nr.Candidates(ODD[:2]), "maximize", storage=storage)
    assert counted(storage) == 1  # nor did the study that was not made leave one
    nr.Study.create("c", nr.Candidates(ODD[:2]), "maximize", storage=storage)
    nr.Study.create("d", {"x": nr.Float(0, 1)}, "maximize", storage=storage)
    assert counted(storage) == 2
    storage.delete("a")
    assert counted(storage) == 2
    study = nr.Study.open("b", storage=storage)
    assert study.space == nr.Candidates(ODD)
    study.tell(study.ask(), 1.0)
    storage.delete("b")
    assert counted(storage) == 1
    storage.delete("d")
    storage.delete("c")
    assert counted(storage) == 0
    storage.close()


@pytest.mark.parametrize("kind", KINDS)
def test_studies_made_and_deleted_at_once_keep_their_lists(
    kind: str, request: pytest.FixtureRequest
) -> None:
    url, failed = make_url(kind, request), []
    SQLStorage(url).close()

    def work(worker: int) -> None:
        storage = SQLStorage(url)
        try:
            for turn in range(8):
                name = f"{worker}-{turn}"
                nr.Study.create(name, nr.Candidates(ODD), "maximize", storage=storage)
                assert nr.Study.open(name, storage=storage).space == nr.Candidates(ODD)
                storage.delete(name)
        except Exception as error:
            failed.append(error)
        finally:
            storage.close()

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_an_open_list_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = nr.Study.create("a", nr.Candidates(ODD), "maximize", storage=tmp_path / "s.db")
    monkeypatch.setattr(codec, "unpack", None)
    assert nr.Study.open("a", storage=tmp_path / "s.db").space is first.space
    monkeypatch.undo()
    del first
    gc.collect()
    again = nr.Study.open("a", storage=tmp_path / "s.db")
    assert again.space == nr.Candidates(ODD)


def test_a_list_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    storage = SQLStorage(tmp_path / "s.db")
    nr.Study.create("a", nr.Candidates(ODD), "maximize", storage=storage)
    with storage._database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        connection.exec_driver_sql("DELETE FROM noregret_lists")
    gc.collect()
    with pytest.raises(StorageError, match="gone"):
        nr.Study.open("a", storage=storage)
    storage.close()
