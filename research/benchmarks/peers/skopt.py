"""scikit-optimize's Optimizer with its defaults (a Gaussian process, gp_hedge), but for two
arguments.

``noise`` of the default model is "gaussian" (inferred), and the documented 1e-10 where the
objective is noise-free. With a shared initial design ``n_initial_points=1`` instead of
10: it takes the place of the random start, and told points count. Candidates: proposes in the box.
"""

from __future__ import annotations

from skopt import Optimizer
from skopt.space import Categorical, Integer, Real
from skopt.utils import cook_estimator

from research.benchmarks.peers.setting import Parameter, Setting, Value

PEER = "scikit-optimize"
ENVIRONMENT = "torch"


def dimension(p: Parameter) -> Categorical | Integer | Real:
    if p.kind == "choice":
        return Categorical(p.options)
    kind, number = (Integer, int) if p.kind == "int" else (Real, float)
    return kind(number(p.low), number(p.high), prior="log-uniform" if p.log else "uniform")


class Adapter:
    def __init__(self, setting: Setting) -> None:
        space = [dimension(parameter) for parameter in setting.parameters]
        model = cook_estimator(
            "GP", space, random_state=setting.seed, noise="gaussian" if setting.noisy else 1e-10
        )
        self._optimizer = Optimizer(
            space,
            model,
            n_initial_points=10 if setting.own_start else 1,
            acq_func="gp_hedge",
            random_state=setting.seed,
        )

    def tell(self, x: list[Value], y: float) -> None:
        self._optimizer.tell(x, y)

    def ask(self) -> list[Value]:
        return self._optimizer.ask()
