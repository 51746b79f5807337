"""Alarms: what looks wrong with a study, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noregret.diagnostics.forecast_checks import LEVEL, Prediction, calibration
from noregret.space import Array, Choice, SearchSpace, Space
from noregret.strategies import InsuredGPUCB, Strategy
from noregret.trials import Explanation, Goal, Trial, sign_of

RECENT = 8  # latest proposals that are checked
FROM_THIS = "start a study from this one (its trials come along)"  # on the page, or derived()
STUCK = 0.005  # range per coordinate of the unit cube within which proposals count as one point
EDGE = 1e-3  # distance from a bound, in the unit cube, within which a point is on it
FAILING = 1 / 3  # share of recent trials that may fail without an alarm
EXACT = 1e-6  # noise variance (prior-variance units) below which values are taken for exact


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that looks wrong. serious: False if it is right for some studies, which only the
    user can tell.
    """

    kind: str
    what: str
    action: str
    serious: bool = True


def alarms(
    space: SearchSpace,
    trials: Sequence[Trial],
    made: Sequence[Prediction | None],
    goal: Goal,
    strategy: Strategy,
) -> list[Alarm]:
    """What looks wrong with a study.

    Args:
        space: The search space.
        trials: The trials as ``effective_trials`` gives them.
        made: Their predictions.
        goal: "maximize" or "minimize".
        strategy: The study's strategy.

    Returns:
        The alarms, the most serious first.
    """
    chosen = [trial for trial in trials if trial.decision.model is not None]
    decided = chosen[-RECENT:]
    last = next((each.explanation for each in reversed(made) if each is not None), None)
    points = _points(space, decided)
    found = [
        _coverage(made, last is not None and last.proved),
        _stuck(space, chosen, strategy),
        *_edges(space, points, trials, goal),
        _noise(last, strategy),
        _failures(trials),
    ]
    return [alarm for alarm in found if alarm is not None]


def _points(space: SearchSpace, trials: Sequence[Trial]) -> Array:
    encoded = np.array([space.encode(trial.params) for trial in trials])
    return encoded.reshape(-1, space.dimension)


def _coverage(made: Sequence[Prediction | None], proved: bool) -> Alarm | None:
    found = calibration(made)
    if not found.failing:
        return None
    action = (
        f"the values change faster than the model believes: {FROM_THIS} with a strategy that has a"
        " guarantee, AdaptiveGPUCB.rigorous, if you can bound the noise."
        if not proved
        else (
            "the condition of the guarantee does not hold here yet: norm_bound or the noise bound"
            " is too small for these values, or offset is far from them."
        )
    )
    return Alarm(
        "coverage",
        f"Only {found.inside} of {len(found.predictions)} values fell into the band in which"
        f" {LEVEL:.0%} were expected: the model is surer than it may be.",
        "Look for values that are wrong and correct them, and give the noise if you know it. If"
        f" neither helps, {action}",
    )


def _stuck(space: SearchSpace, chosen: Sequence[Trial], strategy: Strategy) -> Alarm | None:
    """Surveys do not end a row of repeats: they explore elsewhere on purpose."""
    repeated = [trial for trial in chosen if trial.why.kind != "survey"]
    points = _points(space, repeated[-RECENT:])
    if len(points) < RECENT or np.ptp(points, axis=0).max() > STUCK:
        return None
    window = [trial for trial in chosen if trial.number >= repeated[-RECENT].number]
    surveys = len(window) - RECENT
    aside = f", apart from {surveys} that looked around" if surveys else ""
    action = (
        "If it surprises you, go on: the search takes it up."
        if isinstance(strategy, InsuredGPUCB)
        else f"If it surprises you, {FROM_THIS} with InsuredGPUCB(), which looks around by itself."
    )
    return Alarm(
        "stuck",
        f"The last {len(window)} proposals are one and the same point{aside}: the search is stuck"
        " there, or done.",
        "Measure a point of your own far away, where little is known. If it is no better, stop:"
        f" more values here only average the noise. {action}",
    )


def _edges(space: SearchSpace, points: Array, trials: Sequence[Trial], goal: Goal) -> list[Alarm]:
    done = [trial for trial in trials if trial.value is not None]
    if not isinstance(space, Space) or len(points) < RECENT or not done:
        return []
    best = space.encode(
        max(done, key=lambda trial: sign_of(goal) * float(trial.value or 0.0)).params
    )
    found, start = [], 0
    for name, parameter in space.parameters.items():
        column, start = start, start + parameter.width
        if isinstance(parameter, Choice):
            continue
        for edge, bound, word in ((0.0, parameter.low, "lower"), (1.0, parameter.high, "upper")):
            near = np.abs(points[:, column] - edge) < EDGE
            if abs(best[column] - edge) < EDGE and 2 * near.sum() > len(points):
                found.append(
                    Alarm(
                        "boundary",
                        f"{name} sits on its {word} bound {bound:g}: the best value and"
                        f" {near.sum()} of the last {len(points)} proposals are there.",
                        f"Better values may lie outside. If {name} may go further, {FROM_THIS}"
                        " with a wider range.",
                    )
                )
    return found


def _noise(last: Explanation | None, strategy: Strategy) -> Alarm | None:
    if last is None or getattr(strategy, "noise_std", None) is not None:
        return None
    noise_var = last.numbers.get("noise_var")
    if noise_var is None:
        return None
    if noise_var <= EXACT:
        return Alarm(
            "noise",
            "The noise estimate is below a thousandth of the values' spread: the model takes them"
            " for exact.",
            "Right for a deterministic simulation. If your measurements are noisy, give the noise"
            " with them, or repeat a point now and then.",
            serious=False,
        )
    if noise_var >= 0.95:
        return Alarm(
            "noise",
            "The noise estimate is at its upper limit: the model sees nothing but noise in the"
            " values.",
            "Check that the inputs reach the experiment, repeat one point a few times to measure"
            " the noise, and give it with the values.",
        )
    return None


def _failures(trials: Sequence[Trial]) -> Alarm | None:
    recent = [trial for trial in trials if trial.state in ("complete", "failed")][-3 * RECENT :]
    failed = sum(trial.state == "failed" and not trial.transient for trial in recent)
    unlucky = sum(trial.transient for trial in recent)
    if len(recent) < RECENT or failed + unlucky < FAILING * len(recent):
        return None
    if unlucky > failed:
        return Alarm(
            "failures",
            f"{unlucky} of the last {len(recent)} trials failed for reasons that have nothing to do"
            " with their points.",
            "The model does not see them, and learns nothing from them either: look after what runs"
            " the experiments, then give the points out again (retry).",
        )
    return Alarm(
        "failures",
        f"{failed} of the last {len(recent)} trials failed.",
        "Failed points and their surroundings are avoided, but a large region that fails wastes"
        f" trials: {FROM_THIS} with ranges in which experiments work.",
    )
