"""Planted trouble raises its alarm; a healthy study raises none."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import Alarm, alarms, predictions
from noregret.strategies import Strategy
from noregret.trials import Goal, Trial
from tests.recorded import decision

SPACE = nr.Space({"x": nr.Float(0, 10), "n": nr.Int(1, 5), "c": nr.Choice(["a", "b", "c"])})
DEFAULT = nr.InsuredGPUCB()
GOOD: dict[str, Any] = {
    "mean": 1.0,
    "lengthscales": (0.2,) * 5,
    "noise_std": 0.1,
    "noise_var": 0.01,
}


def planted(
    points: list[dict[str, Any]], values: list[float | None] | None = None, **reasons: Any
) -> list[Trial]:
    listed, chosen = values or [1.0] * len(points), decision(**{**GOOD, **reasons})
    return [
        Trial(i, point, "failed" if value is None else "complete", value, decision=chosen)
        for i, (point, value) in enumerate(zip(points, listed, strict=True))
    ]


def kinds(
    trials: list[Trial], strategy: Strategy | None = None, goal: Goal = "maximize"
) -> list[str]:
    made = predictions(trials, goal, nr.InsuredGPUCB())
    return [
        alarm.kind for alarm in alarms(SPACE, trials, made, goal, strategy or nr.InsuredGPUCB())
    ]


def scattered(count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {
            "x": float(rng.uniform(1, 9)),
            "n": int(rng.integers(2, 5)),
            "c": "abc"[int(rng.integers(3))],
        }
        for _ in range(count)
    ]


def test_a_healthy_study_is_left_in_peace() -> None:
    assert kinds(planted(scattered(30))) == []
    assert kinds([]) == []


def test_stuck_on_one_point() -> None:
    plain = nr.LogEI()
    assert kinds(planted([*scattered(10), *[{"x": 3.0, "n": 3, "c": "a"}] * 8]), plain) == ["stuck"]
    assert kinds(planted([*scattered(10), *[{"x": 3.0, "n": 3, "c": "a"}] * 7]), plain) == []
    near = [{"x": 3.0 + 0.2 * (i % 2), "n": 3, "c": "a"} for i in range(8)]
    assert kinds(planted([*scattered(10), *near]), plain) == []


def test_a_method_that_explores_is_stuck_only_where_it_knows_better() -> None:
    """Repeating the best point is how a search ends; repeating a worse one is not."""
    points = [*scattered(10), *[{"x": 3.0, "n": 3, "c": "a"}] * 8]
    for best, expected in ((1.0, []), (1.2, []), (2.0, ["stuck"])):
        values: list[float | None] = [best, *[0.5] * 9, *[1.0] * 8]
        trials = planted(points, values, std=0.05, noise_std=0.05)
        assert kinds(trials) == expected
    (found,) = alarms(SPACE, trials, predictions(trials, "maximize", DEFAULT), "maximize", DEFAULT)
    assert "Trial 0 was better" in found.what
    assert "insured" not in found.action


def test_a_survey_between_does_not_hide_that_the_search_is_stuck() -> None:
    same: list[dict[str, Any]] = [{"x": 3.0, "n": 3, "c": "a"}]
    looked = planted([{"x": 9.0, "n": 1, "c": "b"}], kind="survey")
    trials = [*planted(scattered(10)), *planted(same * 16), *looked, *planted(same * 4)]
    numbered = [replace(trial, number=number) for number, trial in enumerate(trials)]
    plain = nr.InsuredGPUCB(insurance=0)
    (found,) = alarms(SPACE, numbered, predictions(numbered, "maximize", plain), "maximize", plain)
    assert found.kind == "stuck"
    assert "The last 9 proposals are one and the same point, apart from 1" in found.what
    elsewhere = [*numbered[:-2], replace(numbered[-2], params={"x": 9.0, "n": 1, "c": "b"})]
    assert kinds(elsewhere, plain) == []  # a proposal, not a survey, went elsewhere


def test_advice_can_be_followed() -> None:
    """Alarms do not recommend the strategy already in use."""
    trials = planted([{"x": 3.0, "n": 3, "c": "a"}] * 8)
    made = predictions(trials, "maximize", nr.InsuredGPUCB())
    for strategy, named in ((nr.InsuredGPUCB(insurance=0), False), (nr.LogEI(), True)):
        (found,) = alarms(SPACE, trials, made, "maximize", strategy)
        assert ("standard method" in found.action) is named
        assert "point of your own" in found.action


@pytest.mark.parametrize(
    ("edge", "word"),
    [({"x": 10.0}, "upper bound 10"), ({"x": 0.0}, "lower bound 0"), ({"n": 5}, "upper bound 5")],
)
def test_sitting_on_a_boundary(edge: dict[str, Any], word: str) -> None:
    points = [{**point, **edge} for point in scattered(12)]
    trials = planted(points, [float(i) for i in range(12)], mean=6.0, std=6.0)
    found = alarms(
        SPACE,
        trials,
        predictions(trials, "maximize", nr.InsuredGPUCB()),
        "maximize",
        nr.InsuredGPUCB(),
    )
    assert [alarm.kind for alarm in found] == ["boundary"]
    assert word in found[0].what
    elsewhere = [
        *planted(scattered(1), [99.0], std=100.0),
        *planted(points, [float(i) for i in range(12)], mean=6.0, std=6.0),
    ]
    assert kinds(elsewhere) == []  # proposals visit the edge, but the best value is inside


def test_a_choice_is_no_boundary() -> None:
    assert kinds(planted([{**point, "c": "a"} for point in scattered(12)])) == []


@pytest.mark.parametrize(
    ("noise_var", "expected"), [(1e-6, ["noise"]), (0.99, ["noise"]), (0.01, [])]
)
def test_noise_at_its_limits(noise_var: float, expected: list[str]) -> None:
    trials = planted(scattered(12), noise_var=noise_var)
    assert kinds(trials) == expected
    # it was given, not estimated
    assert kinds(trials, nr.InsuredGPUCB(noise_std=0.1)) == []


def test_exact_values_may_be_right() -> None:
    for noise_var, serious in ((1e-6, False), (0.99, True)):
        trials = planted(scattered(12), noise_var=noise_var)
        (found,) = alarms(
            SPACE,
            trials,
            predictions(trials, "maximize", nr.InsuredGPUCB()),
            "maximize",
            nr.InsuredGPUCB(),
        )
        assert found.serious is serious


def test_coverage_below_nominal_names_what_to_do() -> None:
    for strategy, proved, advice in (
        (nr.InsuredGPUCB(), False, "rigorous"),
        (nr.AdaptiveGPUCB.rigorous(0.1), True, "norm bound"),
    ):
        trials = planted(scattered(30), [5.0 * (-1.4) ** i for i in range(30)], proved=proved)
        found = alarms(
            SPACE, trials, predictions(trials, "maximize", nr.InsuredGPUCB()), "maximize", strategy
        )
        assert "coverage" in [alarm.kind for alarm in found]
        found = [alarm for alarm in found if alarm.kind == "coverage"]
        assert "0 of" in found[0].what
        assert advice in found[0].action


# -- values that a person would doubt --


def recorded_study(
    seed: int, *, noise: float = 0.05, count: int = 40, repeats: int = 4
) -> list[Trial]:
    """A clean study: values of range 1 with noise, forecast as well as a model can that estimates
    the noise to within a factor of 1.5; some points are measured twice.
    """
    rng = np.random.default_rng(seed)
    points = scattered(count)
    for copy in rng.choice(np.arange(8, count), repeats, replace=False):
        points[copy] = points[int(rng.integers(copy))]
    trials = []
    for number, point in enumerate(points):
        true = float(np.sin(point["x"]) / 2 + point["n"] / 10)
        error = float(0.03 * rng.normal())
        guess = float(noise * np.exp(0.3 * rng.normal()))
        why = decision(**{**GOOD, "mean": true + error, "std": 0.03, "noise_std": guess})
        value = float(true + noise * rng.normal())
        trials.append(Trial(number, point, "complete", value, decision=why))
    return trials


def with_value(trials: list[Trial], number: int, value: float) -> list[Trial]:
    return [replace(t, value=value) if t.number == number else t for t in trials]


def found_in(trials: list[Trial], strategy: Strategy = DEFAULT) -> list[Alarm]:
    return alarms(SPACE, trials, predictions(trials, "maximize", DEFAULT), "maximize", strategy)


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
def test_clean_studies_raise_none_of_these(noise: float) -> None:
    studies = [recorded_study(seed, noise=noise) for seed in range(60)]
    raised = [{alarm.kind for alarm in found_in(trials)} for trials in studies]
    for kind in ("slip", "surprise", "range", "stuck", "noise"):
        assert sum(kind in each for each in raised) <= 1
    # the negative control: without its threshold any repeat of a noisy study would be a slip
    pairs = [abs(b - a) > 2 * noise for t in studies for a, b in same_point(t)]
    assert np.mean(pairs) > 0.1


def same_point(trials: list[Trial]) -> list[tuple[float, float]]:
    """Values at one point, by brute force."""
    return [
        (float(a.value or 0.0), float(b.value or 0.0))
        for a in trials
        for b in trials
        if a.number < b.number and a.params == b.params
    ]


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_a_slip_among_repeats_is_found_and_named(noise: float) -> None:
    hits = 0
    for seed in range(40):
        trials = recorded_study(seed, noise=noise)
        again = next(
            t.number for t in trials if any(t.params == u.params for u in trials[: t.number])
        )
        value = float(trials[again].value or 0.0)
        wrong = value + (1.0 if value < 0.3 else -1.0)
        first = next(t.number for t in trials if t.params == trials[again].params)
        kinds_found = found_in(with_value(trials, again, wrong))
        slips = [alarm for alarm in kinds_found if alarm.kind == "slip"]
        hits += any(f"{again} have" in each.what or f"{first} and" in each.what for each in slips)
    assert hits >= 36
    assert "correct the wrong one" in slips[0].action
    assert slips[0].what.endswith(": a slip?")


def test_a_slip_is_found_before_there_is_a_model() -> None:
    points = [*scattered(8), *scattered(8)[2:3]]
    values = [20.0, 35.0, 52.0, 11.0, 60.0, 41.0, 0.0, 26.0]
    for last, expected in ((1.0, ["slip"]), (49.0, [])):
        trials = [
            Trial(i, point, "complete", value)
            for i, (point, value) in enumerate(zip(points, [*values, last], strict=True))
        ]
        assert [alarm.kind for alarm in found_in(trials)] == expected
    trials[-1] = replace(trials[-1], value=1.0)
    assert found_in(trials)[0].what.startswith(
        "Trials 2 and 8 have the same conditions and gave 52 and 1"
    )
    loud = [replace(trial, noise_std=20.0) for trial in trials]
    assert found_in(loud) == []  # told: so much noise is no slip


def test_a_value_far_from_its_forecast_is_named() -> None:
    hits = 0
    for seed in range(40):
        trials = recorded_study(seed, noise=0.02, repeats=0)
        number = 20 + seed % 15
        value = float(trials[number].value or 0.0)
        wrong = with_value(trials, number, value + (1.2 if value < 0.3 else -1.2))
        hits += any(a.kind == "surprise" and f"Trial {number} " in a.what for a in found_in(wrong))
    assert hits >= 36
    repaired = with_value(wrong, number, value)
    assert "surprise" not in [alarm.kind for alarm in found_in(repaired)]
    exact = [
        replace(
            t, decision=decision(**{**GOOD, "mean": t.why.mean, "std": 0.03, "noise_std": 1e-6})
        )
        for t in wrong
    ]
    assert "surprise" not in [alarm.kind for alarm in found_in(exact)]  # a jump of the function


def test_a_fitted_noise_that_jumps() -> None:
    trials = recorded_study(0, repeats=0)
    for factor, expected in ((1.0, False), (2.0, False), (10.0, True)):
        jumped = [
            replace(
                t, decision=decision(**{**GOOD, "mean": t.why.mean, "std": 0.03, "noise_std": s})
            )
            for t in trials
            for s in [0.03 * (factor if t.number >= 32 else 1.0)]
        ]
        found = [alarm for alarm in found_in(jumped) if "jumped" in alarm.what]
        assert bool(found) is expected
        assert not [
            a for a in found_in(jumped, nr.InsuredGPUCB(noise_std=0.03)) if "jumped" in a.what
        ]
    (alarm,) = [a for a in found_in(jumped) if "jumped" in a.what] or found
    assert "from 0.03 to 0.3 after trial 31" in alarm.what


def test_a_forecast_range_wider_than_all_data() -> None:
    trials = recorded_study(1, repeats=0)
    for std, expected in ((0.3, False), (5.0, True)):
        wide = [
            replace(
                t, decision=decision(**{**GOOD, "mean": 0.3, "std": std if t.number > 30 else 0.03})
            )
            for t in trials
        ]
        found = [alarm for alarm in found_in(wide) if alarm.kind == "range"]
        assert bool(found) is expected
    assert "times the range of all values" in found[0].what


def test_a_noise_bound_that_repeats_refute() -> None:
    for bound, expected in ((0.01, True), (0.2, False)):
        strategy = nr.AdaptiveGPUCB.rigorous(bound, check_pairs=2)
        study = nr.Study({"x": nr.Float(0, 1)}, "maximize", strategy, seed=1)
        rng = np.random.default_rng(0)
        study.run(lambda p: p["x"] + 0.1 * rng.normal(), 8, progress=False)  # noqa: B023
        made = predictions(study.trials, "maximize", strategy)
        found = alarms(study.space, study.trials, made, "maximize", strategy)
        assert ("noise bound" in [alarm.kind for alarm in found]) is expected
        if expected:
            assert "0.01 allows" in found[0].what
            assert study.certificate().refuted


def test_no_alarm_recommends_the_strategy_in_use() -> None:
    """Every alarm there is, under every strategy by name."""
    seen = set()
    for strategy in (
        DEFAULT,
        nr.InsuredGPUCB(insurance=0),
        nr.LogEI(),
        nr.AdaptiveGPUCB.rigorous(0.1),
    ):
        for trials in (
            planted(scattered(30), [5.0 * (-1.4) ** i for i in range(30)]),
            planted([{"x": 3.0, "n": 3, "c": "a"}] * 8),
            planted(scattered(12), [1.0, None, 1.0] * 4),
            planted(scattered(12), noise_var=0.99),
        ):
            made = predictions(trials, "maximize", DEFAULT)
            for alarm in alarms(SPACE, trials, made, "maximize", strategy):
                seen.add(alarm.kind)
                assert alarm.action
                assert not (isinstance(strategy, nr.InsuredGPUCB) and "insured" in alarm.action)
                assert not (strategy.proved and "rigorous" in alarm.action)
    assert seen >= {"coverage", "stuck", "failures", "noise"}


def test_many_failures() -> None:
    assert kinds(planted(scattered(12), [1.0, None, 1.0] * 4)) == ["failures"]
    assert kinds(planted(scattered(12), [1.0] * 11 + [None])) == []


def test_a_study_that_really_sticks_raises_its_alarm() -> None:
    study = nr.Study({"x": nr.Float(0, 1), "y": nr.Float(0, 1)}, "maximize", strategy=nr.LogEI())
    study.run(lambda p: p["x"] + p["y"], 30, progress=False)
    made = predictions(study.trials, "maximize", study.strategy)
    found = alarms(study.space, study.trials, made, "maximize", study.strategy)
    assert {alarm.kind for alarm in found} >= {"stuck", "boundary"}
