"""The model's prediction along one parameter or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.diagnostics.presentation import number
from noregret.errors import ConfigurationError, TrialError
from noregret.plot.canvas import (
    BAND,
    DESIGNS,
    GREEN,
    INK,
    LOOK,
    Coordinate,
    coordinate,
    legend,
    mark_below,
    mark_points,
    measured,
    new_axes,
)
from noregret.space import Array, Candidates, named_params, slice_points
from noregret.strategies import Belief
from noregret.study import Study
from noregret.trials import sign_of, standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    found = study.result() if measured(study) else None
    if found is None or found.belief is None:
        raise TrialError(
            "a slice needs a strategy with a model and at least one value: tell one first"
        )
    names = (
        [parameters]
        if isinstance(parameters, str)
        else list(parameters or list(study.space.parameters)[:1])
    )
    if len(names) not in (1, 2) or len(set(names)) < len(names):
        raise ConfigurationError(
            f"a slice is along one parameter or two different ones, got {names!r}"
        )
    coordinates = [coordinate(study, name) for name in names]
    belief = found.belief
    fixed = {
        **named_params(study.space, found.recommended.params),
        **_checked(study, at or {}, names),
    }
    ax = new_axes(ax)
    if len(names) == 1:
        _line(study, belief, coordinates[0], fixed, ax)
    else:
        _map(study, belief, coordinates[0], coordinates[1], fixed, ax)
    rest = {name: value for name, value in fixed.items() if name not in names}
    place = ", ".join(
        f"{name} = {number(value, 4) if isinstance(value, float) else value}"
        for name, value in rest.items()
    )
    if place and not isinstance(study.space, Candidates):
        ax.set_title(f"{study.name}\nat {place}", fontsize=10, wrap=True)
    else:
        ax.set_title(study.name)
    legend(ax, below=len(names) == 2)
    return ax


def _points(study: Study, state: str) -> list[Mapping[str, Any]]:
    trials = [trial for trial in standing(study.trials) if trial.state == state]
    return [named_params(study.space, trial.params) for trial in trials]


def _following(study: Study, fixed: Mapping[str, Any]) -> Mapping[str, Any]:
    """The next proposal, in the context of the slice."""
    context = {name: fixed[name] for name in study.context} or None
    return named_params(study.space, study.preview(context=context).params)


def _checked(study: Study, at: Mapping[str, Any], names: list[str]) -> Mapping[str, Any]:
    if at and isinstance(study.space, Candidates):
        raise ConfigurationError(
            "a list of candidates has no slices to choose: every candidate is drawn; leave out `at`"
        )
    unknown = [name for name in at if name not in study.space.parameters]
    if unknown:
        raise ConfigurationError(
            f"there is no parameter {unknown[0]!r}:"
            f" this study has {', '.join(study.space.parameters)}"
        )
    if any(name in at for name in names):
        raise ConfigurationError(
            f"the slice runs along {' and '.join(names)}:"
            f" `at` holds other parameters, got {', '.join(at)}"
        )
    return at


def _encode(study: Study, params: Mapping[str, Any]) -> Array:
    encoded: Array = study.space.encode(dict(params))
    return encoded


def _line(
    study: Study, belief: Belief, along: Coordinate, fixed: Mapping[str, Any], ax: Axes
) -> None:
    if isinstance(study.space, Candidates):
        shown = study.space.spread(DESIGNS)
        along_line = study.space.columns[along.name].take(shown).tolist()
        X = study.space.enumeration()[shown]
    else:
        along_line = list(along.values)
        X = np.array([_encode(study, {**fixed, along.name: value}) for value in along_line])
        X, good = slice_points(study.space, X, [along.name])
        along_line = [value for value, kept in zip(along_line, good, strict=True) if kept]
        X = X[good]
        if len(X) == 0:
            raise ConfigurationError(
                f"no point along {along.name} satisfies the constraints: choose other values for"
                " the rest with `at`"
            )
    mean, _ = belief.predict(X)
    lower, upper = belief.band(X)
    mean, lower, upper = (sign_of(study.goal) * each for each in (mean, lower, upper))
    positions = [along.position(value) for value in along_line]
    if along.smooth:
        ax.fill_between(positions, lower, upper, color=BAND, lw=0, label="band")
        ax.plot(positions, mean, color=INK, lw=1.8, label="mean")
    else:
        ends = np.minimum(lower, upper), np.maximum(lower, upper)
        ax.vlines(positions, *ends, color="0.75", lw=5, label="band")
        ax.plot(positions, mean, ls="none", marker="_", ms=13, mew=2, color=INK, label="mean")
    along.dress(ax, "x")
    ax.set_ylabel(f"value ({study.goal}d)")
    _data(study, belief, along, None, fixed, ax)
    for state in ("failed", "running", "waiting"):
        points = _points(study, state)
        mark_below(ax, [along.position(point[along.name]) for point in points], state)
    at = along.position(_following(study, fixed)[along.name])
    ax.axvline(at, color=GREEN, lw=1.4, ls="-.", zorder=1)
    look = {"marker": "v", "ms": 10, "mfc": GREEN, "mec": INK, "label": "next point"}
    mark_points(ax, [(at, 0.97)], transform=ax.get_xaxis_transform(), **look)


def _map(
    study: Study,
    belief: Belief,
    across: Coordinate,
    up: Coordinate,
    fixed: Mapping[str, Any],
    ax: Axes,
) -> None:
    cmap = "viridis" if study.goal == "maximize" else "viridis_r"  # bright is good
    if isinstance(study.space, Candidates):
        shown, columns = study.space.spread(DESIGNS), study.space.columns
        mean, _ = belief.predict(study.space.enumeration()[shown])
        painted: Any = ax.scatter(
            [across.position(value) for value in columns[across.name].take(shown).tolist()],
            [up.position(value) for value in columns[up.name].take(shown).tolist()],
            c=sign_of(study.goal) * mean,
            marker="s",
            s=220,
            zorder=1,
            cmap=cmap,
        )
    else:
        # every fourth point of a curve: the full grid would be slow
        thin = 4 if across.smooth and up.smooth else 1
        wide, high = across.values[::thin], up.values[::thin]
        X = np.array(
            [_encode(study, {**fixed, across.name: a, up.name: b}) for b in high for a in wide]
        )
        X, good = slice_points(study.space, X, [across.name, up.name])
        if not good.any():
            raise ConfigurationError(
                f"no point along {across.name} and {up.name} satisfies the constraints: choose"
                " other values for the rest with `at`"
            )
        mean = np.where(good, belief.predict(X)[0], np.nan)  # infeasible points stay white
        z = (sign_of(study.goal) * mean).reshape(len(high), len(wide))
        positions = [across.position(a) for a in wide], [up.position(b) for b in high]
        if across.smooth and up.smooth:
            painted = ax.contourf(*positions, z, levels=14, cmap=cmap)
        else:
            painted = ax.pcolormesh(*positions, z, shading="nearest", cmap=cmap)
    ax.figure.colorbar(painted, ax=ax, label=f"mean of the value ({study.goal}d)", pad=0.02)
    across.dress(ax, "x")
    up.dress(ax, "y")

    def place(point: Mapping[str, Any]) -> tuple[float, float]:
        return across.position(point[across.name]), up.position(point[up.name])

    _data(study, belief, across, up, fixed, ax)
    for state in ("failed", "running", "waiting"):
        points = _points(study, state)
        if points:
            mark_points(ax, list(map(place, points)), ms=10, mec="white", zorder=4, **LOOK[state])
    look = {"marker": "*", "ms": 16, "mfc": "white", "mec": INK, "label": "next point"}
    mark_points(ax, [place(_following(study, fixed))], clip_on=False, **look)


def _data(
    study: Study,
    belief: Belief,
    across: Coordinate,
    up: Coordinate | None,
    fixed: Mapping[str, Any],
    ax: Axes,
) -> None:
    """Measured points, paler off the slice, by their distance in lengthscales."""
    done = measured(study)
    points = [named_params(study.space, trial.params) for trial in done]
    drawn = {across.name} | ({up.name} if up else set())
    X = np.array([_encode(study, p) for p in points])
    if isinstance(study.space, Candidates):
        near = np.ones(len(done))
    else:
        foot = np.array(
            [_encode(study, {**fixed, **{name: p[name] for name in drawn}}) for p in points]
        )
        near = np.exp(-0.5 * (((X - foot) / belief.lengthscales) ** 2).sum(axis=1))
    y = [up.position(p[up.name]) for p in points] if up else [float(t.value or 0.0) for t in done]
    from matplotlib.colors import to_rgba

    look, edge = LOOK["complete"], "white" if up else "none"
    colors = [to_rgba(look["color"], 0.2 + 0.8 * float(share)) for share in near]
    ax.scatter(
        [across.position(p[across.name]) for p in points],
        y,
        s=30,
        zorder=3,
        c=colors,
        marker=look["marker"],
        edgecolors=edge,
        linewidths=0.8,
    )
    ax.plot([], [], ls="none", ms=6, mec=edge, **look)  # for the legend
