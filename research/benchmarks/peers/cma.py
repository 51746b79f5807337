"""CMA-ES (pycma) in the unit cube: from the best told point, sigma0 0.3, default population, bounds
[0, 1].

The default population is asked one point at a time and told when complete; ints and choices are
rounded. pycma says of one dimension that it is not supported: there a second coordinate is added
and ignored. Noise has no declaration outside its own loop (NoiseHandler evaluates again), so none
is made. Candidates: proposes in the box.
"""

from __future__ import annotations

import cma

from research.benchmarks.peers.setting import Setting, Value

PEER = "cma"
ENVIRONMENT = "torch"


class Adapter:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._told: list[tuple[float, list[float]]] = []
        self._strategy, self._population, self._values = None, [], []

    def tell(self, x: list[Value], y: float) -> None:
        if self._strategy is None:
            self._told.append((y, self._setting.encode(x)))
            return
        self._values.append(y)
        if len(self._values) == len(self._population):
            self._strategy.tell(self._population, self._values)
            self._population, self._values = [], []

    def ask(self) -> list[Value]:
        if self._strategy is None:
            start = min(self._told)[1] + [0.5] * (self._setting.dimension == 1)
            options = {
                "bounds": [0, 1],
                "seed": self._setting.seed + 1,
                "verbose": -9,
            }  # its seed 0 means the clock
            self._strategy = cma.CMAEvolutionStrategy(start, 0.3, options)
        self._population = self._population or self._strategy.ask()
        return self._setting.decode(self._population[len(self._values)])
