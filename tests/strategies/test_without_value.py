"""The default while no limit was ever kept, and where the first values are all the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import why
from noregret.strategies import Strategy
from noregret.strategies.inputs import Inputs
from noregret.strategies.plausible import Plausible, patrol_band
from noregret.trials import Decision, ModelDecision


def broken(x: float) -> float:
    """Almost kept around .15, kept only around .5, where the first patrol goes."""
    return (
        1 - 0.7 * math.exp(-(((x - 0.15) / 0.1) ** 2)) - 1.6 * math.exp(-(((x - 0.5) / 0.006) ** 2))
    )


def played(valued: bool, trials: int = 30) -> nr.Study:
    often = nr.InsuredGPUCB(insurance=0.9)
    study = nr.Study([(0.0, 1.0)], "maximize", often, seed=3, outcomes={"g": nr.AtMost(0.0)})
    for _ in range(trials):
        trial = study.ask()
        x, g = float(trial.params[0]), broken(float(trial.params[0]))
        study.tell(trial, x if valued or g <= 0 else None, outcomes={"g": g})
    return study


@pytest.mark.parametrize("valued", [True, False])
def test_patrols_go_on_without_a_value(valued: bool) -> None:
    study = played(valued)
    inputs = Inputs.of(study.space)
    decided = [t for t in study.trials if not t.decision.in_design]
    due = math.floor(study.strategy.patrols(len(decided), inputs, listed=False))  # type: ignore[attr-defined]
    patrols = [t for t in decided if t.decision.is_patrol]
    assert len(patrols) == due > 0
    assert patrols[0].params[0] == pytest.approx(0.5)
    assert any(t.feasible for t in study.trials)
    assert study.replay().number is None


def test_what_was_decided_without_a_value_is_said() -> None:
    study = played(False)
    said = {why(t, None, study.goal).rule for t in study.trials if t.decision.memory}
    assert any("patrol" in each for each in said)
    assert any("chance to keep them" in each for each in said)


def decisions_of(kinds: str) -> list[Decision]:
    """i: initial, p: a patrol, m: chosen by the model."""
    made = []
    for t, kind in enumerate(kinds):
        if kind == "i":
            made.append(Decision("initial"))
        else:
            what: Any = "patrol" if kind == "p" else "promise"
            reasons = ModelDecision(t=t, lengthscales=(0.3,), mean=0.0, std=1.0, kind=what)
            made.append(Decision("model", reasons))
    return made


@pytest.mark.parametrize(
    ("kinds", "values", "unit", "patrols"),
    [
        ("iiip", [1.0, 2.0, 3.0, 9.0], np.std([1, 2, 3]), 1),
        ("iiip", [0.0, 0.0, 0.0, 9.0], None, 0),  # the patrol gives the unit, and has none itself
        ("iiipp", [0.0, 0.0, 0.0, 1.0, 5.0], np.std([0, 0, 0, 1]), 1),
        ("iiippmp", [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 1.0], np.std([0, 0, 0, 0, 0, 2]), 1),
        ("iiipp", [0.0, 0.0, 0.0, 0.0, 0.0], None, 0),
    ],
)
def test_equal_initial_values_do_not_switch_patrols_off(
    kinds: str, values: list[float], unit: float | None, patrols: int
) -> None:
    X, y = np.linspace(0, 1, len(kinds))[:, None], np.array(values)
    band = patrol_band(X, y, decisions_of(kinds), range(len(kinds)), None)
    if unit is None:
        assert band is None
        return
    assert band is not None
    assert len(band.Z) == patrols
    # up to a power of two
    assert np.frexp(band.rule.unit)[0] == pytest.approx(np.frexp(unit)[0])


def test_a_bump_that_the_initial_values_miss() -> None:
    """Zero but for a narrow bump on the first patrol's point."""

    def bump(x: Any) -> float:
        u = (float(x[0]) - 0.5) / 0.03
        return (1 - u * u) ** 4 if abs(u) < 1 else 0.0

    often = nr.InsuredGPUCB(insurance=0.9)
    study = nr.maximize(bump, [(0.0, 1.0)], trials=34, strategy=often, seed=2)
    history = study._history(study.trials)
    initial = [t.value for t in study.trials if t.decision.in_design]
    assert initial == [0.0] * len(initial)
    assert Plausible.of(study.space, history, None) is not None


def test_rules_are_said_in_words() -> None:
    """Each kind of decision has words of its own; none is said to be what it is not."""
    from noregret.diagnostics.reasons import KINDS, RULES, WITHOUT_VALUE_RULES

    texts = [*KINDS.values(), *RULES.values()]
    assert len(set(texts)) == len(texts)
    assert set(KINDS) == {"patrol", "fresh", "repeat"}
    assert set(WITHOUT_VALUE_RULES) == {"limits", "patrol"}


FUNCTIONS: dict[str, Callable[[], Strategy]] = {
    "thompson": lambda: nr.AdaptiveThompson(nr.AdaptiveGPUCB.rigorous(0.1)),
    "random": lambda: nr.RandomisedGPUCB(nr.AdaptiveGPUCB.rigorous(0.1)),
}


@pytest.mark.parametrize("make", FUNCTIONS.values(), ids=FUNCTIONS)
def test_no_interval_for_the_best_value_where_the_band_did_not_decide(
    make: Callable[[], Strategy],
) -> None:
    from noregret.diagnostics import convergence, predictions

    study = nr.Study([(0.0, 1.0)], "maximize", make())
    study.run(lambda x: math.sin(6 * float(x[0])), 8)
    made = convergence(study.trials, predictions(study.trials, study.goal), study.goal)
    decided = [t.decision.model for t in study.trials]
    for model, upper, before in zip(decided, made.upper, (None, *made.upper), strict=False):
        if model is None or model.acquisition != "ucb" or model.exploration != 1:
            assert upper == before  # nothing new is said
