"""Wang & de Freitas 2014 as JMLR sec. 5.1 modifies it: shorten the lengthscales just enough that
σ_t(x_{t+1}) ≥ κ.

Without a lower bound on the lengthscales a baseline: it finds the optimum and never stops
exploring, so its regret is linear. With one (``shortest``), as in the original, it has a theorem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import MAP, Kernel, SquaredExponential
from noregret.rkhs import MinimumStd, WidthName
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
from noregret.strategies.base import Delegating, check_positive, shared_settings

SE = SquaredExponential()


@dataclass(frozen=True, slots=True)
class MinimumUncertainty(Delegating):
    """GP-UCB with lengthscales just short enough that σ at the next point is at least kappa.

    Args:
        kappa: least posterior std at the next point, in units of the prior std.
        lengthscales: θ_0 on the unit cube.
        norm_bound: B_0 at θ_0, in the values' units.
        noise_std: R, in the values' units; None estimates it.
        width: a theorem's name, or a constant β^½.
        delta: the probability with which the band may fail.
        kernel: of the class, without lengthscales.
        estimation: how lengthscales are estimated online; None keeps θ_0/g.
        initial_points: number of points before the model; None: 2^d, above four inputs 4d.
        shortest: a known lower bound on the lengthscales; None: there is none, as in the paper's
            experiment.

    Raises:
        ConfigurationError: a setting outside its range.
    """

    kappa: float = 0.1
    lengthscales: float | tuple[float, ...] = 1.0
    norm_bound: float = 2.0
    noise_std: float | None = None
    width: WidthName | float = 2.0
    delta: float = 0.1
    kernel: Kernel = SquaredExponential()
    estimation: MAP | None = MAP()
    initial_points: int | None = None
    shortest: float | None = None

    def __post_init__(self) -> None:
        check_positive("shortest", self.shortest)
        if self.shortest is not None and self.shortest > np.max(self.lengthscales):
            raise ConfigurationError(
                f"shortest bounds the lengthscales from below, got {self.shortest!r} above"
                f" lengthscales={self.lengthscales!r}: they start there and only shrink"
            )
        self.inner(1)

    def inner(self, inputs: int) -> AdaptiveGPUCB:
        largest = math.inf  # the g at which no lengthscale is above the shortest
        if self.shortest is not None:
            largest = float(np.max(self.lengthscales)) / self.shortest
        return AdaptiveGPUCB(
            **shared_settings(self, AdaptiveGPUCB),
            widening=MinimumStd(self.kappa, largest=largest),
            charge_estimate=True,
            standardise=not isinstance(self.width, str),
        )

    @property
    def theorem(self) -> str:
        fixed = self.shortest is not None and self.estimation is None
        if fixed and self.width in ("mixture", "abbasi_yadkori") and self.kernel == SE:
            return (
                "docs/theory.md#minimum-uncertainty: sublinear regret with probability at least"
                " 1 − delta if f has a norm at lengthscales of at least shortest, at most"
                " norm_bound·(lengthscales/shortest)^d at the shortest, and the noise is"
                " noise_std-sub-Gaussian. Its band holds only once the shortest is reached."
            )
        return (
            "none: without a known lower bound on the lengthscales the rule forces σ ≥ κ for ever,"
            " which is linear regret (JMLR sec. 4.1)"
        )
