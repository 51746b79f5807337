"""The smoothness by evidence: Matérn 1/2, 3/2, 5/2 or squared exponential, whichever explains the
values best. JMLR sec. 4.2 suggests to adapt ν.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.strategies.inputs import fit_inputs
from noregret.strategies.modelling import Modelled, Question, height


@dataclass(frozen=True, slots=True)
class Smoothness:
    """Each kernel is fitted by itself, and the one with the highest posterior taken.

    kernels: those that may be chosen. margin: by how many nats another one must be better than the
    default's Matérn 5/2, or the one chosen before.
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
        held = self.kernels[at] if 0 <= at < len(self.kernels) else question.kernel
        evidence = question.evidence(held)
        fit = fit_inputs(evidence, question.rule, question.previous, question.rng)
        if question.is_due:
            first = np.unique(question.inputs.group, return_index=True)[1]
            best = height(evidence, fit, first) + self.margin
            for index, kernel in enumerate(self.kernels):
                if kernel == held:
                    continue
                other = question.evidence(kernel)
                tried = fit_inputs(other, question.rule, question.previous, question.rng)
                if height(other, tried, first) > best:
                    best, held, fit, at = height(other, tried, first), kernel, tried, index
        return Modelled(held, fit, {"smoothness": at})
