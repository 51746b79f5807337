"""Every picture is also one of Plotly: the same numbers, to zoom and to point at."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import plot
from noregret.errors import ConfigurationError


@pytest.fixture(scope="module")
def study() -> nr.Study:
    space = {"x": nr.Float(1e-3, 1, log=True), "y": nr.Float(0, 1), "k": nr.Choice(["a", "b"])}
    return nr.minimize(lambda p: (p["x"] - 0.3) ** 2 + p["y"] + (p["k"] == "a"), space, trials=12)


@pytest.mark.parametrize(
    "draw",
    [
        plot.convergence,
        plot.slice,
        plot.slices,
        plot.contour,
        plot.importance,
        plot.parallel,
        plot.timeline,
        plot.lengthscales,
        plot.calibration,
        plot.scaling,
    ],
)
def test_a_picture_has_the_numbers_of_the_other(study: nr.Study, draw: Callable[..., Any]) -> None:
    axes = draw(study)
    made = draw(study, backend="plotly")
    first = axes[0] if isinstance(axes, list) else axes
    inside = [line for line in first.lines if line.get_transform() == first.transData]
    ours = [np.array(line.get_data(), float) for line in inside]  # others lie along an edge
    theirs = [np.array([trace.x, trace.y], float) for trace in made.data if trace.type == "scatter"]
    shown = [each for each in ours if each.size]
    assert len(made.data) >= len(first.lines)
    for a in shown:
        assert any(a.shape == b.shape and np.allclose(a, b, rtol=1e-6) for b in theirs)
    named = {str(line.get_label()) for line in first.lines} - {""}
    assert {name for name in named if name[0] != "_"} <= {trace.name for trace in made.data}
    assert made.to_json()


def test_surfaces_scales_and_ticks_come_along(study: nr.Study) -> None:
    surface = plot.slice(study, ["x", "y"], backend="plotly")
    (contour,) = (trace for trace in surface.data if trace.type == "contour")
    assert np.shape(contour.z) == (len(contour.y), len(contour.x))
    assert surface.layout.xaxis.type == "log"
    assert surface.layout.xaxis.title.text == "x"
    options = plot.slice(study, "k", backend="plotly").layout.xaxis
    assert list(options.ticktext) == ["a", "b"]


def test_the_best_so_far_is_a_staircase(study: nr.Study) -> None:
    made = plot.convergence(study, backend="plotly")
    assert {t.line.shape for t in made.data if str(t.name).startswith("best")} == {"hv"}


def test_another_backend_is_refused(study: nr.Study) -> None:
    with pytest.raises(ConfigurationError, match="backend"):
        plot.convergence(study, backend="bokeh")
