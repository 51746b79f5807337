"""What all pictures share: axes to draw into, the look of each kind of trial, and parameters as
axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noregret.errors import ConfigurationError, MissingExtraError
from noregret.space import Candidates, Choice, Int
from noregret.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that differ in lightness too (Okabe and Ito's), so that a grey copy can be read.
INK, BAND, BLUE, ORANGE, GREEN, RED = "0.1", "0.86", "#0072b2", "#e69f00", "#009e73", "#b3331d"
LOOK: dict[str, dict[str, Any]] = {
    "complete": {"marker": "o", "color": BLUE, "label": "told"},
    "failed": {"marker": "X", "color": RED, "label": "failed"},
    "running": {"marker": "^", "color": ORANGE, "label": "under way"},
    "withdrawn": {"marker": "_", "color": "0.5", "label": "withdrawn"},
    "waiting": {"marker": ">", "color": "0.5", "label": "waiting"},
}
DESIGNS = 2_000  # of a list that are drawn
SMOOTH = 241  # points of a curve
LEVELS = 200  # a longer range of integers is drawn as a curve


# beyond these, colours are spread over a map; with line and marker no two series look alike
SERIES = (BLUE, ORANGE, GREEN, RED, "#cc79a7", "#56b4e9", "#5b3a8c", "#8a6d3b")
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h")


def series_looks(count: int) -> list[dict[str, Any]]:
    """Colour, line and marker of each of so many series, all different."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if count <= len(SERIES):
        colors = list(SERIES[:count])
    else:
        spread = colormaps["turbo"](np.linspace(0.03, 0.97, count))
        # neighbours in the list are far apart on the map, and every other one is darker
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


def new_axes(ax: Axes | None) -> Axes:
    """``ax``, or the axes of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib: install it with `pip install noregret[plot]`"
        ) from None
    _, made = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    return made


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
    """With numbers as people write them: 0.2, not 2 × 10⁻¹."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def mark_below(ax: Axes, positions: Sequence[float], state: str) -> None:
    """Trials without a value: marks along the lower edge, in a margin of their own."""
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
    """One parameter as an axis: where its values stand, and at which of them the model is drawn."""

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
    if isinstance(parameter, Int) and parameter.size <= LEVELS:
        return Coordinate(name, tuple(range(parameter.low, parameter.high + 1)), log=parameter.log)
    grid = [parameter.decode(np.array([u])) for u in np.linspace(0, 1, SMOOTH)]
    return Coordinate(name, tuple(dict.fromkeys(grid)), log=parameter.log, smooth=True)


def spans_decades(values: Sequence[float]) -> bool:
    """Whether a log scale shows these better: positive and three decades apart."""
    return len(values) > 1 and min(values) > 0 and math.log10(max(values) / min(values)) > 3
