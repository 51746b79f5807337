"""What a benchmark problem is: a space, a noise-free objective to be maximised, and its maximum."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.space import Array, SearchSpace
from noregret.strategies import random_points


@dataclass(frozen=True, slots=True)
class Problem:
    """``value(params)`` without noise; observations add noise_std·N(0, 1), or are drawn by
    ``observe`` where repeats were measured.

    stuck_above: a run whose final simple regret is above this ended in a local optimum (needle,
    mixed). spread: the noise among good designs where repeats were measured. fails: whether an
    evaluation fails.
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
    spread: float | None = None
    fails: Callable[[Any, np.random.Generator], bool] | None = None
    scale: float | None = None  # what a regret is a share of, where the median says little

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

    def measure(self, params: Any, index: int, seed: int) -> float:
        """Observation number ``index`` of a run: the same noise draw for every method."""
        rng = np.random.default_rng([*self.seeds(seed), 2, index])
        if self.observe is not None:
            return self.observe(params, rng)
        return self.value(params) + self.noise_std * float(rng.standard_normal())

    def crashes(self, params: Any, index: int, seed: int) -> bool:
        """Whether evaluation number ``index`` fails; a crash by chance hits every method at the
        same index."""
        rng = np.random.default_rng([*self.seeds(seed), 3, index])
        return self.fails is not None and self.fails(params, rng)


def unit_cube(d: int) -> list[tuple[float, float]]:
    return [(0.0, 1.0)] * d


def normalised(
    function: Callable[[Array], float], low: float, high: float
) -> Callable[[Array], float]:
    """(f − low)/(high − low): regrets of different functions on one scale."""
    return lambda x: (function(x) - low) / (high - low)
