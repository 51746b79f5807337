"""What looks wrong, in words, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noregret.diagnostics.forecast_checks import LEVEL, Prediction, calibration
from noregret.space import Array, Choice, SearchSpace, Space
from noregret.strategies import Strategy
from noregret.trials import Goal, Trial, sign_of

RECENT = 8  # proposals looked at
STUCK = 0.005  # per coordinate of the unit cube: nearer than this is the same experiment
EDGE = 1e-3  # likewise, from a bound
FAILING = 1 / 3  # share of recent trials
EXACT = 1e-6  # noise variance, in units of the prior's


@dataclass(frozen=True, slots=True)
class Alarm:
    """serious: False where it is as it should be for some studies, and only the person who runs it
    can tell.
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
    """Of trials as they stand (``outcomes``) and their predictions; the most serious first."""
    decided = [trial for trial in trials if trial.decision.model is not None][-RECENT:]
    points = np.array([space.encode(trial.params) for trial in decided]).reshape(
        -1, space.dimension
    )
    found = [
        _coverage(made, bool(decided) and decided[-1].why.proved),
        _stuck(points),
        *_edges(space, points, trials, goal),
        _noise(decided, strategy),
        _failures(trials),
    ]
    return [alarm for alarm in found if alarm is not None]


def _coverage(made: Sequence[Prediction | None], proved: bool) -> Alarm | None:
    found = calibration(made)
    if not found.failing:
        return None
    action = (
        "the objective is rougher than the fitted class: go on with AdaptiveGPUCB.rigorous(…), or"
        " give shorter lengthscales."
        if not proved
        else (
            "the theorem's condition does not hold here yet: norm_bound or the noise bound is too"
            " small for this objective, or offset is far from its values."
        )
    )
    return Alarm(
        "coverage",
        f"Only {found.inside} of {len(found.predictions)} values fell into the band in which"
        f" {LEVEL:.0%} were expected: the model is surer than it may be.",
        "Look for values that are wrong and correct them, and tell noise_std if you know it. If"
        f" neither helps, {action}",
    )


def _stuck(points: Array) -> Alarm | None:
    if len(points) < RECENT or np.ptp(points, axis=0).max() > STUCK:
        return None
    return Alarm(
        "stuck",
        f"The last {RECENT} proposals are one and the same point: the search is stuck there, or"
        " done.",
        "Compare with a measurement far away: add a point of your own where little is known. If it"
        " surprises the model, the class is too narrow: go on with InsuredGPUCB() or"
        " rigorous(…), which widen it. If not, stop: more values here only average the noise.",
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
                        f"The optimum may lie outside. If {name} may go further, start a study with"
                        " a wider range and import these trials.",
                    )
                )
    return found


def _noise(decided: Sequence[Trial], strategy: Strategy) -> Alarm | None:
    if not decided or getattr(strategy, "noise_std", None) is not None:
        return None
    noise_var = decided[-1].why.noise_var
    if noise_var is None:
        return None
    if noise_var <= EXACT:
        return Alarm(
            "noise",
            "The noise estimate is below a thousandth of the values' spread: the model takes them"
            " for exact.",
            "Right for a deterministic simulation. If your measurements are noisy, tell noise_std"
            " with them, or repeat a point now and then.",
            serious=False,
        )
    if noise_var >= 0.95:
        return Alarm(
            "noise",
            "The noise estimate is at its upper limit: the model sees nothing but noise in the"
            " values.",
            "Check that the inputs reach the experiment, repeat one point a few times to measure"
            " the noise, and tell it as noise_std.",
        )
    return None


def _failures(trials: Sequence[Trial]) -> Alarm | None:
    recent = [trial for trial in trials if trial.state in ("complete", "failed")][-3 * RECENT :]
    failed = sum(trial.state == "failed" for trial in recent)
    if len(recent) < RECENT or failed < FAILING * len(recent):
        return None
    return Alarm(
        "failures",
        f"{failed} of the last {len(recent)} trials failed.",
        "Failed points and their surroundings are avoided, but a large region that fails wastes"
        " trials: narrow the space to where experiments work.",
    )
