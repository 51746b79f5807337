"""GP-UCB: Srinivas, Krause, Kakade, Seeger 2010/2012. With h ≡ 1, A-GP-UCB is this algorithm, and
here it is run as that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret.errors import ConfigurationError, check_range
from noregret.gp import MAP, Kernel, Matern, SquaredExponential
from noregret.rkhs import NoWidening, WidthName
from noregret.rkhs.confidence import horizon_exponent
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
from noregret.strategies.base import Delegating, Design, shared_settings
from noregret.strategies.validation import horizon_theorem

WIDEST = 10.0  # estimated lengthscales are sought up to this multiple of the cube's diameter


@dataclass(frozen=True, slots=True)
class GPUCB(Delegating):
    """GP-UCB with known hyperparameters, or with estimated ones.

    Args:
        lengthscales: θ on the unit cube; None: estimated online.
        norm_bound: B, in the values' units.
        noise_std: R, in the values' units; None: estimated.
        width: A theorem's name for known noise and norm, or a constant β^½ (values standardised),
            the common practice.
        delta: The probability with which the band may fail.
        kernel: The kernel, without lengthscales.
        regulariser: λ; None: noise_std².
        estimation: How lengthscales are estimated.
        offset: A fixed prior mean, in the values' units.
        initial_points: How many points come before the model; None: see ``initial_design``.
        initial_design: "uniform" (2^d up to four inputs, then 4d) or "spread" (2d, from 3 to 12).
        horizon: T, the decisions that are planned: λ = T^(d/(2ν+2d)) for a Matern kernel, with
            which the regret is sublinear for every ν. theory.md#rough

    Raises:
        ConfigurationError: A setting is impossible.
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
    horizon: int | None = None

    def __post_init__(self) -> None:
        if self.horizon is not None:
            check_range("horizon", self.horizon, "[1, ∞)", "it counts decisions", whole=True)
            self._check_horizon()
        self.inner(1)

    def _check_horizon(self) -> None:
        proved = self.width in ("mixture", "abbasi_yadkori") and self.lengthscales is not None
        if not (isinstance(self.kernel, Matern) and proved and self.regulariser is None):
            raise ConfigurationError(
                "horizon sets λ for a Matern kernel with fixed lengthscales and the width"
                f' "mixture", got {self.kernel!r}, width={self.width!r},'
                f" lengthscales={self.lengthscales!r}, regulariser={self.regulariser!r}"
            )

    def inner(self, inputs: int) -> AdaptiveGPUCB:
        settings = shared_settings(self, AdaptiveGPUCB)
        if self.lengthscales is None:
            settings["lengthscales"] = WIDEST * math.sqrt(inputs)
        else:
            settings["estimation"] = None
        if self.horizon is not None and isinstance(self.kernel, Matern):
            settings["regulariser"] = self.horizon ** horizon_exponent(self.kernel.nu, inputs)
        settings |= {"widening": NoWidening(), "norm_power": "tight", "charge_estimate": True}
        return AdaptiveGPUCB(**settings, standardise=not isinstance(self.width, str))

    @property
    def theorem(self) -> str:
        if self.horizon is not None:
            return horizon_theorem(str(self.width), self.horizon)
        return self.inner(1).theorem
