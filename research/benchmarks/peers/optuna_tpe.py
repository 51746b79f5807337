"""Optuna's TPESampler with its defaults: 10 random trials first, of which the told initial points
count.

It has no option for noise or determinism. Candidates: proposes in the box.
"""

from __future__ import annotations

import optuna

from research.benchmarks.peers.optuna_study import ToldStudy, limits
from research.benchmarks.peers.setting import Setting, Value

PEER = "optuna"
ENVIRONMENT = "torch"


class Adapter:
    def __init__(self, setting: Setting) -> None:
        sampler = optuna.samplers.TPESampler(seed=setting.seed, constraints_func=limits(setting))
        self._study = ToldStudy(setting, sampler)

    def tell(self, x: list[Value], y: float) -> None:
        self._study.tell(x, y)

    def fail(self, x: list[Value]) -> None:
        self._study.fail(x)

    def ask(self) -> list[Value]:
        return self._study.ask()
