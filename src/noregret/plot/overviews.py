"""Overviews of a study: importance, parallel coordinates, timeline, all slices, several studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.diagnostics.presentation import best_so_far, spans_decades
from noregret.errors import ConfigurationError, TrialError
from noregret.plot.beliefs import slice as one_slice
from noregret.plot.canvas import (
    BLUE,
    INK,
    LOOK,
    by_trial,
    coordinate,
    legend,
    mark_points,
    measured,
    new_axes,
    new_figure,
    series_looks,
)
from noregret.space import named_params
from noregret.study import Study
from noregret.trials import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def importance(study: Study, *, ax: Axes | None = None) -> Axes:
    """Sobol indices of the inputs: total effects (bars) and first-order effects (marks), with a
    posterior standard deviation.
    """
    found = sorted(study.importances(), key=lambda each: each.total)
    ax = new_axes(ax)
    rows = range(len(found))
    ax.barh(
        rows,
        [each.total for each in found],
        xerr=[each.total_std or 0.0 for each in found],
        color="#9ecae1",
        ecolor=INK,
        error_kw={"lw": 1.2, "capsize": 3},
        label="with the others",
    )
    ax.plot(
        [each.first for each in found], rows, ls="none", marker="D", ms=7, color=BLUE, label="alone"
    )
    ax.set_yticks(rows, [each.name for each in found])
    ax.set_xlim(0, 1)
    ax.set(xlabel="share of the model's variance", title=study.name)
    legend(ax)
    return ax


def parallel(study: Study, *, ax: Axes | None = None) -> Axes:
    """Every trial with a value as a line through its inputs to its value. Dark lines are good, the
    best is on top.
    """
    done = measured(study)
    if not done:
        raise TrialError("parallel coordinates need at least one value: tell one first")
    ax = new_axes(ax)
    names = [name for name, each in study.space.parameters.items() if each.width > 0]
    values = np.array([float(trial.value or 0.0) for trial in done])
    order = np.argsort(values if study.goal == "maximize" else -values, kind="stable")
    columns = [_heights(study, name, done) for name in names]
    low, high = float(values.min()), float(values.max())
    columns.append((values - low) / ((high - low) or 1.0))
    lines = np.array(columns).T
    from matplotlib import colormaps

    shades = colormaps["viridis_r"]
    for rank, index in enumerate(order):  # the best last, on top
        good = rank / max(len(order) - 1, 1)
        top = rank == len(order) - 1
        color = "#b3331d" if top else shades(good)
        ax.plot(
            range(len(columns)),
            lines[index],
            color=color,
            alpha=1.0 if top else 0.25 + 0.5 * good,
            lw=2.6 if top else 1.0,
            label=f"best: trial {done[index].number}" if top else None,
            zorder=3 if top else 2,
        )
    for position, name in enumerate(names):
        ax.axvline(position, color="0.7", lw=0.8, zorder=1)
        _ends(study, name, position, ax)
    ax.axvline(len(names), color="0.7", lw=0.8, zorder=1)
    _marks(ax, len(names), [(0.0, f"{low:.4g}"), (1.0, f"{high:.4g}")])
    ax.set_xticks(range(len(columns)), [*names, f"value ({study.goal}d)"])
    ax.tick_params(axis="x", length=0, pad=16, rotation=20 if len(names) > 5 else 0)
    ax.set_yticks([])
    ax.set(xlim=(-0.25, len(names) + 0.25), ylim=(-0.1, 1.1), title=study.name)
    ax.spines[["left", "right", "top", "bottom"]].set_visible(False)
    legend(ax)
    return ax


def _heights(study: Study, name: str, trials: Sequence[Trial]) -> Any:
    """Where the trials cross an input's axis, from 0 to 1."""
    parameter = study.space.parameters[name]
    points = [named_params(study.space, trial.params)[name] for trial in trials]
    options = getattr(parameter, "options", None)
    if options is not None:
        return np.array([options.index(value) for value in points]) / max(len(options) - 1, 1)
    return np.array([parameter.encode(value)[0] for value in points])


def _ends(study: Study, name: str, position: int, ax: Axes) -> None:
    along, parameter = coordinate(study, name), study.space.parameters[name]
    if along.options is not None:
        last = max(len(along.options) - 1, 1)
        shown = along.options if len(along.options) <= 6 else (along.options[0], along.options[-1])
        _marks(ax, position, [(along.options.index(o) / last, str(o)) for o in shown])
    else:
        ends = (getattr(parameter, "low", 0.0), getattr(parameter, "high", 1.0))
        _marks(ax, position, [(0.0, f"{ends[0]:g}"), (1.0, f"{ends[1]:g}")])


def _marks(ax: Axes, position: float, marks: Sequence[tuple[float, str]]) -> None:
    box = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1}
    for height, text in marks:
        at = {0.0: (0, -9), 1.0: (0, 9)}.get(height, (0, 0))
        ax.annotate(
            text,
            (position, height),
            at,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8,
            bbox=box,
            zorder=4,
        )


def timeline(study: Study, *, ax: Axes | None = None) -> Axes:
    """When each trial ran: from ask to tell, in the colour of its state. Points added by hand are
    marks at their time.
    """
    trials = study.trials
    if not trials:
        raise TrialError("a timeline needs at least one trial: ask for one first")
    ax = new_axes(ax)
    from matplotlib import dates

    drawn: Any = dates  # its functions have no types
    date = drawn.date2num

    last = max(_when(text) for t in trials for text in (t.created, t.finished) if text)
    seen: set[str] = set()
    for trial in trials:
        look = LOOK[trial.state]
        label = None if trial.state in seen else look["label"]
        seen.add(trial.state)
        begun = trial.started if trial.state != "waiting" else None
        if begun is None:
            at = date(_when(trial.finished or trial.created or ""))
            mark_points(ax, [(at, trial.number)], ms=6, **{**look, "label": label})
            continue
        start = date(_when(begun))
        end = date(_when(trial.finished) if trial.finished else last)
        ax.barh(trial.number, end - start, left=start, height=0.7, color=look["color"], label=label)
        ax.plot([end], [trial.number], marker=look["marker"], ms=4, color=look["color"], zorder=3)
    locator = drawn.AutoDateLocator()
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(drawn.ConciseDateFormatter(locator))
    ax.set(xlabel="time (UTC)", ylabel="trial", title=study.name, ylim=(-1, len(trials)))
    ax.invert_yaxis()
    legend(ax)
    return ax


def _when(text: str) -> datetime:
    return datetime.fromisoformat(text)


def slices(
    study: Study, *, at: Mapping[str, Any] | None = None, figure: Figure | None = None
) -> Figure:
    """A slice along every input, side by side, through the recommended point or ``at``."""
    names = [name for name, each in study.space.parameters.items() if each.width > 0]
    columns = min(len(names), 3)
    rows = -(-len(names) // columns)
    if figure is None:
        figure = new_figure(4.6 * columns, 3.4 * rows + 0.6)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for name, ax in zip(names, axes, strict=False):
        others = {key: value for key, value in (at or {}).items() if key != name}
        one_slice(study, name, at=others, ax=ax)
        ax.set_title("")
        shown = ax.get_legend()
        handles, labels = ax.get_legend_handles_labels()
        if shown is not None:
            shown.remove()
    for ax in axes[len(names) :]:
        ax.set_visible(False)
    figure.suptitle(study.name)
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def contour(
    study: Study,
    across: str,
    up: str,
    *,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The model's mean over a pair of inputs; as ``slice(study, [across, up])``."""
    return one_slice(study, [across, up], at=at, ax=ax)


def studies(compared: Sequence[Study], *, ax: Axes | None = None) -> Axes:
    """The best value so far of several studies of one goal."""
    listed = list(compared)
    goals = sorted({study.goal for study in listed})
    if len(goals) != 1:
        raise ConfigurationError(
            "studies to compare have one goal, got"
            f" {goals or 'no study'}: a loss and a gain have no common axis"
        )
    ax = new_axes(ax)
    drawn: list[float] = []
    for study, look in zip(listed, series_looks(len(listed)), strict=True):
        values = [trial.value for trial in measured(study)]
        if not values:
            ax.plot([], [], label=f"{study.name}: no value yet", **look)
            continue
        best = [float(value or 0.0) for value in best_so_far(values, study.goal)]
        drawn += best
        ax.step(
            np.arange(1, len(best) + 1),
            best,
            where="post",
            lw=1.8,
            ms=5,
            markevery=max(len(best) // 8, 1),
            label=f"{study.name}: {best[-1]:.4g}",
            **look,
        )
    if spans_decades(drawn):
        ax.set_yscale("log")
    by_trial(ax, "values told")
    ax.set(ylabel=f"best so far ({goals[0]}d)")
    legend(ax)
    return ax
