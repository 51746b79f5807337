"""The benchmark's problems have the maximum they claim, and peers are told the same problem."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noregret.errors import ConfigurationError
from noregret.space import Space
from noregret.strategies import random_points
from research.benchmarks import coco, constrained, strangers
from research.benchmarks.constrained import KNOWN, LIMITED
from research.benchmarks.measured import TABLES, TUNING_TABLES, materials, tables
from research.benchmarks.peers.gp_libraries import EliminatedSums
from research.benchmarks.peers.setting import Setting
from research.benchmarks.players import describe, linear_sum, scale_of
from research.benchmarks.problem import Problem
from research.benchmarks.synthetic import (
    HIGH,
    STANDARD,
    faults,
    high,
    laboratories,
    laboratory,
    mixed,
    needle,
    rkhs,
    standard,
)

OPTIMA = {
    "Branin": [np.pi, 2.275],
    "Hartmann-3": [0.114614, 0.555649, 0.852547],
    "Hartmann-6": [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573],
    "Ackley-5": [3.7] * 5,
    "Rastrigin-4": [1.3] * 4,
    "Levy-4": [1.0] * 4,
    "Rosenbrock-4": [1.0] * 4,
    "Michalewicz-5": [2.202906, 1.570796, 1.284992, 1.923058, 1.720470],
    "Styblinski–Tang-5": [-2.903534] * 5,
}


def _problems() -> list[Problem]:
    return [
        *(strangers.strangers(f"{kind}/100") for kind in strangers.KINDS),
        laboratory(laboratories(1000)[0]),
        coco.coco("bbob", 3, "f8-i11", 10),
        coco.coco("mixint", 5, "f3-i11", 10),
        coco.coco("noisy", 5, "f101-i11", 10),
        coco.coco("constrained", 5, "f2-i11", 10),
        needle(1001),
        rkhs(1002),
        high(HIGH[0]),
        mixed(1001),
        *(constrained.known(name) for name in ("blend-3", "branin, cut", "coating-5")),
        *(constrained.limits(name) for name in LIMITED),
    ]


def test_no_feasible_point_is_above_the_maximum() -> None:
    for problem in _problems():
        for u in random_points(problem.space, np.random.default_rng(1), 200):
            params = problem.space.decode(u)
            if problem.limits is None or max(problem.limits(params)) <= 0:
                margin = 1e-3 if problem.limits else 1e-9
                above = margin * max(1.0, abs(problem.maximum))
                assert problem.value(params) <= problem.maximum + above, problem.name
        assert 0 < scale_of(problem) < math.inf


@pytest.mark.parametrize("name", STANDARD)
def test_standard_functions_reach_their_maximum_where_the_literature_says(name: str) -> None:
    problem = standard(name, noisy=False)
    near = 1e-3 * max(1, abs(problem.maximum))
    assert problem.value(np.array(OPTIMA[name])) == pytest.approx(problem.maximum, abs=near)


def test_an_instance_is_a_problem_of_its_own_and_always_the_same() -> None:
    x = np.full(8, 0.3)
    first, again, other = (strangers.strangers(f"bowl-8/{i}").value(x) for i in (0, 0, 1))
    assert first == again
    assert first != other


@pytest.mark.parametrize("index", range(3))
def test_a_run_that_never_saw_the_bump_of_a_needle_is_stuck(index: int) -> None:
    problem = needle(index)
    assert problem.stuck_above is not None
    cloud = np.random.default_rng(0).random((5000, problem.space.dimension))
    values = np.array([problem.value(x) for x in cloud])
    away = np.linalg.norm(cloud - cloud[values.argmax()], axis=1) > 0.45
    assert values[away].max() < problem.maximum - problem.stuck_above
    assert np.mean(values > problem.maximum - problem.stuck_above) < 0.15  # narrow


def test_the_best_option_of_a_trap_looks_bad_and_holds_the_maximum() -> None:
    trap = mixed(1002)  # divisible by 3
    rows = np.random.default_rng(1).random((1000, trap.space.dimension))
    points: list[Any] = [trap.space.decode(u) for u in rows]
    best, others = (
        [trap.value(p) for p in points if (p["c0"] == "option 0") == wanted]
        for wanted in (True, False)
    )
    assert np.mean(best) < np.mean(others)
    assert trap.stuck_above is not None
    assert max(others) < 1 - trap.stuck_above


def test_start_noise_and_failures_are_the_same_for_every_method() -> None:
    problem = faults(1001)
    first, again = (problem.initial_points(3) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    x = problem.initial_points(4)[0]
    assert problem.measure(x, 5, 3) == problem.measure(x, 5, 3) != problem.measure(x, 6, 3)
    points = [
        problem.space.decode(u)
        for u in np.random.default_rng(2).random((500, problem.space.dimension))
    ]
    assert 0.1 < np.mean([problem.crashes(p, i, 0) for i, p in enumerate(points)]) < 0.2
    top = max(points, key=problem.value)
    assert np.mean([problem.crashes(top, i, 0) for i in range(300)]) < 0.1


def test_measured_problems_draw_from_the_repeats(tmp_path: Path) -> None:
    assert not set(TABLES) & set(TUNING_TABLES)
    problem = tables(TUNING_TABLES[0])
    point = problem.space.decode(np.full(problem.space.dimension, 0.3))
    drawn = {problem.measure(point, i, 0) for i in range(60)}
    assert 1 < len(drawn) <= 5
    assert np.mean(sorted(drawn)) == pytest.approx(problem.value(point), abs=0.02)
    rows = [f"{i},0,1,{i % 2},{i + k / 10}" for i in range(20) for k in range(3)]
    text = "\n".join(["a,b,c,d,toughness", *rows])
    (tmp_path / "crossed_barrel.csv").write_text(text, encoding="utf-8")
    measured = materials("crossed_barrel", tmp_path)
    assert measured.maximum == pytest.approx(19.1)
    with pytest.raises(ConfigurationError, match="--materials"):
        materials("agnp", tmp_path)


# -- what a peer is told of constraints --


def setting(space: Space) -> Setting:
    message = {
        "parameters": [describe(name, p) for name, p in space.parameters.items()],
        "seed": 0,
        "noisy": False,
        "noise_std": 0.0,
        "candidates": None,
        "trials": 10,
        "linear": [linear_sum(each) for each in space.constraints],  # type: ignore[arg-type]
    }
    return Setting.from_message(json.loads(json.dumps(message)))


@pytest.mark.parametrize("name", KNOWN)
def test_peers_are_told_the_same_constraints(name: str) -> None:
    space = KNOWN[name][0]()
    told, rng = setting(space), np.random.default_rng(0)
    if space.enumeration() is None:
        for u in random_points(space, rng, 50):
            row = list(space.decode(u).values())  # type: ignore[union-attr]
            assert max(each.violation(told.named(row)) for each in told.linear) < 1e-6
    for u in rng.random((200, space.dimension)):
        row = told.decode(u.tolist())
        violated = max(each.violation(told.named(row)) for each in told.linear) > 1e-6
        cube = told.encode(row)
        sums = [
            (sum(f * cube[c] for c, f in zip(columns, factors, strict=True)), low, high)
            for columns, factors, low, high in told.cube_sums()
        ]
        outside = any(total < low - 1e-6 or total > high + 1e-6 for total, low, high in sums)
        assert outside == violated


def test_the_last_input_of_an_equality_follows_from_the_others() -> None:
    space = KNOWN["paint-6"][0]()
    told = setting(space)
    left = EliminatedSums(told)
    assert [p.name for p in left.free] == list("abcde")
    row = left.whole({"a": 0.3, "b": 0.05, "c": 0.3, "d": 0.1, "e": 0.2})
    assert row == pytest.approx([0.3, 0.05, 0.3, 0.1, 0.2, 0.05])
    for u in np.random.default_rng(0).random((300, 5)) * 0.18:
        point = dict(zip("abcde", u.tolist(), strict=True))
        holds = all(eval(text, {}, point) for text in left.texts())
        full = {**point, "f": 1 - sum(point.values())}
        inside = max(each.violation(full) for each in told.linear) <= 1e-9
        assert holds == (inside and 0 <= full["f"] <= 0.6)
