"""What a study has found, from one fit: the best, what to use, the forecast, a certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.errors import TrialError
from noregret.search import argmax, ucb
from noregret.space import Array, SearchSpace
from noregret.strategies import Belief
from noregret.trials import Goal, Trial, sign_of


@dataclass(frozen=True, slots=True)
class Certificate:
    """The recommended point's regret is at most ``regret_bound``, under ``condition`` and not
    otherwise. proved: whether a theorem says so; if not, it is a rule of thumb.
    """

    params: Any
    regret_bound: float
    condition: str
    proved: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """best: the best observed value, partly luck under noise. recommended: the evaluated point with
    the best posterior mean. prediction: mean and std of f there, in the values' sign. belief and
    certificate are None without a model; then recommended is best.
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
    """The trial with the best posterior mean, and mean and std there, to be maximised."""
    mean, std = belief.predict(np.array([encode(trial) for trial in complete]))
    best = int(np.argmax(mean))
    return complete[best], float(mean[best]), float(std[best])


def certify(
    space: SearchSpace, belief: Belief, recommended: Trial, x: Array, seed: int
) -> Certificate:
    """max UCB − LCB at the recommended point x."""
    acquisition = ucb(belief.predictor, belief.beta_sqrt)
    rng, nothing = np.random.default_rng(seed), np.empty((0, space.dimension))
    top = argmax(acquisition, space, belief.lengthscales, rng, x[None, :], nothing)
    lower, _ = belief.band(x[None, :])
    _, upper = belief.band(top[None, :])
    bound = float(upper[0] - lower[0])
    return Certificate(recommended.params, bound, belief.condition, belief.proved)
