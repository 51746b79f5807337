"""Shared by all pictures: figures, the look of each kind of trial, and inputs as axes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from noregret.diagnostics.presentation import best_so_far, spans_decades
from noregret.errors import ConfigurationError, MissingExtraError, check_one_of
from noregret.space import Candidates, Choice, Int, named_params
from noregret.study import Study
from noregret.trials import Goal, Trial, standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Backend = Literal["matplotlib", "plotly"]
# Okabe and Ito's colours, which differ in lightness too
INK, BAND, BLUE, ORANGE, GREEN, RED = "0.1", "0.86", "#0072b2", "#e69f00", "#009e73", "#b3331d"
LOOK: dict[str, dict[str, Any]] = {
    "complete": {"marker": "o", "color": BLUE, "label": "told"},
    "failed": {"marker": "X", "color": RED, "label": "failed"},
    "running": {"marker": "^", "color": ORANGE, "label": "under way"},
    "withdrawn": {"marker": "_", "color": "0.5", "label": "withdrawn"},
    "waiting": {"marker": ">", "color": "0.5", "label": "waiting"},
}
UNMEASURED = ("failed", "running", "waiting")  # states without a value that are drawn
BEYOND: dict[str, Any] = {"marker": "s", "mfc": "none", "color": RED, "label": "beyond a limit"}
LEVELS = 200  # a range of more integers is drawn as a curve

SERIES = (BLUE, ORANGE, GREEN, RED, "#cc79a7", "#56b4e9", "#5b3a8c", "#8a6d3b")
GOLDEN = 0.381966  # share of the colour circle between the series after those
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h")


def series_looks(count: int) -> list[dict[str, Any]]:
    """Colour, line and marker of ``count`` series, all different."""
    from matplotlib.colors import hsv_to_rgb, to_hex

    more = [(GOLDEN * i % 1, 0.85, 0.5 if i % 2 else 0.85) for i in range(count - len(SERIES))]
    hues = [to_hex(tuple(hsv_to_rgb(color))) for color in more]
    return [
        {"color": color, "ls": LINES[i % len(LINES)], "marker": MARKERS[i % len(MARKERS)]}
        for i, color in enumerate([*SERIES, *hues][:count])
    ]


def new_figure(width: float = 7.2, height: float = 4.2) -> Figure:
    """A figure of pyplot, so that notebooks show it; sizes in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib: install it with `pip install noregret[plot]`"
        ) from None
    return plt.figure(figsize=(width, height), layout="constrained")


def new_axes(ax: Axes | None, *size: float) -> Axes:
    """``ax``, or the axes of a new figure."""
    return new_figure(*size).subplots() if ax is None else ax


def with_backend(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a picture be drawn by another library: ``backend="plotly"`` returns a figure of Plotly,
    in which a person can zoom and point, instead of the axes.
    """

    @functools.wraps(draw)
    def either(*args: Any, backend: Backend = "matplotlib", **options: Any) -> Any:
        check_one_of("backend", backend, get_args(Backend))
        axes = draw(*args, **options)
        if backend == "matplotlib":
            return axes
        import matplotlib.pyplot as plt

        figure = (axes[0] if isinstance(axes, list) else axes).figure
        plt.close(figure)
        return to_plotly(figure)

    return either


def to_plotly(figure: Figure) -> Any:
    """A figure as one of Plotly: its lines, marks, areas, surfaces and texts."""
    try:
        from plotly.subplots import make_subplots
    except ImportError:
        raise MissingExtraError(
            "interactive pictures need plotly: install it with `pip install noregret[web]`"
        ) from None
    from matplotlib.colors import to_hex
    from matplotlib.ticker import FixedLocator

    figure.canvas.draw()  # transforms and ticks are known then
    shown = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    made = make_subplots(len(shown), 1, subplot_titles=[ax.get_title() for ax in shown])
    for row, ax in enumerate(shown, 1):
        here = {"row": row, "col": 1}
        drawn: list[tuple[Any, Any, Any, str, Any]] = []  # artist, transform, points, mode, colour
        for each in cast(list[Any], ax.collections):
            if hasattr(each, "surface"):
                x, y, z = each.surface
                made.add_contour(x=x, y=y, z=z, colorscale="Viridis", **here)
            elif len(each.get_offsets()) > 1:
                points, colors = each.get_offsets(), [to_hex(c) for c in each.get_facecolor()]
                drawn.append((each, each.get_offset_transform(), points, "markers", colors))
            else:
                colors = [to_hex(c) for c in (*each.get_facecolor(), *each.get_edgecolor())][:1]
                paths = [path.vertices for path in each.get_paths()]
                drawn += [(each, each.get_transform(), at, "lines", colors) for at in paths]
        for patch in ax.patches:
            at, colors = patch.get_path().vertices, [to_hex(patch.get_facecolor())]
            drawn.append((patch, patch.get_transform(), at, "lines", colors))
        for line in cast(list[Any], ax.lines):
            mode = "lines" if line.get_linestyle() in LINES else "markers"
            face = line.get_markerfacecolor()
            color = line.get_color() if mode == "lines" or face == "none" else face
            at = np.array(line.get_data(), float).T
            drawn.append((line, line.get_transform(), at, mode, [to_hex(color)]))
        for artist, transform, points, mode, colors in drawn:
            data = ax.transData.inverted().transform(transform.transform(points))
            name, area = str(artist.get_label()), artist not in ax.lines and mode == "lines"
            look: dict[str, Any] = {"fill": "toself" if area else None, "mode": mode, "name": name}
            look["marker"] = {"color": colors if len(colors) > 1 else colors[0]}
            steps = "steps" in getattr(artist, "get_drawstyle", str)()
            look["line"] = {"color": colors[0], "shape": "hv" if steps else "linear"}
            named = name[:1] not in ("", "_")
            made.add_scatter(x=data[:, 0], y=data[:, 1], showlegend=named, **look, **here)
        for side, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
            locator = axis.get_major_locator()
            ticks: dict[str, Any] = {}
            if isinstance(locator, FixedLocator) or "Date" in type(locator).__name__:
                texts = [text.get_text() for text in axis.get_ticklabels()]
                ticks = {"tickvals": list(axis.get_ticklocs()), "ticktext": texts}
            update = getattr(made, f"update_{side}axes")
            update(title=axis.get_label_text(), type=axis.get_scale(), **ticks, **here)
    return made.update_layout(legend={"orientation": "h"})


def save(figure: Figure, path: Path) -> None:
    """Writes a figure into a file and closes it: pyplot keeps every open figure."""
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=150)
    plt.close(figure)


def finish(ax: Axes, title: str, *, trials: str = "", below: bool = False, **labels: Any) -> Axes:
    """Set title and labels, with ``trials`` below an axis of trial numbers, and draw a legend
    beside the axes or below them, where it covers nothing.
    """
    if trials:
        by_trial(ax, trials)
    ax.set(title=title, **labels)
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0}
    if below:
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "ncols": 5}
    ax.legend(frameon=False, fontsize=9, **place)
    return ax


def with_value(study: Study) -> list[Trial]:
    """The trials with a value, without those that were corrected."""
    return [trial for trial in standing(study.trials) if trial.value is not None]


def running_best(trials: Sequence[Trial], goal: Goal) -> list[float]:
    """The best value up to each of these trials, which all have one."""
    values = best_so_far([trial.value for trial in trials], goal)
    return [value for value in values if value is not None]


def mark_points(ax: Axes, points: Sequence[tuple[float | None, ...]], **look: Any) -> None:
    """Marks at pairs of x and y, without a line."""
    columns = [[float(pair[side] or 0.0) for pair in points] for side in (0, 1)]
    ax.plot(*columns, ls="none", **look)


def mark_below(ax: Axes, positions: Sequence[float], state: str) -> None:
    """Marks of trials without a value along the lower edge."""
    ax.margins(y=0.12)
    if positions:
        edge = ax.get_xaxis_transform()
        points = [(position, 0.03) for position in positions]
        mark_points(ax, points, ms=7, clip_on=False, transform=edge, **LOOK[state])


def by_trial(ax: Axes, label: str) -> None:
    """An axis of trial numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel(label, wrap=True)
    ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))


def scale_values(ax: Axes, values: Sequence[float]) -> None:
    """A log scale if the values span decades."""
    if spans_decades(values):
        ax.set_yscale("log")


def log_values(ax: Axes) -> None:
    """A log scale labelled 0.2 instead of 2 × 10⁻¹."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


# -- inputs as axes --


@dataclass(frozen=True, slots=True)
class Coordinate:
    """An input as an axis.

    Args:
        name: The input.
        options: The options of a choice, which stand at 0, 1, …
        log: Whether the axis is logarithmic.
        smooth: Whether there are values between those that are drawn.
    """

    name: str
    options: tuple[Any, ...] | None = None
    log: bool = False
    smooth: bool = False

    def position(self, value: Any) -> float:
        """Where a value stands."""
        return float(value) if self.options is None else float(self.options.index(value))

    def dress(self, ax: Axes, side: Literal["x", "y"]) -> None:
        """Set label, ticks and scale of an axis."""
        axis = ax.xaxis if side == "x" else ax.yaxis
        axis.set_label_text(self.name)
        if self.options is not None:
            texts = [str(option) for option in self.options]
            crowded = side == "x" and len("".join(texts)) > 40
            axis.set_ticks(np.arange(len(texts)), texts, rotation=30 if crowded else 0)
            ax.set(**{f"{side}lim": (-0.5, len(texts) - 0.5)})
        elif self.log:
            ax.set(**{f"{side}scale": "log"})


def coordinate(study: Study, name: str) -> Coordinate:
    """An input of a study as an axis; raises ConfigurationError if there is none."""
    parameter = study.space.parameters.get(name)
    if parameter is None:
        listed = ", ".join(study.space.parameters)
        raise ConfigurationError(f"there is no parameter {name!r}: this study has {listed}")
    if isinstance(parameter, Choice):
        return Coordinate(name, parameter.options)
    if isinstance(study.space, Candidates):
        return Coordinate(name)
    smooth = not isinstance(parameter, Int) or parameter.size > LEVELS
    return Coordinate(name, log=parameter.log, smooth=smooth)


def places(
    study: Study, axes: Sequence[Coordinate], points: Sequence[Any]
) -> list[tuple[float, ...]]:
    """The positions of points along some axes; a point has ``params``."""
    named = [named_params(study.space, point.params) for point in points]
    return [tuple(axis.position(point[axis.name]) for axis in axes) for point in named]
