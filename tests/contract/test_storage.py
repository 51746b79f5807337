"""What every storage must do. A new implementation joins by adding itself to ``storages``."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import noregret as nr
from noregret.errors import StorageError
from noregret.storage import MemoryStorage, Storage, StudyRecord
from noregret.trial import Trial

storages: list[Callable[[], Storage]] = [MemoryStorage]


@pytest.fixture(params=storages, ids=lambda make: make.__name__)
def storage(request: pytest.FixtureRequest) -> Storage:
    made: Storage = request.param()
    made.create(record("s"))
    return made


def record(name: str) -> StudyRecord:
    return StudyRecord(name, nr.Space({"x": nr.Float(0, 1)}), "minimize", nr.RandomSearch(), 7)


def test_records_come_back(storage: Storage) -> None:
    assert storage.open("s") == record("s")
    storage.create(record("other"))
    assert storage.names() == ["other", "s"]


def test_a_name_is_taken_once_and_a_missing_one_is_said(storage: Storage) -> None:
    with pytest.raises(StorageError, match="exists already"):
        storage.create(record("s"))
    for call in (storage.open, storage.trials):
        with pytest.raises(StorageError, match="no study named 'nope'"):
            call("nope")


def test_numbers_are_gap_free_and_taken_once(storage: Storage) -> None:
    assert storage.insert("s", Trial(0, {"x": 0.1}))
    assert not storage.insert("s", Trial(0, {"x": 0.2}))
    assert not storage.insert("s", Trial(2, {"x": 0.2}))
    assert storage.insert("s", Trial(1, {"x": 0.3}, "complete", 1.0))
    assert [t.params for t in storage.trials("s")] == [{"x": 0.1}, {"x": 0.3}]


def test_of_two_finishes_one_wins(storage: Storage) -> None:
    storage.insert("s", Trial(0, {"x": 0.1}))
    assert storage.finish("s", Trial(0, {"x": 0.1}, "complete", 3.0))
    assert not storage.finish("s", Trial(0, {"x": 0.1}, "complete", 4.0))
    assert storage.trials("s")[0].value == 3.0


def test_trials_come_back_bit_for_bit(storage: Storage) -> None:
    trial = Trial(0, {"x": 0.1 + 0.2}, "complete", 1e-17, 0.1, {"h": np.pi, "lengthscales": [1 / 3]})
    storage.insert("s", trial)
    assert storage.trials("s") == [trial]
    listed = storage.trials("s")
    listed.clear()
    assert len(storage.trials("s")) == 1  # values out: the caller's list is its own


def test_many_threads_share_one_study(storage: Storage) -> None:
    def insert(value: int) -> None:
        while not storage.insert("s", Trial(len(storage.trials("s")), {"x": value / 100}, "complete", float(value))):
            pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(insert, range(100)))
    trials = storage.trials("s")
    assert [t.number for t in trials] == list(range(100))
    assert sorted(t.value for t in trials if t.value is not None) == [float(v) for v in range(100)]
