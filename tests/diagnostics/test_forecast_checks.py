"""Calibration against simulation: forecasts that are right cover as often as they say, forecasts
that are too sure raise the alarm.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import noregret as nr
from noregret.diagnostics import LEVEL, calibration, outcomes, predictions
from noregret.strategies import Compression
from noregret.trials import Decision, ModelDecision, Trial

RECORDED = ModelDecision(
    t=1,
    lengthscales=(0.2,),
    mean=0.0,
    std=1.0,
    noise_std=0.0,
    beta_sqrt=2.0,
    instant_regret_bound=4.0,
)


def told(number: int, value: float, **reasons: Any) -> Trial:
    decision = Decision("model", replace(RECORDED, **reasons))
    return Trial(number, {"x": 0.5}, "complete", value, decision=decision)


def simulated(stated: float, count: int = 400, noise: float = 0.5) -> list[Trial]:
    """Values with mean 3, std 2 and noise, forecast with ``stated`` times their std."""
    rng = np.random.default_rng(7)
    return [
        told(
            i,
            3 + 2 * rng.normal() + noise * rng.normal(),
            mean=3.0,
            std=2 * stated,
            noise_std=noise * stated,
        )
        for i in range(count)
    ]


def test_right_forecasts_cover_as_often_as_they_say() -> None:
    found = calibration(predictions(simulated(1.0), "maximize"))
    assert found.coverage[-1] == pytest.approx(LEVEL, abs=0.03)
    assert not found.failing
    assert np.std([float(each.residual or 0) for each in found.predictions]) == pytest.approx(
        1.0, abs=0.08
    )


@pytest.mark.parametrize(("stated", "failing"), [(0.6, True), (1.0, False), (2.0, False)])
def test_only_forecasts_that_are_too_sure_fail(stated: float, failing: bool) -> None:
    assert calibration(predictions(simulated(stated), "maximize")).failing is failing


def test_the_floor_is_rarely_crossed_by_chance() -> None:
    rng = np.random.default_rng(1)
    crossed = sum(
        calibration(
            predictions([told(i, float(v)) for i, v in enumerate(rng.normal(size=60))], "maximize")
        ).failing
        for _ in range(300)
    )
    assert crossed <= 9  # at most once in a hundred, give or take


def test_the_floor_is_the_binomial_quantile() -> None:
    found = calibration(predictions([told(i, 0.0) for i in range(300)], "maximize"))
    counts = np.arange(1, 301)
    assert found.least == pytest.approx(binom.ppf(0.01, counts, LEVEL) / counts)


def test_a_minimised_study_is_the_mirror_image() -> None:
    up = predictions([told(0, 3.0, mean=1.0, std=0.5, noise_std=0.3)], "maximize")[0]
    down = predictions([told(0, -3.0, mean=-1.0, std=0.5, noise_std=0.3)], "minimize")[0]
    assert up is not None
    assert down is not None
    assert (down.mean, down.low, down.high, down.lower, down.upper) == pytest.approx(
        (-up.mean, -up.high, -up.low, -up.upper, -up.lower)  # type: ignore[operator]
    )
    assert down.residual == pytest.approx(-up.residual)  # type: ignore[operator]
    assert (up.lower, up.upper) == pytest.approx((0.0, 2.0))
    assert up.residual == pytest.approx(2.0 / np.hypot(0.5, 0.3))


def test_told_noise_takes_the_place_of_the_estimate() -> None:
    loud = replace(told(0, 3.0, noise_std=0.1), noise_std=10.0)
    made = predictions([loud, replace(loud, state="running", value=None)], "maximize")
    assert made[0] is not None
    assert made[0].residual == pytest.approx(3.0 / np.hypot(1.0, 10.0))
    assert made[1] is not None
    assert made[1].residual is None
    assert made[1].inside is None


def test_compressed_forecasts_are_judged_where_they_are_gaussian() -> None:
    rng = np.random.default_rng(3)
    bend = Compression(((-0.2, 1.3), (0.1, 0.9)))
    trials = []
    for i in range(400):
        mean, std = rng.normal() - 1.0, 0.2 + rng.random()
        value = 5 + 4 * float(bend.inverse(np.array([mean + std * rng.normal()]))[0])
        middle, low, high = (
            5 + 4 * float(bend.inverse(np.array([mean + k * std]))[0]) for k in (0, -1, 1)
        )
        trials.append(
            told(
                i,
                value,
                mean=middle,
                std=(high - low) / 2,
                offset=5.0,
                scale=4.0,
                compression=((-0.2, 1.3), (0.1, 0.9)),
                beta_sqrt=1.5,
                instant_regret_bound=3 * std,
            )
        )
    made = predictions(trials, "maximize")
    residuals = np.array([each.residual for each in made if each is not None])
    assert residuals.std() == pytest.approx(1.0, abs=0.08)
    assert calibration(made).coverage[-1] == pytest.approx(LEVEL, abs=0.03)
    uncompressed = [  # as old rows are
        replace(trial, decision=Decision("model", replace(trial.why, compression=())))
        for trial in trials
    ]
    plain = predictions(uncompressed, "maximize")
    assert (
        abs(np.std([float(each.residual or 0) for each in plain if each is not None]) - 1.0) > 0.02
    )


@pytest.mark.parametrize(
    "strategy",
    [None, nr.LogEI(), nr.AdaptiveGPUCB.rigorous(0.1), nr.InsuredGPUCB(noise_std=0.1)],
)
def test_a_strategys_own_record_is_enough(strategy: Any) -> None:
    rng = np.random.default_rng(0)
    study = nr.Study({"x": nr.Float(0, 1)}, "minimize", strategy)
    study.run(lambda p: (p["x"] - 0.3) ** 2 + 0.1 * rng.normal(), 20, progress=False)
    made = predictions(study.trials, "minimize")
    decided = [trial for trial in study.trials if trial.decision.model is not None]
    assert [each.number for each in made if each is not None] == [trial.number for trial in decided]
    last = made[-1]
    assert last is not None
    assert last.mean == decided[-1].why.mean
    assert last.mean == pytest.approx(0.0, abs=0.3)  # near the minimum, with the values' sign
    assert last.low < last.mean < last.high


def test_points_without_a_model_have_no_forecast() -> None:
    trials = [
        Trial(0, {"x": 0.1}, "complete", 1.0),
        Trial(1, {"x": 0.1}, "complete", 1.0, decision=Decision("initial")),
    ]
    assert predictions(trials, "maximize") == [None, None]
    assert calibration([None]).coverage == ()
    assert not calibration([]).failing


def test_corrections_take_the_place_of_what_they_correct() -> None:
    study = nr.Study([(0, 1)])
    for value in (1.0, 2.0, 3.0):
        study.tell(study.ask(), value)
    study.correct(1, 20.0)
    study.correct(1, 30.0)  # a correction of the correction
    study.correct(2, state="failed")
    kept = outcomes(study.trials)
    assert [(trial.number, trial.state, trial.value) for trial in kept] == [
        (0, "complete", 1.0),
        (1, "complete", 30.0),
        (2, "failed", None),
    ]
    assert kept[1].decision == study.trials[1].decision
