"""Parameters held for one ask: the rest is chosen best for them."""

import math
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import SpaceError
from noregret.search.acquisition import ucb
from noregret.search.optimizer import argmax
from noregret.space import Array, FixedInputs
from tests.study.test_study import STRATEGIES, name

MIXED = {
    "x": nr.Float(1e-3, 10, log=True),
    "y": nr.Float(-1, 1),
    "n": nr.Int(1, 50),
    "c": nr.Choice(["a", "b", "c"]),
}


def loss(p: dict[str, Any]) -> float:
    return (math.log10(p["x"]) - p["y"]) ** 2 + (p["n"] - 17) ** 2 / 1000 + (p["c"] == "a")


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name)
@pytest.mark.parametrize(
    "fixed",
    [
        {"x": 0.1},
        {"y": 0.25, "n": 50, "c": "a"},
        {"x": 3.0, "y": -1, "n": 1, "c": "c"},
    ],
    ids=str,
)
def test_every_strategy_holds_what_is_fixed(
    strategy: nr.strategies.Strategy, fixed: dict[str, Any]
) -> None:
    study = nr.minimize(loss, MIXED, trials=10, strategy=strategy, seed=2)
    first, second = study.ask(2, fixed=fixed)
    for trial in (first, second):
        assert {key: trial.params[key] for key in fixed} == fixed  # to the last bit
        assert trial.decision.fixed == fixed
        study.space.encode(trial.params)
    if len(fixed) < len(MIXED):
        assert first.params != second.params
    study.tell(first, loss(first.params))
    assert study.ask().decision.fixed is None
    assert study.replay().number is None


def test_the_argmax_is_taken_over_the_rest() -> None:
    """Where f depends on x − y, the best y for a fixed x is far from the best y of all: overwriting
    a coordinate would miss it.
    """

    def f(x: Array) -> float:
        return float(-((x[0] - x[1]) ** 2) - 0.05 * (x[0] - 0.9) ** 2)

    strategy = nr.GPUCB(lengthscales=0.5, noise_std=0.01, width="mixture", norm_bound=1.0)
    study = nr.maximize(f, [(0, 1), (0, 1)], trials=40, strategy=strategy, seed=1)
    belief = study.belief()
    assert belief is not None
    grid = np.column_stack([np.full(2001, 0.2), np.linspace(0, 1, 2001)])
    upper = belief.band(grid)[1]
    held = study.ask(fixed={"x0": 0.2})
    assert held.params[0] == 0.2
    assert belief.band(np.array([held.params]))[1][0] >= upper.max() - 1e-9
    free = np.array(study.ask().params)
    free[0] = 0.2
    assert belief.band(free[None, :])[1][0] < upper.max() - 0.01


def test_an_argmax_on_a_slice_of_a_mixed_space() -> None:
    study = nr.minimize(loss, MIXED, trials=25, seed=0)
    belief = study.belief()
    assert belief is not None
    acquisition = ucb(belief.predictor, 1.0)
    part = FixedInputs(study.space, {"c": "b", "y": 0.5})
    none = np.empty((0, study.space.dimension))
    found = argmax(acquisition, part, belief.lengthscales, np.random.default_rng(0), none, none)
    cloud = part.snap(np.random.default_rng(1).random((20_000, study.space.dimension)))
    assert acquisition.values(found[None, :])[0] >= acquisition.values(cloud).max() - 1e-6
    assert set(cloud[:, 3:].round(3).ravel()) == {0.0, 1.0}


def test_a_finite_rest_is_searched_exhaustively() -> None:
    space = nr.Space({"x": nr.Float(0, 1), "n": nr.Int(1, 4), "c": nr.Choice(["a", "b"])})
    points = FixedInputs(space, {"x": 0.3}).enumeration()
    assert points is not None
    assert len(points) == 8
    assert np.all(points[:, 0] == 0.3)
    assert FixedInputs(space, {"n": 2}).enumeration() is None
    assert not FixedInputs(space, {"n": 2}).continuous[1:].any()


def test_candidates_are_chosen_among_those_that_match() -> None:
    rows = [{"t": t, "s": s} for t in (20, 40, 60) for s in ("water", "dmf")]
    study = nr.Study(nr.Candidates(rows), "maximize", seed=0)
    for _ in range(6):
        trial = study.ask(fixed={"t": 40})
        assert trial.params["t"] == 40
        assert isinstance(trial.params["t"], int)
        study.tell(trial, float(trial.params["s"] == "dmf"))
    assert {t.params["s"] for t in study.trials} == {"water", "dmf"}
    with pytest.raises(SpaceError, match="none of the 6 candidates"):
        study.ask(fixed={"t": 30})
    with pytest.raises(SpaceError, match="none of the 5 candidates"):
        nr.Study(nr.Candidates(rows[:5]), "maximize").ask(fixed={"t": 60, "s": "dmf"})
    vector = nr.Study(nr.Candidates(np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 1.0]])), "maximize")
    assert vector.ask(fixed={"x0": 3.0}).params.tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    ("fixed", "words"),
    [
        ({"z": 1}, r"\['z'\], which this space does not have"),
        ({"x": 11.0}, "fixed parameter 'x': 11.0 is outside"),
        ({"n": 2.5}, "fixed parameter 'n': 2.5 is not a whole number"),
        ({"c": "d"}, "fixed parameter 'c': 'd' is not one of the options"),
        ({"x": math.nan}, "finite"),
        ({}, "at least one"),
        ([1.0], "is a dict"),
    ],
    ids=str,
)
def test_what_cannot_be_fixed(fixed: Any, words: str) -> None:
    study = nr.Study(MIXED, "maximize")
    with pytest.raises(SpaceError, match=words):
        study.ask(fixed=fixed)
    assert study.trials == []


def test_waiting_trials_do_not_come_first_when_something_is_fixed() -> None:
    study = nr.Study(MIXED, "maximize")
    waiting = study.enqueue({"x": 0.1, "y": 0.0, "n": 3, "c": "a"})
    held = study.ask(fixed={"n": 5})
    assert held.params["n"] == 5
    assert held.decision.pending == (waiting.number,)
    assert study.ask().number == waiting.number
