"""Where outcomes have limits: what keeps them, what comes closest, and whether anything can."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from noregret.gp import Matern, SquaredExponential
from noregret.search import Bounded, Cover, cube_cover
from noregret.space import Array, Mask, SearchSpace, spread_points
from noregret.strategies import Belief
from noregret.trials import Limit, Trial, html_table, margin, standing

if TYPE_CHECKING:
    from noregret.study.study import Study

COVERED = 0.01  # of the norm bound: the slack up to which a cover is refined
SEARCHED = 4096  # points of the search where no cover can be had


@dataclass(frozen=True, slots=True)
class Feasibility:
    """What is known of the limits of a study; ``str`` says it in words.

    state: "feasible": a trial was told within all limits. "unknown": none yet. "infeasible":
    nothing in the space keeps them, under ``condition``, which a theorem says. trials: those within
    all limits. closest: the trial that misses them least, None where nothing was told.
    """

    state: Literal["feasible", "unknown", "infeasible"]
    trials: tuple[int, ...]
    closest: Trial | None
    condition: str = ""

    def __str__(self) -> str:
        if self.state == "feasible":
            return f"{len(self.trials)} trials are within all limits"
        near = "" if self.closest is None else f"; closest is trial {self.closest.number}"
        if self.state == "unknown":
            return f"nothing feasible yet{near}"
        return f"nothing in the space keeps all limits ({self.condition}){near}"

    def _repr_html_(self) -> str:
        return html_table("feasibility", [("state", self.state), ("in words", str(self))])


def violation(trial: Trial, limits: Mapping[str, Limit], units: Mapping[str, float]) -> float:
    """By how much a trial misses its limits, all together; ∞ where that is not known."""
    if any(name not in trial.outcomes for name in limits):
        return math.inf
    return sum(
        max(-margin(limit, trial.outcomes[name]), 0.0) / units[name]
        for name, limit in limits.items()
    )


def violation_units(trials: Sequence[Trial], limits: Mapping[str, Limit]) -> dict[str, float]:
    """The largest margin of each outcome, either way: what its violations are counted in."""
    units = {}
    for name, limit in limits.items():
        told = [abs(margin(limit, t.outcomes[name])) for t in trials if name in t.outcomes]
        units[name] = max(told, default=1.0) or 1.0
    return units


def closest(trials: Sequence[Trial], limits: Mapping[str, Limit]) -> Trial | None:
    """The trial that misses the limits least (Deb 2000)."""
    if not trials:
        return None
    units = violation_units(trials, limits)
    return min(trials, key=lambda trial: violation(trial, limits, units))


def belief_of_limits(study: Study) -> Belief | None:
    """The proved belief with those about the limits; as long as no value is known, theirs alone."""
    if not study.strategy.proved:
        return None
    belief, about = study.belief(), getattr(study.strategy, "about_outcomes", None)
    if belief is not None or about is None:
        return belief
    outcomes = about(study.space, study._history(study.trials))
    return replace(outcomes[0].margin, outcomes=outcomes) if outcomes else None


def feasibility_of(study: Study, belief: Belief | None) -> Feasibility:
    done = [trial for trial in standing(study.trials) if trial.state == "complete"]
    within = tuple(trial.number for trial in done if trial.feasible)
    near = closest(done, study.outcomes)
    if within:
        return Feasibility("feasible", within, near)
    if belief is not None and belief.outcomes and is_empty(study.space, belief):
        conditions = "; ".join(f"{each.name}: {each.margin.condition}" for each in belief.outcomes)
        return Feasibility("infeasible", (), near, conditions)
    return Feasibility("unknown", (), near)


def is_empty(space: SearchSpace, belief: Belief) -> bool:
    """Whether a theorem says that no point of the space keeps all limits: even the optimistic set
    is empty. theory.md#limits
    """
    each = [outcome.margin for outcome in belief.outcomes]
    if not all(b.proved and b.norm_bound is not None and not b.refuted for b in each):
        return False
    every = space.enumeration()
    if every is not None:
        return not optimistic_points(belief, every).any()
    found = largest_feasible(space, belief)
    return found.proved and found.upper == -math.inf


def optimistic_points(belief: Belief, A: Array) -> Mask:
    """Where no limit is surely broken."""
    kept = np.ones(len(A), dtype=np.bool_)
    for outcome in belief.outcomes:
        kept &= outcome.margin.band(A)[1] >= 0
    return kept


def largest_feasible(space: SearchSpace, belief: Belief) -> Cover:
    """A bound on f over all points that may be feasible, in the model's units."""
    every = space.enumeration()
    if every is not None:
        kept = every[optimistic_points(belief, every)]
        if len(kept) == 0:
            return Cover(-math.inf, -math.inf, every[0], len(every), proved=True)
        upper = belief.optimism.values(kept)
        top = int(np.argmax(upper))
        return Cover(float(upper[top]), float(upper[top]), kept[top], len(every), proved=True)
    parts = [belief, *(outcome.margin for outcome in belief.outcomes)]
    free, at = free_part(space)
    known = (SquaredExponential, Matern)
    if not all(isinstance(b.kernel, known) and b.norm_bound is not None for b in parts):
        return _searched(space, belief)
    value, *margins = (bounded(each, free, at) for each in parts)
    assert belief.norm_bound is not None
    tolerance = COVERED * belief.norm_bound
    cover = cube_cover(value, tolerance, margins, region=space.region)
    if cover.upper == -math.inf or cover.slack <= 4 * tolerance or free.sum() <= 2:
        return cover
    return _searched(space, belief)


def free_part(space: SearchSpace) -> tuple[Mask, Array]:
    """Which coordinates are not held, and where the others are. What constraints leave is found
    among all.
    """
    if space.region is None:
        return ~space.held, space.at
    return np.ones(space.dimension, dtype=np.bool_), np.zeros(space.dimension)


def bounded(belief: Belief, free: Mask, at: Array) -> Bounded:
    """On the free coordinates: a restriction has no larger norm (Aronszajn 1950)."""
    upper = belief.optimism.values

    def restricted(A: Array) -> Array:
        full = np.repeat(at[None, :], len(A), axis=0)
        full[:, free] = A
        return upper(full)

    assert belief.kernel is not None
    assert belief.norm_bound is not None
    least = -belief.offset / belief.scale
    theta = belief.lengthscales[free]
    return Bounded(restricted, belief.kernel, theta, belief.norm_bound, least)


def _searched(space: SearchSpace, belief: Belief) -> Cover:
    """The largest upper bound of a search. No proof."""
    points = spread_points(space, np.random.default_rng(0).random((SEARCHED, space.dimension)))
    kept = points[optimistic_points(belief, points)]
    if len(kept) == 0:
        return Cover(math.inf, -math.inf, points[0], SEARCHED, proved=False)
    values = belief.optimism.values(kept)
    top = int(np.argmax(values))
    return Cover(float(values[top]), float(values[top]), kept[top], SEARCHED, proved=False)
