"""Convergence and reasons, as recorded and as the study computes them itself."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import predictions, track_convergence, why
from noregret.trials import Decision, Goal, Trial
from tests.recorded import decision

DEFAULT = nr.InsuredGPUCB()


def test_best_so_far_ignores_failures_and_follows_the_goal() -> None:
    trials = [
        Trial(0, {}, "failed"),
        Trial(1, {}, "complete", 2.0),
        Trial(2, {}, "complete", 1.0),
        Trial(3, {}),
        Trial(4, {}, "complete", 3.0),
    ]
    nothing = [None] * 5
    assert track_convergence(trials, nothing, "maximize").best == (None, 2.0, 2.0, 2.0, 3.0)
    assert track_convergence(trials, nothing, "minimize").best == (None, 2.0, 1.0, 1.0, 1.0)
    assert track_convergence(trials, nothing, "minimize").upper == (None,) * 5


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_the_recorded_certificate_is_the_studys_own(goal: Goal) -> None:
    sign = 1 if goal == "maximize" else -1
    strategy = nr.GPUCB(
        lengthscales=0.2, norm_bound=3.0, noise_std=0.05, width="mixture"
    )  # a class that does not move
    study = nr.Study({"x": nr.Float(0, 1)}, goal, strategy, seed=3)
    rng = np.random.default_rng(0)
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, sign * (np.sin(5 * trial.params["x"]) + 0.05 * rng.normal()))
    certificate = study.certificate()
    study.ask()
    trials = study.trials
    band = track_convergence(trials, predictions(trials, goal, study.strategy), goal)
    assert band.lower[-1] is not None
    assert band.upper[-1] is not None
    found = certificate.regret_bound - certificate.slack  # what a search finds needs no slack
    assert band.upper[-1] - band.lower[-1] == pytest.approx(found, rel=1e-2)
    assert band.lower[-1] < sign < band.upper[-1]  # the optimum is sin = 1


def test_a_surveys_point_is_not_where_ucb_is_largest() -> None:
    changes: list[dict[str, Any]] = [
        {"mean": 1.0},
        {"mean": 9.0, "kind": "survey", "exploration": None},
        {"mean": 2.0},
        {"mean": 5.0, "exploration": 0.5},  # chosen by half the width: nor is this one
    ]
    trials = [
        Trial(number, {}, decision=decision(**change, recommended_bound=0.5, proved=True))
        for number, change in enumerate(changes)
    ]
    made = predictions(trials, "maximize", DEFAULT)
    band = track_convergence(trials, made, "maximize")
    assert (band.lower, band.upper) == ((0.5, 0.5, 0.5, 0.5), (3.0, 3.0, 4.0, 4.0))
    assert why(trials[3], made[3], "maximize").exploration == pytest.approx(0.5 * 2.0)
    mirrored = [replace(each, decision=each.decision.signed(-1.0)) for each in trials]
    down = track_convergence(mirrored, predictions(mirrored, "minimize", DEFAULT), "minimize")
    assert (down.lower, down.upper) == ((-3.0, -3.0, -4.0, -4.0), (-0.5, -0.5, -0.5, -0.5))


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_on_a_list_the_range_is_never_inverted(goal: Goal) -> None:
    """The default leaves a design that it knows for one that promises less."""
    designs = nr.Candidates([{"x": float(x)} for x in range(12)])
    study = nr.Study(designs, goal, seed=2)
    sign = 1 if goal == "maximize" else -1
    study.run(lambda p: sign * (70 - (p["x"] - 3) ** 2), 14, progress=False)
    trials = study.trials
    made = predictions(trials, goal, study.strategy)
    assert track_convergence(trials, made, goal).upper == (None,) * 14  # nothing is proved
    proved = [
        each and replace(each, explanation=replace(each.explanation, proved=True)) for each in made
    ]
    band = track_convergence(trials, proved, goal)
    seen = [(low, high) for low, high in zip(band.lower, band.upper, strict=True)]
    assert any(low is not None for low, _ in seen)
    assert all(low <= high for low, high in seen if low is not None and high is not None)


def test_a_point_that_promised_less_than_the_recommended_one_gives_no_interval() -> None:
    for bound, upper in ((0.5, 3.0), (3.5, None)):
        trials = [Trial(0, {}, decision=decision(1.0, recommended_bound=bound, proved=True))]
        made = predictions(trials, "maximize", DEFAULT)
        assert track_convergence(trials, made, "maximize").upper == (upper,)


def test_ucb_is_split_into_its_parts() -> None:
    study = nr.Study(
        {"x": nr.Float(0, 1)},
        "minimize",
        nr.GPUCB(lengthscales=0.2, noise_std=0.1, width="mixture"),
    )
    study.run(lambda p: (p["x"] - 0.4) ** 2, 8, progress=False)
    trial = study.trials[-1]
    reason = why(trial, predictions([trial], "minimize", study.strategy)[0], "minimize")
    assert reason.mean == trial.why.mean
    width = trial.decision.payload["beta_sqrt"] * trial.why.std
    assert reason.exploration == pytest.approx(-width)
    assert "confidence bound" in reason.rule
    assert reason.active is not None
    assert "schedule" in reason.active


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        (Trial(0, {}, decision=Decision("initial")), "initial design"),
        (Trial(0, {}, decision=Decision("random")), "random"),
        (Trial(0, {}), "a person"),
        (Trial(4, {}, decision=Decision("correction"), corrects=2), "correction of trial 2"),
        (Trial(4, {}, decision=Decision("enqueued")), "a person"),
    ],
)
def test_points_without_a_model_say_where_they_come_from(trial: Trial, words: str) -> None:
    assert words in why(trial, None, "maximize").rule


def test_surveys_and_expected_improvement_are_named() -> None:
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", strategy=nr.LogEI())
    study.run(lambda p: p["x"], 6, progress=False)
    trial = study.trials[-1]
    made = predictions([trial], "maximize", study.strategy)[0]
    reason = why(trial, made, "maximize")
    assert ("improvement" in reason.rule, reason.exploration) == (True, None)
    survey = Trial(0, {}, decision=decision(kind="survey", exploration=None))
    made = predictions([survey], "maximize", DEFAULT)[0]
    assert "survey" in why(survey, made, "maximize").rule
