"""Planted trouble raises its alarm; a healthy study raises none."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import alarms, predictions
from noregret.strategies import Strategy
from noregret.trials import Goal, Trial
from tests.recorded import decision

SPACE = nr.Space({"x": nr.Float(0, 10), "n": nr.Int(1, 5), "c": nr.Choice(["a", "b", "c"])})
GOOD = {"mean": 1.0, "lengthscales": (0.2,) * 5, "noise_std": 0.1, "noise_var": 0.01}


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
    assert kinds(planted([*scattered(10), *[{"x": 3.0, "n": 3, "c": "a"}] * 8])) == ["stuck"]
    assert kinds(planted([*scattered(10), *[{"x": 3.0, "n": 3, "c": "a"}] * 7])) == []
    near = [{"x": 3.0 + 0.2 * (i % 2), "n": 3, "c": "a"} for i in range(8)]
    assert kinds(planted([*scattered(10), *near])) == []


def test_a_survey_between_does_not_hide_that_the_search_is_stuck() -> None:
    same: list[dict[str, Any]] = [{"x": 3.0, "n": 3, "c": "a"}]
    looked = planted([{"x": 9.0, "n": 1, "c": "b"}], kind="survey")
    trials = [*planted(scattered(10)), *planted(same * 16), *looked, *planted(same * 4)]
    numbered = [replace(trial, number=number) for number, trial in enumerate(trials)]
    (found,) = alarms(
        SPACE,
        numbered,
        predictions(numbered, "maximize", nr.InsuredGPUCB()),
        "maximize",
        nr.InsuredGPUCB(),
    )
    assert found.kind == "stuck"
    assert "The last 9 proposals are one and the same point, apart from 1" in found.what
    elsewhere = [*numbered[:-2], replace(numbered[-2], params={"x": 9.0, "n": 1, "c": "b"})]
    assert kinds(elsewhere) == []  # a proposal, not a survey, went elsewhere


def test_advice_can_be_followed() -> None:
    """Alarms do not recommend the strategy already in use."""
    trials = planted([{"x": 3.0, "n": 3, "c": "a"}] * 8)
    made = predictions(trials, "maximize", nr.InsuredGPUCB())
    for strategy, named in ((nr.InsuredGPUCB(), False), (nr.LogEI(), True)):
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
        trials = planted(scattered(20), [5.0 * (-1.4) ** i for i in range(20)], proved=proved)
        found = alarms(
            SPACE, trials, predictions(trials, "maximize", nr.InsuredGPUCB()), "maximize", strategy
        )
        assert [alarm.kind for alarm in found] == ["coverage"]
        assert "0 of 11 values" in found[0].what
        assert advice in found[0].action


def test_many_failures() -> None:
    assert kinds(planted(scattered(12), [1.0, None, 1.0] * 4)) == ["failures"]
    assert kinds(planted(scattered(12), [1.0] * 11 + [None])) == []


def test_a_study_that_really_sticks_raises_its_alarm() -> None:
    study = nr.Study({"x": nr.Float(0, 1), "y": nr.Float(0, 1)}, "maximize", strategy=nr.LogEI())
    study.run(lambda p: p["x"] + p["y"], 30, progress=False)
    made = predictions(study.trials, "maximize", study.strategy)
    found = alarms(study.space, study.trials, made, "maximize", study.strategy)
    assert {alarm.kind for alarm in found} >= {"stuck", "boundary"}
