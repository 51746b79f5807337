"""What a study has found, from one fit: the best, what to use, the forecast, a certificate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.errors import TrialError
from noregret.gp import Matern, SquaredExponential
from noregret.search import Cover, argmax, covered, searched
from noregret.space import Array, SearchSpace, region_of
from noregret.strategies import Belief
from noregret.trials import Goal, Trial, html_table, sign_of

COVERED = 0.01  # of the norm bound: the slack up to which a cover is refined


@dataclass(frozen=True, slots=True)
class Certificate:
    """The regret of ``params``, the recommended point, is at most ``regret_bound``, under
    ``condition`` and not otherwise.

    proved: whether a theorem says so; if not, it is a rule of thumb. refuted: the data contradict
    the condition. slack: by how much the bound may exceed what an exact maximum of the band would
    give; it is included.
    """

    params: Any
    regret_bound: float
    condition: str
    proved: bool = False
    refuted: bool = False
    slack: float = 0.0

    def _repr_html_(self) -> str:
        kind = "a theorem" if self.proved else "a rule of thumb, not proved"
        bound = ("regret at most", f"{self.regret_bound:.4g}")
        return html_table("certificate", [bound, ("by", kind), ("if", self.condition)])


@dataclass(frozen=True, slots=True)
class Result:
    """best: the best observed value, partly luck under noise. recommended: the evaluated point with
    the best posterior mean, or with the best lower bound where that is proved. prediction: mean and
    std of f there, in the values' sign. belief and certificate are None without a model; then
    recommended is best.
    """

    best: Trial
    recommended: Trial
    prediction: tuple[float, float] | None
    certificate: Certificate | None
    belief: Belief | None


def best_of(complete: Sequence[Trial], goal: Goal) -> Trial:
    if not complete:
        raise TrialError("no trial is complete yet: tell a value first")
    return max(complete, key=lambda trial: sign_of(goal) * float(trial.value or 0.0))


def recommended_of(
    complete: Sequence[Trial], encode: Callable[[Trial], Array], belief: Belief
) -> tuple[Trial, float, float]:
    """The trial with the best posterior mean, and mean and std there, to be maximised. Where the
    band is proved, the one with the best lower bound: it has the smallest certificate.
    """
    X = np.array([encode(trial) for trial in complete])
    mean, std = belief.predict(X)
    best = int(np.argmax(belief.band(X)[0] if belief.proved else mean))
    return complete[best], float(mean[best]), float(std[best])


def certify(
    space: SearchSpace, belief: Belief, recommended: Trial, x: Array, seed: int
) -> Certificate:
    """An upper bound of f less a lower bound at the recommended point x. theory.md#certificates

    Where the belief is proved the upper bound is a cover's, or looked through if the space is a
    list; else the largest that was found.
    """
    rng, nothing = np.random.default_rng(seed), np.empty((0, space.dimension))
    top = argmax(belief.optimism, space, belief.lengthscales, rng, x[None, :], nothing)
    lower, upper = float(belief.band(x[None, :])[0][0]), float(belief.band(top[None, :])[1][0])
    if not belief.proved or belief.norm_bound is None:
        regret = min(upper - lower, sys.float_info.max)
        return Certificate(recommended.params, regret, belief.condition)
    found = _largest(space, belief, top)
    bound = min(found.upper, belief.norm_bound)  # |f| ≤ ‖f‖, as k(x, x) = 1
    condition = belief.condition
    if not found.proved:
        condition = f"not proved (the band's maximum was searched, not covered): {condition}"
    return Certificate(
        recommended.params,
        belief.offset + belief.scale * bound - lower,
        condition,
        found.proved,
        belief.refuted,
        belief.scale * max(bound - found.found, 0.0),
    )


def _largest(space: SearchSpace, belief: Belief, top: Array) -> Cover:
    """A bound on f over the space, in the model's units; top: where its upper bound is largest as
    far as a search can tell.
    """
    upper = belief.optimism.values
    every = space.enumeration()
    if every is not None:
        largest = float(upper(every).max())
        return Cover(largest, largest, top, len(every), proved=True)
    found, region = float(upper(top[None, :])[0]), region_of(space)
    if not isinstance(belief.kernel, (SquaredExponential, Matern)):
        return searched(upper, found, space.dimension, region=region)
    assert belief.norm_bound is not None
    tolerance = COVERED * belief.norm_bound
    theta = belief.lengthscales
    return covered(upper, belief.kernel, theta, belief.norm_bound, tolerance, found, region, top)
