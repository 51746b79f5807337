"""The smoothness by evidence: Matérn 1/2, 3/2, 5/2 or squared exponential, the roughest that
explains the values nearly as well as the best. JMLR sec. 4.2 suggests to adapt ν.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import Fit, Kernel, Matern, SquaredExponential
from noregret.strategies.inputs import fit_inputs
from noregret.strategies.modelling import Modelled, Question, height


@dataclass(frozen=True, slots=True)
class Smoothness:
    """Each kernel is fitted by itself; of those whose posterior is nearly the highest the first is
    taken: in doubt the rougher one, whose class holds the others.

    kernels: those that may be chosen, the roughest first. margin: by how many nats the best may be
    better.
    """

    kernels: tuple[Kernel, ...] = (Matern(0.5), Matern(1.5), Matern(2.5), SquaredExponential())
    margin: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(self.kernels))
        if len(self.kernels) < 2 or not all(isinstance(k, Kernel) for k in self.kernels):
            raise ConfigurationError(
                f"kernels are two or more such as Matern(1.5), got {self.kernels!r}"
            )
        if not self.margin >= 0:
            raise ConfigurationError(f"margin must be at least 0 nats, got {self.margin!r}")

    def modelled(self, question: Question) -> Modelled:
        at = int(question.memory.get("smoothness", -1))
        if not question.is_due:
            held = self.kernels[at] if 0 <= at < len(self.kernels) else question.kernel
            return Modelled(held, self._fit(question, held), {"smoothness": at})
        first = np.unique(question.inputs.group, return_index=True)[1]
        fits = [self._fit(question, kernel) for kernel in self.kernels]
        heights = [
            height(question.evidence(kernel), fit, first)
            for kernel, fit in zip(self.kernels, fits, strict=True)
        ]
        at = next(i for i, each in enumerate(heights) if each >= max(heights) - self.margin)
        return Modelled(self.kernels[at], fits[at], {"smoothness": at})

    def _fit(self, question: Question, kernel: Kernel) -> Fit:
        evidence = question.evidence(kernel)
        return fit_inputs(evidence, question.rule, question.previous, question.rng)
