"""Suite strangers: what a newcomer tries first. An instance moves optimum, order and thresholds.

Names are ``bowl-8/3``: the problem and its instance. Instances below 100 report, others tune.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from noregret.space import Array, Candidates, Choice, Float, Int, Parameter, Space
from research.benchmarks.problem import Problem
from research.benchmarks.synthetic import (
    STANDARD,
    ackley,
    branin,
    hartmann3,
    hartmann6,
    levy,
    rosenbrock,
)

Rng = np.random.Generator
Made = tuple[Any, Callable[[Any], float], float, int, dict[str, Any]]  # space, f, max, trials, rest
DIVERGED = -1e9


def strangers(name: str) -> Problem:
    kind, instance = name.split("/")
    base, _, size = kind.partition("-")
    rng = np.random.default_rng([int(instance), 35, *kind.encode()])
    space, value, maximum, trials, rest = MAKERS[base](int(size or 0), rng)
    return Problem(name, "strangers", space, value, maximum, trials, **rest)


def names(instances: range) -> list[str]:
    return [f"{kind}/{instance}" for instance in instances for kind in KINDS]


def _cube(d: int) -> Space:
    return Space.from_bounds([(0.0, 1.0)] * d)


def _box(d: int, low: float, high: float) -> Space:
    return Space.from_bounds([(low, high)] * d)


# -- smooth and exact --


def _bowl(d: int, rng: Rng) -> Made:
    centre = rng.uniform(0.2, 0.8, d)
    return _cube(d), lambda x: -float(np.sum((x - centre) ** 2)), 0.0, 40 if d < 8 else 80, {}


def _ellipsoid(d: int, rng: Rng) -> Made:
    centre, axes = rng.uniform(0.2, 0.8, d), 10.0 ** np.linspace(0, 4, d)
    return _cube(d), lambda x: -float(axes @ (x - centre) ** 2), 0.0, 15 * d, {}


def _linear(d: int, rng: Rng) -> Made:
    slope = rng.uniform(0.2, 1.0, d) * rng.choice([-1, 1], d)
    top = float(slope[slope > 0].sum())
    return _cube(d), lambda x: float(slope @ x), top, 5 * d, {}


def _shifted(function: Callable[[Array], float], low: float, high: float, trials: int) -> Any:
    def made(d: int, rng: Rng) -> Made:
        move = rng.uniform(-0.1, 0.1, d) * (high - low)
        return _box(d, low, high), lambda x: -function(x - move), 0.0, trials, {}

    return made


def _classic(name: str, function: Callable[[Array], float]) -> Any:
    def made(d: int, rng: Rng) -> Made:
        """An instance turns axes around, which changes nothing but where the start lies."""
        _, bounds, minimum, trials, _ = STANDARD[name]
        low, high = np.array(bounds, dtype=float).T
        turned = rng.random(len(bounds)) < 0.5
        return (
            Space.from_bounds(bounds),
            lambda x: -function(np.where(turned, low + high - x, x)),
            -minimum,
            trials,
            {},
        )

    return made


def _on_a_line(function: Callable[[float], float], trials: int) -> Any:
    def made(d: int, rng: Rng) -> Made:
        turned = bool(rng.random() < 0.5)
        line = np.linspace(0, 1, 200_001)
        top = max(function(float(v)) for v in line)
        return _cube(1), lambda x: function(1 - x[0] if turned else x[0]), top, trials, {}

    return made


def _sine(x: float) -> float:
    return math.sin(12 * math.pi * x) * (0.5 + 0.5 * x)


def _gramacy_lee(u: float) -> float:
    x = 0.5 + 2 * u
    return -(math.sin(10 * math.pi * x) / (2 * x) + (x - 1) ** 4)


def _forrester(x: float) -> float:
    return -((6 * x - 2) ** 2) * math.sin(12 * x - 4)


def _steps(d: int, rng: Rng) -> Made:
    centre = rng.uniform(0.2, 0.8, d)

    def value(x: Array) -> float:
        return -float(np.sum(np.floor(10 * np.abs(x - centre))))

    return _cube(d), value, 0.0, 40, {}


# -- choices and whole numbers --


def _booleans(d: int, rng: Rng) -> Made:
    weights = rng.normal(0, 1, d)
    space = Space({f"b{i}": Choice([False, True]) for i in range(d)})
    top = float(weights[weights > 0].sum())

    def value(p: Mapping[str, Any]) -> float:
        return float(sum(w for w, on in zip(weights, p.values(), strict=True) if on))

    return space, value, top, 4 * d, {}


def _knapsack(d: int, rng: Rng) -> Made:
    worth, weight = rng.uniform(1, 10, d), rng.uniform(1, 10, d)
    room = 0.4 * weight.sum()

    def value_of(on: Array) -> float:
        load = float(weight @ on)
        return float(worth @ on) if load <= room else -(load - room)

    every = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    top = max(value_of(row) for row in every)
    space = Space({f"b{i}": Choice([False, True]) for i in range(d)})
    return space, lambda p: value_of(np.array(list(p.values()), dtype=float)), top, 5 * d, {}


def _options(d: int, rng: Rng) -> Made:
    """A choice of d options, each with its own level and its own best x."""
    level, best = np.append(0.0, -rng.uniform(0.1, 1.0, d - 1)), rng.uniform(0, 1, d)
    order = rng.permutation(d)
    space = Space({"c": Choice([f"option {k}" for k in order]), "x": Float(0.0, 1.0)})

    def value(p: Mapping[str, Any]) -> float:
        k = int(p["c"].removeprefix("option "))
        return float(level[k] - (p["x"] - best[k]) ** 2)

    return space, value, 0.0, 3 * d, {}


def _dead(d: int, rng: Rng) -> Made:
    """Under one option the d other inputs do nothing, and its value is better than most."""
    centre = rng.uniform(0.2, 0.8, d)
    parameters: dict[str, Parameter] = {"model": Choice(["constant", "tuned"])}
    parameters |= {f"x{i}": Float(0.0, 1.0) for i in range(d)}

    def value(p: Mapping[str, Any]) -> float:
        x = np.array([p[f"x{i}"] for i in range(d)])
        return -0.15 * d / 3 if p["model"] == "constant" else -float(np.sum((x - centre) ** 2))

    return Space(parameters), value, 0.0, 30, {}


def _grid(d: int, rng: Rng) -> Made:
    centre = rng.integers(2, 19, d)
    space = Space({f"n{i}": Int(0, 20) for i in range(d)})

    def value(p: Mapping[str, Any]) -> float:
        return -float(np.sum(((np.array(list(p.values())) - centre) / 20) ** 2))

    return space, value, 0.0, 10 * d, {}


def _bandit(arms: int, rng: Rng) -> Made:
    """Rewards 0 or 1, the worst arm listed first."""
    chance = np.sort(rng.uniform(0.1, 0.9, arms))
    space = Space({"arm": Choice([f"arm {k}" for k in range(arms)])})

    def mean(p: Mapping[str, Any]) -> float:
        return float(chance[int(p["arm"].removeprefix("arm "))])

    def pulled(p: Mapping[str, Any], draw: Rng) -> float:
        return float(draw.random() < mean(p))

    return (
        space,
        mean,
        float(chance[-1]),
        300,
        {"observe": pulled, "scale": float(chance[-1] - chance[0])},
    )


def _list(size: int, rng: Rng) -> Made:
    """Designs whose values have nothing to do with their inputs."""
    rows, values = rng.random((size, 3)), rng.normal(0, 1, size)
    known = {tuple(row): float(v) for row, v in zip(rows, values, strict=True)}
    space = Candidates(rows.tolist())
    return space, lambda x: known[tuple(float(v) for v in x)], float(values.max()), 40, {}


def _noisylist(size: int, rng: Rng) -> Made:
    rows = np.sort(rng.random((size, 1)), axis=0)
    values = np.sin(6 * rows[:, 0] + rng.uniform(0, 6))
    known = {tuple(row): float(v) for row, v in zip(rows, values, strict=True)}
    space = Candidates(rows.tolist())
    top = float(values.max())
    return space, lambda x: known[tuple(map(float, x))], top, 60, {"noise_std": 0.5}


# -- trials that fail and values that diverge --


def _chance(d: int, rng: Rng) -> Made:
    centre, rate = rng.uniform(0.2, 0.8, d), rng.uniform(0.3, 0.5)
    fails = {"fails": lambda x, draw: bool(draw.random() < rate)}
    return _cube(d), lambda x: -float(np.sum((x - centre) ** 2)), 0.0, 15 * d, fails


def _cliff(d: int, rng: Rng) -> Made:
    """A loss of 1e9 beyond an edge that takes a fifth to a half of the space."""
    centre, edge = rng.uniform(0.2, 0.5, d), rng.uniform(0.55, 0.8)

    def value(x: Array) -> float:
        return DIVERGED if x[0] > edge else -float(np.sum((x - centre) ** 2))

    return _cube(d), value, 0.0, 15 * d, {}


def _short(d: int, rng: Rng) -> Made:
    space, value, top, _, rest = _cliff(d, rng)
    return space, value, top, 10, rest


def _diverging(d: int, rng: Rng) -> Made:
    """A learning rate: the loss falls slowly, then explodes smoothly."""
    centre = rng.uniform(0.3, 0.6, d)

    def value(x: Array) -> float:
        return -float(np.sum((x - centre) ** 2)) - math.expm1(60 * max(0.0, x[0] - 0.65))

    return _cube(d), value, 0.0, 15 * d, {}


def _reciprocal(d: int, rng: Rng) -> Made:
    scale = rng.uniform(50, 200, d)
    top = -float(np.sum(2 * np.sqrt(scale)))
    return _box(d, 0.01, 100.0), lambda x: -float(np.sum(scale / x + x)), top, 15 * d, {}


def _barrier(d: int, rng: Rng) -> Made:
    pull = rng.uniform(0.3, 3.0, d)
    best = 1 / (1 + np.sqrt(pull))
    top = -float(np.sum(1 / best + pull / (1 - best)))
    low, high = 1e-3, 1 - 1e-3
    return _box(d, low, high), lambda x: -float(np.sum(1 / x + pull / (1 - x))), top, 15 * d, {}


# -- noise --


def _noisybowl(d: int, rng: Rng) -> Made:
    centre = rng.uniform(0.2, 0.8, d)
    rest = {"noise_std": 0.1}
    return _cube(d), lambda x: -float(np.sum((x - centre) ** 2)), 0.0, 60 + 20 * d, rest


MAKERS: dict[str, Callable[[int, Rng], Made]] = {
    "bowl": _bowl,
    "ellipsoid": _ellipsoid,
    "linear": _linear,
    "rosenbrock": _shifted(rosenbrock, -2.048, 2.048, 60),
    "ackley": _shifted(ackley, -15.0, 15.0, 75),
    "levy": _shifted(lambda x: levy(x + 1), -10.0, 10.0, 60),
    "branin": _classic("Branin", branin),
    "hartmann3": _classic("Hartmann-3", hartmann3),
    "hartmann6": _classic("Hartmann-6", hartmann6),
    "sine": _on_a_line(_sine, 50),
    "gramacylee": _on_a_line(_gramacy_lee, 40),
    "forrester": _on_a_line(_forrester, 20),
    "steps": _steps,
    "booleans": _booleans,
    "knapsack": _knapsack,
    "options": _options,
    "dead": _dead,
    "grid": _grid,
    "bandit": _bandit,
    "list": _list,
    "noisylist": _noisylist,
    "chance": _chance,
    "cliff": _cliff,
    "short": _short,
    "diverging": _diverging,
    "reciprocal": _reciprocal,
    "barrier": _barrier,
    "noisybowl": _noisybowl,
}
KINDS = (
    *("bowl-2", "bowl-8", "bowl-12", "bowl-20", "ellipsoid-5", "linear-5", "linear-20"),
    *("rosenbrock-2", "rosenbrock-5", "ackley-5", "levy-4", "branin", "hartmann3", "hartmann6"),
    *("sine", "gramacylee", "forrester", "steps-2", "booleans-10", "knapsack-10", "options-20"),
    *("dead-3", "grid-3", "bandit-5", "list-500", "noisylist-20", "chance-2", "chance-4"),
    *("cliff-2", "cliff-4", "short-2", "diverging-2", "reciprocal-3", "barrier-2"),
    *("noisybowl-1", "noisybowl-4"),
)
