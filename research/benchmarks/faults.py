"""Suite faults: other problems, a tenth of whose space fails, with random crashes and disastrous
values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from research.benchmarks.mixed import mixed
from research.benchmarks.problem import Problem
from research.benchmarks.synthetic import rkhs, standard

FAILING = 0.1  # of the space
CRASHES = 0.05  # of the evaluations, anywhere
OUTLIERS = 0.02  # of the values: lower by 3 to 30 times the spread of the values
STANDARD_OF = ("Hartmann-3", "Rosenbrock-4", "Styblinski–Tang-5", "Michalewicz-5", "Ackley-5")
TUNING_STANDARD_OF = ("Branin", "Hartmann-6", "Levy-4", "Rastrigin-4", "Branin")


def base(index: int) -> Problem:
    """Half of them mixed, a quarter random functions, a quarter standard ones; from 1000 on the
    tuning side."""
    if index % 2 == 0:
        return mixed(index)
    if index % 4 == 1:
        return rkhs(index)
    names = TUNING_STANDARD_OF if index >= 1000 else STANDARD_OF
    return standard(names[index // 4 % 5], noisy=True)


def faults(index: int) -> Problem:
    """What fails is beyond a plane that leaves the maximum at least 0.1 of the cube on the good
    side."""
    problem = base(index)
    space = problem.space
    rng = np.random.default_rng([index, 34])
    cloud = space.snap(rng.random((4000, space.dimension)))
    values = np.array([problem.value(space.decode(u)) for u in cloud])
    spread = float(np.std(values))
    top = cloud[np.argsort(-values)[:5]]
    for _ in range(200):
        direction = rng.standard_normal(space.dimension)
        direction /= np.linalg.norm(direction)
        cut = float(np.quantile(cloud @ direction, 1 - FAILING))
        if (top @ direction).max() < cut - 0.1:
            break

    def fails(params: Any, rng: np.random.Generator) -> bool:
        crashed = bool(rng.random() < CRASHES)
        return crashed or float(space.encode(params) @ direction) > cut

    def observe(params: Any, rng: np.random.Generator) -> float:
        value = problem.value(params) + problem.noise_std * float(rng.standard_normal())
        if rng.random() < OUTLIERS:
            value -= spread * float(np.exp(rng.uniform(np.log(3), np.log(30))))
        return value

    return replace(problem, name=f"faults-{index}", suite="faults", observe=observe, fails=fails)
