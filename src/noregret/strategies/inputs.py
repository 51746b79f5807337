"""Inputs, as people count them: a choice is one input, however many coordinates its options
take."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noregret.gp import (
    COARSE,
    ENOUGH,
    MAP,
    TOLERANCE,
    Evidence,
    Fit,
    fit_map,
    lasting_part,
    log_evidence_gradient,
    starting_points,
)
from noregret.space import Array, Choice, Indices, Mask, SearchSpace, region_of


@dataclass(frozen=True, slots=True)
class Inputs:
    """group (d,): the input each coordinate belongs to; is_choice, is_free (inputs,)."""

    group: Indices
    is_choice: Mask
    is_free: Mask
    repeatable: bool  # no coordinate moves freely: every design can be measured again
    # for each choice that decides where inputs exist: it, and those inputs
    branches: tuple[tuple[int, tuple[int, ...]], ...] = ()
    in_context: bool = False  # some are given at each ask
    # of each input: the encoded options of a choice, None for a number; None: not a plain box
    levels: tuple[Array | None, ...] | None = None
    combinations: float = 1.0  # of what the inputs that do not move freely can be

    @staticmethod
    def of(space: SearchSpace) -> Inputs:
        whole: Any = getattr(space, "space", space)  # a space with some parameters held
        held = getattr(space, "held", np.zeros(space.dimension, dtype=np.bool_))
        in_context = bool(getattr(space, "is_context", False))
        parameters = getattr(whole, "parameters", None)
        if parameters is None:
            widths, choices = [1] * space.dimension, [False] * space.dimension
        else:
            kept = [parameter for parameter in parameters.values() if parameter.width]
            widths = [parameter.width for parameter in kept]
            choices = [isinstance(parameter, Choice) for parameter in kept]
        group = np.repeat(np.arange(len(widths)), widths)
        free = ~np.array([held[group == index].all() for index in range(len(widths))])
        owned = getattr(whole, "branches", ())
        levels, combinations = None, 1.0
        if parameters is not None and region_of(space) is None:
            levels = tuple(p.levels() if isinstance(p, Choice) else None for p in kept)
            combinations = math.prod(p.size for p in kept if math.isfinite(p.size))
        if not owned or parameters is None:
            repeatable = not space.continuous.any()
            rest = (), in_context, levels, combinations
            return Inputs(group, np.array(choices), free, repeatable, *rest)
        names = [name for name, parameter in parameters.items() if parameter.width]
        branches = tuple(
            (names.index(choice), tuple(names.index(o.name) for o in owned if o.choice == choice))
            for choice in dict.fromkeys(each.choice for each in owned)
        )
        fixed = all(math.isfinite(each.size) for each in kept)
        return Inputs(group, np.array(choices), free, fixed, branches, in_context, levels)

    @property
    def count(self) -> int:
        return max(int(self.is_free.sum()), 1)

    @property
    def numbers(self) -> int:
        return int((self.is_free & ~self.is_choice).sum())

    @property
    def choices(self) -> int:
        return int((self.is_free & self.is_choice).sum())

    @property
    def of_choices(self) -> Mask:
        """The coordinates that belong to a choice."""
        return self.is_choice[self.group]


@dataclass(frozen=True, slots=True)
class InputEvidence(Evidence):
    """The log posterior of one lengthscale per input; ``group`` as in ``Inputs``."""

    group: Indices = None  # type: ignore[assignment]  # a field after one without default

    @property
    def dimension(self) -> int:
        return int(self.group[-1]) + 1

    def log_posterior(self, phi: Array, *, jacobian: bool) -> tuple[float, Array]:
        d = self.dimension
        common = float(np.exp(phi[d])) if self.estimates_noise else np.nan
        value, by_coordinate, by_noise = log_evidence_gradient(
            self.kernel,
            np.exp(phi[:d])[self.group],
            self.X,
            self.y,
            self.noise_var(common),
            kriging=self.kriging,
        )
        prior, by_prior = self.prior.log_density(phi[:d], d)
        value += prior
        gradient = np.bincount(self.group, weights=by_coordinate, minlength=d) + by_prior
        return self.with_noise(value, gradient, by_noise, phi, d, jacobian=jacobian)


def fit_inputs(
    evidence: InputEvidence,
    rule: MAP,
    previous: Fit | None,
    rng: np.random.Generator,
    tolerance: float = TOLERANCE,
) -> Fit:
    """MAP lengthscales, one per input, written to all its coordinates; noise if it is unknown.

    As ``estimation.estimate``: all starts when the data grew by ``patience``, the last estimate
    improved when they grew by ``refresh``, or kept.
    """
    group, n = evidence.group, len(evidence.y)
    initial = np.full(evidence.dimension, np.sqrt(evidence.dimension))
    lower, upper = rule.truncation * initial, rule.ceiling * initial
    if previous is not None:
        first = np.unique(group, return_index=True)[1]
        previous = replace(previous, lengthscales=previous.lengthscales[first])
    if n > ENOUGH:
        part_of = evidence.part(lasting_part(n, ENOUGH))
        assert isinstance(part_of, InputEvidence)
        evidence = part_of
    starts = starting_points(evidence, rule, previous, rng)
    if previous is not None and n < rule.patience * previous.searched:
        if n < rule.refresh * previous.improved:
            return replace(previous, lengthscales=previous.lengthscales[group])
        found = fit_map(evidence, lower, upper, starts[:1], previous.searched, tolerance)
        return replace(found, lengthscales=found.lengthscales[group], improved=n)
    if n > COARSE:  # the search on a part of the data, the estimate on all of them
        part = fit_map(
            evidence.part(rng.permutation(min(n, ENOUGH))[:COARSE]), lower, upper, starts
        )
        noise = [part.noise_var] if evidence.estimates_noise else []
        tried = [
            np.log([*part.lengthscales, *noise]),
            *(starts[:1] if previous is not None else []),
        ]
        starts = np.array(
            [max(tried, key=lambda phi: evidence.log_posterior(phi, jacobian=False)[0])]
        )
    found = fit_map(evidence, lower, upper, starts, n, tolerance)
    return replace(found, lengthscales=found.lengthscales[group], improved=n)
