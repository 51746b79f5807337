"""Comparisons of strategies on one problem, over several seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.diagnostics import best_so_far
from noregret.errors import ConfigurationError
from noregret.space import Array, Choice, Float, Space, as_space
from noregret.strategies import Strategy
from noregret.study import Study
from noregret.trials import Goal, standing


@dataclass(frozen=True, slots=True)
class Problem:
    """An objective with a known optimum.

    Args:
        name: Its name.
        function: The objective: a dict of parameters in, a value out.
        space: Its search space.
        goal: "maximize" or "minimize".
        optimum: Its best value.
    """

    name: str
    function: Callable[[Any], float]
    space: Space
    goal: Goal
    optimum: float


def _branin(p: Mapping[str, Any]) -> float:
    x, y = p["x"], p["y"]
    bowl = (y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6) ** 2
    return float(bowl + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10)


def _hartmann(p: Mapping[str, Any]) -> float:
    rates = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    centres = 1e-4 * np.array(
        [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
    )
    at = np.array([p["a"], p["b"], p["c"]])
    inner = (rates * (at - centres) ** 2).sum(axis=1)
    return float(-(np.array([1.0, 1.2, 3.0, 3.2]) * np.exp(-inner)).sum())


def _ackley(p: Mapping[str, Any]) -> float:
    at = np.array([p[name] for name in "abcd"])
    first = -20 * np.exp(-0.2 * np.sqrt((at**2).mean()))
    return float(first - np.exp(np.cos(2 * np.pi * at).mean()) + 20 + np.e)


def _reaction(p: Mapping[str, Any]) -> float:
    warm = -(((p["temperature"] - 63) / 20) ** 2)
    slow = -(np.log(p["hours"] / 4) ** 2) / 4
    return float(80 * np.exp(warm + slow) * _SOLVENTS[p["solvent"]])


_PLANE = Space({"x": Float(-5, 10), "y": Float(0, 15)})
_CUBE = Space({name: Float(0, 1) for name in "abc"})
_BOX = Space({name: Float(-15, 30) for name in "abcd"})
_SOLVENTS = {"water": 0.6, "dmf": 1.0, "toluene": 0.8}
_REACTOR = Space(
    {
        "temperature": Float(20, 90),
        "hours": Float(0.5, 24, log=True),
        "solvent": Choice(list(_SOLVENTS)),
    }
)
PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem("branin", _branin, _PLANE, "minimize", 0.39788735772973816),
        Problem("hartmann3", _hartmann, _CUBE, "minimize", -3.862782),
        Problem("ackley4", _ackley, _BOX, "minimize", 0.0),
        Problem("reaction", _reaction, _REACTOR, "maximize", 80.0),
    )
}


@dataclass(frozen=True, slots=True)
class Compared:
    """One strategy's studies, one per seed.

    Args:
        name: The strategy's name.
        studies: The studies.
        best: The best value so far after each trial, shape (seeds, trials); NaN before the first
            value.
    """

    name: str
    studies: tuple[Study, ...]
    best: Array

    @property
    def final(self) -> Array:
        """The best values in the end, one per seed."""
        return self.best[:, -1]


def compare(
    function: Callable[[Any], Any],
    space: Any,
    goal: Goal,
    strategies: Mapping[str, Strategy],
    *,
    seeds: int | Sequence[int] = 10,
    trials: int = 40,
    noise_std: float = 0.0,
    ended: Callable[[str, int], None] = lambda name, seed: None,
) -> list[Compared]:
    """Run every strategy with every seed.

    Args:
        function: The objective. An exception makes the trial a failed one.
        space: The search space, as ``Study`` takes it.
        goal: "maximize" or "minimize".
        strategies: The strategies by name.
        seeds: The seeds, or how many: 0, 1, ….
        trials: Trials per study.
        noise_std: Standard deviation of Gaussian noise added to the values that the strategies see;
            ``Compared.best`` is without it.
        ended: Called with the strategy's name and the seed after each study.

    Returns:
        One entry per strategy.

    Raises:
        ConfigurationError: If there is no strategy or no seed, or a number is too small.
    """
    listed = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not strategies or not listed:
        raise ConfigurationError("a comparison needs at least one strategy and one seed, got none")
    if trials < 1 or noise_std < 0:
        raise ConfigurationError(
            f"trials must be at least 1 and noise_std at least 0, got {trials!r}, {noise_std!r}"
        )
    box, compared = as_space(space), []
    for name, strategy in strategies.items():
        studies, rows = [], []
        for seed in listed:
            studies.append(Study(box, goal, strategy, seed, name=f"{name} {seed}"))
            rows.append(_run(studies[-1], function, trials, noise_std))
            ended(name, seed)
        compared.append(Compared(name, tuple(studies), np.array(rows)))
    return compared


def _run(study: Study, function: Callable[[Any], Any], trials: int, noise_std: float) -> Array:
    """Run the study; the best value without noise after each trial, NaN before the first."""
    noise = np.random.default_rng([study.record().seed, 1])
    exact: dict[int, float] = {}

    def noisy(params: Any) -> float:
        value = float(function(params))
        exact[len(study.trials) - 1] = value
        return value + noise_std * float(noise.standard_normal())

    study.run(noisy, trials, catch=(Exception,), progress=False)
    done = {trial.number for trial in standing(study.trials) if trial.state == "complete"}
    values = [exact[number] if number in done else None for number in range(trials)]
    return np.array(best_so_far(values, study.goal), dtype=np.float64)
