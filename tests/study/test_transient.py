"""Failures that say nothing of their point: no strategy sees them, and points are tried again."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import alarms, predictions
from noregret.errors import TransientError, TrialError, UnknownTrialError, WorkerDiedError
from noregret.trials import Trial

SPACE = {"x": nr.Float(0, 1), "n": nr.Int(1, 9)}
STRATEGIES = [
    nr.InsuredGPUCB(initial_points=3),
    nr.GPUCB(initial_points=3),
    nr.LogEI(initial_points=3),
    nr.RandomSearch(),
]


def value(p: dict[str, Any]) -> float:
    return float(-((p["x"] - 0.3) ** 2) - 0.01 * p["n"])


def told(study: nr.Study, count: int) -> nr.Study:
    for trial in study.ask(count):
        study.tell(trial, value(trial.params))
    return study


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_no_strategy_sees_it(strategy: Any) -> None:
    plain = told(nr.Study(SPACE, "maximize", strategy), 5)
    failing = nr.Study(SPACE, "maximize", strategy, trials=plain.trials)
    lost = failing.ask()

    def next_of(study: nr.Study) -> Any:
        history = study._history(study.trials)
        return study.strategy.propose(study.space, history, np.random.default_rng(7))

    failing.tell(lost, state="failed", reason="power cut", transient=True)
    one, other = next_of(plain), next_of(failing)
    np.testing.assert_array_equal(one.x, other.x)
    assert one.decision == other.decision
    blamed = nr.Study(SPACE, "maximize", strategy, trials=plain.trials)
    blamed.tell(blamed.ask(), state="failed")
    assert len(blamed._history(blamed.trials).failed) == 1  # the control
    assert len(failing._history(failing.trials).failed) == 0


@pytest.mark.parametrize("stored", [False, True])
def test_a_point_is_given_out_again_and_its_value_counts_as_the_first(
    stored: bool, tmp_path: Path
) -> None:
    study = (
        nr.Study.create("s", SPACE, "maximize", nr.GPUCB(initial_points=3), storage=tmp_path / "s")
        if stored
        else nr.Study(SPACE, "maximize", nr.GPUCB(initial_points=3))
    )
    told(study, 4)
    lost = study.tell(study.ask(), state="failed", reason="no gas", note="cold", transient=True)
    assert (lost.transient, lost.error) == (True, "no gas")
    study.tell(study.ask(), 0.0)
    waiting = study.retry(lost)
    assert (waiting.state, waiting.corrects, waiting.note) == ("waiting", lost.number, "cold")
    again = study.ask()
    assert again.number == waiting.number
    assert again.params == lost.params
    study.tell(again, 7.5)
    told(study, 2)
    history = study._history(study.trials)
    row = history.rows[[t.number for t in study.trials if t.decision.chosen].index(lost.number)]
    assert row is not None
    assert history.y[row] == 7.5
    assert study.best.value == 7.5
    assert study.replay().number is None
    assert study.trials[lost.number] == lost  # nothing was overwritten


def test_a_failure_that_was_the_points_may_be_tried_again_too() -> None:
    study = nr.Study(SPACE, "maximize")
    failed = study.tell(study.ask(), state="failed")
    assert len(study._history(study.trials).failed) == 1
    study.retry(failed)
    history = study._history(study.trials)
    assert (len(history.failed), len(history.pending)) == (0, 1)
    again = study.tell(study.ask(), state="failed", transient=True)
    study.retry(0)  # whichever of its entries is named
    assert study.ask().corrects == again.number


def test_what_cannot_be_retried() -> None:
    study = nr.Study(SPACE, "maximize")
    a, b = study.ask(2)
    study.tell(a, 1.0)
    for number, words in ((a.number, "enqueue"), (b.number, "reclaim")):
        with pytest.raises(TrialError, match=words):
            study.retry(number)
    with pytest.raises(UnknownTrialError, match="no trial 9"):
        study.retry(9)
    study.tell(b, state="failed", transient=True)
    study.retry(b)
    with pytest.raises(TrialError, match="the next ask gives it out"):
        study.retry(b)
    with pytest.raises(TrialError, match="is waiting, there is nothing to correct"):
        study.correct(b, 1.0)


def test_only_a_failure_is_transient() -> None:
    study = nr.Study(SPACE, "maximize")
    trial = study.ask()
    with pytest.raises(TrialError, match="transient is for a trial that failed"):
        study.tell(trial, 1.0, transient=True)
    with pytest.raises(TrialError, match="True or False"):
        study.tell(trial, state="failed", transient="yes")  # type: ignore[arg-type]
    study.tell(trial, state="failed")
    later = study.correct(trial, state="failed", transient=True, reason="a full disk")
    assert later.transient
    assert len(study._history(study.trials).failed) == 0


def test_retried_trials_do_not_count_towards_the_total() -> None:
    study = nr.Study(SPACE, "maximize", nr.RandomSearch())
    study.tell(study.ask(), state="failed", transient=True)
    study.retry(0)
    study.run(value, total=4, progress=False)
    assert len([trial for trial in study.trials if trial.state == "complete"]) == 4


# -- run --


def is_killed_once(params: dict[str, Any]) -> float:
    marker = Path(os.environ["NOREGRET_TEST_MARKER"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value(params)


def dies(params: dict[str, Any]) -> float:
    raise WorkerDiedError("the process of the objective died (exit code -9)")


def is_killed(params: dict[str, Any]) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def test_a_killed_process_costs_its_trial_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOREGRET_TEST_MARKER", str(tmp_path / "killed"))
    study = nr.Study(SPACE, "maximize", nr.RandomSearch())
    study.run(is_killed_once, total=2, trial_timeout=60, progress=False)
    assert [trial.state for trial in study.trials] == ["complete", "complete"]
    assert (tmp_path / "killed").exists()


def test_a_point_that_kills_three_workers_has_failed() -> None:
    study = nr.Study(SPACE, "maximize", nr.RandomSearch())
    study.run(dies, trials=3, progress=False)
    assert [(trial.state, trial.transient) for trial in study.trials] == [("failed", False)]


def test_a_broken_pool_says_nothing_of_the_point() -> None:
    study = nr.Study(SPACE, "maximize", nr.RandomSearch())
    with ProcessPoolExecutor(1) as pool, pytest.raises(BrokenExecutor):
        study.run(is_killed, trials=1, executor=pool, progress=False)
    assert [trial.state for trial in study.trials] == ["waiting"]
    assert len(study._history(study.trials).failed) == 0


def test_an_objective_may_say_that_it_is_not_the_points_fault() -> None:
    def objective(params: dict[str, Any]) -> float:
        raise nr.TransientError("the licence server did not answer")

    study = nr.Study(SPACE, "maximize", nr.RandomSearch())
    with pytest.raises(TransientError):
        study.run(objective, trials=2, progress=False)
    assert [trial.transient for trial in study.trials] == [True]
    assert "licence" in (study.trials[0].error or "")
    study.run(objective, trials=2, catch=(TransientError,), progress=False)
    assert [trial.transient for trial in study.trials] == [True] * 3


def test_what_is_given_up_by_hand_says_nothing_of_the_point() -> None:
    study = nr.Study(SPACE, "maximize", nr.RandomSearch())
    study.reclaim(then="fail", numbers=[study.ask()])
    assert study.trials[0].transient


# -- files --


def to_csv(study: nr.Study, path: Path) -> list[Trial]:
    study.export(path / "s.csv")
    other = nr.Study(SPACE, "maximize")
    return other.import_csv(path / "s.csv")


def to_json(study: nr.Study, path: Path) -> list[Trial]:
    import json

    study.export(path / "s.json")
    return [Trial.from_json(row) for row in json.loads((path / "s.json").read_text())]


@pytest.mark.parametrize("way", [to_csv, to_json])
def test_files_keep_it(way: Callable[[nr.Study, Path], list[Trial]], tmp_path: Path) -> None:
    study = nr.Study(SPACE, "maximize", nr.RandomSearch())
    for trial, transient in zip(study.ask(2), (True, False), strict=True):
        study.tell(trial, state="failed", transient=transient)
    assert [trial.transient for trial in way(study, tmp_path)] == [True, False]
    assert list(study.export()["transient"]) == [True, False]


def test_files_without_it_and_with_nonsense(tmp_path: Path) -> None:
    study = nr.Study(SPACE, "maximize")
    (tmp_path / "a.csv").write_text("x,n,value,state\n0.5,3,,failed\n")
    assert not study.import_csv(tmp_path / "a.csv")[0].transient
    (tmp_path / "b.csv").write_text("x,n,value,state,transient\n0.5,3,,failed,perhaps\n")
    with pytest.raises(TrialError, match="transient is true or false"):
        study.import_csv(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_text("x,n,value,transient\n0.5,3,1.0,true\n")
    with pytest.raises(TrialError, match="transient is for a trial that failed"):
        study.import_csv(tmp_path / "c.csv")


def test_many_of_them_are_an_alarm_about_the_machine() -> None:
    study = nr.Study(SPACE, "maximize", nr.RandomSearch())
    for number, trial in enumerate(study.ask(12)):
        if number % 2:
            study.tell(trial, state="failed", transient=True)
        else:
            study.tell(trial, value(trial.params))
    made = predictions(study.trials, study.goal, study.strategy)
    rules = alarms(study.space, study.trials, made, study.goal, study.strategy)
    found = {each.kind: each for each in rules}
    assert "unrelated to their points" in found["failures"].what
