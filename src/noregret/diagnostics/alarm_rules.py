"""Alarms: what looks wrong with a study, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from noregret.diagnostics.forecast_checks import GAUSSIAN, LEVEL, Prediction, check_calibration
from noregret.diagnostics.presentation import format_number
from noregret.space import Array, Choice, SearchSpace, Space
from noregret.strategies import InsuredGPUCB, RadiusGPUCB, Strategy
from noregret.trials import Explanation, Goal, Trial, history_of, sign_of

RECENT = 8  # number of latest proposals that are checked
START_ANOTHER = "start a new study from this one (its trials are copied)"
STUCK = 0.005  # range per coordinate of the unit cube below which proposals count as one point
EDGE = 1e-3  # distance from a bound (unit cube) below which a point is on it
FAILING = 1 / 3  # share of recent trials above which failures raise an alarm
EXACT = 1e-6  # noise variance (prior-variance units) below which values count as exact
ONLY_NOISE = 0.95  # noise variance (prior-variance units) above which values count as noise
FAR = 5.0  # standard deviations beyond which a difference is no chance
# shares of the range of values
SLIP = 0.5  # the least difference of values at one point that can be a slip
SLIP_ALONE = 0.8  # the same where nothing is known of the noise
SURPRISE = 2 / 3  # the least distance of a value from its forecast
RESOLVED = 0.002  # noise std above which noise is estimated from values, not from its prior
LOUD = 0.05  # noise std above which a jump of it matters
OTHERS = 6  # values elsewhere before values at one point can be very different
JUMP = 4.0  # factor by which a fitted noise jumps
SETTLED = 20  # decisions of the model after which its noise should not jump
WIDE = 4.0  # times the range of values: forecasts that say nothing


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that looks wrong.

    Args:
        kind: "slip", "surprise", "noise bound", "coverage", "range", "stuck", "boundary", "noise"
            or "failures".
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
    made = [each for each in forecasts if each is not None]
    slip = _slip(space, trials, made, strategy)
    alarms = [
        slip,
        None if slip else _surprise(trials, made),
        _noise_bound(space, trials, goal, strategy),
        _coverage(forecasts, strategy.proved or (last is not None and last.proved)),
        _forecast_range(trials, made, strategy),
        _stuck(space, trials, chosen, goal, strategy),
        *_edges(space, _points(space, chosen[-RECENT:]), trials, goal),
        _noise(last, strategy) or _noise_jump(trials, made, strategy),
        _failures(trials),
    ]
    return [alarm for alarm in alarms if alarm is not None]


def _measured(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.value is not None]


def _value(trial: Trial) -> float:
    return float(trial.value or 0.0)


def _known_noise(strategy: Strategy) -> float | None:
    """The noise that the strategy was given; None if it estimates it."""
    for name in ("noise_std", "noise_bound"):
        given = getattr(strategy, name, None)
        if isinstance(given, (int, float)):
            return float(given)
    return None


def _slip(
    space: SearchSpace, trials: Sequence[Trial], made: Sequence[Prediction], strategy: Strategy
) -> Alarm | None:
    """Values at one point that differ by far more than noise. What was fitted since would count a
    slip as noise, so the noise is that known before the second value, or seen in other repeats.
    """
    done = _measured(trials)
    by_point: dict[bytes, list[Trial]] = {}
    for trial, row in zip(done, _points(space, done), strict=True):
        by_point.setdefault(np.round(row, 9).tobytes(), []).append(trial)
    groups = [sorted(group, key=_value) for group in by_point.values() if len(group) > 1]
    widest = max(groups, key=lambda group: _value(group[-1]) - _value(group[0]), default=None)
    if widest is None:
        return None
    low, high = widest[0], widest[-1]
    difference = _value(high) - _value(low)
    others = [_value(trial) for trial in done if trial.number not in (low.number, high.number)]
    if len(others) < OTHERS or difference <= SLIP * np.ptp(others):
        return None
    steps = [np.diff([_value(trial) for trial in g]) for g in groups if g is not widest]
    apart = np.concatenate([*steps, np.diff([_value(trial) for trial in widest[1:-1]])])
    repeats = float(np.sqrt(np.mean(apart**2) / 2)) if len(apart) > 2 else None
    later = max(low.number, high.number)
    fitted = [each.explanation.noise_std for each in made if each.number <= later]
    known = _known_noise(strategy)
    told = [trial.noise_std for trial in (low, high) if trial.noise_std is not None]
    noise = [*told, *([known] if known else fitted[-1:] if len(fitted) >= OTHERS else [])]
    noise += [repeats] if repeats is not None else []
    if difference <= FAR * np.sqrt(2) * max(noise, default=0.0):
        return None
    if not noise and difference <= SLIP_ALONE * np.ptp(others):
        return None
    first, second = sorted((low, high), key=lambda trial: trial.number)
    return Alarm(
        "slip",
        f"Trials {first.number} and {second.number} have the same conditions and gave"
        f" {format_number(_value(first), 4)} and {format_number(_value(second), 4)}: a slip?",
        "Compare both with your notes and correct the wrong one. If both are right, measure there"
        " once more: then values scatter far more than the model knows.",
    )


def _surprise(trials: Sequence[Trial], made: Sequence[Prediction]) -> Alarm | None:
    """The last value far from a forecast that was right so far, where values are not exact: there
    a jump is the function's own.
    """
    value = {trial.number: _value(trial) for trial in _measured(trials)}
    checked = [each for each in made if each.residual is not None]
    sizes = [abs(each.residual or 0.0) for each in checked]
    for row in reversed(range(RECENT, len(checked))):
        each = checked[row]
        if (
            not each.calibrated
            or sizes[row] <= FAR * max(1.0, each.multiple / GAUSSIAN)
            or sizes[row] <= max(sizes[row - RECENT : row])
        ):
            continue
        before = [value[number] for number in value if number < each.number]
        spread = float(np.ptp(before)) if before else 0.0
        if (
            abs(value[each.number] - each.mean) > SURPRISE * spread
            and each.explanation.noise_std > RESOLVED * spread
        ):
            return Alarm(
                "surprise",
                f"Trial {each.number} gave {format_number(value[each.number], 4)} where"
                f" {format_number(each.mean, 4)} was expected: {sizes[row]:.0f} standard deviations"
                " apart.",
                f"Check trial {each.number} and correct it if it is wrong. If it is right, measure"
                " it once more: one such value misleads the model.",
            )
    return None


def _noise_bound(
    space: SearchSpace, trials: Sequence[Trial], goal: Goal, strategy: Strategy
) -> Alarm | None:
    if not isinstance(strategy, RadiusGPUCB):
        return None
    history = history_of(trials, _encoder(space), space.dimension, sign_of(goal))
    if not strategy.refutes_noise(history):
        return None
    return Alarm(
        "noise bound",
        f"Values at one point differ by more than the noise bound {strategy.noise_bound:g} allows:"
        " it is too small, and the guarantee does not hold.",
        f"Correct wrong values. If all are right, {START_ANOTHER} with a larger noise bound, or"
        " leave the bound out: it is then found from repeats.",
    )


def _encoder(space: SearchSpace) -> Callable[[Trial], Array]:
    return lambda trial: space.encode(trial.params)


def _forecast_range(
    trials: Sequence[Trial], made: Sequence[Prediction], strategy: Strategy
) -> Alarm | None:
    done = _measured(trials)
    recent = made[-RECENT:]
    if len(made) < OTHERS + RECENT or strategy.proved:  # a band with a proof starts wide
        return None
    times = []
    for each in recent:
        before = [_value(trial) for trial in done if trial.number < each.number]
        spread = float(np.ptp(before)) if before else 0.0
        times.append((each.high - each.low) / spread if spread > 0 else 0.0)
    if np.median(times) <= WIDE:
        return None
    last = recent[-1]
    return Alarm(
        "range",
        f"The model expects the next values between {format_number(last.low, 3)} and"
        f" {format_number(last.high, 3)}, {np.median(times):.0f} times the range of all values: it"
        " says next to nothing.",
        "Look for wrong values among those far from the rest, and correct them. If there are none,"
        " give the noise if you know it, or repeat a few points.",
    )


def _noise_jump(
    trials: Sequence[Trial], made: Sequence[Prediction], strategy: Strategy
) -> Alarm | None:
    """The fitted noise is several times that of any time since the model was settled."""
    if len(made) <= SETTLED + RECENT or _known_noise(strategy) is not None:
        return None
    spread = float(np.ptp([_value(trial) for trial in _measured(trials)] or [0.0]))
    fitted = np.array([each.explanation.noise_std for each in made])
    now = float(np.median(fitted[-3:]))
    starts = range(SETTLED - RECENT, len(fitted) - RECENT)
    past = [float(np.median(fitted[start : start + RECENT])) for start in starts]
    usual = min(past, default=0.0)
    if now < LOUD * spread or now < JUMP * usual or usual < RESOLVED * spread:
        return None
    last = max(row for row in range(len(fitted)) if fitted[row] < JUMP * usual)
    return Alarm(
        "noise",
        f"The estimated noise jumped from {format_number(usual, 2)} to {format_number(now, 2)}"
        f" after trial {made[last].number}: a wrong value, or something changed.",
        f"Check the values from trial {made[last].number} on and correct wrong ones. If they are"
        " right, repeat an earlier point: if it has another value now, the experiment changed.",
    )


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


def _stuck(
    space: SearchSpace,
    trials: Sequence[Trial],
    chosen: Sequence[Trial],
    goal: Goal,
    strategy: Strategy,
) -> Alarm | None:
    """One point again and again, although another decision would be better: a better value is
    known elsewhere, or the strategy never looks elsewhere by itself. A strategy that does has found
    nothing better: it is finished, not stuck. Surveys do not count.
    """
    repeated = [trial for trial in chosen if trial.why.kind != "survey"]
    points = _points(space, repeated[-RECENT:])
    if len(points) < RECENT or np.ptp(points, axis=0).max() > STUCK:
        return None
    done, sign = _measured(trials), sign_of(goal)
    here = np.abs(_points(space, done) - points[-1]).max(axis=1, initial=0.0) <= STUCK
    values = sign * np.array([_value(trial) for trial in done])
    elsewhere = [row for row in np.flatnonzero(~here) if done[row].feasible is not False]
    best = max(elsewhere, key=lambda row: values[row], default=None)
    explanation = strategy.explain(repeated[-1].decision)
    margin = FAR * explanation.noise_std + STUCK * float(np.ptp(values) if len(values) else 0.0)
    better = best is not None and here.any() and values[best] > np.median(values[here]) + margin
    explores = not strategy.theorem.startswith("none")
    if explores and not better:
        return None
    window = [trial for trial in chosen if trial.number >= repeated[-RECENT].number]
    surveys = len(window) - RECENT
    aside = f", apart from {surveys} that explored elsewhere" if surveys else ""
    found = f" Trial {done[best].number} was better." if better and best is not None else ""
    action = (
        "If it is better, go on: the search uses it."
        if explores
        else "If it is better, give this method some insurance: it then explores by itself."
        if isinstance(strategy, InsuredGPUCB)
        else f"If it is better, {START_ANOTHER} and choose the standard method (insured), which"
        " explores by itself."
    )
    return Alarm(
        "stuck",
        f"The last {len(window)} proposals are one and the same point{aside}: the search is stuck"
        f" there, or finished.{found}",
        "Measure a point of your own far away, where little is known. If it is no better, stop:"
        f" more values here only average the noise. {action}",
    )


def _edges(
    space: SearchSpace, points: Array, trials: Sequence[Trial], goal: Goal
) -> Iterator[Alarm]:
    done = _measured(trials)
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
