"""Optuna's GPSampler with its defaults, but for two arguments.

``deterministic_objective`` is true without noise, as its documentation asks of an objective that
returns the same value each time; with noise the variance is inferred. With a shared initial
design ``n_startup_trials=1`` instead of 10: it takes the place of the random start, so the model
proposes from the first ask on. Candidates: proposes in the box.
"""

from __future__ import annotations

import optuna

from research.benchmarks.peers.optuna_study import ToldStudy, limits
from research.benchmarks.peers.setting import Setting, Value

PEER = "optuna"
ENVIRONMENT = "torch"


class Adapter:
    def __init__(self, setting: Setting) -> None:
        sampler = optuna.samplers.GPSampler(
            seed=setting.seed,
            n_startup_trials=10 if setting.own_start else 1,
            deterministic_objective=not setting.noisy,
            constraints_func=limits(setting),
        )
        self._study = ToldStudy(setting, sampler)

    def tell(self, x: list[Value], y: float) -> None:
        self._study.tell(x, y)

    def fail(self, x: list[Value]) -> None:
        self._study.fail(x)

    def ask(self) -> list[Value]:
        return self._study.ask()
