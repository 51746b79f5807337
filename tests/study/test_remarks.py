"""What was really run, notes, attributes and reasons."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import check_calibration, effective_trials, predictions
from noregret.errors import SpaceError, TrialError

SPACE = {"temperature": nr.Float(20, 90, step=5), "hours": nr.Float(0.5, 24, log=True)}


def yield_(p: dict[str, Any]) -> float:
    return -(((p["temperature"] - 60) / 20) ** 2) - float(np.log(p["hours"] / 4)) ** 2


def laboratory(trials: int, storage: Any = None) -> nr.Study:
    study = nr.Study(SPACE, "maximize", seed=3, storage=storage)
    for number in range(trials):
        trial = study.ask()
        really = {**trial.params, "temperature": 63.5} if number % 4 == 3 else trial.params
        study.tell(trial, yield_(really), params=really)
    return study


def test_a_trial_keeps_what_was_run_and_what_was_asked() -> None:
    study = nr.Study(SPACE, "maximize")
    trial = study.ask()
    told = study.tell(trial, 41.5, params={"temperature": 66})
    assert told.params == {**trial.params, "temperature": 66.0}
    assert told.asked == told.proposed == trial.params
    same = study.ask()
    assert study.tell(same, 1.0, params=same.params).asked is None
    assert study.best.params["temperature"] == 66.0


def test_the_model_learns_from_the_point_that_was_run() -> None:
    study, twin = nr.Study(SPACE, "maximize"), nr.Study(SPACE, "maximize")
    for number in range(4):  # no decision of a model yet
        trial = study.ask()
        moved = {"temperature": 61.5} if number == 2 else {}
        study.tell(trial, yield_({**trial.params, **moved}), params=moved)
        twin.add({**trial.params, **moved}, yield_({**trial.params, **moved}))
    one, two = study.belief(), twin.belief()
    assert one is not None
    assert two is not None
    at = np.random.default_rng(0).random((5, 2))
    np.testing.assert_allclose(one.predict(at), two.predict(at))


def test_every_proposal_is_derived_again_though_other_points_were_run() -> None:
    study = laboratory(14)
    a, b = study.ask(2)
    study.tell(b, yield_(b.params), params={"hours": 3.0})  # while a is pending
    study.tell(study.ask(), 0.0)
    study.tell(a, yield_(a.params), params={"temperature": 44.0})
    study.tell(study.ask(), 0.0)
    assert sum(trial.asked is not None for trial in study.trials) > 4
    found = study.replay()
    assert (found.number, found.agreed) == (None, len(study.trials))


def test_negative_control_the_point_that_was_run_is_not_the_one_derived() -> None:
    study = laboratory(14)
    forgotten = [replace(trial, asked=None) for trial in study.trials]
    twin = nr.Study(study.space, study.goal, study.strategy, study.record().seed, trials=forgotten)
    assert twin.replay().number is not None


def test_a_value_elsewhere_says_nothing_about_the_forecast() -> None:
    study = laboratory(16)
    trials = effective_trials(study.trials)
    made = predictions(trials, "maximize", study.strategy)
    model = [trial for trial in trials if trial.decision.model is not None]
    moved = [trial.number for trial in model if trial.asked is not None]
    assert moved
    assert all(made[number].residual is None for number in moved)  # type: ignore[union-attr]
    assert len([each for each in made if each and each.residual is not None]) == len(model) - len(
        moved
    )
    assert check_calibration(made) is not None


def test_what_was_run_is_corrected_later() -> None:
    study = nr.Study(SPACE, "maximize", nr.RandomSearch())
    trial = study.ask()
    study.tell(trial, 3.0, note="by hand")
    new = study.correct(trial, 4.0, params={"temperature": 22.5})
    assert (new.params["temperature"], new.asked, new.note) == (22.5, trial.params, "by hand")
    back = study.correct(trial, 5.0, params=trial.params)
    assert (back.params, back.asked, back.corrects) == (trial.params, None, new.number)


@pytest.mark.parametrize(
    ("told", "error", "message"),
    [
        ({"params": {"temperature": 95}}, SpaceError, "parameter 'temperature': 95 is outside"),
        ({"params": {"pressure": 1}}, TrialError, r"names \['pressure'\], which this study"),
        ({"reason": "late"}, TrialError, "a reason is for a trial that failed"),
        ({"note": 3}, TrialError, "a note is text, got 3"),
        ({"note": "x" * 10_001}, TrialError, "at most 10000 characters"),
        ({"attributes": [1]}, TrialError, "a dict from names"),
        ({"attributes": {"a": np.ones(2)}}, TrialError, "must be JSON values"),
        ({"attributes": {"a": float("nan")}}, TrialError, "must be JSON values"),
    ],
)
def test_what_cannot_be_told_records_nothing(
    told: dict[str, Any], error: type[Exception], message: str
) -> None:
    study = nr.Study(SPACE, "maximize", nr.RandomSearch())
    trial = study.ask()
    with pytest.raises(error, match=message):
        study.tell(trial, 1.0, **told)
    assert study.trials == [trial]


def test_notes_and_attributes(tmp_path: Path) -> None:
    study = nr.Study.create("lab", SPACE, "maximize", nr.RandomSearch(), storage=tmp_path / "s.db")
    other = nr.Study.open("lab", storage=tmp_path / "s.db")
    study.tell(study.ask(), 1.0, note="cloudy", attributes={"who": "anna", "cell": 4})
    study.tell(study.ask(), state="failed", reason="the pump stopped", attributes={"who": "ben"})
    study.add({"temperature": 30, "hours": 2}, 2.0, note="last year", attributes={"who": "anna"})
    study.enqueue({"temperature": 35, "hours": 2}, note="on Friday")
    assert [t.attributes.get("who") for t in other.trials] == ["anna", "ben", "anna", None]
    assert [t.note for t in other.trials] == ["cloudy", None, "last year", "on Friday"]
    assert other.trials[1].error == "the pump stopped"
    study.annotate(0, attributes={"cell": None, "seen": True})  # after its end, and read elsewhere
    assert other.trials[0].attributes == {"who": "anna", "seen": True}
    assert other.trials[0].note == "cloudy"
    study.annotate(0, note="")
    assert [trial.note for trial in other.trials[:1]] == [None]
    study.annotate(note="the big one", attributes={"project": "x"})
    assert (other.record().note, other.record().attributes) == ("the big one", {"project": "x"})
    assert study.ask().note == "on Friday"
    with pytest.raises(TrialError, match="there is no trial 9"):
        study.annotate(9, note="?")


def test_an_exception_is_kept_with_its_trial() -> None:
    def broken(p: dict[str, Any]) -> float:
        if p["hours"] > 0:
            raise ZeroDivisionError("no current")
        return 0.0

    study = nr.Study(SPACE, "maximize", nr.RandomSearch())
    study.run(broken, 1, catch=(ZeroDivisionError,))
    error = study.trials[0].error or ""
    assert error.startswith("ZeroDivisionError: no current")
    assert "in broken" in error
    study.run(lambda p: 1.0, 1)
    assert study.trials[1].error is None
    assert (study.trials[1].duration or 0.0) >= 0.0
    assert study.trials[1].started is not None
