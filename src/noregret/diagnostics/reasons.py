"""The progress of a study, and why each point was chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from noregret.diagnostics.forecast_checks import Prediction
from noregret.diagnostics.presentation import best_so_far
from noregret.trials import Goal, Source, Trial, sign_of


@dataclass(frozen=True, slots=True)
class Convergence:
    """One entry per trial. best: the best value so far. (lower, upper): an interval for the optimum
    of f by the last UCB decision; None before the first. Random points, expected improvement and
    choices among feasible points give no interval.

    When maximising, the optimum is at least the lower bound at the recommended point and at most
    the upper bound at the point that UCB chose. Their distance is the certificate of that step.
    Both hold under the strategy's condition only.
    """

    best: tuple[float | None, ...]
    lower: tuple[float | None, ...]
    upper: tuple[float | None, ...]


def track_convergence(
    trials: Sequence[Trial], made: Sequence[Prediction | None], goal: Goal
) -> Convergence:
    """The progress of trials as they stand, with their predictions."""
    # only values within all limits may be the best
    values = [None if trial.feasible is False else trial.value for trial in trials]
    lower: list[float | None] = []
    upper: list[float | None] = []
    low = high = None
    for prediction in made:
        low, high = _certificate(prediction, sign_of(goal)) or (low, high)
        lower.append(low)
        upper.append(high)
    return Convergence(tuple(best_so_far(values, goal)), tuple(lower), tuple(upper))


def _certificate(made: Prediction | None, sign: float) -> tuple[float, float] | None:
    optimistic = _optimistic(made, sign)
    if made is None or made.explanation.recommended_bound is None or optimistic is None:
        return None
    safe = sign * made.explanation.recommended_bound
    if made.explanation.exploration != 1 or sign * (optimistic - safe) < 0:
        return None  # the point does not maximise the whole band, or promised less than the best
    return (safe, optimistic) if sign > 0 else (optimistic, safe)


def _optimistic(made: Prediction | None, sign: float) -> float | None:
    """The end of the band that UCB compares."""
    end = None if made is None else (made.upper if sign > 0 else made.lower)
    return end if end is not None and math.isfinite(end) else None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a point was chosen. UCB = mean + exploration, with the goal's sign; both are None if UCB
    did not decide. active: what set the function class.
    """

    rule: str
    mean: float | None = None
    exploration: float | None = None
    active: str | None = None


RULES: dict[Source, str] = {
    "initial": "Part of the initial design: spread over the space before there is a model.",
    "random": "A random point: this strategy has no model.",
    "exhaustive": "The next point of a small space, all of which is evaluated.",
    "feasibility": (
        "No limit was kept yet, so there is no value: here the chance to keep them is best."
    ),
    "retry": "The point of trial {0} again, which failed.",
    "correction": "A correction of trial {0}.",
}
BY_HAND = "Given by a person or measured elsewhere, not chosen by the strategy."


def why(trial: Trial, made: Prediction | None, goal: Goal) -> Reason:
    """The words of a decision, for the shell and the page.

    Args:
        trial: The trial.
        made: Its prediction; None if no model proposed the point.
        goal: "maximize" or "minimize".
    """
    if made is None:
        return Reason(RULES.get(trial.decision.source, BY_HAND).format(trial.corrects))
    explanation, optimistic = made.explanation, _optimistic(made, sign_of(goal))
    exploration = None
    if optimistic is not None and explanation.exploration is not None:
        exploration = explanation.exploration * (optimistic - made.mean)
    return Reason(explanation.rule, made.mean, exploration, explanation.active)
