"""f as a sum of functions of few inputs each: additive kernels (Duvenaud, Nickisch and Rasmussen
2011, whom JMLR sec. 4.2 names), the groups found from the data.

From one group per input, the two groups whose union raises the posterior most are joined, again and
again; one kernel of all inputs competes at the end. A group is a space of its own: lengthscales are
expected as in that many inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import Covariance, Fit, LogNormal, LogNormals, Prior, additive
from noregret.strategies.inputs import fit_inputs
from noregret.strategies.modelling import Modelled, Question, height

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Additive:
    """joins: how often at most two groups are joined. margin: by how many nats a union, or a sum
    instead of one kernel of all inputs, must be better.
    """

    as_they_are: ClassVar[bool] = True

    joins: int = 4
    margin: float = 1.0

    def __post_init__(self) -> None:
        if not (isinstance(self.joins, int) and self.joins >= 0):
            raise ConfigurationError(f"joins is a whole number of at least 0, got {self.joins!r}")
        if not self.margin >= 0:
            raise ConfigurationError(f"margin must be at least 0 nats, got {self.margin!r}")

    def modelled(self, question: Question) -> Modelled:
        inputs = range(int(question.inputs.group[-1]) + 1)
        whole: Groups = (tuple(inputs),)
        groups: Groups = tuple(tuple(g) for g in question.memory.get("groups", whole))
        if sorted(i for group in groups for i in group) != list(inputs):
            groups = whole  # the space has changed
        if question.is_due and len(inputs) > 1:
            groups, fit = self._sought(question, whole)
        else:
            fit = self._fit(question, groups)
        memory = {"groups": [list(group) for group in groups]}
        return Modelled(kernel_of(question, groups), fit, memory)

    def _sought(self, question: Question, whole: Groups) -> tuple[Groups, Fit]:
        groups: Groups = tuple((i,) for i in whole[0])
        fit = self._fit(question, groups)
        best = self._height(question, groups, fit)
        for _ in range(min(self.joins, len(groups) - 2)):
            tried = [_joined(groups, pair) for pair in combinations(range(len(groups)), 2)]
            scores = [self._height(question, each, fit) for each in tried]
            pick = int(np.argmax(scores))
            other = self._fit(question, tried[pick])
            score = self._height(question, tried[pick], other)
            if score < best + self.margin:
                break
            groups, fit, best = tried[pick], other, score
        plain = self._fit(question, whole)
        if self._height(question, whole, plain) + self.margin > best:
            return whole, plain
        return groups, fit

    def _fit(self, question: Question, groups: Groups) -> Fit:
        prior = prior_of(question, groups)
        evidence = question.evidence(kernel_of(question, groups), prior)
        rule = replace(question.rule, prior=prior)
        return fit_inputs(evidence, rule, question.previous, question.rng)

    def _height(self, question: Question, groups: Groups, fit: Fit) -> float:
        first = np.unique(question.inputs.group, return_index=True)[1]
        evidence = question.evidence(kernel_of(question, groups), prior_of(question, groups))
        return height(evidence, fit, first)


def prior_of(question: Question, groups: Groups) -> Prior:
    """The default's prior of lengthscales in a space of the group's size, for each group."""
    prior = question.rule.prior
    if not (isinstance(prior, LogNormal) and prior.dimension_scaled):
        return prior
    sizes = np.ones(int(question.inputs.group[-1]) + 1)
    for group in groups:
        sizes[list(group)] = len(group)
    return LogNormals(prior.location + 0.5 * np.log(sizes), prior.scale)


def kernel_of(question: Question, groups: Groups) -> Covariance:
    """The sum over groups of inputs; one group: the kernel itself."""
    if len(groups) == 1:
        return question.kernel
    of_input = question.inputs.group
    return additive(
        question.kernel, [np.flatnonzero(np.isin(of_input, g)).tolist() for g in groups]
    )


def _joined(groups: Groups, pair: tuple[int, int]) -> Groups:
    rest = [group for i, group in enumerate(groups) if i not in pair]
    return (*rest, tuple(sorted(groups[pair[0]] + groups[pair[1]])))
