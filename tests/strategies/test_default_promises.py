"""The default with limits, seen in its averages: regret and violation fall, with negative controls
for which they do not.
"""

from typing import Any

import numpy as np

import noregret as nr
from noregret.space import Array
from noregret.strategies import Strategy

NOISE = 0.02
TRIALS = 75
CHANCE = nr.RandomSearch()
GRID = np.linspace(0, 1, 2001)


def hill(x: Any) -> Any:
    return np.exp(-(((x - 0.3) / 0.5) ** 2))


def excess(x: Any) -> Any:
    """Beyond the limit 0 where the hill is highest."""
    return 0.04 - (x - 0.3) ** 2


def thirds(strategy: Strategy, seed: int, told: bool = True) -> tuple[Array, Array]:
    """Means of regret⁺ against the best feasible point, and of violation⁺, by thirds."""
    outcomes: Any = {"c": nr.AtMost(0.0)} if told else None
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize", strategy, seed, outcomes=outcomes)
    rng, best = np.random.default_rng([seed, 1]), hill(GRID[excess(GRID) <= 0]).max()
    rows = []
    for _ in range(TRIALS):
        trial = study.ask()
        x, noise = trial.params["x"], NOISE * rng.standard_normal(2)
        measured: Any = {"c": excess(x) + noise[1]} if told else None
        study.tell(trial, hill(x) + noise[0], outcomes=measured)
        rows.append((max(best - hill(x), 0.0), max(excess(x), 0.0)))
    regret, violation = np.reshape(rows, (3, -1, 2)).mean(axis=1).T
    return regret, violation


def mean_thirds(strategy: Strategy, told: bool = True) -> Array:
    """(2, 3): regret and violation."""
    return np.mean([thirds(strategy, seed, told) for seed in range(2)], axis=0)


def test_regret_and_violation_fall_with_limits() -> None:
    """Controls: random choice, and the same strategy not told of the limit."""
    few = nr.InsuredGPUCB(0.1)  # looks around less: in 75 trials the looks are the regret
    regret, violation = mean_thirds(few)
    assert regret[2] < 0.7 * regret[0]
    assert violation[2] < 0.5 * violation[0]
    random = mean_thirds(CHANCE)
    assert random[0, 2] > 0.8 * random[0, 0]
    assert random[1, 2] > 0.8 * random[1, 0]
    blind = mean_thirds(few, told=False)
    assert blind[1, 2] > blind[1, 0]
