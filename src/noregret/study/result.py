"""What a study has found, from one fit: the best, what to use, the forecast, a certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noregret.errors import TrialError
from noregret.gp import Matern, SquaredExponential
from noregret.search import Cover, argmax, covered, searched
from noregret.space import Array, Mask, SearchSpace
from noregret.strategies import Belief
from noregret.study.feasibility import COVERED, bounded, closest, free_part, largest_feasible
from noregret.trials import Goal, Limit, Trial, html_table, sign_of

RESOLUTION = 1e-4  # in the model's units, the smallest std of a fitted noise: no finer differences


@dataclass(frozen=True, slots=True)
class Certificate:
    """The regret of ``params``, the recommended point, is at most ``regret_bound``, under
    ``condition`` and not otherwise. Where outcomes have limits it is the regret against the best
    point that keeps them.

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
    #: by how much ``params`` may break each limit, in the outcome's units; 0: it surely does not
    violations: Mapping[str, float] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        kind = "a theorem" if self.proved else "a rule of thumb, not proved"
        bound = ("regret at most", f"{self.regret_bound:.4g}")
        return html_table("certificate", [bound, ("by", kind), ("if", self.condition)])


@dataclass(frozen=True, slots=True)
class Result:
    """best: the best observed value, partly luck under noise. recommended: the evaluated point with
    the best posterior mean, or with the best lower bound where that is proved. prediction: mean and
    std of f there, in the values' sign. In a study with context both are over all contexts that
    were met: see ``Study.recommended_for``. belief and certificate are None without a model; then
    recommended is best.
    """

    best: Trial
    recommended: Trial
    prediction: tuple[float, float] | None
    certificate: Certificate | None
    belief: Belief | None
    feasible: bool | None = None  # of the recommended point, by the model; None: no limits


def best_of(
    complete: Sequence[Trial], goal: Goal, limits: Mapping[str, Limit] | None = None
) -> Trial:
    """Of those within all limits; where there is none yet, the one that misses them least."""
    if not complete:
        raise TrialError("no trial is complete yet: tell a value first")
    if limits:
        within = [trial for trial in complete if trial.feasible and trial.value is not None]
        if not within:
            near = closest(complete, limits)
            assert near is not None
            return near
        complete = within
    return max(complete, key=lambda trial: sign_of(goal) * float(trial.value or 0.0))


def recommended_of(
    complete: Sequence[Trial], encode: Callable[[Trial], Array], belief: Belief, goal: Goal
) -> tuple[Trial, float, float]:
    """The trial with the best posterior mean, and mean and std there, to be maximised. Where the
    band is proved, the one with the best lower bound: it has the smallest certificate. Where
    outcomes have limits: among those that keep them, see ``within_limits``.

    Beside values that diverge a model is blind to all others. So unless the band is proved, no
    trial counts whose value is further below the median than the best is above it, and of trials
    that the model cannot tell apart the one with the best value is taken.
    """
    valued = [trial for trial in complete if trial.value is not None]
    X = np.array([encode(trial) for trial in valued])
    mean, std = belief.predict(X)
    score = belief.band(X)[0] if belief.proved else mean
    value = sign_of(goal) * np.array([trial.value for trial in valued], dtype=np.float64)
    kept = within_limits(belief, X)
    if not kept.any():
        score = _chance(belief, X)
    elif belief.proved:
        score = np.where(kept, score, -np.inf)
    else:
        middle = np.sort(value[kept])[np.sum(kept) // 2]
        with np.errstate(over="ignore"):
            kept &= value >= middle - (value[kept].max() - middle)
        kept &= score >= score[kept].max() - RESOLUTION * belief.scale
        score = np.where(kept, value, -np.inf)
    best = int(np.argmax(score))
    return valued[best], float(mean[best]), float(std[best])


def within_limits(belief: Belief, X: Array) -> Mask:
    """Where all limits are kept: surely, by a proved band, if that is anywhere; or else with a
    chance of at least one half each.
    """
    likely, sure = np.ones((2, len(X)), dtype=np.bool_)
    for outcome in belief.outcomes:
        likely &= outcome.chance(X) >= 0.5
        sure &= outcome.margin.band(X)[0] >= 0
    return sure if belief.proved and sure.any() else likely


def _chance(belief: Belief, X: Array) -> Array:
    """That all limits are kept."""
    return np.asarray(np.prod([outcome.chance(X) for outcome in belief.outcomes], axis=0))


def certify(
    space: SearchSpace, belief: Belief, recommended: Any, x: Array, seed: int
) -> Certificate:
    """An upper bound of f less a lower bound at the recommended point x. theory.md#certificates

    Where the belief is proved the upper bound is a cover's, or looked through if the space is a
    list; else the largest that was found. recommended: the params of x.
    """
    if belief.outcomes:
        return _certify_limited(space, belief, recommended, x)
    rng, nothing = np.random.default_rng(seed), np.empty((0, space.dimension))
    top = argmax(belief.optimism, space, belief.lengthscales, rng, x[None, :], nothing)
    if not belief.proved or belief.norm_bound is None:
        regret = max(belief.regret(x, top), belief.regret(x, x))  # a search may miss x itself
        return Certificate(recommended, regret, belief.condition, refuted=belief.refuted)
    found, lower = _largest(space, belief, top), float(belief.bounds(x[None, :])[0][0])
    bound = min(found.upper, belief.norm_bound)  # |f| ≤ ‖f‖, as k(x, x) = 1
    condition = belief.condition
    if not found.proved:
        condition = f"not proved (the band's maximum was searched, not covered): {condition}"
    return Certificate(
        recommended,
        belief.in_values(max(bound - lower, 0.0)),
        condition,
        found.proved,
        belief.refuted,
        belief.in_values(max(bound - found.found, 0.0)),
    )


def _certify_limited(space: SearchSpace, belief: Belief, recommended: Any, x: Array) -> Certificate:
    """Against every point that may be feasible; and by how much x may break each limit."""
    found = largest_feasible(space, belief)
    lower = float(belief.bounds(x[None, :])[0][0])
    margins = {o.name: float(o.margin.band(x[None, :])[0][0]) for o in belief.outcomes}
    bound = found.upper if belief.norm_bound is None else min(found.upper, belief.norm_bound)
    regret = belief.in_values(max(bound - lower, 0.0))
    conditions = [belief.condition, *(f"{o.name}: {o.margin.condition}" for o in belief.outcomes)]
    proved = belief.proved and found.proved
    if belief.proved and not found.proved:
        conditions[0] = (
            f"not proved (the band's maximum was searched, not covered): {conditions[0]}"
        )
    return Certificate(
        recommended,
        regret,
        "; ".join(conditions),
        proved,
        belief.refuted or any(o.margin.refuted for o in belief.outcomes),
        belief.in_values(max(bound - found.found, 0.0)),
        {name: max(-lowest, 0.0) for name, lowest in margins.items()},
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
    found, region = float(upper(top[None, :])[0]), space.region
    if not isinstance(belief.kernel, (SquaredExponential, Matern)):
        return searched(upper, found, space.dimension, region=region)
    assert belief.norm_bound is not None
    inside = bounded(belief, *free_part(space))
    return covered(inside, COVERED * belief.norm_bound, found, region, top)
