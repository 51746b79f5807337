"""What was tried and measured: values by trial, outcomes, parallel coordinates, time, studies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.diagnostics.presentation import format_number
from noregret.errors import ConfigurationError, TrialError
from noregret.plot import canvas
from noregret.plot.canvas import BEYOND, BLUE, GREEN, INK, LOOK, RED, UNMEASURED
from noregret.space import named_params
from noregret.study import Study
from noregret.trials import standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BOX = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1}
MARK: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "bbox": BOX, "zorder": 4}


@canvas.with_backend
def convergence(study: Study, *, ax: Axes | None = None) -> Axes:
    """Every value, the best so far and the recommended point; trials without a value along the
    lower edge.
    """
    ax = canvas.new_axes(ax)
    trials, done = standing(study.trials), canvas.with_value(study)
    for state in UNMEASURED:
        canvas.mark_below(ax, [trial.number for trial in trials if trial.state == state], state)
    canvas.mark_points(
        ax, [(t.number, t.value) for t in done], ms=5, mfc="none", **LOOK["complete"]
    )
    beyond = [(t.number, t.value) for t in done if t.feasible is False]
    if beyond:
        canvas.mark_points(ax, beyond, ms=9, **BEYOND)
    feasible = [trial for trial in done if trial.feasible is not False]
    if done and not feasible:
        ax.plot([], [], " ", label="nothing feasible yet")
    if feasible and not study.context:  # values of different contexts cannot be compared
        numbers = [*(trial.number for trial in feasible), len(study.trials) - 1]
        best = canvas.running_best(feasible, study.goal)
        label = f"best so far: {format_number(best[-1], 4)}"
        ax.step(numbers, [*best, best[-1]], where="post", color=INK, lw=1.8, label=label)
        recommended = study.recommended
        label = f"recommended: trial {recommended.number}"
        look = {"marker": "*", "ms": 14, "mfc": GREEN, "mec": INK, "mew": 0.8, "label": label}
        canvas.mark_points(ax, [(recommended.number, recommended.value)], **look)
        canvas.scale_values(ax, [trial.value or 0.0 for trial in feasible])
    return canvas.finish(ax, study.name, trials="trial", ylabel=f"value ({study.goal}d)")


@canvas.with_backend
def outcomes(study: Study, name: str | None = None, *, ax: Axes | None = None) -> Axes:
    """An outcome by trial, by default the first, and its limit; filled where all limits hold."""
    if not study.outcomes:
        raise TrialError("this study has no outcomes: it was made without limits")
    name = name or next(iter(study.outcomes))
    if name not in study.outcomes:
        raise ConfigurationError(
            f"there is no outcome {name!r}: this study has {', '.join(study.outcomes)}"
        )
    ax = canvas.new_axes(ax)
    trials = [trial for trial in standing(study.trials) if name in trial.outcomes]
    within = {"mfc": BLUE, "color": BLUE, "marker": "o", "label": "within all limits"}
    for feasible, look in ((True, within), (False, BEYOND)):
        points = [(t.number, t.outcomes[name]) for t in trials if t.feasible is feasible]
        canvas.mark_points(ax, points, ms=6, **look)
    limit = study.outcomes[name]
    ax.axhline(limit.limit, color=INK, lw=1.4, ls="--", label=f"limit: {limit}")
    return canvas.finish(ax, study.name, trials="trial", ylabel=name)


@canvas.with_backend
def parallel(study: Study, *, ax: Axes | None = None) -> Axes:
    """Every trial with a value as a line through its inputs to its value. Dark lines are good, the
    best is on top.
    """
    trials = canvas.with_value(study)
    if not trials:
        raise TrialError("parallel coordinates need at least one value: tell one first")
    points = [named_params(study.space, trial.params) for trial in trials]
    inputs = {n: p for n, p in study.space.parameters.items() if p.width > 0}
    ax = canvas.new_axes(ax, max(7.2, 1.3 * len(inputs) + 3), 4.2)
    from matplotlib import colormaps

    columns = []
    for position, (name, parameter) in enumerate(inputs.items()):
        heights, marks = _axis(parameter, [point[name] for point in points])
        columns.append(heights)
        _mark_axis(ax, position, marks)
    values = np.array([float(trial.value or 0.0) for trial in trials])
    low, high = float(values.min()), float(values.max())
    columns.append(((values - low) / ((high - low) or 1.0)).tolist())
    _mark_axis(ax, len(inputs), [(0.0, f"{low:.4g}"), (1.0, f"{high:.4g}")])
    lines, shades = np.array(columns).T, colormaps["viridis_r"]
    order = np.argsort(values if study.goal == "maximize" else -values, kind="stable")
    for rank, index in enumerate(order[:-1]):
        good = rank / (len(order) - 1)
        ax.plot(lines[index], color=shades(good), alpha=0.25 + 0.5 * good, lw=1.0, zorder=2)
    label = f"best: trial {trials[order[-1]].number}"
    ax.plot(lines[order[-1]], color=RED, lw=2.6, zorder=3, label=label)
    ax.set_xticks(range(len(columns)), [*inputs, f"value ({study.goal}d)"])
    ax.tick_params(axis="x", length=0, pad=16, rotation=20 if len(inputs) > 5 else 0)
    ax.set_yticks([])
    ax.spines[["left", "right", "top", "bottom"]].set_visible(False)
    return canvas.finish(ax, study.name, xlim=(-0.25, len(inputs) + 0.25), ylim=(-0.1, 1.1))


def _axis(parameter: Any, values: Sequence[Any]) -> tuple[list[float], list[tuple[float, str]]]:
    """Where values cross an input's axis, from 0 to 1, and the texts along it."""
    options = getattr(parameter, "options", None)
    if options is None:
        ends = [(0.0, f"{parameter.low:g}"), (1.0, f"{parameter.high:g}")]
        return [parameter.encode(value)[0] for value in values], ends
    heights = {option: index / max(len(options) - 1, 1) for index, option in enumerate(options)}
    shown = options if len(options) <= 6 else (options[0], options[-1])
    return [heights[value] for value in values], [(heights[o], str(o)) for o in shown]


def _mark_axis(ax: Axes, position: float, marks: Sequence[tuple[float, str]]) -> None:
    ax.axvline(position, color="0.7", lw=0.8, zorder=1)
    for height, text in marks:
        at = {0.0: (0, -9), 1.0: (0, 9)}.get(height, (0, 0))
        ax.annotate(text, (position, height), at, textcoords="offset points", **MARK)


@canvas.with_backend
def timeline(study: Study, *, ax: Axes | None = None) -> Axes:
    """When each trial ran: from ask to tell, in the colour of its state. Points added by hand are
    marks at their time.
    """
    trials = study.trials
    if not trials:
        raise TrialError("a timeline needs at least one trial: ask for one first")
    ax = canvas.new_axes(ax, 7.2, min(max(3.0, 0.16 * len(trials) + 1.2), 14))
    from matplotlib import dates

    drawn: Any = dates  # its functions have no types

    def time(text: str) -> float:
        return float(drawn.date2num(datetime.fromisoformat(text)))

    last = max(time(text) for t in trials for text in (t.created, t.finished) if text)
    unlabelled = {trial.state for trial in trials}
    for trial in trials:
        look = LOOK[trial.state] | ({} if trial.state in unlabelled else {"label": None})
        unlabelled.discard(trial.state)
        if trial.started is None or trial.state == "waiting":
            at = time(trial.finished or trial.created or "")
            canvas.mark_points(ax, [(at, trial.number)], ms=6, **look)
            continue
        start, end = time(trial.started), time(trial.finished) if trial.finished else last
        color, label = look["color"], look["label"]
        ax.barh(trial.number, end - start, left=start, height=0.7, color=color, label=label)
        ax.plot([end], [trial.number], marker=look["marker"], ms=4, color=color, zorder=3)
    locator = drawn.AutoDateLocator()
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(drawn.ConciseDateFormatter(locator))
    return canvas.finish(
        ax, study.name, xlabel="time (UTC)", ylabel="trial", ylim=(len(trials), -1)
    )


@canvas.with_backend
def comparison(compared: Sequence[Study], *, ax: Axes | None = None) -> Axes:
    """The best value so far of several studies of one goal."""
    listed = list(compared)
    goals = sorted({study.goal for study in listed})
    if len(goals) != 1:
        found = " and ".join(goals) or "no study"
        raise ConfigurationError(f"studies to compare must have one goal, got {found}")
    ax = canvas.new_axes(ax)
    drawn: list[float] = []
    for study, look in zip(listed, canvas.series_looks(len(listed)), strict=True):
        best = canvas.running_best(canvas.with_value(study), study.goal)
        if not best:
            ax.plot([], [], label=f"{study.name}: no value yet", **look)
            continue
        drawn += best
        look |= {"ms": 5, "markevery": max(len(best) // 8, 1)}
        label = f"{study.name}: {best[-1]:.4g}"
        ax.step(range(1, len(best) + 1), best, where="post", lw=1.8, label=label, **look)
    canvas.scale_values(ax, drawn)
    return canvas.finish(ax, "", trials="values told", ylabel=f"best so far ({goals[0]}d)")
