"""A study that is copied, pickled, or met in another process."""

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import joblib
import pytest

import noregret as nr
from noregret.errors import StorageError

LINE = {"x": nr.Float(0, 1)}


def pickled(study: nr.Study) -> Any:
    return pickle.loads(pickle.dumps(study))


def evaluate(study: nr.Study) -> int:
    trial = study.ask()
    study.tell(trial, trial.params["x"])
    return trial.number


def stored(path: Path) -> nr.Study:
    return nr.Study.create("lab", LINE, "maximize", nr.RandomSearch(), storage=path)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_of_a_stored_study_is_the_same_study(
    again: Callable[[nr.Study], nr.Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = stored(Path("s.db"))  # by a path that another folder does not have
    monkeypatch.chdir("/")
    other = again(study)
    evaluate(other)
    evaluate(study)
    assert other.trials == study.trials
    assert len(other.trials) == 2
    nr.delete_study("lab", tmp_path / "s.db")
    stored(tmp_path / "s.db")
    with pytest.raises(StorageError, match="made anew"):
        again(study)


def test_processes_work_on_a_stored_study(tmp_path: Path) -> None:
    study = stored(tmp_path / "s.db")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        numbers = list(pool.map(evaluate, [study] * 4))
    numbers += joblib.Parallel(2)(joblib.delayed(evaluate)(study) for _ in range(4))
    assert sorted(numbers) == [trial.number for trial in study.trials] == list(range(8))


def test_a_study_in_memory_is_not_sent_to_another_process() -> None:
    study = nr.Study(LINE, "maximize", nr.RandomSearch())
    refusal = pytest.raises(StorageError, match=r"memory and cannot be pickled.*storage=\"study.db")
    with refusal:
        pickle.dumps(study)
    with refusal, get_context("spawn").Pool(1) as pool:
        pool.map(evaluate, [study])
    assert study.trials == []


def test_copies_of_a_study_in_memory() -> None:
    study = nr.Study(LINE, "maximize", nr.RandomSearch())
    handle, other = copy.copy(study), copy.deepcopy(study)
    evaluate(handle)
    assert (len(study.trials), len(other.trials)) == (1, 0)
    evaluate(other)
    assert other.trials[0].params == study.trials[0].params


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_does_not_work_on_a_copy() -> None:
    study = nr.Study(LINE, "maximize", nr.RandomSearch())
    receiver, sender = get_context("fork").Pipe(duplex=False)

    def child() -> None:
        try:
            evaluate(study)
        except StorageError as error:
            sender.send(str(error))
        else:
            sender.send("")

    process = get_context("fork").Process(target=child)
    process.start()
    assert "this one would work on a copy" in receiver.recv()
    process.join()
    evaluate(study)


def test_a_database_in_memory_cannot_be_opened_elsewhere() -> None:
    study = nr.Study.create("lab", LINE, "maximize", nr.RandomSearch(), storage="sqlite://")
    with pytest.raises(StorageError, match="in the memory of this process"):
        pickle.dumps(study)
