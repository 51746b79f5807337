"""A kernel of a space with branches: a sum over the branches.

Where two designs are in one branch they are alike as their inputs are; where not, as far as
branches have something in common:

    k = k(common)·Π_choices (shared + (1 − shared)·[same option]·k(its own inputs))

Written out it is a sum of products, one term for each branch and one for all of them. A choice
among the own inputs that has branches again stands there with such a factor of its own. The inputs
of other branches rest where they are, so they make no difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
    owned = {i for _, own in inputs.branches for i in own}
    choices = {choice for choice, _ in inputs.branches}
    common = np.flatnonzero(~np.isin(inputs.group, list(owned | choices)))
    first = (Factor(kernel, _plain(common)),) if len(common) else ()
    outer = [choice for choice, _ in inputs.branches if choice not in owned]
    return Structure(
        tuple(
            Term(share, (*first, *factors))
            for share, factors in _terms(outer, kernel, inputs, shared)
        )
    )


Product = tuple[float, tuple[Factor, ...]]


def _terms(
    choices: Sequence[int], kernel: Kernel, inputs: Inputs, shared: float
) -> Iterator[Product]:
    """Π over choices of shared + (1 − shared)·[same option]·k(own inputs)·(that of its own
    choices), written out.
    """
    own = dict(inputs.branches)
    each_of: list[list[Product]] = []
    for choice in choices:
        inner = [i for i in own[choice] if i in own]
        numbers = np.flatnonzero(np.isin(inputs.group, [i for i in own[choice] if i not in own]))
        alike = [Factor(None, _plain(np.flatnonzero(inputs.group == choice)))]
        alike += [Factor(kernel, _plain(numbers))] if len(numbers) else []
        each_of.append([(shared, ())])
        for share, factors in _terms(inner, kernel, inputs, shared):
            each_of[-1].append(((1 - shared) * share, (*alike, *factors)))
    for picked in product(*each_of):
        yield (
            math.prod(share for share, _ in picked),
            tuple(factor for _, factors in picked for factor in factors),
        )


def _plain(indices: np.ndarray[tuple[int], np.dtype[np.intp]]) -> tuple[int, ...]:
    return tuple(int(i) for i in indices)
