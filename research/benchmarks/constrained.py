"""Suites limits and known: problems in which not every point is feasible.

limits: eight problems of the literature whose constraints are measured with every value. Sources:
Gardner et al., *Bayesian Optimization with Inequality Constraints*, ICML 2014; Gramacy et al.,
*Modeling an Augmented Lagrangian for Blackbox Constrained Optimization*, Technometrics 2016; Coello
Coello, *Use of a self-adaptive penalty approach for engineering optimization problems*, Computers
in Industry 2000 (vessel, beam, spring); Golinski's speed reducer and the three-bar truss as in Ray
and Liew, *Society and civilization*, IEEE TEC 2003.

known: constraints on the inputs that are known beforehand. Three mixtures whose shares sum to one
(free, with bounds and limits, in steps), two functions of the literature cut by linear constraints,
and a mixture beside a process with a constraint of its own. Peers get them by their own means, see
``peers``; a proposal that violates one is moved to a feasible point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from noregret.space import Array, Float, Linear, Space
from noregret.strategies import random_points
from research.benchmarks.problem import Problem
from research.benchmarks.synthetic import branin, hartmann6

X = Sequence[float]

# -- limits on what is measured: minimise f with all g ≤ 0 --


def _reducer_f(x: X) -> float:
    a, b, c, d, e, f, g = x
    return float(
        0.7854 * a * b**2 * (3.3333 * c**2 + 14.9334 * c - 43.0934)
        - 1.508 * a * (f**2 + g**2)
        + 7.4777 * (f**3 + g**3)
        + 0.7854 * (d * f**2 + e * g**2)
    )


def _reducer_g(x: X) -> list[float]:
    a, b, c, d, e, f, g = x
    return [
        27 / (a * b**2 * c) - 1,
        397.5 / (a * b**2 * c**2) - 1,
        1.93 * d**3 / (b * c * f**4) - 1,
        1.93 * e**3 / (b * c * g**4) - 1,
        math.sqrt((745 * d / (b * c)) ** 2 + 16.9e6) / (110 * f**3) - 1,
        math.sqrt((745 * e / (b * c)) ** 2 + 157.5e6) / (85 * g**3) - 1,
        b * c / 40 - 1,
        5 * b / a - 1,
        a / (12 * b) - 1,
        (1.5 * f + 1.9) / d - 1,
        (1.1 * g + 1.9) / e - 1,
    ]


def _vessel_f(x: X) -> float:
    a, b, c, d = x
    return 0.6224 * a * c * d + 1.7781 * b * c**2 + 3.1661 * a**2 * d + 19.84 * a**2 * c


def _vessel_g(x: X) -> list[float]:
    a, b, c, d = x
    volume = math.pi * c**2 * d + 4 / 3 * math.pi * c**3
    return [0.0193 * c - a, 0.00954 * c - b, 1_296_000 - volume, d - 240]


def _beam_f(x: X) -> float:
    h, length, t, b = x
    return 1.10471 * h**2 * length + 0.04811 * t * b * (14.0 + length)


def _beam_g(x: X) -> list[float]:
    h, length, t, b = x
    load, span, young, shear = 6000.0, 14.0, 30e6, 12e6
    primary = load / (math.sqrt(2) * h * length)
    moment = load * (span + length / 2)
    radius = math.sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
    polar = 2 * (math.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2))
    secondary = moment * radius / polar
    tau = math.sqrt(primary**2 + primary * secondary * length / radius + secondary**2)
    bending, bent = 6 * load * span / (b * t**2), 4 * load * span**3 / (young * t**3 * b)
    root = 4.013 * young * math.sqrt(t**2 * b**6 / 36) / span**2
    buckling = root * (1 - t / (2 * span) * math.sqrt(young / (4 * shear)))
    weight = 0.10471 * h**2 + 0.04811 * t * b * (14.0 + length) - 5.0
    return [tau - 13600, bending - 30000, h - b, weight, 0.125 - h, bent - 0.25, load - buckling]


def _spring_g(x: X) -> list[float]:
    w, d, n = x
    return [
        1 - d**3 * n / (71785 * w**4),
        (4 * d**2 - w * d) / (12566 * (d * w**3 - w**4)) + 1 / (5108 * w**2) - 1,
        1 - 140.45 * w / (d**2 * n),
        (w + d) / 1.5 - 1,
    ]


def _truss_g(x: X) -> list[float]:
    a, b = x
    root, below = math.sqrt(2), math.sqrt(2) * a**2 + 2 * a * b
    return [
        2 * ((root * a + b) / below) - 2,
        2 * (b / below) - 2,
        2 / (root * b + a) - 2,
    ]


TAU = 2 * math.pi
# name: bounds, f, g, best known feasible value, trials
LIMITED: dict[
    str,
    tuple[
        tuple[tuple[float, float], ...],
        Callable[[X], float],
        Callable[[X], list[float]],
        float,
        int,
    ],
] = {
    "gardner-1": (
        ((0, 6), (0, 6)),
        lambda x: math.cos(2 * x[0]) * math.cos(x[1]) + math.sin(x[0]),
        lambda x: [math.cos(x[0] + x[1]) - 0.5],
        -2.0,
        30,
    ),
    "gardner-2": (
        ((0, 6), (0, 6)),
        lambda x: math.sin(x[0]) + x[1],
        lambda x: [math.sin(x[0]) * math.sin(x[1]) + 0.95],
        0.2532,
        30,
    ),
    "gramacy": (
        ((0, 1), (0, 1)),
        lambda x: x[0] + x[1],
        lambda x: [
            1.5 - x[0] - 2 * x[1] - 0.5 * math.sin(TAU * (x[0] ** 2 - 2 * x[1])),
            x[0] ** 2 + x[1] ** 2 - 1.5,
        ],
        0.5998,
        30,
    ),
    "truss": (
        ((0.05, 1), (0.05, 1)),
        lambda x: (2 * math.sqrt(2) * x[0] + x[1]) * 100,
        _truss_g,
        263.8958,
        30,
    ),
    "spring": (
        ((0.05, 0.2), (0.25, 1.3), (2, 15)),
        lambda x: (x[2] + 2) * x[1] * x[0] ** 2,
        _spring_g,
        0.012665,
        40,
    ),
    "vessel": (
        ((0.0625, 6.1875), (0.0625, 6.1875), (10, 50), (10, 200)),
        _vessel_f,
        _vessel_g,
        5885.33,
        40,
    ),
    "beam": (((0.125, 10), (0.1, 10), (0.1, 10), (0.1, 10)), _beam_f, _beam_g, 1.7249, 40),
    "reducer": (
        (
            *((2.6, 3.6), (0.7, 0.8), (17, 28), (7.3, 8.3)),
            *((7.3, 8.3), (2.9, 3.9), (5.0, 5.5)),
        ),
        _reducer_f,
        _reducer_g,
        2994.47,
        40,
    ),
}


def limits(name: str) -> Problem:
    bounds, f, g, best, trials = LIMITED[name]
    parameters = {f"x{i}": Float(float(low), float(high)) for i, (low, high) in enumerate(bounds)}

    def at(params: Any) -> list[float]:
        return [float(params[each]) for each in parameters]

    return Problem(
        name,
        "limits",
        Space(parameters),
        lambda params: -f(at(params)),
        -best,
        trials,
        limits=lambda params: g(at(params)),
    )


# -- known constraints --

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


def known(name: str) -> Problem:
    make, raw, trials, noise = KNOWN[name]
    space = make()
    low, high = range_of(space, raw)
    return Problem(
        name, "known", space, lambda p: (raw(p) - low) / (high - low), 1.0, trials, noise
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
