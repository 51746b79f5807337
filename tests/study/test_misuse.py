"""What people do by mistake: it is refused in words, or does no harm."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, SpaceError, StorageError, TrialError
from noregret.trials import STATES, State

BATCH = {"batch": nr.Int(1, 8)}
LINE = {"x": nr.Float(0, 1)}


def study_of(space: Any, storage: str | None = None) -> nr.Study:
    if storage is None:
        return nr.Study(space, "minimize", nr.RandomSearch())
    return nr.Study.create("s", space, "minimize", nr.RandomSearch(), storage=storage)


# -- points that are changed --


def overwrite(params: Any) -> float:
    asked = params["batch"]
    params["batch"] = 2 ** params["batch"]
    return float(asked)


def empty(params: Any) -> float:
    return float(params.pop("batch"))


@pytest.mark.parametrize("objective", [overwrite, empty])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("stored", [False, True])
def test_an_objective_may_change_what_it_is_given(
    objective: Callable[[Any], float], workers: int, stored: bool, tmp_path: Any
) -> None:
    study = study_of(BATCH, str(tmp_path / "s.db") if stored else None)
    study.run(objective, 4, workers=workers)
    assert [trial.value for trial in study.trials] == [t.params["batch"] for t in study.trials]
    study.ask()


def test_an_objective_of_a_vector_may_change_it() -> None:
    def objective(x: np.ndarray) -> float:
        asked = x[0]
        x -= 0.3
        return float(asked)

    study = nr.minimize(objective, [(0, 1), (0, 1)], trials=4)
    assert [trial.value for trial in study.trials] == [trial.params[0] for trial in study.trials]


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "set": lambda p: p.__setitem__("batch", 3),
    "delete": lambda p: p.__delitem__("batch"),
    "pop": lambda p: p.pop("batch"),
    "popitem": lambda p: p.popitem(),
    "update": lambda p: p.update(batch=3),
    "setdefault": lambda p: p.setdefault("new", 3),
    "clear": lambda p: p.clear(),
    "or": lambda p: p.__ior__({"batch": 3}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_point_of_a_trial_does_not_change(change: Callable[[Any], Any]) -> None:
    study = study_of(BATCH)
    trial = study.ask()
    before = dict(trial.params)
    with pytest.raises(TrialError, match=r"params=\{…\}"):
        change(trial.params)
    assert study.trials[0].params == before
    free = trial.params.copy()
    change(free)
    assert type(free) is dict
    assert free != before
    assert type(dict(trial.params)) is dict


def test_a_vector_of_a_trial_does_not_change() -> None:
    given = np.array([0.25, 0.5])
    study = nr.Study([(0, 1), (0, 1)], "minimize", nr.RandomSearch())
    trial = study.add(given, 1.0)
    given[:] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        trial.params[0] = 9.0
    assert study.trials[0].params.tolist() == [0.25, 0.5]


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_a_trial_is_copied_as_it_is(again: Callable[[Any], Any]) -> None:
    trial = study_of(BATCH).ask()
    other = again(trial)
    assert other == trial
    with pytest.raises(TrialError):
        other.params["batch"] = 1


# -- the wrong trial --


@pytest.mark.parametrize("call", ["tell", "correct", "retry", "annotate", "reclaim"])
def test_a_trial_of_another_study_is_refused(call: str) -> None:
    one, other = study_of(LINE), nr.Study(LINE, "minimize", nr.RandomSearch(), seed=1)
    foreign, own = one.ask(), other.ask()
    calls: dict[str, Callable[[], Any]] = {
        "tell": lambda: other.tell(foreign, 1.0),
        "correct": lambda: other.correct(foreign, 1.0),
        "retry": lambda: other.retry(foreign),
        "annotate": lambda: other.annotate(foreign, note="x"),
        "reclaim": lambda: other.reclaim(numbers=[foreign]),
    }
    with pytest.raises(TrialError, match="another study"):
        calls[call]()
    assert other.trials == [own]
    other.tell(own, 1.0, params={"x": 0.5})
    other.correct(own, 2.0)  # the same trial, though another point was run
    assert other.best.value == 2.0


@pytest.mark.parametrize("state", [state for state in STATES if state != "failed"])
def test_what_cannot_be_retried_says_why(state: State) -> None:
    study = study_of(LINE)
    trial = study.enqueue({"x": 0.5}) if state == "waiting" else study.ask()
    if state in ("complete", "withdrawn"):
        study.tell(trial, 1.0 if state == "complete" else None, state=state)
    with pytest.raises(TrialError, match=f"is {state}: "):
        study.retry(trial)


# -- what a run is given --

BAD: dict[str, dict[str, Any]] = {
    "catch is exceptions": {"catch": [5]},
    "catch is exceptions, got a text": {"catch": "ValueError"},
    "executor must be a concurrent.futures.Executor": {"executor": 5},
    "until is a function": {"until": 5},
    "timeout is a number": {"timeout": "5"},
    "trial_timeout is a positive": {"trial_timeout": "5"},
    "grace is a positive": {"grace": "5"},
}


@pytest.mark.parametrize("words", BAD)
def test_a_run_is_checked_before_it_begins(words: str) -> None:
    study = study_of(LINE)
    with pytest.raises(ConfigurationError, match=words.partition(",")[0]):
        study.run(lambda p: p["x"], 2, **BAD[words])
    assert study.trials == []


def test_an_objective_is_a_function() -> None:
    study = study_of(LINE)
    with pytest.raises(ConfigurationError, match="function of the parameters"):
        study.run(3, 2)  # type: ignore[arg-type]
    assert study.trials == []


@pytest.mark.parametrize("catch", [ValueError, [ValueError], {ValueError}])
def test_exceptions_to_catch_come_in_any_collection(catch: Any) -> None:
    def broken(params: Any) -> float:
        raise ValueError("no")

    grace: Any = np.int64(5)
    study = study_of(LINE).run(broken, 2, catch=catch, grace=grace, timeout=np.float64(60))
    assert [trial.state for trial in study.trials] == ["failed", "failed"]


@pytest.mark.parametrize("given", [{"trials": 5.0}, {"catch": "x"}, {"callbacks": [3]}])
def test_one_call_makes_no_study_that_it_cannot_run(given: dict[str, Any], tmp_path: Any) -> None:
    where: dict[str, Any] = {"storage": str(tmp_path / "e.db"), "name": "e"}
    with pytest.raises(ConfigurationError):
        nr.minimize(lambda p: p["x"], LINE, **{"trials": 2, **given}, **where)
    nr.minimize(lambda p: p["x"], LINE, trials=2, **where)


@pytest.mark.parametrize("make", [nr.Reached, nr.CertifiedWithin])
def test_where_to_stop_is_a_number(make: Callable[[Any], Any]) -> None:
    with pytest.raises(ConfigurationError, match="got '3'"):
        make("3")


def test_a_run_does_not_wait_for_another_context() -> None:
    space = {"a": nr.Float(0, 1), "w": nr.Float(0, 5)}
    study = nr.Study(space, "minimize", nr.RandomSearch(), context="w")
    waiting = study.enqueue({"a": 0.5, "w": 3.0})
    study.run(lambda p: p["a"], total=3, context={"w": 1.0})
    assert [trial.state for trial in study.trials] == ["waiting", "complete", "complete"]
    study.run(lambda p: p["a"], total=3, context={"w": 3.0})
    assert study.trials[waiting.number].state == "complete"


# -- what a study is made of --


@pytest.mark.parametrize("strategy", ["x", nr.LogEI])
def test_a_derived_study_has_a_strategy(strategy: Any) -> None:
    with pytest.raises(ConfigurationError, match="strategy value"):
        study_of(LINE).derived("t", strategy=strategy)


@pytest.mark.parametrize("option", [float("nan"), float("inf"), -float("inf")])
def test_options_are_finite(option: float) -> None:
    with pytest.raises(SpaceError, match="finite"):
        nr.Choice([option, 1.0])


def test_an_outcome_is_not_called_as_the_noise() -> None:
    with pytest.raises(ConfigurationError, match="noise"):
        nr.Study(LINE, "minimize", outcomes={"noise_std": nr.AtMost(1)})


def test_limits_may_be_of_numpy() -> None:
    whole, half = np.int64(3), np.float32(0.5)
    assert nr.AtMost(whole) == nr.AtMost(3.0)  # type: ignore[arg-type]
    assert type(nr.AtLeast(half).limit) is float  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError):
        nr.AtMost(True)


def test_a_noise_that_is_not_positive_is_named() -> None:
    study = study_of(LINE)
    with pytest.raises(TrialError, match=r"noise_std must be a positive number, got 0\.0"):
        study.run(lambda p: (1.0, 0.0), 1)


def test_a_context_out_of_range_is_called_context() -> None:
    study = nr.Study({"a": nr.Float(0, 1), "w": nr.Float(0, 5)}, "minimize", context="w")
    with pytest.raises(SpaceError, match=r"^context 'w'"):
        study.ask(context={"w": 9.0})


def test_files_of_other_programs_are_not_written(tmp_path: Any) -> None:
    study = study_of(LINE)
    with pytest.raises(ConfigurationError, match=r"a\.ods"):
        study.export(tmp_path / "a.ods")
    assert not (tmp_path / "a.ods").exists()
    study.export(tmp_path / "a.ods", format="csv")
    study.export(tmp_path / "a.txt")


@pytest.mark.parametrize("name", ["feasible", "t.noise_std"])
def test_a_parameter_called_as_a_column_of_outcomes(name: str, tmp_path: Any) -> None:
    limits = {"t": nr.AtMost(1)}
    space = {name: nr.Choice(["a", "b"]), "x": nr.Float(0, 1)}
    study = nr.Study(space, "minimize", nr.RandomSearch(), outcomes=limits)
    study.run(lambda p: (p["x"], {"t": (0.5, 0.1)}), 3)
    study.export(tmp_path / "t.csv")
    header = (tmp_path / "t.csv").read_text().splitlines()[0].split(",")
    assert len(set(header)) == len(header)
    again = nr.Study(space, "minimize", nr.RandomSearch(), outcomes=limits)
    again.import_csv(tmp_path / "t.csv")
    assert [t.params for t in again.trials] == [t.params for t in study.trials]
    assert [t.outcome_noise for t in again.trials] == [{"t": 0.1}] * 3


def test_a_study_that_is_there_is_not_made_twice(tmp_path: Any) -> None:
    study_of(LINE, str(tmp_path / "s.db"))
    with pytest.raises(StorageError):
        study_of(LINE, str(tmp_path / "s.db"))
