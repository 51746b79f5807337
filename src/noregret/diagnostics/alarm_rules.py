"""Alarms: what looks wrong with a study, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from noregret.diagnostics.forecast_checks import LEVEL, Prediction, check_calibration
from noregret.space import Array, Choice, SearchSpace, Space
from noregret.strategies import InsuredGPUCB, Strategy
from noregret.trials import Explanation, Goal, Trial, sign_of

RECENT = 8  # number of latest proposals that are checked
START_ANOTHER = "start a new study from this one (its trials are copied)"
STUCK = 0.005  # range per coordinate of the unit cube below which proposals count as one point
EDGE = 1e-3  # distance from a bound (unit cube) below which a point is on it
FAILING = 1 / 3  # share of recent trials above which failures raise an alarm
EXACT = 1e-6  # noise variance (prior-variance units) below which values count as exact
ONLY_NOISE = 0.95  # noise variance (prior-variance units) above which values count as noise


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that looks wrong.

    Args:
        kind: "coverage", "stuck", "boundary", "noise" or "failures".
        what: What was observed.
        action: What to do about it.
        serious: False if it is right for some studies.
    """

    kind: str
    what: str
    action: str
    serious: bool = True


def alarms(
    space: SearchSpace,
    trials: Sequence[Trial],
    forecasts: Sequence[Prediction | None],
    goal: Goal,
    strategy: Strategy,
) -> list[Alarm]:
    """What looks wrong with a study.

    Args:
        space: The search space.
        trials: The trials as ``effective_trials`` gives them.
        forecasts: Their predictions, see ``predictions``.
        goal: "maximize" or "minimize".
        strategy: The study's strategy.

    Returns:
        The alarms, the most serious first.
    """
    chosen = [trial for trial in trials if trial.decision.model is not None]
    last = next((each.explanation for each in reversed(forecasts) if each is not None), None)
    alarms = [
        _coverage(forecasts, last is not None and last.proved),
        _stuck(space, chosen, strategy),
        *_edges(space, _points(space, chosen[-RECENT:]), trials, goal),
        _noise(last, strategy),
        _failures(trials),
    ]
    return [alarm for alarm in alarms if alarm is not None]


def _points(space: SearchSpace, trials: Sequence[Trial]) -> Array:
    encoded = np.array([space.encode(trial.params) for trial in trials])
    return encoded.reshape(-1, space.dimension)


def _coverage(forecasts: Sequence[Prediction | None], proved: bool) -> Alarm | None:
    checked = check_calibration(forecasts)
    if not checked.failing:
        return None
    action = (
        "the condition of the guarantee does not hold: the norm bound or the noise bound is too"
        " small, or the offset is far from the values."
        if proved
        else f"the values change faster than the model expects: {START_ANOTHER} and choose the"
        " method with a guarantee (rigorous), if you can bound the noise."
    )
    return Alarm(
        "coverage",
        f"Only {checked.inside} of {len(checked.predictions)} values fell into their {LEVEL:.0%}"
        " bands: the model is overconfident.",
        f"Correct wrong values, and give the noise if you know it. If neither helps, {action}",
    )


def _stuck(space: SearchSpace, chosen: Sequence[Trial], strategy: Strategy) -> Alarm | None:
    """Surveys do not count: they explore elsewhere on purpose."""
    repeated = [trial for trial in chosen if trial.why.kind != "survey"]
    points = _points(space, repeated[-RECENT:])
    if len(points) < RECENT or np.ptp(points, axis=0).max() > STUCK:
        return None
    window = [trial for trial in chosen if trial.number >= repeated[-RECENT].number]
    surveys = len(window) - RECENT
    aside = f", apart from {surveys} that explored elsewhere" if surveys else ""
    action = (
        "If it is better, go on: the search uses it."
        if isinstance(strategy, InsuredGPUCB)
        else f"If it is better, {START_ANOTHER} and choose the standard method (insured), which"
        " explores by itself."
    )
    return Alarm(
        "stuck",
        f"The last {len(window)} proposals are one and the same point{aside}: the search is stuck"
        " there, or finished.",
        "Measure a point of your own far away, where little is known. If it is no better, stop:"
        f" more values here only average the noise. {action}",
    )


def _edges(
    space: SearchSpace, points: Array, trials: Sequence[Trial], goal: Goal
) -> Iterator[Alarm]:
    done = [trial for trial in trials if trial.value is not None]
    if not isinstance(space, Space) or len(points) < RECENT or not done:
        return
    best = max(done, key=lambda trial: sign_of(goal) * float(trial.value or 0.0))
    at_best = space.encode(best.params)
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Choice):
            continue
        column = space.slices[name].start
        for edge, bound, word in ((0.0, parameter.low, "lower"), (1.0, parameter.high, "upper")):
            near = int(np.sum(np.abs(points[:, column] - edge) < EDGE))
            if abs(at_best[column] - edge) < EDGE and 2 * near > len(points):
                yield Alarm(
                    "boundary",
                    f"The best value and {near} of the last {len(points)} proposals are at the"
                    f" {word} bound {bound:g} of {name}.",
                    f"Better values may lie outside. If the range of {name} can be wider,"
                    f" {START_ANOTHER} and widen it.",
                )


def _noise(last: Explanation | None, strategy: Strategy) -> Alarm | None:
    noise_var = None if last is None else last.numbers.get("noise_var")
    if noise_var is None or getattr(strategy, "noise_std", None) is not None:
        return None
    if noise_var <= EXACT:
        return Alarm(
            "noise",
            "The noise estimate is below a thousandth of the values' spread: the model treats them"
            " as exact.",
            "This is right for a deterministic simulation. If your measurements are noisy, give"
            " their noise, or repeat a point now and then.",
            serious=False,
        )
    if noise_var >= ONLY_NOISE:
        return Alarm(
            "noise",
            "The noise estimate is at its upper limit: the model explains the values by noise"
            " alone.",
            "Check that the inputs reach the experiment. Repeat one point a few times to measure"
            " the noise, and give it with the values.",
        )
    return None


def _failures(trials: Sequence[Trial]) -> Alarm | None:
    recent = [trial for trial in trials if trial.state in ("complete", "failed")][-3 * RECENT :]
    failed = sum(trial.state == "failed" for trial in recent)
    unrelated = sum(trial.transient for trial in recent)
    if len(recent) < RECENT or failed < FAILING * len(recent):
        return None
    if unrelated > failed - unrelated:
        return Alarm(
            "failures",
            f"{unrelated} of the last {len(recent)} trials failed for reasons unrelated to their"
            " points.",
            "The model ignores them. Repair what runs the experiments, then try these points"
            " again.",
        )
    return Alarm(
        "failures",
        f"{failed - unrelated} of the last {len(recent)} trials failed.",
        "The search avoids the neighbourhood of failures, but a large region that fails wastes"
        f" trials: {START_ANOTHER} and choose ranges in which experiments work.",
    )
