"""The smoothness by evidence: Matérn 1/2, 3/2, 5/2 or squared exponential, the roughest that
explains the values nearly as well as the best. JMLR sec. 4.2 suggests to adapt ν.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.errors import ConfigurationError, check_range
from noregret.gp import Fit, Kernel, Matern, SquaredExponential, fit_inputs
from noregret.strategies.surrogate import FitRequest, Surrogate, log_posterior_at


@dataclass(frozen=True, slots=True)
class Smoothness:
    """The kernel's smoothness by evidence, for ``surrogate=`` of the default.

    Each kernel is fitted by itself. Of those whose posterior is nearly the highest the first is
    taken: in doubt the rougher one, whose class holds the others.

    Args:
        kernels: the candidates, the roughest first.
        margin: by how many nats of the log posterior the best one may be better.

    Raises:
        ConfigurationError: fewer than two kernels, or a negative margin.
    """

    kernels: tuple[Kernel, ...] = (Matern(0.5), Matern(1.5), Matern(2.5), SquaredExponential())
    margin: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(self.kernels))
        if len(self.kernels) < 2 or not all(isinstance(k, Kernel) for k in self.kernels):
            raise ConfigurationError(
                f"kernels are two or more such as Matern(1.5), got {self.kernels!r}"
            )
        check_range("margin", self.margin, "[0, ∞]", "in nats")

    def fit(self, request: FitRequest) -> Surrogate:
        at = int(request.memory.get("smoothness", -1))
        if not request.is_due:
            held = self.kernels[at] if 0 <= at < len(self.kernels) else request.kernel
            return Surrogate(held, self._fit(request, held), {"smoothness": at})
        first = np.unique(request.inputs.group, return_index=True)[1]
        fits = [self._fit(request, kernel) for kernel in self.kernels]
        heights = [
            log_posterior_at(request.evidence(kernel), fit, first)
            for kernel, fit in zip(self.kernels, fits, strict=True)
        ]
        at = next(i for i, each in enumerate(heights) if each >= max(heights) - self.margin)
        return Surrogate(self.kernels[at], fits[at], {"smoothness": at})

    def _fit(self, request: FitRequest, kernel: Kernel) -> Fit:
        evidence = request.evidence(kernel)
        return fit_inputs(evidence, request.rule, request.previous, request.rng)
