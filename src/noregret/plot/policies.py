"""Where inputs are context: the best action as a function of it. And outcomes beside their
limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from noregret.errors import ConfigurationError, TrialError
from noregret.plot.canvas import BLUE, GREEN, INK, RED, by_trial, coordinate, legend, new_axes
from noregret.space import named_params
from noregret.study import Study, policy_of
from noregret.trials import standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def policy(
    study: Study,
    along: str | None = None,
    *,
    action: str | None = None,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The best action by the model as a function of the context ``along``, by default the first;
    ``action`` is the input drawn, by default the first that is chosen; ``at`` holds other contexts.
    What was tried is drawn beside it.
    """
    made = policy_of(study, along, at)
    chosen = [name for name in study.space.parameters if name not in study.context]
    drawn = action or chosen[0]
    if drawn not in chosen:
        raise ConfigurationError(f"the actions of this study are {chosen!r}, got {drawn!r}")
    ax = new_axes(ax)
    across, up = coordinate(study, made.name), coordinate(study, drawn)
    told = [trial for trial in standing(study.trials) if trial.value is not None]
    tried = [named_params(study.space, trial.params) for trial in told]
    ax.plot(
        [across.position(point[made.name]) for point in tried],
        [up.position(point[drawn]) for point in tried],
        ls="none",
        marker="o",
        ms=5,
        mfc="none",
        color=BLUE,
        label="tried",
    )
    points = [named_params(study.space, each.params) for each in made.recommended]
    ax.plot(
        [across.position(point[made.name]) for point in points],
        [up.position(point[drawn]) for point in points],
        color=GREEN,
        lw=2.2,
        label="best by the model",
    )
    across.dress(ax, "x")
    up.dress(ax, "y")
    ax.set_title(study.name)
    legend(ax)
    return ax


def outcomes(study: Study, name: str | None = None, *, ax: Axes | None = None) -> Axes:
    """An outcome by trial, by default the first, beside its limit; filled where all limits are
    kept.
    """
    if not study.outcomes:
        raise TrialError("this study has no outcomes: it was made without limits")
    chosen = name or next(iter(study.outcomes))
    if chosen not in study.outcomes:
        raise ConfigurationError(
            f"there is no outcome {chosen!r}: this study has {', '.join(study.outcomes)}"
        )
    ax = new_axes(ax)
    told = [trial for trial in standing(study.trials) if chosen in trial.outcomes]
    looks: tuple[tuple[bool, dict[str, Any]], ...] = (
        (True, {"mfc": BLUE, "color": BLUE, "marker": "o", "label": "within all limits"}),
        (False, {"mfc": "none", "color": RED, "marker": "s", "label": "beyond a limit"}),
    )
    for kept, look in looks:
        some = [trial for trial in told if trial.feasible is kept]
        values = [trial.outcomes[chosen] for trial in some]
        ax.plot([trial.number for trial in some], values, ls="none", ms=6, **look)
    limit = study.outcomes[chosen]
    ax.axhline(limit.limit, color=INK, lw=1.4, ls="--", label=f"limit: {limit}")
    by_trial(ax)
    ax.set(ylabel=chosen, title=study.name)
    legend(ax)
    return ax
