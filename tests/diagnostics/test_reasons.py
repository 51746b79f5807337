"""Convergence and reasons, as recorded and as the study computes them itself."""

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import convergence, predictions, why
from noregret.trials.trial import Trial


def test_best_so_far_ignores_failures_and_follows_the_goal() -> None:
    trials = [
        Trial(0, {}, "failed"),
        Trial(1, {}, "complete", 2.0),
        Trial(2, {}, "complete", 1.0),
        Trial(3, {}),
        Trial(4, {}, "complete", 3.0),
    ]
    nothing = [None] * 5
    assert convergence(trials, nothing, "maximize").best == (None, 2.0, 2.0, 2.0, 3.0)
    assert convergence(trials, nothing, "minimize").best == (None, 2.0, 1.0, 1.0, 1.0)
    assert convergence(trials, nothing, "minimize").upper == (None,) * 5


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_the_recorded_certificate_is_the_studys_own(goal: str) -> None:
    sign = 1 if goal == "maximize" else -1
    strategy = nr.GPUCB(
        lengthscales=0.2, norm_bound=3.0, noise_std=0.05, width="mixture"
    )  # a class that does not move
    study = nr.Study({"x": nr.Float(0, 1)}, goal, strategy, seed=3)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, sign * (np.sin(5 * trial.params["x"]) + 0.05 * rng.normal()))
    certificate = study.certificate()
    study.ask()
    trials = study.trials
    band = convergence(trials, predictions(trials, goal), goal)
    assert band.lower[-1] is not None
    assert band.upper[-1] is not None
    assert band.upper[-1] - band.lower[-1] == pytest.approx(certificate.regret_bound, rel=1e-4)
    assert band.lower[-1] < sign < band.upper[-1]  # the optimum is sin = 1


def test_a_surveys_point_is_not_where_ucb_is_largest() -> None:
    recorded = {
        "h": 1.0,
        "mean": 1.0,
        "std": 1.0,
        "offset": 0.0,
        "scale": 1.0,
        "noise_std": 0.0,
        "beta_sqrt": 2.0,
        "instant_regret_bound": 4.0,
        "recommended_lower": 0.5,
    }
    trials = [
        Trial(0, {}, info=recorded),
        Trial(1, {}, info={**recorded, "mean": 9.0, "survey": True}),
        Trial(2, {}, info={**recorded, "mean": 2.0}),
        Trial(
            3, {}, info={**recorded, "mean": 5.0, "exploration": 0.5}
        ),  # chosen by half the width: nor is this one
    ]
    made = predictions(trials, "maximize")
    band = convergence(trials, made, "maximize")
    assert (band.lower, band.upper) == ((0.5, 0.5, 0.5, 0.5), (3.0, 3.0, 4.0, 4.0))
    assert why(
        trials[3], made[3], "maximize", nr.AdaptiveGPUCB.practical()
    ).exploration == pytest.approx(0.5 * 2.0)


def test_ucb_is_split_into_its_parts() -> None:
    study = nr.Study(
        {"x": nr.Float(0, 1)},
        "minimize",
        nr.GPUCB(lengthscales=0.2, noise_std=0.1, width="mixture"),
    )
    study.run(lambda p: (p["x"] - 0.4) ** 2, 8, progress=False)
    trial = study.trials[-1]
    reason = why(trial, predictions([trial], "minimize")[0], "minimize", study.strategy)
    assert reason.mean == pytest.approx(-trial.info["mean"])
    assert reason.exploration == pytest.approx(-trial.info["beta_sqrt"] * trial.info["std"])
    assert "lower confidence bound" in reason.rule
    assert reason.active is not None
    assert "schedule" in reason.active


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        (Trial(0, {}, info={"source": "initial"}), "initial design"),
        (Trial(0, {}, info={"source": "random"}), "random"),
        (Trial(0, {}), "a person"),
        (Trial(4, {}, info={"corrects": 2}), "correction of trial 2"),
        (Trial(4, {}, info={"source": "enqueued"}), "a person"),
    ],
)
def test_points_without_a_model_say_where_they_come_from(trial: Trial, words: str) -> None:
    assert words in why(trial, None, "maximize", nr.RandomSearch()).rule


def test_surveys_and_expected_improvement_are_named() -> None:
    study = nr.Study({"x": nr.Float(0, 1)}, strategy=nr.LogEI())
    study.run(lambda p: p["x"], 6, progress=False)
    trial = study.trials[-1]
    made = predictions([trial], "maximize")[0]
    reason = why(trial, made, "maximize", study.strategy)
    assert ("improvement" in reason.rule, reason.exploration) == (True, None)
    survey = Trial(0, {}, info={**trial.info, "beta_sqrt": 2.0, "survey": True})
    assert (
        "survey"
        in why(
            survey, predictions([survey], "maximize")[0], "maximize", nr.AdaptiveGPUCB.practical()
        ).rule
    )


def test_recording_more_changes_no_proposal_and_old_rows_go_on() -> None:
    """Rows written before ``compression`` and ``recommended_lower`` were recorded lead to the same
    next point.
    """
    study = nr.Study({"x": nr.Float(0, 1), "y": nr.Float(0, 1)}, seed=5)
    study.run(lambda p: -((p["x"] - 0.3) ** 2) - p["y"], 15, progress=False)
    old = [
        Trial.from_json(
            {
                **trial.to_json(),
                "info": {
                    k: v
                    for k, v in trial.info.items()
                    if k not in ("compression", "recommended_lower")
                },
            }
        )
        for trial in study.trials
    ]
    assert any("compression" in trial.info for trial in study.trials)
    again = nr.Study({"x": nr.Float(0, 1), "y": nr.Float(0, 1)}, seed=5, trials=old)
    assert again.ask().params == study.ask().params
