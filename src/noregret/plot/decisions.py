"""The model's decisions: lengthscales, widening, and the calibration of its predictions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from noregret.diagnostics import effective_trials, predictions
from noregret.errors import TrialError
from noregret.plot.canvas import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    RED,
    by_trial,
    legend,
    log_values,
    mark_points,
    new_axes,
)
from noregret.space import coordinate_names
from noregret.study import Study
from noregret.trials import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = (INK, BLUE, ORANGE, GREEN, RED, "0.55")
MARKERS = "os^Dv*PX"


def _decisions(study: Study, needed: str) -> list[tuple[Trial, Mapping[str, Any]]]:
    """Every trial that a model chose, with what the strategy recorded, ``needed`` among it."""
    chosen = [trial for trial in study.trials if trial.decision.model is not None]
    decided = [(trial, study.strategy.explain(trial.decision).numbers) for trial in chosen]
    decided = [(trial, numbers) for trial, numbers in decided if needed in numbers]
    if not decided:
        raise TrialError(
            "no decision of a model yet: the first trials are an initial design (and a random"
            " search never has one); ask and tell on"
        )
    return decided


def lengthscales(study: Study, *, ax: Axes | None = None) -> Axes:
    """The lengthscales of the class used at each decision (lines) and those fitted to the data
    (dotted), as shares of the input's range.
    """
    decided = _decisions(study, "lengthscales")
    ax = new_axes(ax)
    numbers = [trial.number for trial, _ in decided]
    fits = [(trial.number, each.get("fitted_lengthscales")) for trial, each in decided]
    for index, (label, color, marker) in enumerate(
        zip(coordinate_names(study.space), cycle(COLORS), cycle(MARKERS), strict=False)
    ):
        inside = [each["lengthscales"][index] for _, each in decided]
        every = max(1, len(numbers) // 8)
        (drawn,) = ax.plot(numbers, inside, color=color, lw=1.4, label=label)
        drawn.set(marker=marker, markersize=5, markerfacecolor="none", markevery=every)
        fitted = [(number, row[index]) for number, row in fits if row is not None]
        if fitted:
            ax.plot(*zip(*fitted, strict=True), color=color, lw=1.4, ls=":")
    if any(row for _, row in fits):
        ax.plot([], [], color="0.4", ls=":", label="fitted to the data")
    ax.plot([], [], color="0.4", label="in force")
    log_values(ax)
    by_trial(ax)
    ax.set(ylabel="lengthscale / range of the input", title=study.name)
    legend(ax)
    return ax


def scaling(study: Study, *, ax: Axes | None = None) -> Axes:
    """h over time: how much wider the class in use is than the first (or fitted) one."""
    decided = _decisions(study, "h")
    ax = new_axes(ax)
    widths = [each["h"] for _, each in decided]
    numbers = [trial.number for trial, _ in decided]
    ax.step(numbers, widths, where="mid", color=INK, lw=1.4, label="h")
    surveys = [(t.number, each["h"]) for t, each in decided if t.why.kind == "survey"]
    if surveys:
        mark_points(ax, surveys, marker="D", color=ORANGE, mec=INK, ms=6, label="survey")
    top = max(widths)
    ax.set_ylim(0.9, max(2.0, 1.1 * top))
    if top > 20:
        log_values(ax)
    by_trial(ax)
    ax.set(ylabel="h, widening of the class", title=study.name)
    legend(ax)
    return ax


def calibration(study: Study, *, ax: Axes | None = None) -> Axes:
    """Coverage of the predicted central intervals: on the diagonal if the model is calibrated."""
    made = predictions(effective_trials(study.trials), study.goal, study.strategy)
    residuals = [
        abs(each.residual) for each in made if each is not None and each.residual is not None
    ]
    if not residuals:
        raise TrialError(
            "no value of a point that a model proposed yet: there is no prediction to compare with"
        )
    ax = new_axes(ax)
    inside = np.sort(2 * ndtr(residuals) - 1)  # the level of the interval that just holds the value
    levels = np.linspace(0, 1, 101)
    spread = 1.96 * np.sqrt(levels * (1 - levels) / len(residuals))
    low, high = np.clip([levels - spread, levels + spread], 0, 1)
    ax.fill_between(levels, low, high, color="0.9", label=f"chance, {len(residuals)} values")
    ax.plot([0, 1], [0, 1], color="0.5", ls="--", lw=1, label="calibrated")
    shares = np.arange(1, len(residuals) + 1) / len(residuals)
    ax.step([0, *inside, 1], [0, *shares, 1], where="post", color=BLUE, lw=1.8, label="observed")
    ax.set(xlabel="predicted probability of the interval", ylabel="share of values inside")
    ax.set(title=study.name, xlim=(0, 1), ylim=(0, 1))
    ax.set_aspect("equal")
    legend(ax)
    return ax
