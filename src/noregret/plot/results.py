"""Results of a study: values by trial, the certificate, the policy, outcomes and their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.diagnostics.presentation import best_so_far, number, spans_decades
from noregret.errors import ConfigurationError, TrialError
from noregret.plot.canvas import (
    BLUE,
    GREEN,
    INK,
    LOOK,
    RED,
    by_trial,
    coordinate,
    legend,
    mark_below,
    mark_points,
    measured,
    new_axes,
)
from noregret.space import named_params
from noregret.study import Study, policy_of
from noregret.trials import standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def convergence(study: Study, *, ax: Axes | None = None) -> Axes:
    """Every value, the best so far and the recommended point; trials without a value along the
    lower edge.
    """
    ax = new_axes(ax)
    trials = standing(study.trials)
    for state in ("failed", "running", "waiting"):
        mark_below(ax, [trial.number for trial in trials if trial.state == state], state)
    done = measured(study)
    mark_points(ax, [(t.number, t.value) for t in done], ms=5, mfc="none", **LOOK["complete"])
    beyond = [(t.number, t.value) for t in done if t.feasible is False]
    if beyond:
        look = {"marker": "s", "ms": 9, "mfc": "none", "color": RED, "label": "beyond a limit"}
        mark_points(ax, beyond, **look)
    feasible = [trial for trial in done if trial.feasible is not False]
    values = [float(trial.value or 0.0) for trial in feasible]
    if done and not feasible:
        ax.plot([], [], " ", label="nothing feasible yet")
    if feasible and not study.context:  # values of different contexts cannot be compared
        best = best_so_far(values, study.goal)
        ax.step(
            [*(trial.number for trial in feasible), len(study.trials) - 1],
            [float(value or 0.0) for value in (*best, best[-1])],
            where="post",
            color=INK,
            lw=1.8,
            label=f"best so far: {number(best[-1], 4)}",
        )
        chosen = study.recommended
        label = f"recommended: trial {chosen.number}"
        look = {"marker": "*", "ms": 14, "mfc": GREEN, "mec": INK, "mew": 0.8, "label": label}
        mark_points(ax, [(chosen.number, chosen.value)], **look)
        if spans_decades(values):
            ax.set_yscale("log")
    by_trial(ax)
    ax.set(ylabel=f"value ({study.goal}d)", title=study.name)
    legend(ax)
    return ax


def certificate(
    study: Study, *, delta: float | None = None, steps: int = 40, ax: Axes | None = None
) -> Axes:
    """The bound on the recommended point's regret after the first n trials, for up to ``steps``
    values of n; its condition stands below.
    """
    trials = study.trials
    first = next((trial.number for trial in trials if trial.value is not None), None)
    if first is None:
        raise TrialError("a certificate needs at least one value: tell one first")
    ax = new_axes(ax)
    counts = np.unique(np.linspace(first + 1, len(trials), steps).round().astype(int))
    limited: dict[str, Any] = {"outcomes": study.outcomes, "context": study.context}
    definition = (study.space, study.goal, study.strategy, study.record().seed)
    earlier = [Study(*definition, trials=trials[:count], **limited) for count in counts]
    certificates = [each.certificate(delta) for each in earlier]
    bounds = [each.regret_bound for each in certificates]
    ax.plot(counts, bounds, "-o", ms=4, color=BLUE, lw=1.6)
    if spans_decades(bounds):
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    last = certificates[-1]
    proved = "regret of the recommended\npoint, at most"
    ax.set_ylabel(proved if last.proved else "max UCB − LCB: no proved bound")
    by_trial(ax, f"trials known\n\nCondition: {last.condition}")
    ax.set_title(study.name)
    return ax


def policy(
    study: Study,
    along: str | None = None,
    *,
    action: str | None = None,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The best action by the model as a function of the context, beside the trials.

    Args:
        study: A study with context parameters.
        along: The context parameter on the axis, by default the first.
        action: The parameter drawn, by default the first that is not context.
        at: Values of the other context parameters.
        ax: Where to draw, by default a new figure.
    """
    found = policy_of(study, along, at)
    actions = [name for name in study.space.parameters if name not in study.context]
    drawn = action or actions[0]
    if drawn not in actions:
        raise ConfigurationError(
            f"the actions of this study are {', '.join(actions)}; got {drawn!r}"
        )
    ax = new_axes(ax)
    across, up = coordinate(study, found.name), coordinate(study, drawn)

    def places(trials: Sequence[Any]) -> list[tuple[float, float]]:
        points = [named_params(study.space, each.params) for each in trials]
        return [(across.position(p[found.name]), up.position(p[drawn])) for p in points]

    mark_points(
        ax, places(measured(study)), marker="o", ms=5, mfc="none", color=BLUE, label="tried"
    )
    best = places(found.recommended)
    ax.plot(*zip(*best, strict=True), color=GREEN, lw=2.2, label="best by the model")
    across.dress(ax, "x")
    up.dress(ax, "y")
    ax.set_title(study.name)
    legend(ax)
    return ax


def outcomes(study: Study, name: str | None = None, *, ax: Axes | None = None) -> Axes:
    """An outcome by trial, by default the first, and its limit; filled where all limits hold."""
    if not study.outcomes:
        raise TrialError("this study has no outcomes: it was made without limits")
    chosen = name or next(iter(study.outcomes))
    if chosen not in study.outcomes:
        raise ConfigurationError(
            f"there is no outcome {chosen!r}: this study has {', '.join(study.outcomes)}"
        )
    ax = new_axes(ax)
    trials = [trial for trial in standing(study.trials) if chosen in trial.outcomes]
    within = {"mfc": BLUE, "color": BLUE, "marker": "o", "label": "within all limits"}
    beyond = {"mfc": "none", "color": RED, "marker": "s", "label": "beyond a limit"}
    for feasible, look in ((True, within), (False, beyond)):
        points = [(t.number, t.outcomes[chosen]) for t in trials if t.feasible is feasible]
        mark_points(ax, points, ms=6, **look)
    limit = study.outcomes[chosen]
    ax.axhline(limit.limit, color=INK, lw=1.4, ls="--", label=f"limit: {limit}")
    by_trial(ax)
    ax.set(ylabel=chosen, title=study.name)
    legend(ax)
    return ax
