"""Uniform random search, log parameters uniform in the logarithm. No noise to declare: it looks at
no value.
"""

from __future__ import annotations

import random

from research.benchmarks.peers.setting import Setting, Value

PEER = "python"
ENVIRONMENT = "torch"


class Adapter:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._random = random.Random(setting.seed)

    def tell(self, x: list[Value], y: float) -> None:
        pass

    def ask(self) -> list[Value]:
        if self._setting.candidates is not None:
            return list(self._random.choice(self._setting.candidates))
        return self._setting.decode([self._random.random() for _ in range(self._setting.dimension)])
