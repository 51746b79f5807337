"""What the model says: slices, importance, policy; its decisions, forecasts and certificates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from noregret.diagnostics import effective_trials, predictions
from noregret.diagnostics.presentation import ModelSlice, distances_to_slice, model_slice
from noregret.errors import ConfigurationError, TrialError
from noregret.plot import canvas
from noregret.plot.canvas import BAND, BLUE, GREEN, INK, LOOK, ORANGE, UNMEASURED, Coordinate
from noregret.space import Candidates, coordinate_names, named_params
from noregret.strategies import Belief
from noregret.study import Study, policy_of
from noregret.trials import Trial, shown, standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE = 241  # points of a curve
MAP = 61  # points per side of a map

# -- slices --


@canvas.with_backend
def slice(  # noqa: A001 — called as plot.slice
    study: Study,
    parameters: str | Sequence[str] | None = None,
    *,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The model's mean and band along a parameter, or its mean over two, with the data and the next
    proposal.

    Args:
        study: A study with at least one value.
        parameters: One parameter or two, by default the first.
        at: Values of the other parameters, by default those of the recommended point.
        ax: Where to draw, by default a new figure.

    Points off the slice are paler the farther they are.
    """
    names = [parameters] if isinstance(parameters, str) else list(parameters or [])
    names = names or list(study.space.parameters)[:1]
    if len(names) not in (1, 2) or len(set(names)) < len(names):
        message = f"a slice is along one parameter or two different ones, got {', '.join(names)}"
        raise ConfigurationError(message)
    belief, point = _model_at(study, at or {}, names)
    view = _View.of(study, belief, point, names)
    ax = canvas.new_axes(ax)
    (view.draw_line if len(names) == 1 else view.draw_map)(ax)
    canvas.finish(ax, study.name, below=len(names) == 2)
    others = [f"{name} = {shown(value)}" for name, value in point.items() if name not in names]
    if others and not isinstance(study.space, Candidates):
        ax.set_title(f"{study.name}\nat {', '.join(others)}", fontsize=10, wrap=True)
    return ax


@canvas.with_backend
def slices(
    study: Study, *, at: Mapping[str, Any] | None = None, figure: Figure | None = None
) -> list[Axes]:
    """A slice along every input, side by side, through the recommended point or ``at``.

    Args:
        study: A study with at least one value.
        at: Values of some inputs, by default those of the recommended point.
        figure: Where to draw, by default a new figure.

    Returns:
        The axes, one for each input: a notebook shows their figure once.
    """
    belief, point = _model_at(study, at or {}, [])
    names = [name for name, p in study.space.parameters.items() if p.width > 0]
    columns = min(len(names), 3)
    rows = -(-len(names) // columns)
    if figure is None:
        figure = canvas.new_figure(4.6 * columns, 3.4 * rows + 0.6)
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for name, ax in zip(names, axes, strict=False):
        _View.of(study, belief, point, [name]).draw_line(ax)
    for ax in axes[len(names) :]:
        ax.set_visible(False)
    figure.suptitle(study.name)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return axes[: len(names)]


@canvas.with_backend
def contour(
    study: Study,
    across: str | None = None,
    up: str | None = None,
    *,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The model's mean over a pair of inputs; as ``slice(study, [across, up])``.

    Args:
        study: A study with at least one value.
        across: The input from left to right, by default the most important one left.
        up: The input from bottom to top, by default the next one.
        at: Values of the other parameters, by default those of the recommended point.
        ax: Where to draw, by default a new figure.
    """
    names = [name for name in (across, up) if name is not None]
    if len(names) < 2:
        ranked = sorted(study.importances(), key=lambda index: -index.total)
        others = iter([index.name for index in ranked if index.name not in names])
        names = [name for name in (across or next(others, ""), up or next(others, "")) if name]
    if len(names) < 2:
        raise ConfigurationError("a contour needs two inputs: this study has one, take slice")
    return slice(study, names, at=at, ax=ax)


def _model_at(
    study: Study, at: Mapping[str, Any], names: Sequence[str]
) -> tuple[Belief, dict[str, Any]]:
    """The model, and the recommended point with the values of ``at`` in it."""
    result = study.result() if canvas.with_value(study) else None
    if result is None or result.belief is None:
        raise TrialError("a slice needs a strategy with a model, and one value: tell one first")
    if at and isinstance(study.space, Candidates):
        raise ConfigurationError("of a list every candidate is drawn: leave out `at`")
    for name in at:
        canvas.coordinate(study, name)
        if name in names:
            raise ConfigurationError(
                f"the slice runs along {name}: `at` holds other parameters, leave it out"
            )
    return result.belief, named_params(study.space, result.recommended.params) | dict(at)


@dataclass(frozen=True, slots=True)
class _View:
    """A slice of a study's model through a point, with the positions along its axes."""

    study: Study
    belief: Belief
    point: Mapping[str, Any]
    axes: tuple[Coordinate, ...]
    model: ModelSlice
    positions: list[list[float]]

    @staticmethod
    def of(study: Study, belief: Belief, point: Mapping[str, Any], names: Sequence[str]) -> _View:
        axes = tuple(canvas.coordinate(study, name) for name in names)
        curve = MAP if len(axes) == 2 and all(axis.smooth for axis in axes) else LINE
        counts = {axis.name: curve if axis.smooth else canvas.LEVELS for axis in axes}
        model = model_slice(belief, study.space, study.goal, point, counts)
        if np.all(np.isnan(model.mean)):
            raise ConfigurationError(
                f"no point along {' and '.join(names)} satisfies the constraints: change `at`"
            )
        along = zip(axes, model.values, strict=True)
        positions = [[axis.position(value) for value in values] for axis, values in along]
        return _View(study, belief, point, axes, model, positions)

    def of_state(self, state: str) -> list[tuple[float, ...]]:
        """Where the trials of a state lie along the axes."""
        trials = [trial for trial in standing(self.study.trials) if trial.state == state]
        return canvas.places(self.study, self.axes, trials)

    def following(self) -> list[tuple[float, ...]]:
        """Where the next proposal lies, in the context of the slice."""
        context = {name: self.point[name] for name in self.study.context} or None
        return canvas.places(self.study, self.axes, [self.study.preview(context=context)])

    def draw_line(self, ax: Axes) -> None:
        (along,), (positions,), model = self.axes, self.positions, self.model
        if along.smooth:
            ax.fill_between(positions, model.lower, model.upper, color=BAND, lw=0, label="band")
            ax.plot(positions, model.mean, color=INK, lw=1.8, label="mean")
        else:
            ax.vlines(positions, model.lower, model.upper, color="0.75", lw=5, label="band")
            levels = [*zip(positions, model.mean, strict=True)]
            canvas.mark_points(ax, levels, marker="_", ms=13, mew=2, color=INK, label="mean")
        along.dress(ax, "x")
        ax.set_ylabel(f"value ({self.study.goal}d)")
        self._draw_values(ax, "none")
        for state in UNMEASURED:
            canvas.mark_below(ax, [at for (at,) in self.of_state(state)], state)
        ((at,),) = self.following()
        ax.axvline(at, color=GREEN, lw=1.4, ls="-.", zorder=1)
        look = {"marker": "v", "ms": 10, "mfc": GREEN, "mec": INK, "label": "next point"}
        canvas.mark_points(ax, [(at, 0.97)], transform=ax.get_xaxis_transform(), **look)

    def draw_map(self, ax: Axes) -> None:
        (across, up), mean = self.axes, self.model.mean
        cmap = "viridis" if self.study.goal == "maximize" else "viridis_r"  # bright is good
        if isinstance(self.study.space, Candidates):
            x, y = self.positions
            painted: Any = ax.scatter(x, y, c=mean, marker="s", s=220, cmap=cmap)
        elif across.smooth and up.smooth:
            painted = ax.contourf(*self.positions, mean, levels=14, cmap=cmap)
            painted.surface = *self.positions, mean
        else:
            painted = ax.pcolormesh(*self.positions, mean, shading="nearest", cmap=cmap)
            painted.surface = *self.positions, mean
        label = f"mean of the value ({self.study.goal}d)"
        ax.figure.colorbar(painted, ax=ax, label=label, pad=0.02)
        across.dress(ax, "x")
        up.dress(ax, "y")
        self._draw_values(ax, "white")
        for state in UNMEASURED:
            if points := self.of_state(state):
                canvas.mark_points(ax, points, ms=10, mec="white", zorder=4, **LOOK[state])
        look = {"marker": "*", "ms": 16, "mfc": "white", "mec": INK, "label": "next point"}
        canvas.mark_points(ax, self.following(), clip_on=False, **look)

    def _draw_values(self, ax: Axes, edge: str) -> None:
        """The trials with a value, paler off the slice, by their distance in lengthscales."""
        from matplotlib.colors import to_rgba

        trials, names = canvas.with_value(self.study), [axis.name for axis in self.axes]
        points = [trial.params for trial in trials]
        distances = distances_to_slice(self.belief, self.study.space, self.point, names, points)
        drawn = canvas.places(self.study, self.axes, trials)
        if len(names) == 1:
            drawn = [(x, float(t.value or 0.0)) for (x,), t in zip(drawn, trials, strict=True)]
        look, alphas = LOOK["complete"], 0.2 + 0.8 * np.exp(-(distances**2) / 2)
        colors = [to_rgba(look["color"], float(alpha)) for alpha in alphas]
        dots: dict[str, Any] = {"marker": look["marker"], "edgecolors": edge, "linewidths": 0.8}
        x, y = zip(*drawn, strict=True)
        ax.scatter(x, y, s=30, zorder=3, c=colors, **dots)
        ax.plot([], [], ls="none", ms=6, mec=edge, **look)  # for the legend


# -- inputs and context --


@canvas.with_backend
def importance(study: Study, *, ax: Axes | None = None) -> Axes:
    """Sobol indices of the inputs: total effects (bars) and first-order effects (marks), with a
    standard deviation.
    """
    indices = sorted(study.importances(), key=lambda index: index.total)
    ax = canvas.new_axes(ax, 7.2, max(2.4, 0.4 * len(indices) + 1.4))
    rows, totals = range(len(indices)), [index.total for index in indices]
    spread = {"xerr": [index.total_std or 0.0 for index in indices], "ecolor": INK}
    bars: Any = {"color": "#9ecae1", "label": "with the others", **spread}
    ax.barh(rows, totals, error_kw={"lw": 1.2, "capsize": 3}, **bars)
    alone = [(index.first, row) for row, index in enumerate(indices)]
    canvas.mark_points(ax, alone, marker="D", ms=7, color=BLUE, label="alone")
    ax.set_yticks(rows, [index.name for index in indices])
    words = "share of the model's variance"
    if not indices[0].stable:
        words += " (not known yet: halves of the data disagree)"
    return canvas.finish(ax, study.name, xlim=(0, 1), xlabel=words)


@canvas.with_backend
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
    best_actions = policy_of(study, along, at)
    actions = [name for name in study.space.parameters if name not in study.context]
    action = action or actions[0]
    if action not in actions:
        raise ConfigurationError(
            f"the actions of this study are {', '.join(actions)}; got {action!r}"
        )
    ax = canvas.new_axes(ax)
    axes = across, up = (
        canvas.coordinate(study, best_actions.name),
        canvas.coordinate(study, action),
    )
    tried = {"marker": "o", "ms": 5, "mfc": "none", "color": BLUE, "label": "tried"}
    canvas.mark_points(ax, canvas.places(study, axes, canvas.with_value(study)), **tried)
    best = canvas.places(study, axes, best_actions.recommended)
    ax.plot(*zip(*best, strict=True), color=GREEN, lw=2.2, label="best by the model")
    across.dress(ax, "x")
    up.dress(ax, "y")
    return canvas.finish(ax, study.name)


# -- decisions, forecasts, certificates --


def _decisions(study: Study, needed: str) -> list[tuple[Trial, Mapping[str, Any]]]:
    """Every trial that a model chose, with what was recorded, if ``needed`` is among it."""
    chosen = [trial for trial in study.trials if trial.decision.model is not None]
    recorded = [(trial, study.strategy.explain(trial.decision).numbers) for trial in chosen]
    trials = [(trial, numbers) for trial, numbers in recorded if needed in numbers]
    if not trials:
        raise TrialError(
            "no decision of a model yet: ask and tell on, with a strategy that has a model"
        )
    return trials


@canvas.with_backend
def lengthscales(study: Study, *, ax: Axes | None = None) -> Axes:
    """The lengthscales of the class used at each decision (lines) and those fitted to the data
    (dotted), as shares of the input's range.
    """
    recorded = _decisions(study, "lengthscales")
    ax = canvas.new_axes(ax)
    numbers, key = [trial.number for trial, _ in recorded], "fitted_lengthscales"
    fitted = [(trial.number, each[key]) for trial, each in recorded if key in each]
    names = coordinate_names(study.space)
    every = max(1, len(numbers) // 8)
    for index, (name, look) in enumerate(zip(names, canvas.series_looks(len(names)), strict=True)):
        look |= {"ls": "-", "lw": 1.4, "ms": 5, "mfc": "none", "markevery": every}
        in_force = [each["lengthscales"][index] for _, each in recorded]
        ax.plot(numbers, in_force, label=name, **look)
        values = [row[index] for _, row in fitted]
        ax.plot([trial for trial, _ in fitted], values, color=look["color"], lw=1.4, ls=":")
    if fitted:
        ax.plot([], [], color="0.4", ls=":", label="fitted to the data")
    ax.plot([], [], color="0.4", label="in force")
    canvas.log_values(ax)
    return canvas.finish(ax, study.name, trials="trial", ylabel="lengthscale / range of the input")


@canvas.with_backend
def scaling(study: Study, *, ax: Axes | None = None) -> Axes:
    """h over time: how much wider the class in use is than the first (or fitted) one."""
    recorded = _decisions(study, "h")
    ax = canvas.new_axes(ax)
    widths = [each["h"] for _, each in recorded]
    numbers = [trial.number for trial, _ in recorded]
    ax.step(numbers, widths, where="mid", color=INK, lw=1.4, label="h")
    surveys = [(t.number, each["h"]) for t, each in recorded if t.why.kind == "survey"]
    if surveys:
        canvas.mark_points(ax, surveys, marker="D", color=ORANGE, mec=INK, ms=6, label="survey")
    ax.set_ylim(0.9, max(2.0, 1.1 * max(widths)))
    if max(widths) > 20:
        canvas.log_values(ax)
    return canvas.finish(ax, study.name, trials="trial", ylabel="h, widening of the class")


@canvas.with_backend
def calibration(study: Study, *, ax: Axes | None = None) -> Axes:
    """Coverage of the predicted central intervals: on the diagonal if the model is calibrated."""
    forecasts = predictions(effective_trials(study.trials), study.goal, study.strategy)
    residuals = [abs(f.residual) for f in forecasts if f is not None and f.residual is not None]
    if not residuals:
        raise TrialError("no prediction to compare with yet: tell a value that a model proposed")
    ax = canvas.new_axes(ax)
    inside = np.sort(2 * ndtr(residuals) - 1)  # the level of the interval that just holds the value
    levels = np.linspace(0, 1, 101)
    spread = 1.96 * np.sqrt(levels * (1 - levels) / len(residuals))
    low, high = np.clip([levels - spread, levels + spread], 0, 1)
    ax.fill_between(levels, low, high, color="0.9", label=f"chance, {len(residuals)} values")
    ax.plot([0, 1], [0, 1], color="0.5", ls="--", lw=1, label="calibrated")
    shares = np.arange(1, len(residuals) + 1) / len(residuals)
    ax.step([0, *inside, 1], [0, *shares, 1], where="post", color=BLUE, lw=1.8, label="observed")
    ax.set(xlabel="predicted probability of the interval", ylabel="share of values inside")
    ax.set_aspect("equal")
    return canvas.finish(ax, study.name, xlim=(0, 1), ylim=(0, 1))


@canvas.with_backend
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
    ax = canvas.new_axes(ax)
    counts = np.unique(np.linspace(first + 1, len(trials), steps).round().astype(int))
    limited: dict[str, Any] = {"outcomes": study.outcomes, "context": study.context}
    definition = (study.space, study.goal, study.strategy, study.record().seed)
    earlier = [Study(*definition, trials=trials[:count], **limited) for count in counts]
    certificates = [then.certificate(delta) for then in earlier]
    bounds = [bound.regret_bound for bound in certificates]
    ax.plot(counts, bounds, "-o", ms=4, color=BLUE, lw=1.6)
    canvas.scale_values(ax, bounds)
    if ax.get_yscale() == "linear":
        ax.set_ylim(bottom=0)
    last = certificates[-1]
    proved = "regret of the recommended\npoint, at most"
    ax.set_ylabel(proved if last.proved else "max UCB − LCB: no proved bound")
    canvas.by_trial(ax, f"trials known\n\nCondition: {last.condition}")
    ax.set_title(study.name)
    return ax
