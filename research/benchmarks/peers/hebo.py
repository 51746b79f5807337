"""HEBO with its defaults. Its own start is 1 + the number of parameters quasi-random points, of
which told points count.

Noise is not declared: its model infers it. Candidates: proposes in the box. The global generators
it draws from are seeded here.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

from research.benchmarks.peers.setting import Parameter, Setting, Value

PEER = "HEBO"
ENVIRONMENT = "hebo"


def entry(p: Parameter) -> dict[str, object]:
    if p.kind == "choice":
        return {"name": p.name, "type": "cat", "categories": list(p.options)}
    kind = {"float": ("num", "pow"), "int": ("int", "pow_int")}[p.kind][p.log]
    return {"name": p.name, "type": kind, "lb": p.low, "ub": p.high}


class Adapter:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        for seed in (np.random.seed, torch.manual_seed):
            seed(setting.seed)
        self._optimizer = HEBO(
            DesignSpace().parse([entry(p) for p in setting.parameters]), scramble_seed=setting.seed
        )

    def tell(self, x: list[Value], y: float) -> None:
        self._optimizer.observe(pd.DataFrame([self._setting.named(x)]), np.array([[y]]))

    def ask(self) -> list[Value]:
        found = self._optimizer.suggest(n_suggestions=1).iloc[0]
        return [found[parameter.name] for parameter in self._setting.parameters]
