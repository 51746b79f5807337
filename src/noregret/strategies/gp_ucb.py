"""GP-UCB: Srinivas, Krause, Kakade, Seeger 2010/2012. With h ≡ 1, A-GP-UCB is this algorithm, and
here it is run as that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret.gp import MAP, Kernel, SquaredExponential
from noregret.rkhs import NoWidening, WidthName
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
from noregret.strategies.base import Delegating, Design, shared_settings

WIDEST = 10.0  # estimated lengthscales are sought up to this multiple of the cube's diameter


@dataclass(frozen=True, slots=True)
class GPUCB(Delegating):
    """Known hyperparameters (lengthscales, norm_bound, noise_std), or estimated ones where they are
    None.

    width: a theorem's name for known noise and norm, or a constant β^½ (values standardised), the
    common practice.
    """

    lengthscales: float | tuple[float, ...] | None = None
    norm_bound: float = 1.0
    noise_std: float | None = None
    width: WidthName | float = 2.0
    delta: float = 0.1
    kernel: Kernel = SquaredExponential()
    regulariser: float | None = None
    estimation: MAP = MAP(truncation=1e-3)
    offset: float = 0.0
    initial_points: int | None = None
    initial_design: Design = "uniform"

    def __post_init__(self) -> None:
        self.inner(1)

    def inner(self, inputs: int) -> AdaptiveGPUCB:
        settings = shared_settings(self, AdaptiveGPUCB)
        if self.lengthscales is None:
            settings["lengthscales"] = WIDEST * math.sqrt(inputs)
        else:
            settings["estimation"] = None
        settings |= {"widening": NoWidening(), "norm_power": "tight", "charge_estimate": True}
        return AdaptiveGPUCB(**settings, standardise=not isinstance(self.width, str))

    @property
    def theorem(self) -> str:
        return self.inner(1).theorem
