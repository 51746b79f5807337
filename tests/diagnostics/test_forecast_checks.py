"""Calibration against simulation: forecasts that are right cover as often as they say, forecasts
that are too sure raise the alarm.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import comb

import noregret as nr
from noregret.diagnostics import (
    LEVEL,
    check_calibration,
    effective_trials,
    outcome_forecasts,
    predictions,
)
from noregret.diagnostics.forecast_checks import ENOUGH, GAUSSIAN, NARROWEST, RATE
from noregret.strategies import Compression
from noregret.trials import Decision, Trial
from tests.recorded import decision

DEFAULT = nr.InsuredGPUCB()


def told(number: int, value: float, **reasons: Any) -> Trial:
    return Trial(number, {"x": 0.5}, "complete", value, decision=decision(**reasons))


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
    found = check_calibration(predictions(simulated(1.0), "maximize", DEFAULT))
    assert found.coverage[-1] == pytest.approx(LEVEL, abs=0.03)
    assert not found.failing
    assert np.std([float(each.residual or 0) for each in found.predictions]) == pytest.approx(
        1.0, abs=0.08
    )


@pytest.mark.parametrize("stated", [0.3, 0.6, 1.0, 2.0])
def test_bands_are_as_wide_as_the_studys_own_errors_require(stated: float) -> None:
    """A model that is always too sure, or never sure enough: after some values its bands hold as
    often as they say all the same.
    """
    found = check_calibration(predictions(simulated(stated), "maximize", DEFAULT))
    late = found.predictions
    assert len(late) == 400 - ENOUGH
    assert np.mean([each.inside for each in late]) == pytest.approx(LEVEL, abs=0.04)
    assert not found.failing
    assert late[-1].multiple == pytest.approx(GAUSSIAN / stated, rel=0.15)


def test_bands_are_tracked_quantiles() -> None:
    """Against the recursion written down again."""
    rng = np.random.default_rng(5)
    trials = [told(i, float(v)) for i, v in enumerate(3 * rng.standard_cauchy(size=60))]
    q = 1.6448536269514722
    for n, each in enumerate(predictions(trials, "maximize", DEFAULT)):
        assert each is not None
        assert each.multiple == pytest.approx(q)
        assert (each.low, each.high) == pytest.approx((-q, q))
        assert each.calibrated == (n >= ENOUGH)
        size = abs(float(trials[n].value or 0.0))
        q *= np.exp(0.15 * 0.9) if size > q else np.exp(-0.15 * 0.1)


def adversary(kind: str, n: int, low: float, high: float) -> list[float]:
    """Residuals that do what hurts: just outside or inside the band of before, in runs, growing."""
    rng, q, sizes = np.random.default_rng(3), GAUSSIAN, []
    for i in range(n):
        size = {
            "outside": q * 1.001,
            "inside": q * 0.999,
            "runs": high if (i // 40) % 2 else low,
            "growing": low * (high / low) ** (i / n),
            "shrinking": high * (low / high) ** (i / n),
            "chance": float(rng.choice([low, 1.0, high])),
        }[kind]
        sizes.append(min(max(size, low), high))
        q *= np.exp(RATE * ((sizes[-1] > q) - 0.1))
    return sizes


@pytest.mark.parametrize("batch", [1, 6])
@pytest.mark.parametrize("kind", ["outside", "inside", "runs", "growing", "shrinking", "chance"])
def test_the_guarantee_holds_for_any_sequence(kind: str, batch: int) -> None:
    """Deterministic: of no sequence, in no batches, does the share outside differ by more."""
    low, high = 0.3, 30.0
    assert low * np.exp(-batch * RATE) >= NARROWEST
    trials = [told(i, size) for i, size in enumerate(adversary(kind, 300, low, high))]
    trials = [
        replace(each, decision=replace(each.decision, pending=tuple(range(i - i % batch, i))))
        for i, each in enumerate(trials)
    ]
    outside = [not each.inside for each in predictions(trials, "maximize", DEFAULT) if each]
    for n in range(batch, 301, batch):
        bound = (np.log(high / low) + batch * RATE) / (n * RATE)
        assert abs(np.mean(outside[:n]) - 0.1) <= bound + 1e-12
    # the negative control: bands of the model alone are outside in as many as the adversary likes
    if kind == "growing":
        gaussian = np.mean([float(t.value or 0.0) > GAUSSIAN for t in trials])
        assert gaussian > 0.5 > np.mean(outside)


def test_a_wide_band_is_a_multiple_of_the_gaussian_one_in_the_values_units() -> None:
    """On a compressed scale itself it would reach down to −e^…, far beyond all data."""
    compression = ((0.0, 1.0), (0.0, 1.0))
    trials = [told(i, 30.0 * (-1) ** i, compression=compression) for i in range(40)]
    made = [each for each in predictions(trials, "maximize", DEFAULT) if each is not None]
    first, last = made[0], made[-1]
    assert last.multiple > 10 * GAUSSIAN
    for end, gaussian in ((last.low, first.low), (last.high, first.high)):
        assert end == pytest.approx(gaussian * last.multiple / GAUSSIAN)
    assert [each.inside for each in made] == [
        each.low <= float(trial.value or 0.0) <= each.high
        for each, trial in zip(made, trials, strict=True)
    ]
    stretched = Compression(compression).inverse(np.array([-last.multiple]))[0]
    assert stretched < 1e3 * last.low  # the negative control


def test_exact_values_do_not_make_the_band_a_point() -> None:
    made = predictions([told(i, 0.0) for i in range(400)], "maximize", DEFAULT)
    assert made[-1] is not None
    assert made[-1].multiple == pytest.approx(NARROWEST)


def test_values_under_way_calibrate_nothing() -> None:
    """The band of a point was made without the values that were told after it was asked for."""
    trials = [told(i, 1.0) for i in range(30)]
    batch = [
        replace(each, decision=replace(each.decision, pending=tuple(range(5, each.number))))
        for each in trials
    ]
    one_by_one, together = (
        predictions(trials, "maximize", DEFAULT)[29],
        predictions(batch, "maximize", DEFAULT)[29],
    )
    assert one_by_one is not None
    assert one_by_one.calibrated
    assert together is not None
    assert not together.calibrated


def test_forecasts_that_become_ever_surer_fail() -> None:
    """Right at first, then surer with each value without reason: the negative control."""
    trials = simulated(1.0)[:40]
    trials += [told(40 + i, 3.0 + 2 * (-1) ** i, mean=3.0, std=0.8**i) for i in range(30)]
    assert not check_calibration(predictions(trials[:40], "maximize", DEFAULT)).failing
    assert check_calibration(predictions(trials, "maximize", DEFAULT)).failing


def test_right_forecasts_raise_an_alarm_at_any_look_in_few_studies() -> None:
    rng = np.random.default_rng(1)
    raised = 0
    for _ in range(200):
        trials = [told(i, float(v)) for i, v in enumerate(rng.normal(size=60))]
        found = check_calibration(predictions(trials, "maximize", DEFAULT))
        raised += any(c < low for c, low in zip(found.coverage, found.least, strict=True))
    assert raised <= 6  # one in a hundred, give or take


def test_the_floor_is_the_naive_one() -> None:
    found = check_calibration(predictions([told(i, 0.0) for i in range(60)], "maximize", DEFAULT))
    for n, least in enumerate(found.least, 1):
        k = np.arange(n + 1)
        # ∫ p^k (1 − p)^(n−k) dp over LEVEL^k (1 − LEVEL)^(n−k)
        mixture = np.array([1 / ((n + 1) * comb(n, int(i))) for i in k])
        ratio = mixture / (LEVEL**k * (1 - LEVEL) ** (n - k))
        refuted = (ratio > 100) & (k < LEVEL * n)
        assert least * n == pytest.approx(refuted.sum())


def test_a_minimised_study_is_the_mirror_image() -> None:
    up = predictions([told(0, 3.0, mean=1.0, std=0.5, noise_std=0.3)], "maximize", DEFAULT)[0]
    down = predictions([told(0, -3.0, mean=-1.0, std=0.5, noise_std=0.3)], "minimize", DEFAULT)[0]
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
    made = predictions([loud, replace(loud, state="running", value=None)], "maximize", DEFAULT)
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
                latent_std=std,
            )
        )
    made = predictions(trials, "maximize", DEFAULT)
    residuals = np.array([each.residual for each in made if each is not None])
    assert residuals.std() == pytest.approx(1.0, abs=0.08)
    assert check_calibration(made).coverage[-1] == pytest.approx(LEVEL, abs=0.03)
    uncompressed = []  # negative control
    for trial in trials:
        payload = {**trial.decision.payload, "compression": []}
        uncompressed.append(replace(trial, decision=replace(trial.decision, payload=payload)))
    plain = predictions(uncompressed, "maximize", DEFAULT)
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
    made = predictions(study.trials, "minimize", study.strategy)
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
    assert predictions(trials, "maximize", DEFAULT) == [None, None]
    assert check_calibration([None]).coverage == ()
    assert not check_calibration([]).failing


def test_corrections_take_the_place_of_what_they_correct() -> None:
    study = nr.Study([(0, 1)], "maximize", DEFAULT)
    for value in (1.0, 2.0, 3.0):
        study.tell(study.ask(), value)
    study.correct(1, 20.0)
    study.correct(1, 30.0)  # a correction of the correction
    study.correct(2, state="failed")
    kept = effective_trials(study.trials)
    assert [(trial.number, trial.state, trial.value) for trial in kept] == [
        (0, "complete", 1.0),
        (1, "complete", 30.0),
        (2, "failed", None),
    ]
    assert kept[1].decision == study.trials[1].decision


def test_bands_of_outcomes_follow_the_outcomes() -> None:
    """As often as they say, which the fitted std, the control, does not. A band that decided is
    kept as it is.
    """
    study = nr.Study([(0, 1)] * 2, "maximize", outcomes={"c": nr.AtMost(0.0)})
    rng = np.random.default_rng(0)
    for _ in range(60):
        trial = study.ask()
        x, y = trial.params
        c = np.sin(9 * x) * y - 0.3 + 0.1 * rng.standard_normal()
        study.tell(trial, x + y, outcomes={"c": c})
    bands = outcome_forecasts(study.trials, study.strategy)
    marks = [
        bands[trial.number, "c"][0] <= trial.outcomes["c"] <= bands[trial.number, "c"][1]
        for trial in study.trials
        if trial.decision.model is not None
    ]
    assert len(marks) > 50
    assert 0.85 <= np.mean(marks) <= 0.95
    fitted = [
        abs(trial.outcomes["c"] - each.mean) <= GAUSSIAN * each.std
        for trial in study.trials
        if trial.decision.model is not None
        for each in study.strategy.explain(trial.decision).outcomes
    ]
    assert np.mean(fitted) < 0.8
    rigorous = nr.AdaptiveGPUCB.rigorous(0.1, outcomes={"c": nr.OutcomeAssumptions(0.1)})
    proved = nr.Study([(0, 1)], "maximize", rigorous, outcomes={"c": nr.AtMost(0.0)})
    for x in (0.1, 0.9):
        proved.add([x], x, outcomes={"c": x - 0.6})
    trial = proved.ask()
    (each,) = proved.strategy.explain(trial.decision).outcomes
    found = outcome_forecasts(proved.trials, proved.strategy)
    assert found == {(trial.number, "c"): (each.lower, each.upper)}
