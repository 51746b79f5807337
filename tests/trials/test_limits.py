"""Limits on measured outcomes: what may be told, and what an objective may return."""

import math
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, TrialError
from noregret.trials import Ending, Limit, check_limits, keeps, margin, returned

LIMITS: dict[str, Limit] = {"toxicity": nr.AtMost(0.3), "purity": nr.AtLeast(50)}


def test_a_margin_is_how_far_a_limit_is_kept() -> None:
    assert margin(nr.AtMost(0.3), 0.2) == pytest.approx(0.1)
    assert margin(nr.AtMost(0.3), 0.5) == pytest.approx(-0.2)
    assert margin(nr.AtLeast(50), 60.0) == 10
    assert keeps({"toxicity": 0.3, "purity": 50.0}, LIMITS) is True  # at the limit is within it
    assert keeps({"toxicity": 0.31, "purity": 50.0}, LIMITS) is False
    assert keeps({"toxicity": 0.1}, LIMITS) is None  # one is not known
    assert keeps({}, {}) is None


@pytest.mark.parametrize("limit", [math.inf, math.nan, "0.3", None, True])
def test_a_limit_is_a_number(limit: Any) -> None:
    with pytest.raises(ConfigurationError, match="a limit is a finite number"):
        nr.AtMost(limit)


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ([nr.AtMost(1)], "outcomes is a dict"),
        ({"": nr.AtMost(1)}, "name is a text"),
        ({"toxicity": 0.3}, "needs a limit"),
        ({"x": nr.AtMost(1)}, "as a parameter is"),
        ({"value": nr.AtMost(1)}, "as the value"),
    ],
)
def test_outcomes_that_make_no_sense_are_refused(outcomes: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        check_limits(outcomes, {"x": nr.Float(0, 1)})
    with pytest.raises(ConfigurationError, match=said):
        nr.Study({"x": nr.Float(0, 1)}, "maximize", outcomes=outcomes)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (None, r"missing \['toxicity', 'purity'\]"),
        ({"toxicity": 0.2}, r"missing \['purity'\]"),
        ({"toxicity": 0.2, "purity": 60, "colour": 1}, r"unknown \['colour'\]"),
        ({"toxicity": math.nan, "purity": 60}, "outcome 'toxicity': a value must be finite"),
        ({"toxicity": "low", "purity": 60}, "outcome 'toxicity': a value must be one real number"),
        (
            {"toxicity": (0.2, -1.0), "purity": 60},
            "outcome 'toxicity': noise_std must be a positive",
        ),
        ([0.2, 60], "outcomes is a dict"),
    ],
)
def test_bad_outcomes_are_errors_and_nothing_is_recorded(told: Any, said: str) -> None:
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", outcomes=LIMITS)
    trial = study.ask()
    with pytest.raises(TrialError, match=said):
        study.tell(trial, 1.0, outcomes=told)
    assert study.trials[0].state == "running"
    study.tell(trial, 1.0, outcomes={"toxicity": (0.2, 0.02), "purity": np.float64(60)})
    done = study.trials[0]
    assert (done.outcomes, done.outcome_noise, done.feasible) == (
        {"toxicity": 0.2, "purity": 60.0},
        {"toxicity": 0.02},
        True,
    )


def test_a_value_may_be_missing_only_where_a_limit_is_not_kept() -> None:
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", outcomes={"c": nr.AtMost(0.0)})
    trial = study.ask()
    with pytest.raises(TrialError, match="may be missing only where an outcome is beyond"):
        study.tell(trial, outcomes={"c": -1.0})
    study.tell(trial, outcomes={"c": 1.0})
    assert study.trials[0].value is None
    assert study.trials[0].feasible is False
    failed = study.ask()
    with pytest.raises(TrialError, match="a failed trial has no outcomes"):
        study.tell(failed, state="failed", outcomes={"c": 1.0})
    study.tell(failed, state="failed")
    without = nr.Study({"x": nr.Float(0, 1)}, "maximize")
    with pytest.raises(TrialError, match="this study has no outcomes"):
        without.tell(without.ask(), 1.0, outcomes={"c": 1.0})


@pytest.mark.parametrize(
    ("result", "value", "noise"),
    [
        ((1.5, {"c": 0.2}), 1.5, None),
        (((1.5, 0.1), {"c": (0.2, 0.01)}), 1.5, 0.1),
        ({"value": 1.5, "c": 0.2}, 1.5, None),
        ({"value": 1.5, "noise_std": 0.1, "c": 0.2}, 1.5, 0.1),
        ((None, {"c": 2.0}), None, None),
        ({"c": 2.0}, None, None),
    ],
)
def test_what_an_objective_may_return(result: Any, value: float | None, noise: Any) -> None:
    got = returned(result, {"c": nr.AtMost(1.0)})
    assert (got.value, got.noise_std) == (value, noise)
    assert got.feasible is (value is not None)


@pytest.mark.parametrize("result", [1.5, None, (1.5, 0.1), {"value": 1.5}, {"c": 0.1}, (1.5, {})])
def test_what_it_may_not(result: Any) -> None:
    with pytest.raises(TrialError, match=r"the objective returned .*'c': …"):
        returned(result, {"c": nr.AtMost(1.0)})


def test_without_limits_nothing_is_measured() -> None:
    assert returned((1.0, 0.5), {}) == Ending("complete", 1.0, 0.5)
