"""Suite constrained: where not everything can be run.

Known constraints: three mixtures whose shares sum to one (free, with bounds and limits, in steps),
two functions of the literature cut by linear constraints, and a mixture beside a process with a
constraint of its own. Peers get the constraints by their own means, see ``peers``; what breaks one
all the same is moved to a feasible point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from noregret.space import Array, Float, Linear, Space
from noregret.strategies import random_points
from research.benchmarks.problem import Problem
from research.benchmarks.synthetic import branin, hartmann6

# the peers that can be told a linear constraint, or have a documented way around it
PEERS = ("ax", "botorch_logei", "optuna_gp", "optuna_tpe")
TARGET = np.array([0.28, 0.07, 0.22, 0.05, 0.3, 0.08])


def shares(*names: str, high: float = 1.0, step: float | None = None) -> dict[str, Float]:
    return {name: Float(0.0, high, step=step) for name in names}


def whole(*names: str) -> Linear:
    return Linear(dict.fromkeys(names, 1.0), equals=1.0)


def _blend(p: Any) -> float:
    """A special cubic of Scheffé with an edge that is good and an inner point that is better."""
    a, b, c = p["a"], p["b"], p["c"]
    inner = np.exp(-((a - 0.45) ** 2 + (b - 0.15) ** 2 + (c - 0.4) ** 2) / 0.02)
    return float(0.2 * a + 0.5 * b + 0.1 * c + 1.6 * b * c - 0.8 * a * b + 0.9 * inner)


def _paint(p: Any) -> float:
    """A peak, half of which its limits cut off, on a slope of costs."""
    x = np.array([p[name] for name in "abcdef"])
    cost = float(x @ np.array([0.1, 0.9, 0.3, 0.2, 0.5, 0.4]))
    return float(np.exp(-((x - TARGET) ** 2).sum() / 0.08)) - 0.4 * cost


def _alloy(p: Any) -> float:
    x = np.array([p[name] for name in "abcde"])
    peaks = np.array([[0.5, 0.2, 0.1, 0.1, 0.1], [0.05, 0.1, 0.05, 0.4, 0.4]])
    near = np.exp(-((x - peaks) ** 2).sum(axis=1) / np.array([0.05, 0.015]))
    return float(near @ np.array([0.7, 1.0])) + 0.1 * float(np.sin(9 * x[0]))


def _branin(p: Any) -> float:
    return -branin(np.array([p["x"], p["y"]]))


def _hartmann(p: Any) -> float:
    return -hartmann6(np.array([p[f"x{i}"] for i in range(6)]))


def _coating(p: Any) -> float:
    """Shares of a mixture, and heat and time that must not add up to too much."""
    a, b, c = p["resin"], p["filler"], p["solvent"]
    heat, hours = p["heat"] / 100, p["hours"] / 10
    cured = np.exp(-((heat - 0.9) ** 2) / 0.1) * (1 - np.exp(-3 * hours))
    body = np.exp(-((a - 0.55) ** 2 + (b - 0.35) ** 2) / 0.03)
    return float(cured * (0.4 + 0.6 * body) - 0.3 * c * heat)


KNOWN: dict[str, tuple[Callable[[], Space], Callable[[Any], float], int, float]] = {
    "blend-3": (lambda: Space(shares("a", "b", "c"), constraints=[whole(*"abc")]), _blend, 30, 0.0),
    "paint-6": (
        lambda: Space(
            shares(*"abcdef", high=0.6),
            constraints=[
                whole(*"abcdef"),
                Linear({"b": 1, "f": 1}, at_most=0.1),
                Linear({"a": 1, "e": -1}, at_least=0.05),
            ],
        ),
        _paint,
        50,
        0.01,
    ),
    "alloy-5 in steps": (
        lambda: Space(shares(*"abcde", step=0.05), constraints=[whole(*"abcde")]),
        _alloy,
        50,
        0.0,
    ),
    "branin, cut": (
        lambda: Space(
            {"x": Float(-5, 10), "y": Float(0, 15)},
            constraints=[
                Linear({"x": 1, "y": 1}, at_least=8),
                Linear({"x": 2, "y": -1}, at_most=10),
            ],
        ),
        _branin,
        30,
        0.0,
    ),
    "hartmann-6, budget": (
        lambda: Space(
            {f"x{i}": Float(0, 1) for i in range(6)},
            constraints=[Linear({f"x{i}": 1 for i in range(6)}, at_most=1.5)],
        ),
        _hartmann,
        60,
        0.0,
    ),
    "coating-5": (
        lambda: Space(
            {**shares("resin", "filler", "solvent"), "heat": Float(20, 120), "hours": Float(0, 10)},
            constraints=[
                whole("resin", "filler", "solvent"),
                Linear({"heat": 1, "hours": 10}, at_most=140),
            ],
        ),
        _coating,
        50,
        0.02,
    ),
}


def constrained(name: str) -> Problem:
    make, raw, trials, noise = KNOWN[name]
    space = make()
    low, high = range_of(space, raw)
    return Problem(
        name, "constrained", space, lambda p: (raw(p) - low) / (high - low), 1.0, trials, noise
    )


def range_of(space: Space, raw: Callable[[Any], float]) -> tuple[float, float]:
    """The lowest value of a cloud of feasible points, and the maximum: of its best points, each
    climbed by shrinking feasible steps."""
    rng = np.random.default_rng(0)
    every = space.enumeration()
    cloud = random_points(space, rng, 3000) if every is None else every
    values = np.array([raw(space.decode(u)) for u in cloud])
    if every is not None:
        return float(values.min()), float(values.max())
    tops = [_climbed(space, raw, cloud[at], rng) for at in np.argsort(-values)[:8]]
    return float(values.min()), max(tops)


def _climbed(
    space: Space, raw: Callable[[Any], float], u: Array, rng: np.random.Generator
) -> float:
    best, scale = raw(space.decode(u)), 0.2
    while scale > 1e-6:
        near = space.snap(u + scale * rng.standard_normal((32, space.dimension)))
        found = [raw(space.decode(v)) for v in near]
        if max(found) > best:
            u, best = near[int(np.argmax(found))], max(found)
        else:
            scale /= 2
    return float(best)
