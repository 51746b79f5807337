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

from noregret.errors import check_range
from noregret.gp import Covariance, Fit, LogNormal, Prior, additive, fit_inputs
from noregret.space import Array
from noregret.strategies.surrogate import FitRequest, Surrogate, log_posterior_at

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Additive:
    """A sum of functions of few inputs each, for ``surrogate=`` of the default.

    Args:
        joins: how often two groups are joined, at most.
        margin: by how many nats of the log posterior a union must be better than its parts, and a
            sum better than one kernel of all inputs.

    Raises:
        ConfigurationError: a setting outside its range.
    """

    skip_compression: ClassVar[bool] = True

    joins: int = 4
    margin: float = 1.0

    def __post_init__(self) -> None:
        check_range("joins", self.joins, "[0, ∞)", whole=True)
        check_range("margin", self.margin, "[0, ∞]", "in nats")

    def fit(self, request: FitRequest) -> Surrogate:
        inputs = range(int(request.inputs.group[-1]) + 1)
        whole: Groups = (tuple(inputs),)
        groups: Groups = tuple(tuple(g) for g in request.memory.get("groups", whole))
        if sorted(i for group in groups for i in group) != list(inputs):
            groups = whole  # the space has changed
        if request.is_due and len(inputs) > 1:
            groups, fit = self._sought(request, whole)
        else:
            fit = self._fit(request, groups)
        memory = {"groups": [list(group) for group in groups]}
        return Surrogate(kernel_of(request, groups), fit, memory)

    def _sought(self, request: FitRequest, whole: Groups) -> tuple[Groups, Fit]:
        groups: Groups = tuple((i,) for i in whole[0])
        fit = self._fit(request, groups)
        best = self._height(request, groups, fit)
        for _ in range(min(self.joins, len(groups) - 2)):
            tried = [_joined(groups, pair) for pair in combinations(range(len(groups)), 2)]
            scores = [self._height(request, each, fit) for each in tried]
            pick = int(np.argmax(scores))
            other = self._fit(request, tried[pick])
            score = self._height(request, tried[pick], other)
            if score < best + self.margin:
                break
            groups, fit, best = tried[pick], other, score
        plain = self._fit(request, whole)
        if self._height(request, whole, plain) + self.margin > best:
            return whole, plain
        return groups, fit

    def _fit(self, request: FitRequest, groups: Groups) -> Fit:
        prior = prior_of(request, groups)
        evidence = request.evidence(kernel_of(request, groups), prior)
        rule = replace(request.rule, prior=prior)
        return fit_inputs(evidence, rule, request.previous, request.rng)

    def _height(self, request: FitRequest, groups: Groups, fit: Fit) -> float:
        first = np.unique(request.inputs.group, return_index=True)[1]
        evidence = request.evidence(kernel_of(request, groups), prior_of(request, groups))
        return log_posterior_at(evidence, fit, first)


@dataclass(frozen=True, slots=True)
class GroupPrior(LogNormal):
    """The default's prior of a lengthscale, each in a space of its group's size."""

    sizes: tuple[int, ...] = ()

    def _location(self, dimension: int) -> Array:
        return self.location + 0.5 * np.log(np.array(self.sizes, dtype=np.float64))


def prior_of(request: FitRequest, groups: Groups) -> Prior:
    prior = request.rule.prior
    if not (isinstance(prior, LogNormal) and prior.dimension_scaled):
        return prior
    size = {i: len(group) for group in groups for i in group}
    return GroupPrior(prior.location, prior.scale, sizes=tuple(size[i] for i in sorted(size)))


def kernel_of(request: FitRequest, groups: Groups) -> Covariance:
    """The sum over groups of inputs; one group: the kernel itself."""
    if len(groups) == 1:
        return request.kernel
    of_input = request.inputs.group
    return additive(request.kernel, [np.flatnonzero(np.isin(of_input, g)).tolist() for g in groups])


def _joined(groups: Groups, pair: tuple[int, int]) -> Groups:
    rest = [group for i, group in enumerate(groups) if i not in pair]
    return (*rest, tuple(sorted(groups[pair[0]] + groups[pair[1]])))
