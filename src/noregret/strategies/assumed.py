"""What is assumed of an outcome, so that its band is a theorem's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret.errors import ConfigurationError
from noregret.strategies.guarantee import check_positive


@dataclass(frozen=True, slots=True)
class Assumed:
    """An outcome in its own units, fixed before the data: as ``RadiusGPUCB`` has it of the value.

    noise_bound: R; its noise is R-sub-Gaussian. A larger one told with it counts for it.
    norm_bound: B_0, where its norm ball starts.
    lengthscales: θ_0 on the unit cube; None: √d, its diameter.
    offset: a fixed prior mean; None: the limit.
    """

    noise_bound: float
    norm_bound: float = 1.0
    lengthscales: float | tuple[float, ...] | None = None
    offset: float | None = None

    def __post_init__(self) -> None:
        if self.lengthscales is not None and np.ndim(self.lengthscales) > 0:
            lengthscales = tuple(float(v) for v in np.ravel(self.lengthscales))
            object.__setattr__(self, "lengthscales", lengthscales)
        if self.noise_bound is None or self.norm_bound is None:
            raise ConfigurationError("noise_bound and norm_bound must be positive numbers")
        for name in ("noise_bound", "norm_bound"):
            check_positive(name, getattr(self, name))
        given = self.lengthscales
        for value in given if isinstance(given, tuple) else (given,):
            check_positive("lengthscales", value)
        if self.offset is not None and not math.isfinite(self.offset):
            raise ConfigurationError(f"offset must be finite, got {self.offset!r}")
