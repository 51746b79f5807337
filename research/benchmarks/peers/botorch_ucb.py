"""BoTorch: SingleTaskGP and UpperConfidenceBound, with the settings of ``botorch_loop``.

``beta=0.2`` is the value in the documentation of UpperConfidenceBound (there is no default): the
mean plus √0.2 standard deviations of the latent function, with noise and without.
"""

from __future__ import annotations

import torch
from botorch.acquisition import AcquisitionFunction, UpperConfidenceBound
from botorch.models import SingleTaskGP

from research.benchmarks.peers.botorch_loop import Loop
from research.benchmarks.peers.setting import Setting, Value

PEER = "botorch"
ENVIRONMENT = "torch"


class Adapter:
    def __init__(self, setting: Setting) -> None:
        self._loop = Loop(setting, confidence_bound)

    def tell(self, x: list[Value], y: float) -> None:
        self._loop.tell(x, y)

    def ask(self) -> list[Value]:
        return self._loop.ask()


def confidence_bound(model: SingleTaskGP, X: torch.Tensor, Y: torch.Tensor) -> AcquisitionFunction:
    return UpperConfidenceBound(model, beta=0.2)
