"""Parameters with a resolution: steps, digits, ordered levels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import SpaceError
from noregret.space import FixedInputs, Parameter

ANY: Any = "a"
HALF: Any = 1.5
COARSE: list[Parameter] = [
    nr.Float(20, 90, step=5),
    nr.Float(0, 1, digits=2),
    nr.Float(0.01, 10, log=True, digits=2),
    nr.Float(-0.3, 0.6, step=0.1),
    nr.Int(1, 1001, step=10),
    nr.Int(1, 9, step=2, log=True),
    nr.Choice(["low", "middle", "high", "full"], ordered=True),
    nr.Choice(list(range(40)), ordered=True),
]


@pytest.mark.parametrize("parameter", COARSE, ids=str)
def test_every_way_to_a_level_ends_at_the_same_number(parameter: Parameter) -> None:
    space, levels = nr.Space({"x": parameter, "y": nr.Float(0, 1)}), parameter.levels()
    assert levels.shape == (parameter.size, 1)
    np.testing.assert_array_equal(parameter.snap(levels), levels)
    points = space.snap(np.random.default_rng(0).random((200, 2)))
    assert set(points[:, 0]) <= set(levels[:, 0])
    for row in [*points, *space.jumps(points[0])]:
        np.testing.assert_array_equal(space.encode(space.decode(row)), row)
    jumps = space.jumps(points[0])[:, 0]
    assert len(jumps) > 2
    assert set(jumps) <= set(levels[:, 0])


def test_levels_are_numbers_as_people_write_them() -> None:
    parameter = nr.Float(-0.3, 0.6, step=0.1)
    assert [parameter.decode(u) for u in parameter.levels()] == [
        -0.3,
        -0.2,
        -0.1,
        0.0,
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.6,
    ]
    assert nr.Float(0, 1, digits=1).decode(np.array([0.27])) == 0.3
    assert nr.Int(1, 9, step=2).decode(np.array([0.3])) == 3


def test_ordered_levels_share_one_coordinate() -> None:
    ordered = nr.Choice(["low", "middle", "high"], ordered=True)
    assert ordered.width == 1
    assert [ordered.encode(option) for option in ordered.options] == [[0.0], [0.5], [1.0]]
    assert nr.Choice(["low", "middle", "high"]).width == 3
    assert nr.Choice(["only"], ordered=True).width == 0
    with pytest.raises(SpaceError, match="not one of the options"):
        ordered.encode("higher")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nr.Float(0, 1, step=0.3), "write high=0.9 or high=1.2"),
        (lambda: nr.Float(0, 1, step=2), "write high=2, or another step"),
        (lambda: nr.Float(0, 1, step=-0.1), "step must be a positive number, got -0.1"),
        (lambda: nr.Float(0, 1, step=ANY), "step must be a positive number, got 'a'"),
        (lambda: nr.Float(0, 1, step=1e-12), "at most 1e\\+09 levels"),
        (lambda: nr.Float(0, 1, step=0.1, digits=1), "a step or digits"),
        (lambda: nr.Float(0.001, 1, digits=2), "bound of more digits"),
        (lambda: nr.Float(0, 1, digits=-1), "digits must be a whole number"),
        (lambda: nr.Int(1, 10, step=2), "write high=9 or high=11"),
        (lambda: nr.Int(0, 3, step=HALF), "whole step"),
    ],
)
def test_resolutions_that_make_no_sense(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        make()


def test_what_was_run_may_lie_between_the_levels_and_not_outside() -> None:
    space = nr.Space({"t": nr.Float(20, 90, step=5), "n": nr.Int(0, 10, step=5)})
    kept = space.canonical({"t": 64.6, "n": 3})
    assert kept == {"t": 64.6, "n": 3}
    np.testing.assert_allclose(space.encode(kept), [44.6 / 70, 0.3])
    with pytest.raises(SpaceError, match="outside"):
        space.canonical({"t": 95, "n": 5})
    held = FixedInputs(space, {"t": 64.6})
    assert held.decode(np.array([0.0, 0.51])) == {"t": 64.6, "n": 5}


STRATEGIES = [
    nr.InsuredGPUCB(),
    nr.LogEI(),
    nr.RandomSearch(),
    nr.AdaptiveGPUCB.rigorous(0.1),
    nr.MinimumUncertainty(),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_every_proposal_has_the_resolution(strategy: nr.strategies.Strategy) -> None:
    space = {
        "t": nr.Float(20, 90, step=5),
        "x": nr.Float(0, 10, digits=2),
        "n": nr.Int(0, 1000, step=50),
        "s": nr.Choice(["low", "middle", "high"], ordered=True),
        "free": nr.Float(0, 1),
    }
    study = nr.Study(space, "minimize", strategy, seed=1)
    for number in range(18):
        trial = study.ask(fixed={"n": 100} if number == 15 else None)
        p = trial.params
        assert p["t"] % 5 == 0
        assert round(p["x"], 2) == p["x"]
        assert p["n"] % 50 == 0
        value = (p["t"] - 55) ** 2 / 1e3 + (p["x"] - 3.33) ** 2 + abs(p["n"] - 300) / 1e3
        study.tell(trial, value + p["free"] + 0.1 * (p["s"] == "high"))
    assert study.replay().number is None


def test_a_fine_resolution_costs_no_quality() -> None:
    """Three inputs with two digits: the search moves along gradients and snaps, so that it ends
    where the continuous one does.
    """

    def f(p: dict[str, Any]) -> float:
        turned = np.array([p["a"] + p["b"] - 9, p["b"] - p["c"] + 2, p["a"] - 2.5])
        return float(turned @ turned)

    found = []
    for digits in (None, 2):
        space = {name: nr.Float(0, 10, digits=digits) for name in "abc"}
        study = nr.minimize(f, space, 30, seed=2)
        found.append(float(study.best.value or 0.0))
    assert found[1] < 0.05
    assert found[1] < max(20 * found[0], 0.01)
