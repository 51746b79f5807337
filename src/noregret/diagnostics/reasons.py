"""The progress of a study, and why each point was chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from noregret.diagnostics.forecast_checks import Prediction
from noregret.diagnostics.presentation import best_so_far
from noregret.trials import WITHOUT_VALUE, Goal, ModelDecision, Trial, sign_of


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


def convergence(
    trials: Sequence[Trial], made: Sequence[Prediction | None], goal: Goal
) -> Convergence:
    """The progress of trials as they stand, with their predictions."""
    best = best_so_far([trial.value if _counts(trial) else None for trial in trials], goal)
    bounds: list[tuple[float | None, float | None]] = []
    for trial, prediction in zip(trials, made, strict=True):
        last = bounds[-1] if bounds else (None, None)
        bounds.append(_certificate(trial, prediction, sign_of(goal)) or last)
    return Convergence(
        tuple(best), tuple(low for low, _ in bounds), tuple(high for _, high in bounds)
    )


def _counts(trial: Trial) -> bool:
    """Whether its value may be the best: complete, and within all limits."""
    return trial.state == "complete" and trial.feasible is not False


def _certificate(trial: Trial, made: Prediction | None, sign: float) -> tuple[float, float] | None:
    model, optimistic = trial.decision.model, _optimistic(made, sign)
    if model is None or model.recommended_bound is None or optimistic is None:
        return None
    if model.acquisition != "ucb" or model.exploration != 1 or model.kind != "promise":
        return None  # the point does not maximise the whole band
    if model.survey or _elsewhere(model):
        return None
    safe = model.recommended_bound
    if sign * (optimistic - safe) < 0:
        return None  # the point promised less than the recommended one
    return (safe, optimistic) if sign > 0 else (optimistic, safe)


def _elsewhere(model: ModelDecision) -> bool:
    """Whether the default went to a new design because the argmax was idle: ``estimate`` is the
    std at the argmax.
    """
    if model.reference is None or model.estimate is None or model.reference_scale is not None:
        return False
    if model.instant_regret_bound is None or model.beta_sqrt is None:
        return False
    std = model.instant_regret_bound / (2 * model.beta_sqrt)
    return model.estimate < model.reference and abs(std - model.estimate) > 1e-9 * std


def _optimistic(made: Prediction | None, sign: float) -> float | None:
    """The end of the band that UCB compares."""
    end = None if made is None else (made.upper if sign > 0 else made.lower)
    return end if end is not None and math.isfinite(end) else None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a point was chosen. UCB = mean + exploration, with the goal's sign; both are None if UCB
    did not decide. active: what set the lengthscales.
    """

    rule: str
    mean: float | None = None
    exploration: float | None = None
    active: str | None = None


ACTIVE = {
    "fit": "The lengthscales estimated from the data are in force.",
    "schedule": (
        "The widening schedule is in force: it asks for shorter lengthscales than the data suggest."
    ),
    "both": "Both are in force: lengthscales estimated from the data, shortened by the widening.",
}


KINDS = {
    "patrol": (
        "A patrol: the next point of a fixed sequence that comes everywhere in time, whatever the"
        " data say."
    ),
}
RULES = {
    "log_ei": "Expected improvement is largest here.",
    "limited": (
        "Expected improvement, times the chance to keep all limits, is largest here; as long as"
        " nothing feasible is known, the chance alone."
    ),
    "optimistic": (
        "Of all points that may keep the limits this one promised the most: its confidence bound"
        " was the best."
    ),
    "infeasible": "No point seems to keep all limits: this one comes closest, at best.",
    "thompson": "The best point of a function drawn from what is believed.",
}
WITHOUT_VALUE_RULES = {
    "limits": "No limit was kept yet, so there is no value: here the chance to keep them is best.",
    "patrol": KINDS["patrol"],
}


def why(trial: Trial, made: Prediction | None, goal: Goal) -> Reason:
    """The words of a decision, for the shell and the page.

    Args:
        trial: The trial.
        made: Its prediction; None if no model proposed the point.
        goal: "maximize" or "minimize".
    """
    model = trial.decision.model
    if made is None or model is None:
        return Reason(_without_model(trial))
    active = _active(model)
    if model.kind in KINDS:
        return Reason(KINDS[model.kind], made.mean, None, active)
    if model.beta_sqrt is None or model.acquisition != "ucb":
        rule = RULES.get(model.acquisition, RULES["log_ei"])
        return Reason(rule, made.mean, None, active)
    optimistic = _optimistic(made, sign_of(goal))
    exploration = None
    if optimistic is not None:
        exploration = model.exploration * (optimistic - made.mean)
    if model.survey:
        rule = (
            "A survey, a look around: the search had stopped learning, so this point was chosen"
            " for what it can teach, not for its value."
        )
    else:
        name = "upper" if goal == "maximize" else "lower"
        rule = (
            "What is expected here and what might be here, taken together, promised the most of all"
            f" points: its {name} confidence bound was the best."
        )
    return Reason(rule, made.mean, exploration, active)


def _active(model: ModelDecision) -> str | None:
    """What set the function class, and the data's lower bound on its norm where it is known."""
    text = ACTIVE.get(model.active)
    if text is None or model.norm_lower_bound is None or model.norm_bound is None:
        return text
    least, most = model.scale * model.norm_lower_bound, model.scale * model.norm_bound
    return f"{text} The data require a norm of {least:.3g} at least; the class allows {most:.3g}."


def _without_model(trial: Trial) -> str:
    if WITHOUT_VALUE in trial.decision.memory:
        return WITHOUT_VALUE_RULES[trial.decision.memory[WITHOUT_VALUE]]
    if trial.decision.source == "initial":
        return "Part of the initial design: spread over the space before there is a model."
    if trial.decision.source == "random":
        return "A random point: this strategy has no model."
    if trial.decision.source == "retry":
        return f"The point of trial {trial.corrects} again, which failed."
    if trial.corrects is not None:
        return f"A correction of trial {trial.corrects}."
    return "Given by a person or measured elsewhere, not chosen by the strategy."
