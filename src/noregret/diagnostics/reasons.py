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
    """One entry per trial.

    Random points, expected improvement and choices among feasible points give no interval. When
    maximising, the optimum is at least the lower bound at the recommended point and at most
    the upper bound at the point that UCB chose. Their distance is the certificate of that step.
    Both hold under the strategy's condition only, and are given where they are proved.

    Args:
        best: The best value so far; None before the first.
        lower: Lower end of an interval for the optimum of f, by the last UCB decision; None before.
        upper: Upper end of that interval.
    """

    best: tuple[float | None, ...]
    lower: tuple[float | None, ...]
    upper: tuple[float | None, ...]


def track_convergence(
    trials: Sequence[Trial], forecasts: Sequence[Prediction | None], goal: Goal
) -> Convergence:
    """The progress of a study.

    Args:
        trials: The trials as ``effective_trials`` gives them.
        forecasts: Their predictions, see ``predictions``.
        goal: "maximize" or "minimize".

    Returns:
        The best value and the interval for the optimum after each trial.
    """
    # only values within all limits may be the best
    values = [None if trial.feasible is False else trial.value for trial in trials]
    lower: list[float | None] = []
    upper: list[float | None] = []
    low = high = None
    for prediction in forecasts:
        low, high = _certificate(prediction, sign_of(goal)) or (low, high)
        lower.append(low)
        upper.append(high)
    return Convergence(tuple(best_so_far(values, goal)), tuple(lower), tuple(upper))


def _certificate(prediction: Prediction | None, sign: float) -> tuple[float, float] | None:
    optimistic = _optimistic(prediction, sign)
    if prediction is None or prediction.explanation.recommended_bound is None or optimistic is None:
        return None
    if not prediction.explanation.proved:  # the default's held the maximum at 65 % of the steps
        return None
    safe = sign * prediction.explanation.recommended_bound
    if prediction.explanation.exploration != 1 or sign * (optimistic - safe) < 0:
        return None  # the point does not maximise the whole band, or promised less than the best
    return (safe, optimistic) if sign > 0 else (optimistic, safe)


def _optimistic(prediction: Prediction | None, sign: float) -> float | None:
    """The end of the band that UCB compares."""
    end = None if prediction is None else (prediction.upper if sign > 0 else prediction.lower)
    return end if end is not None and math.isfinite(end) else None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a point was chosen. UCB = mean + exploration, with the goal's sign.

    Args:
        rule: The rule that chose it, in a sentence.
        mean: The expected value there; None if no model chose the point.
        exploration: What UCB added for uncertainty; None if UCB did not choose the point.
        active: What set the function class, in a sentence.
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
        "No feasible point is known yet: this one is the most likely to satisfy all limits."
    ),
    "retry": "The point of trial {0} again, which failed.",
    "correction": "A correction of trial {0}.",
}
BY_HAND = "Given by a person or measured elsewhere, not chosen by the strategy."


def why(trial: Trial, prediction: Prediction | None, goal: Goal) -> Reason:
    """The words of a decision, for the shell and the page.

    Args:
        trial: The trial.
        prediction: Its prediction; None if no model proposed the point.
        goal: "maximize" or "minimize".

    Returns:
        The rule, and the parts of UCB where it decided.
    """
    if prediction is None:
        return Reason(RULES.get(trial.decision.source, BY_HAND).format(trial.corrects))
    explanation, optimistic = prediction.explanation, _optimistic(prediction, sign_of(goal))
    exploration = None
    if optimistic is not None and explanation.exploration is not None:
        exploration = explanation.exploration * (optimistic - prediction.mean)
    return Reason(explanation.rule, prediction.mean, exploration, explanation.active)
