"""Why a point was proposed, in words; no interval where the band did not decide."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import noregret as nr
from noregret.diagnostics import predictions, reasons, track_convergence, why
from noregret.strategies import Strategy
from noregret.strategies.base import RULES


def test_rules_are_said_in_words() -> None:
    """Each kind of decision has words of its own; none is said to be what it is not."""
    texts = [*RULES.values(), *reasons.RULES.values()]
    assert len(set(texts)) == len(texts)
    assert "patrol" in RULES


def test_what_was_decided_without_a_value_is_said() -> None:
    study = nr.Study([(0.0, 1.0)], "maximize", seed=3, outcomes={"g": nr.AtMost(0.0)})
    for _ in range(8):
        trial = study.ask()
        study.tell(trial, None, outcomes={"g": 1 + float(trial.params[0])})
    rules = [why(t, None, study.goal).rule for t in study.trials]
    assert "initial design" in rules[0]
    assert "most likely to satisfy all limits" in rules[-1]


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "thompson": lambda: nr.AdaptiveThompson(nr.AdaptiveGPUCB.rigorous(0.1)),
    "random": lambda: nr.RandomisedGPUCB(nr.AdaptiveGPUCB.rigorous(0.1)),
}


@pytest.mark.parametrize("make", STRATEGIES.values(), ids=STRATEGIES)
def test_no_interval_for_the_best_value_where_the_band_did_not_decide(
    make: Callable[[], Strategy],
) -> None:
    study = nr.Study([(0.0, 1.0)], "maximize", make())
    study.run(lambda x: math.sin(6 * float(x[0])), 8)
    forecasts = predictions(study.trials, study.goal, study.strategy)
    made = track_convergence(study.trials, forecasts, study.goal)
    for each, upper, before in zip(forecasts, made.upper, (None, *made.upper), strict=False):
        if each is None or each.explanation.exploration != 1:
            assert upper == before  # nothing new is said
