"""Shared by all pictures: figures, the look of each kind of trial, and parameters as axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noregret.diagnostics.presentation import values_along
from noregret.errors import ConfigurationError, MissingExtraError
from noregret.space import Candidates, Choice, Int
from noregret.study import Study
from noregret.trials import Trial, standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which differ in lightness too
INK, BAND, BLUE, ORANGE, GREEN, RED = "0.1", "0.86", "#0072b2", "#e69f00", "#009e73", "#b3331d"
LOOK: dict[str, dict[str, Any]] = {
    "complete": {"marker": "o", "color": BLUE, "label": "told"},
    "failed": {"marker": "X", "color": RED, "label": "failed"},
    "running": {"marker": "^", "color": ORANGE, "label": "under way"},
    "withdrawn": {"marker": "_", "color": "0.5", "label": "withdrawn"},
    "waiting": {"marker": ">", "color": "0.5", "label": "waiting"},
}
DESIGNS = 2_000  # largest number of designs of a list that are drawn
SMOOTH = 241  # points of a curve
LEVELS = 200  # a range of more integers is drawn as a curve

# colours of the first series; for more, colours are spread over a map
SERIES = (BLUE, ORANGE, GREEN, RED, "#cc79a7", "#56b4e9", "#5b3a8c", "#8a6d3b")
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h")


def series_looks(count: int) -> list[dict[str, Any]]:
    """Colour, line and marker of ``count`` series, all different."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if count <= len(SERIES):
        colors = list(SERIES[:count])
    else:
        spread = colormaps["turbo"](np.linspace(0.03, 0.97, count))
        # neighbouring series are far apart on the map, and every other one is darker
        step = next(n for n in range(count // 3 + 1, count + 2) if np.gcd(n, count) == 1)
        chosen = [spread[(index * step) % count] for index in range(count)]
        colors = [
            to_hex(tuple(part * (0.65 if index % 2 else 1.0) for part in rgb[:3]))
            for index, rgb in enumerate(chosen)
        ]
    return [
        {
            "color": color,
            "ls": LINES[index % len(LINES)],
            "marker": MARKERS[index % len(MARKERS)],
        }
        for index, color in enumerate(colors)
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


def new_axes(ax: Axes | None) -> Axes:
    """``ax``, or the axes of a new figure."""
    return new_figure().subplots() if ax is None else ax


def measured(study: Study) -> list[Trial]:
    """The trials with a value, without those that were corrected."""
    return [trial for trial in standing(study.trials) if trial.value is not None]


def mark_points(ax: Axes, points: Sequence[tuple[float, float | None]], **look: Any) -> None:
    """Marks at pairs of x and y, without a line."""
    ax.plot([x for x, _ in points], [float(y or 0.0) for _, y in points], ls="none", **look)


def legend(ax: Axes, *, below: bool = False) -> None:
    """A legend beside the axes or below them, where it covers nothing."""
    if below:
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=5, frameon=False, fontsize=9
        )
    else:
        ax.legend(
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0.0,
            frameon=False,
            fontsize=9,
        )


def by_trial(ax: Axes, label: str = "trial") -> None:
    """An axis of trial numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel(label, wrap=True)
    ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))


def log_values(ax: Axes) -> None:
    """A log scale labelled 0.2 instead of 2 × 10⁻¹."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def mark_below(ax: Axes, positions: Sequence[float], state: str) -> None:
    """Marks of trials without a value along the lower edge."""
    ax.margins(y=0.12)
    if positions:
        ax.plot(
            positions,
            [0.03] * len(positions),
            ls="none",
            ms=7,
            clip_on=False,
            transform=ax.get_xaxis_transform(),
            **LOOK[state],
        )


# -- parameters as axes --


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A parameter as an axis: positions of its values, and those at which the model is drawn."""

    name: str
    values: tuple[Any, ...]
    options: tuple[Any, ...] | None = None  # of a parameter without order
    log: bool = False
    smooth: bool = False  # the values stand for all between them

    def position(self, value: Any) -> float:
        return float(value) if self.options is None else float(self.options.index(value))

    def dress(self, ax: Axes, side: Literal["x", "y"]) -> None:
        axis = ax.xaxis if side == "x" else ax.yaxis
        axis.set_label_text(self.name)
        if self.options is not None:
            texts = [str(option) for option in self.options]
            axis.set_ticks(
                range(len(texts)),
                texts,
                rotation=30 if side == "x" and len("".join(texts)) > 40 else 0,
            )
            ax.set(**{f"{side}lim": (-0.5, len(texts) - 0.5)})
        elif self.log:
            ax.set(**{f"{side}scale": "log"})


def coordinate(study: Study, name: str) -> Coordinate:
    parameters = study.space.parameters
    if name not in parameters:
        raise ConfigurationError(
            f"there is no parameter {name!r}: this study has {', '.join(parameters)}"
        )
    parameter = parameters[name]
    if isinstance(parameter, Choice):
        return Coordinate(name, parameter.options, parameter.options)
    if isinstance(study.space, Candidates):
        shown = study.space.columns[name].take(study.space.spread(DESIGNS))
        return Coordinate(name, tuple(sorted(set(shown.tolist()))))
    smooth = not isinstance(parameter, Int) or parameter.size > LEVELS
    values = values_along(parameter, SMOOTH if smooth else LEVELS)
    return Coordinate(name, tuple(values), log=parameter.log, smooth=smooth)
