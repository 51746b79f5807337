"""COCO's functions (Hansen et al. 2021, package coco-experiment) as problems to be maximised.

Names are ``f7-i21``: function 7, instance 21. Instances 11 to 13 tune, 21 to 25 report.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from noregret.space import Array, Float, Int, Space
from research.benchmarks.problem import Problem

# noisy function: the noise-free one that it is made of, where both agree to all digits
NOISE_FREE = {
    101: 1,
    102: 1,
    103: 1,
    107: 1,
    108: 1,
    109: 1,
    104: 8,
    105: 8,
    106: 8,
    110: 8,
    111: 8,
    112: 8,
    113: 7,
    114: 7,
    115: 7,
    119: 14,
    120: 14,
    121: 14,
    122: 17,
    123: 17,
    124: 17,
    128: 21,
    129: 21,
    130: 21,
}
FUNCTIONS = range(1, 25)
SIDE = 25  # points per input of the grid on which the best action of a context is sought
# the first two of every six functions of bbob-constrained: 1 and 3 constraints
CONSTRAINED = [first + offset for first in range(1, 54, 6) for offset in (0, 1)]


def names(kind: str, instances: range) -> list[str]:
    """All functions of one instance first, then those of the next."""
    functions = {"noisy": NOISE_FREE, "constrained": CONSTRAINED}.get(kind, FUNCTIONS)
    return [f"f{function}-i{instance}" for instance in instances for function in functions]


def coco(kind: str, dimension: int, name: str, trials: int) -> Problem:
    """One function of bbob, bbob-mixint, bbob-noisy or bbob-constrained, to be maximised.

    Args:
        kind: bbob, mixint, noisy or constrained.
        dimension: number of inputs.
        name: function and instance, ``f7-i21``.
        trials: the budget.
    """
    function, instance = (int(part[1:]) for part in name.split("-"))
    observed = None
    if kind == "noisy":
        clean = _Function("bbob", NOISE_FREE[function], instance, dimension)
        observed = _Function("bbob-noisy", function, instance, dimension)
    else:
        suite = kind if kind == "bbob" else f"bbob-{kind}"
        clean = _Function(suite, function, instance, dimension)
    return Problem(
        f"{kind}-{dimension} {name}",
        f"{kind}-{dimension}",
        Space(clean.parameters),
        clean.value,
        clean.maximum,
        trials,
        observe=None if observed is None else lambda params, rng: observed.value(params),
        limits=clean.limits if kind == "constrained" else None,
    )


def in_context(name: str, trials: int) -> Problem:
    """A function of bbob in three inputs, the first of which is given at every trial."""
    made = coco("bbob", 3, name, trials)
    low, high = -5.0, 5.0  # of all inputs of bbob
    line = np.linspace(low, high, SIDE)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)

    def best_in(context: dict[str, float]) -> float:
        """By a grid of the other two inputs, and L-BFGS from its three best points."""

        def loss(x: Array) -> float:
            return -made.value({**context, "x1": x[0], "x2": x[1]})

        values = np.array([loss(x) for x in grid])
        starts = grid[np.argsort(values)[:3]]
        within = [(low, high)] * 2
        found = [minimize(loss, x, method="L-BFGS-B", bounds=within).fun for x in starts]
        return -float(min(*found, values.min()))

    def context(rng: np.random.Generator) -> dict[str, float]:
        return {"x0": float(rng.uniform(low, high))}

    return replace(made, context=context, best_in=best_in)


class _Function:
    """One problem of a suite, negated. The suite must live as long as its problem."""

    def __init__(self, suite: str, function: int, instance: int, dimension: int) -> None:
        import cocoex

        first = 101 if suite == "bbob-noisy" else 1
        self._suite = cocoex.Suite(
            suite,
            f"instances:{instance}",
            f"dimensions:{dimension} function_indices:{function - first + 1}",
        )
        self._problem = self._suite.get_problem(0)
        low, high = self._problem.lower_bounds, self._problem.upper_bounds
        whole = self._problem.number_of_integer_variables
        self.parameters: dict[str, Float | Int] = {
            f"x{i}": Int(int(low[i]), int(high[i]))
            if i < whole
            else Float(float(low[i]), float(high[i]))
            for i in range(dimension)
        }

    def value(self, params: Any) -> float:
        return -float(self._problem(_array(params)))

    def limits(self, params: Any) -> list[float]:
        return [float(g) for g in self._problem.constraint(_array(params))]

    @property
    def maximum(self) -> float:
        """COCO tells its optimum through a file in the working folder."""
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            self._problem._best_parameter("print")
            best: Array = np.loadtxt(next(Path().glob("._*best_parameter.txt")))
        return -float(self._problem(best))


def _array(params: Any) -> Array:
    return np.array([float(value) for value in params.values()])
