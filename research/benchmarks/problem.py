"""What a benchmark problem is: a space, a noise-free objective to be maximised, and its maximum."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.space import SearchSpace
from noregret.strategies import random_points


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem to be maximised, with the same start and noise for every method.

    Attributes:
        value: the objective without noise.
        maximum: its largest feasible value.
        trials: the budget.
        noise_std: standard deviation of the noise that ``measure`` adds.
        stuck_above: a run with a larger final simple regret ended in a local optimum.
        observe: draws an observation where noise is not Gaussian.
        fails: whether an evaluation fails.
        scale: what a regret is a share of; None: maximum minus the median of random points.
        limits: measured outcome constraints, ≤ 0 where a point is feasible.
        context: draws the inputs that are given at a trial, by name.
        best_in: the largest value in a context, which regret is counted from.
    """

    name: str
    suite: str
    space: SearchSpace
    value: Callable[[Any], float]
    maximum: float
    trials: int
    noise_std: float = 0.0
    stuck_above: float | None = None
    observe: Callable[[Any, np.random.Generator], float] | None = None
    fails: Callable[[Any, np.random.Generator], bool] | None = None
    scale: float | None = None
    limits: Callable[[Any], list[float]] | None = None
    context: Callable[[np.random.Generator], dict[str, float]] | None = None
    best_in: Callable[[dict[str, float]], float] | None = None

    @property
    def noisy(self) -> bool:
        return self.noise_std > 0 or self.observe is not None

    @property
    def initial(self) -> int:
        """Shared initial points: 2d, at least 3, at most 12."""
        return int(np.clip(2 * self.space.dimension, 3, 12))

    def seeds(self, seed: int) -> list[int]:
        return [seed, zlib.crc32(self.name.encode())]

    def initial_points(self, seed: int) -> list[Any]:
        """The same for every method."""
        rng = np.random.default_rng([*self.seeds(seed), 1])
        return [self.space.decode(u) for u in random_points(self.space, rng, self.initial)]

    def context_at(self, index: int, seed: int) -> dict[str, float] | None:
        """The context of trial number ``index``: the same for every method."""
        rng = np.random.default_rng([*self.seeds(seed), 4, index])
        return None if self.context is None else self.context(rng)

    def best_in_context(self, context: dict[str, float] | None) -> float:
        return self.maximum if context is None or self.best_in is None else self.best_in(context)

    def measure(self, params: Any, index: int, seed: int) -> float:
        """Observation number ``index`` of a run: the same noise draw for every method."""
        rng = np.random.default_rng([*self.seeds(seed), 2, index])
        if self.observe is not None:
            return self.observe(params, rng)
        return self.value(params) + self.noise_std * float(rng.standard_normal())

    def crashes(self, params: Any, index: int, seed: int) -> bool:
        """Whether evaluation number ``index`` fails; chance failures hit every method alike."""
        rng = np.random.default_rng([*self.seeds(seed), 3, index])
        return self.fails is not None and self.fails(params, rng)
