"""BoTorch: SingleTaskGP and the log of expected improvement, with the settings of ``botorch_loop``.

LogExpectedImprovement without noise; with noise qLogNoisyExpectedImprovement, which its
documentation recommends where the best value is itself uncertain.
"""

from __future__ import annotations

import torch
from botorch.acquisition import (
    AcquisitionFunction,
    LogExpectedImprovement,
    qLogNoisyExpectedImprovement,
)
from botorch.models import SingleTaskGP

from research.benchmarks.peers.botorch_loop import Loop
from research.benchmarks.peers.setting import Setting, Value

PEER = "botorch"
ENVIRONMENT = "torch"


class Adapter:
    def __init__(self, setting: Setting) -> None:
        self._loop = Loop(setting, noisy_improvement if setting.noisy else improvement)

    def tell(self, x: list[Value], y: float) -> None:
        self._loop.tell(x, y)

    def ask(self) -> list[Value]:
        return self._loop.ask()


def improvement(model: SingleTaskGP, X: torch.Tensor, Y: torch.Tensor) -> AcquisitionFunction:
    return LogExpectedImprovement(model, best_f=Y.max())


def noisy_improvement(model: SingleTaskGP, X: torch.Tensor, Y: torch.Tensor) -> AcquisitionFunction:
    return qLogNoisyExpectedImprovement(model, X_baseline=X, prune_baseline=True)
