"""What a study has found: values by trial, and the certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noregret.errors import TrialError
from noregret.plot.canvas import (
    BLUE,
    GREEN,
    INK,
    LOOK,
    RED,
    by_trial,
    legend,
    mark_below,
    new_axes,
    spans_decades,
)
from noregret.study import Study
from noregret.trials import standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEYOND = "beyond a limit"


def convergence(study: Study, *, ax: Axes | None = None) -> Axes:
    """Every value told, the best so far, the recommended point; failures and points under way along
    the lower edge.
    """
    ax = new_axes(ax)
    trials = standing(study.trials)
    done = [trial for trial in trials if trial.value is not None]
    numbers, values = (
        [trial.number for trial in done],
        [float(trial.value or 0.0) for trial in done],
    )
    for state in ("failed", "running", "waiting"):
        mark_below(ax, [trial.number for trial in trials if trial.state == state], state)
    ax.plot(numbers, values, ls="none", ms=5, mfc="none", mew=1.2, **LOOK["complete"])
    beyond = [trial for trial in done if trial.feasible is False]
    if beyond:
        where, what = [t.number for t in beyond], [float(t.value or 0.0) for t in beyond]
        ax.plot(where, what, ls="none", marker="s", ms=9, mfc="none", color=RED, label=BEYOND)
    kept = [trial for trial in done if trial.feasible is not False]
    if done and not kept:
        ax.plot([], [], " ", label="nothing feasible yet")
    numbers, values = [trial.number for trial in kept], [float(t.value or 0.0) for t in kept]
    if kept and study.context:
        pass  # the best of several contexts is no progress
    elif kept:
        best = (np.maximum if study.goal == "maximize" else np.minimum).accumulate(values)
        ax.step(
            [*numbers, len(study.trials) - 1],
            [*best, best[-1]],
            where="post",
            color=INK,
            lw=1.8,
            label=f"best so far: {best[-1]:.4g}",
        )
        chosen = study.recommended
        ax.plot(
            [chosen.number],
            [float(chosen.value or 0.0)],
            marker="*",
            ms=14,
            ls="none",
            mfc=GREEN,
            mec=INK,
            mew=0.8,
            label=f"recommended: trial {chosen.number}",
        )
        if spans_decades(values):
            ax.set_yscale("log")
    by_trial(ax)
    ax.set(ylabel=f"value ({study.goal}d)", title=study.name)
    legend(ax)
    return ax


def certificate(
    study: Study, *, delta: float | None = None, steps: int = 40, ax: Axes | None = None
) -> Axes:
    """The bound on the recommended point's regret given the first n trials, for up to ``steps`` n;
    its condition is below the picture.
    """
    trials = study.trials
    first = next((trial.number for trial in trials if trial.value is not None), None)
    if first is None:
        raise TrialError("a certificate needs at least one value: tell one first")
    ax = new_axes(ax)
    counts = np.unique(np.linspace(first + 1, len(trials), steps).round().astype(int))
    seed = study.record().seed
    known = [
        Study(
            study.space,
            study.goal,
            study.strategy,
            seed,
            trials=trials[:count],
            outcomes=study.outcomes,
            context=study.context,
        )
        for count in counts
    ]
    certificates = [earlier.certificate(delta) for earlier in known]
    ax.plot(counts, [each.regret_bound for each in certificates], "-o", ms=4, color=BLUE, lw=1.6)
    if spans_decades([each.regret_bound for each in certificates]):
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    last = certificates[-1]
    proved = "regret of the recommended\npoint, at most"
    ax.set_ylabel(proved if last.proved else "max UCB − LCB: no proved bound")
    by_trial(ax, f"trials known\n\nCondition: {last.condition}")
    ax.set_title(study.name)
    return ax
