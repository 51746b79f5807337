"""bayesian-optimization with its default acquisition (upper confidence bound, kappa 2.576) and
model.

``alpha``, which its documentation says to raise with the noise, is the noise variance in the units
of the model, which normalises the values; without noise the default, 1e-6. Its kernel has one
lengthscale for all inputs, so numbers come in the unit cube, logs taken, ints rounded; choices are
its own. Points may repeat. Candidates: proposes in the box.
"""

from __future__ import annotations

import statistics

from bayes_opt import BayesianOptimization

from research.benchmarks.peers.setting import Setting, Value

PEER = "bayesian-optimization"
ENVIRONMENT = "torch"


class Adapter:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        box = {
            p.name: tuple(map(str, p.options)) if p.kind == "choice" else (0.0, 1.0)
            for p in setting.parameters
        }
        self._optimizer = BayesianOptimization(
            None, box, random_state=setting.seed, verbose=0, allow_duplicate_points=True
        )
        self._values: list[float] = []

    def tell(self, x: list[Value], y: float) -> None:
        named = zip(self._setting.parameters, x, strict=True)
        self._optimizer.register(
            {p.name: str(v) if p.kind == "choice" else p.encode(v)[0] for p, v in named}, -y
        )
        self._values.append(y)

    def ask(self) -> list[Value]:
        if self._setting.noisy and (spread := statistics.pvariance(self._values)) > 0:
            self._optimizer.set_gp_params(alpha=max(1e-6, self._setting.noise_std**2 / spread))
        found = self._optimizer.suggest()
        return [
            p.native(found[p.name]) if p.kind == "choice" else p.decode([found[p.name]])
            for p in self._setting.parameters
        ]
