"""Problems with known constraints on which the search inside them was tuned; none of them is in the
report. Fixed before the first run; seeds from 100.

python -m research.benchmarks.constrained_tuning [SEEDS]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import noregret as nr
from noregret.space import Float, Linear, Space
from research.benchmarks.constrained import range_of, shares, whole
from research.benchmarks.limited_tuning import camel


def _glaze(p: Any) -> float:
    a, b, c, d = (p[name] for name in "abcd")
    return float(0.4 * a + 0.9 * b + 3 * a * c + 1.5 * b * d - 2 * c * d + 4 * a * b * c)


def _adhesive(p: Any) -> float:
    a, b, c = p["a"], p["b"], p["c"]
    heat, hours = (p["heat"] - 40) / 80, p["hours"] / 6
    bond = 2 * a * b + 0.5 * c - 3 * (b - 0.35) ** 2
    return float(bond * (1 - math.exp(-2 * heat - hours)) - 0.2 * heat**2)


def _levy(p: Any) -> float:
    w = np.array([p[f"x{i}"] for i in range(5)]) * 2 + 0.1
    middle = (w[:-1] - 1) ** 2 * (1 + 3 * np.sin(math.pi * w[:-1] + 1) ** 2)
    return -float(math.sin(math.pi * w[0]) ** 2 + middle.sum() + (w[-1] - 1) ** 2)


def _broth(p: Any) -> float:
    x = np.array([p[name] for name in "abcde"])
    return float(
        -((x - np.array([0.3, 0.25, 0.2, 0.15, 0.3])) ** 2 @ [1, 2, 3, 1, 2]) + x[0] * x[2]
    )


KNOWN: dict[str, tuple[Callable[[], Space], Callable[[Any], float], int, float]] = {
    "camel, cut": (
        lambda: Space(
            {"x": Float(-2, 2), "y": Float(-1, 1)},
            constraints=[
                Linear({"x": 1, "y": 2}, at_least=-1),
                Linear({"x": 1, "y": -1}, at_most=1.2),
            ],
        ),
        lambda p: -camel([p["x"], p["y"]]),
        30,
        0.0,
    ),
    "glaze-4": (
        lambda: Space(
            shares(*"abcd"),
            constraints=[whole(*"abcd"), Linear({"b": 1, "d": 1}, at_most=0.5)],
        ),
        _glaze,
        40,
        0.01,
    ),
    "adhesive-5": (
        lambda: Space(
            {**shares(*"abc"), "heat": Float(40, 120), "hours": Float(0, 6)},
            constraints=[whole(*"abc"), Linear({"heat": 1, "hours": 15}, at_most=130)],
        ),
        _adhesive,
        50,
        0.02,
    ),
    "levy-5, budget": (
        lambda: Space(
            {f"x{i}": Float(0, 1) for i in range(5)},
            constraints=[Linear({f"x{i}": 1 for i in range(5)}, at_most=2.0)],
        ),
        _levy,
        60,
        0.0,
    ),
    "broth-5": (
        lambda: Space(shares(*"abcde"), constraints=[whole(*"abcde")]),
        _broth,
        50,
        0.0,
    ),
}


def left(name: str, seed: int, strategy: Any = None) -> float:
    """The simple regret at the end, of a range of 1."""
    make, raw, trials, noise = KNOWN[name]
    space = make()
    low, high = range_of(space, raw)
    rng, best = np.random.default_rng([seed, 3]), -math.inf
    study = nr.Study(space, "maximize", strategy, seed)
    for _ in range(trials):
        trial = study.ask()
        value = (raw(trial.params) - low) / (high - low)
        study.tell(trial, value + noise * rng.standard_normal())
        best = max(best, value)
    return max(1 - best, 1e-6)


if __name__ == "__main__":
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    for name in KNOWN:
        print(name, *(f"{left(name, 100 + i):.2g}" for i in range(seeds)), flush=True)
