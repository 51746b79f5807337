"""Problems with limits on what is measured, and with context: eight of the literature whose
constraints are measured with every value, and four in which the last input is given.

Sources: Gardner et al., *Bayesian Optimization with Inequality Constraints*, ICML 2014; Gramacy et
al., *Modeling an Augmented Lagrangian for Blackbox Constrained Optimization*, Technometrics 2016;
Coello Coello, *Use of a self-adaptive penalty approach for engineering optimization problems*,
Computers in Industry 2000 (vessel, beam, spring); Golinski's speed reducer and the three-bar truss
as in Ray and Liew, *Society and civilization*, IEEE TEC 2003; Krause and Ong, *Contextual Gaussian
process bandit optimization*, NeurIPS 2011.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

X = Sequence[float]


@dataclass(frozen=True, slots=True)
class Limited:
    """Minimise f with all g ≤ 0 in a box; ``best``: the best known feasible value."""

    name: str
    bounds: tuple[tuple[float, float], ...]
    f: Callable[[X], float]
    g: Callable[[X], list[float]]
    best: float
    trials: int


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
LIMITED = {
    each.name: each
    for each in (
        Limited(
            "gardner-1",
            ((0, 6), (0, 6)),
            lambda x: math.cos(2 * x[0]) * math.cos(x[1]) + math.sin(x[0]),
            lambda x: [math.cos(x[0] + x[1]) - 0.5],
            -2.0,
            30,
        ),
        Limited(
            "gardner-2",
            ((0, 6), (0, 6)),
            lambda x: math.sin(x[0]) + x[1],
            lambda x: [math.sin(x[0]) * math.sin(x[1]) + 0.95],
            0.2532,
            30,
        ),
        Limited(
            "gramacy",
            ((0, 1), (0, 1)),
            lambda x: x[0] + x[1],
            lambda x: [
                1.5 - x[0] - 2 * x[1] - 0.5 * math.sin(TAU * (x[0] ** 2 - 2 * x[1])),
                x[0] ** 2 + x[1] ** 2 - 1.5,
            ],
            0.5998,
            30,
        ),
        Limited(
            "truss",
            ((0.05, 1), (0.05, 1)),
            lambda x: (2 * math.sqrt(2) * x[0] + x[1]) * 100,
            _truss_g,
            263.8958,
            30,
        ),
        Limited(
            "spring",
            ((0.05, 0.2), (0.25, 1.3), (2, 15)),
            lambda x: (x[2] + 2) * x[1] * x[0] ** 2,
            _spring_g,
            0.012665,
            40,
        ),
        Limited(
            "vessel",
            ((0.0625, 6.1875), (0.0625, 6.1875), (10, 50), (10, 200)),
            _vessel_f,
            _vessel_g,
            5885.33,
            40,
        ),
        Limited(
            "beam", ((0.125, 10), (0.1, 10), (0.1, 10), (0.1, 10)), _beam_f, _beam_g, 1.7249, 40
        ),
        Limited(
            "reducer",
            (
                *((2.6, 3.6), (0.7, 0.8), (17, 28), (7.3, 8.3)),
                *((7.3, 8.3), (2.9, 3.9), (5.0, 5.5)),
            ),
            _reducer_f,
            _reducer_g,
            2994.47,
            40,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Contextual:
    """Minimise f over the actions, the last input being given."""

    name: str
    bounds: tuple[tuple[float, float], ...]
    f: Callable[[X], float]
    trials: int = 40


def _branin(x: X) -> float:
    a = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return a**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10


def _heating(x: X) -> float:
    need, efficiency = 44 - 0.7 * x[1], 6.0 - 0.06 * (x[0] - x[1])
    return (20 - x[1]) / efficiency + 0.6 * math.log1p(math.exp((need - x[0]) / 1.5))


def _hartmann3(x: X) -> float:
    A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
    P = [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
    inner = (A * (np.asarray(x) - 1e-4 * np.array(P)) ** 2).sum(axis=1)
    return -float(np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-inner))


def _drift(x: X) -> float:
    """Two valleys, the deeper one depends on the context."""
    a, z = x
    first, second = math.exp(-((a - 0.2) ** 2) / 0.01), math.exp(-((a - 0.75) ** 2) / 0.02)
    return -(z * first + (1.1 - z) * second)


CONTEXTUAL = {
    each.name: each
    for each in (
        Contextual("branin, given y", ((-5, 10), (0, 15)), _branin),
        Contextual("heating", ((25, 60), (-15, 18)), _heating),
        Contextual("hartmann-3, given x3", ((0, 1), (0, 1), (0, 1)), _hartmann3),
        Contextual("two valleys", ((0, 1), (0, 1)), _drift),
    )
}
