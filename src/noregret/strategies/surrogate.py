"""How the default models f: which kernel, with which estimates. A value that plugs into it.

Without one it is Matérn 5/2 with one lengthscale per input. The theorem of docs/theory.md#leash
holds for every model: it needs the patrols and the leash only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Protocol, runtime_checkable

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import (
    MAP,
    Covariance,
    Dead,
    Evidence,
    Factor,
    Fit,
    Kernel,
    Masked,
    Prior,
    Structure,
    Term,
    composed,
    fit_inputs,
    refit,
)
from noregret.rkhs import (
    FunctionClass,
    Mixture,
    RadiusBand,
    Values,
    norm_lower_bound,
    radius_band,
)
from noregret.space import Array, Indices, Inputs
from noregret.strategies.base import Belief, OutcomeBelief, Record, records_of
from noregret.strategies.data import ModelData
from noregret.trials import History

EXACT = 1e-11  # smallest estimated noise variance, in prior variances: exact values stay exact


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What a model is made from: the data in the model's units, what the inputs are, the last
    estimate and what was noted beside it.
    """

    framed: ModelData
    inputs: Inputs
    rule: MAP
    kernel: Kernel  # the default's
    previous: Fit | None
    memory: Mapping[str, Any]
    rng: np.random.Generator

    def evidence(self, kernel: Covariance, prior: Prior | None = None) -> Evidence:
        rule, framed = self.rule, self.framed
        return Evidence(
            kernel,
            framed.X,
            framed.y,
            framed.told,
            rule.prior if prior is None else prior,
            rule.noise_prior,
            kriging=True,
            smallest_noise_var=EXACT,
            group=self.inputs.group,
        )

    @property
    def is_due(self) -> bool:
        """Whether the data have grown enough that everything is sought anew."""
        n, previous = len(self.framed.y), self.previous
        return previous is None or n >= self.rule.patience * previous.searched


@dataclass(frozen=True, slots=True)
class Surrogate:
    """A kernel with its estimates, and what the next decision wants to know of them; plain JSON."""

    kernel: Covariance
    fit: Fit
    memory: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class SurrogateModel(Protocol):
    """Bring your own by writing this one. With ``skip_compression = True`` on the class values are
    modelled as they are; otherwise very bad ones are compressed first, which bends a sum.
    """

    def fit(self, request: FitRequest) -> Surrogate: ...


def check_surrogate(model: object) -> None:
    if isinstance(model, type) or not isinstance(model, SurrogateModel | None):
        raise ConfigurationError(
            "surrogate says how f is modelled, a value such as Warping(), Additive() or"
            f" Smoothness(), got {model!r}"
        )


@dataclass(frozen=True, slots=True)
class Plain:
    """The default's own: its kernel, one lengthscale per input. Beside a choice and numbers it asks
    of each option whether the other inputs do nothing under it, and follows the evidence.
    """

    def fit(self, request: FitRequest) -> Surrogate:
        looks = request.inputs.is_choice.any() and request.is_due
        dead = (
            () if looks else tuple(Dead(*map(tuple, at)) for at in request.memory.get("dead", ()))
        )
        d = request.framed.X.shape[1]
        while True:
            kernel = Masked(composed(request.kernel, d), dead) if dead else request.kernel
            evidence = request.evidence(kernel)
            fit = fit_inputs(evidence, request.rule, request.previous, request.rng)
            if dead or not looks or not (dead := dead_options(request, fit)):
                memory = {"dead": [[list(each.at), list(each.option)] for each in dead]}
                return Surrogate(kernel, fit, memory if dead else {})


PLAIN = Plain()


def dead_options(request: FitRequest, fit: Fit) -> tuple[Dead, ...]:
    """The options under which the values say that the other inputs do nothing: there are more of
    them than other inputs, and the evidence is above the prior odds, where one of the options is
    as likely to be such as none.
    """
    inputs, base = request.inputs, request.evidence(request.kernel)
    first, options = np.unique(inputs.group, return_index=True)[1], list[Dead]()
    for choice in np.flatnonzero(inputs.is_choice & ~inputs.is_choice.all()):
        at = np.flatnonzero(inputs.group == choice)
        codes, counts = np.unique(base.X[:, at], axis=0, return_counts=True)
        options += [Dead(_plain(at), tuple(c)) for c in codes[counts >= len(first)].tolist()]
    least = log_posterior_at(base, fit, first) + math.log(max(len(options), 1))

    def gains(option: Dead) -> bool:
        kernel = Masked(composed(request.kernel, base.X.shape[1]), (option,))
        return log_posterior_at(replace(base, kernel=kernel), fit, first) > least

    return tuple(filter(gains, options))


def last_memory(history: History) -> Mapping[str, Any]:
    """What the model of the last decision noted."""
    for each in reversed(history.decisions):
        if each.model is not None:
            memory: Mapping[str, Any] = each.payload.get("memory", {})
            return memory
    return {}


def log_posterior_at(evidence: Evidence, fit: Fit, first: Indices) -> float:
    """The log posterior of an estimate; first: one coordinate of each input."""
    phi = np.log(fit.lengthscales[first])
    if evidence.estimates_noise:
        phi = np.append(phi, np.log(fit.noise_var))
    return evidence.log_posterior(phi, jacobian=False)[0]


def previous_fit(history: History) -> Fit | None:
    """The last estimate recorded in the history: where the next search starts."""
    return next((each.fit for each in records_of(Record, history) if each.fit), None)


def estimate(
    framed: ModelData,
    kernel: Kernel,
    estimation: MAP | None,
    initial: Array,
    history: History,
    rng: np.random.Generator,
) -> Fit | None:
    """MAP lengthscales and noise; with fixed lengthscales only the noise, if unknown; None when
    nothing is to estimate.
    """
    rule = estimation or MAP()
    evidence = framed.evidence(kernel, rule.prior, rule.noise_prior)
    if estimation is None and not evidence.estimates_noise:
        return None
    lower, upper = (
        (initial, initial)
        if estimation is None
        else (estimation.truncation * initial, estimation.ceiling * initial)
    )
    return refit(evidence, rule, lower, upper, previous_fit(history), rng)


@dataclass(frozen=True, slots=True)
class Branched:
    """What the default takes in a space with branches. shared: the part of the variance that all
    options of a choice have in common.
    """

    shared: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.shared < 1:
            raise ConfigurationError(f"shared is a part in (0, 1), got {self.shared!r}")

    def fit(self, request: FitRequest) -> Surrogate:
        kernel = branch_kernel(request.kernel, request.inputs, self.shared)
        evidence = request.evidence(kernel)
        fit = fit_inputs(evidence, request.rule, request.previous, request.rng)
        return Surrogate(kernel, fit)


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


def _plain(indices: Indices) -> tuple[int, ...]:
    return tuple(int(i) for i in indices)


NORM_MARGIN = 3.0  # times the norm that the data require: the condition of what may be left


def heuristic_band(
    framed: ModelData, kernel: Covariance, lengthscales: Array, noise_var: float, delta: float
) -> RadiusBand:
    """Where f can be if the noise is what was estimated and its norm at most ``NORM_MARGIN`` times
    what the values require: theory.md#radius, theory.md#refuted, with estimates in place of bounds.
    """
    per_point, _ = framed.known_noise(noise_var)
    values = Values(framed.X, framed.y, np.sqrt(per_point))
    theta = np.stack([lengthscales, lengthscales, lengthscales / 2, lengthscales / 2])
    forecasters = Mixture(kernel, theta, np.array([1.0, 2.0, 1.0, 2.0]), np.full(4, 0.25))
    radius_sq = forecasters.radius_squared(values, delta)
    least = norm_lower_bound(kernel, lengthscales, values, radius_sq)
    held = FunctionClass(lengthscales, NORM_MARGIN * max(least, 1.0))  # the prior std is 1
    return radius_band(kernel, held, values, radius_sq, (1 / 4, 1.0, 4.0))


def heuristic_belief(
    framed: ModelData,
    kernel: Covariance,
    fit: Fit,
    beta_sqrt: float,
    delta: float,
    outcomes: tuple[OutcomeBelief, ...],
) -> Belief:
    """The fitted model with its heuristic band, in the values' own units."""
    theta, noise_var = fit.lengthscales, fit.noise_var
    radius = heuristic_band(framed, kernel, theta, noise_var, delta)
    noise_std = framed.scale * math.sqrt(framed.known_noise(noise_var)[1])
    norm = framed.scale * radius.function_class.norm_bound
    condition = (
        f"a guess by the data, not proved: with probability {1 - delta:g} if the noise is at"
        f" most {noise_std:.3g} (std) and f has norm at most {norm:.3g},"
        f" {NORM_MARGIN:g} times what the values require, at the fitted lengthscales"
    )
    return Belief(
        framed.condition(kernel, theta, noise_var, kriging=True),
        beta_sqrt,
        theta,
        framed.offset,
        framed.scale,
        condition,
        radius=radius,
        outcomes=outcomes,
        mixture=framed.mixture(kernel, theta, noise_var),
    )
