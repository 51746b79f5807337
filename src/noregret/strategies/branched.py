"""A kernel of a space with branches: a sum over the branches.

Where two designs are in one branch they are alike as their inputs are; where not, as far as
branches have something in common:

    k = k(common)·Π_choices (shared + (1 − shared)·[same option]·k(its own inputs))

Written out it is a sum of products, one term for each branch and one for all of them. The inputs of
other branches stand at the middle of their ranges, so they make no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import Covariance, Factor, Kernel, Structure, Term
from noregret.strategies.inputs import Inputs, fit_inputs
from noregret.strategies.modelling import Modelled, Question


@dataclass(frozen=True, slots=True)
class Branched:
    """What the default takes in a space with branches. shared: the part of the variance that all
    options of a choice have in common.
    """

    shared: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.shared < 1:
            raise ConfigurationError(f"shared is a part in (0, 1), got {self.shared!r}")

    def modelled(self, question: Question) -> Modelled:
        kernel = branch_kernel(question.kernel, question.inputs, self.shared)
        evidence = question.evidence(kernel)
        fit = fit_inputs(evidence, question.rule, question.previous, question.rng)
        return Modelled(kernel, fit)


def branch_kernel(kernel: Kernel, inputs: Inputs, shared: float) -> Covariance:
    """The sum over branches; without branches the kernel itself."""
    if not inputs.branches:
        return kernel
    special = {i for choice, owned in inputs.branches for i in (choice, *owned)}
    common = np.flatnonzero(~np.isin(inputs.group, list(special)))
    first = (Factor(kernel, _plain(common)),) if len(common) else ()
    terms = []
    for own in product((False, True), repeat=len(inputs.branches)):
        factors, share = list(first), 1.0
        for is_own, (choice, owned) in zip(own, inputs.branches, strict=True):
            share *= 1 - shared if is_own else shared
            if is_own:
                factors.append(Factor(None, _plain(np.flatnonzero(inputs.group == choice))))
                factors.append(Factor(kernel, _plain(np.flatnonzero(np.isin(inputs.group, owned)))))
        terms.append(Term(share, tuple(factors)))
    return Structure(tuple(terms))


def _plain(indices: np.ndarray[tuple[int], np.dtype[np.intp]]) -> tuple[int, ...]:
    return tuple(int(i) for i in indices)
