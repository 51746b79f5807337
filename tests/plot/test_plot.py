"""What the pictures show, read back from the axes."""

import itertools
import math
import subprocess
import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import noregret as nr
from noregret import plot
from noregret.errors import ConfigurationError, NoRegretError, TrialError
from noregret.plot.canvas import series_looks
from noregret.trials import standing
from tests.recorded import decision, recorded

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

SPACES: dict[str, Any] = {
    "one": {"x": nr.Float(-2, 3)},
    "bounds": [(0.0, 1.0), (-5.0, 5.0)],
    "mixed": {
        "rate": nr.Float(1e-5, 1e-1, log=True),
        "layers": nr.Int(1, 8),
        "solvent": nr.Choice(["water", "dmf", "toluene"]),
    },
    "long": {"batch": nr.Int(1, 4096, log=True), "x": nr.Float(0, 1)},
    "six": {f"x{i}": nr.Float(0, 1) for i in range(6)},
    "list": nr.Candidates([{"t": t, "s": s} for t in (20, 40, 60, 80) for s in ("water", "dmf")]),
    "rows": nr.Candidates(np.array([[0.0, 1.0], [0.5, 2.0], [1.0, 4.0], [0.2, 3.0]])),
}


def value(params: Any) -> float:
    numbers = [
        v
        for v in (params.values() if isinstance(params, dict) else params)
        if isinstance(v, (int, float))
    ]
    return 100 + sum(math.sin(i + float(v)) for i, v in enumerate(numbers))


def studied(
    space: Any,
    goal: Any = "maximize",
    trials: int = 14,
    strategy: nr.strategies.Strategy | None = None,
) -> nr.Study:
    """With a failed trial, one under way, one waiting and one corrected."""
    study = nr.Study(space, goal, strategy or nr.GPUCB(initial_points=3), name="a study")
    for index in range(trials):
        trial = study.ask()
        if index == 4:
            study.tell(trial, state="failed")
        else:
            study.tell(trial, value(trial.params))
    study.correct(0, 101.5)
    study.ask()
    study.enqueue(study.trials[1].params)
    return study


def labels(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def line(ax: Axes, label: str) -> Any:
    (found,) = [each for each in ax.lines if str(each.get_label()).startswith(label)]
    return found


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_convergence_shows_values_in_the_users_sign(goal: str) -> None:
    study = studied(SPACES["one"], goal)
    ax = plot.convergence(study)
    told = line(ax, "told")
    done = [trial for trial in standing(study.trials) if trial.state == "complete"]
    assert list(told.get_xdata()) == [
        trial.number for trial in done
    ]  # the corrected one is not among them
    np.testing.assert_array_equal(told.get_ydata(), [trial.value for trial in done])
    best = line(ax, "best so far").get_ydata()
    assert best[-1] == study.best.value
    assert np.all(np.diff(best) >= 0 if goal == "maximize" else np.diff(best) <= 0)
    assert list(line(ax, "failed").get_xdata()) == [4]
    assert list(line(ax, "under way").get_xdata()) == [15]
    assert list(line(ax, "waiting").get_xdata()) == [16]
    assert list(line(ax, "recommended").get_ydata()) == [study.recommended.value]
    assert f"{goal}d" in ax.get_ylabel()


def test_convergence_of_losses_over_decades_is_logarithmic() -> None:
    study = nr.Study([(0, 1)], "minimize", nr.RandomSearch())
    for exponent in range(5):
        study.add([exponent / 5], 10.0**-exponent)
    assert plot.convergence(study).get_yscale() == "log"
    study.add([0.99], -1.0)
    assert plot.convergence(study).get_yscale() == "linear"


def test_convergence_of_nothing_yet() -> None:
    assert plot.convergence(nr.Study([(0, 1)], "maximize")).get_title() == "study"


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_a_slice_is_the_belief(goal: str) -> None:
    study = studied(SPACES["one"], goal)
    ax = plot.slice(study)
    mean = line(ax, "mean")
    belief, sign = study.belief(), 1 if goal == "maximize" else -1
    assert belief is not None
    X = np.array([study.space.encode({"x": x}) for x in mean.get_xdata()])
    np.testing.assert_allclose(mean.get_ydata(), sign * belief.predict(X)[0], rtol=1e-12)
    assert (mean.get_xdata()[0], mean.get_xdata()[-1]) == (-2, 3)
    band: Any = ax.collections[0].get_paths()[0].vertices
    lower, upper = belief.band(X)
    assert np.isclose(
        band[:, 1].max(),
        max(sign * lower.max(), sign * upper.max(), sign * lower.min(), sign * upper.min()),
    )
    assert line(ax, "next point").get_xdata()[0] == study.preview().params["x"]
    assert labels(ax) == ["band", "mean", "told", "failed", "under way", "waiting", "next point"]
    assert 90 < np.mean(mean.get_ydata()) < 110


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (name, parameter)
        for name, space in SPACES.items()
        for parameter in nr.space.as_space(space).parameters
    ],
)
def test_a_slice_along_any_parameter(name: str, parameter: str) -> None:
    study = studied(SPACES[name], trials=6)
    ax = plot.slice(study, parameter)
    assert ax.get_xlabel() == parameter
    assert ax.get_xscale() == ("log" if parameter in ("rate", "batch") else "linear")
    if parameter in ("solvent", "s"):
        options = study.space.parameters[parameter].options  # type: ignore[union-attr]
        assert [text.get_text() for text in ax.get_xticklabels()] == list(options)
    if parameter == "layers":
        assert list(line(ax, "mean").get_xdata()) == list(range(1, 9))


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("bounds", ("x0", "x1")),
        ("mixed", ("rate", "layers")),
        ("mixed", ("solvent", "rate")),
        ("six", ("x4", "x1")),
        ("list", ("t", "s")),
        ("long", ("batch", "x")),
    ],
)
def test_a_map_over_two(name: str, pair: tuple[str, str]) -> None:
    study = studied(SPACES[name], "minimize", trials=6)
    ax = plot.slice(study, pair)
    assert (ax.get_xlabel(), ax.get_ylabel()) == pair
    assert len(ax.figure.axes) == 2  # with a bar that says what colours mean
    assert "minimized" in ax.figure.axes[1].get_ylabel()
    assert labels(ax)[-1] == "next point"


def test_a_slice_holds_the_others_where_it_is_told_to() -> None:
    study = studied(SPACES["mixed"])
    belief = study.belief()
    assert belief is not None
    ax = plot.slice(study, "rate", at={"layers": 7, "solvent": "toluene"})
    x, y = line(ax, "mean").get_data()
    point = study.space.encode({"rate": x[100], "layers": 7, "solvent": "toluene"})
    assert y[100] == pytest.approx(belief.predict(point[None, :])[0][0])
    assert "layers = 7, solvent = toluene" in ax.get_title()


def test_points_off_the_slice_are_paler() -> None:
    study = nr.Study(
        {"x": nr.Float(0, 1), "y": nr.Float(0, 1)}, "maximize", strategy=nr.GPUCB(lengthscales=0.2)
    )
    for x, y in ((0.2, 0.5), (0.4, 0.6), (0.6, 1.0)):
        study.add({"x": x, "y": y}, 1.0)
    ax = plot.slice(study, "x", at={"y": 0.5})
    on, near, far = (color[3] for color in ax.collections[-1].get_facecolors())
    assert on == 1
    assert on > near > far
    assert far >= 0.2


def test_lengthscales_and_scaling_are_those_recorded() -> None:
    study = studied(SPACES["mixed"], trials=14, strategy=nr.InsuredGPUCB(initial_points=3))
    decided = [trial for trial in study.trials if trial.decision.model is not None]
    ax = plot.lengthscales(study)
    for index, name in enumerate(
        ["rate", "layers", "solvent=water", "solvent=dmf", "solvent=toluene"]
    ):
        assert list(line(ax, name).get_ydata()) == [
            trial.decision.payload["lengthscales"][index] for trial in decided
        ]
    assert labels(ax)[-2:] == ["fitted to the data", "in force"]
    assert ax.get_yscale() == "log"
    ax = plot.scaling(study)
    assert list(line(ax, "h").get_ydata()) == [
        recorded(trial).g ** study.space.dimension for trial in decided
    ]


def test_every_curve_can_be_told_apart_without_colour() -> None:
    ax = plot.lengthscales(studied(SPACES["six"], trials=6))
    curves = [each for each in ax.lines if str(each.get_label()).startswith("x")]
    assert len({each.get_marker() for each in curves}) == 6


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_certificates_are_those_of_the_time(goal: Any) -> None:
    strategy = nr.AdaptiveGPUCB.rigorous(noise_bound=0.1, norm_bound=2.0, offset=100.0)
    study = studied(SPACES["one"], goal, trials=8, strategy=strategy)
    ax = plot.certificate(study, delta=0.2, steps=5)
    data: Any = ax.lines[0].get_data()
    counts, bounds = data
    assert counts[-1] == len(study.trials)
    assert bounds[-1] == pytest.approx(study.certificate(0.2).regret_bound)
    early = nr.Study(study.space, goal, strategy, trials=study.trials[: int(counts[0])])
    assert bounds[0] == pytest.approx(early.certificate(0.2).regret_bound)
    assert bounds[0] != pytest.approx(bounds[-1])
    assert "at most" in ax.get_ylabel()
    assert "probability at least 0.8" in ax.get_xlabel()


def test_a_rule_of_thumb_is_not_called_a_bound() -> None:
    ax = plot.certificate(studied(SPACES["one"]), steps=4)
    assert "no proved bound" in ax.get_ylabel()
    assert "rule of thumb" in ax.get_xlabel()


def test_calibration_counts_values_inside() -> None:
    study = nr.Study([(0, 1)], "minimize")
    for number, distance in enumerate([0.0, 1.0, -1.0, 5.0]):
        trial = nr.Trial(
            number,
            np.array([0.1 * number]),
            "complete",
            -2.0 + distance,
            decision=decision(-2.0),
        )
        study._storage.append(study.name, [trial])
    x, y = line(plot.calibration(study), "observed").get_data()
    np.testing.assert_allclose(x[1:-1], [0, 0.6826895, 0.6826895, 0.9999994], atol=1e-6)
    np.testing.assert_allclose(y[1:-1], [0.25, 0.5, 0.75, 1])


@pytest.mark.parametrize(
    "draw",
    [
        plot.convergence,
        plot.slice,
        plot.lengthscales,
        plot.scaling,
        plot.calibration,
        plot.certificate,
    ],
)
def test_into_the_axes_given(draw: Any) -> None:
    ax = Figure().subplots()
    assert draw(studied(SPACES["bounds"], trials=6), ax=ax) is ax
    assert plt.get_fignums() == []
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert ax.get_title()


@pytest.mark.parametrize(
    "draw", [plot.slice, plot.lengthscales, plot.scaling, plot.calibration, plot.certificate]
)
def test_too_early_is_said(draw: Any) -> None:
    with pytest.raises(TrialError):
        draw(nr.Study([(0, 1)], "maximize"))
    assert plt.get_fignums() == []  # and no empty figure is left behind


@pytest.mark.parametrize(
    ("parameters", "at", "expected"),
    [
        ("pressure", {}, "no parameter 'pressure'"),
        (["rate", "rate"], {}, "two different"),
        (["rate", "layers", "solvent"], {}, "one parameter or two"),
        ("rate", {"pressure": 1}, "no parameter 'pressure'"),
        ("rate", {"rate": 1e-3}, "holds other parameters"),
        ("rate", {"layers": 99}, "outside"),
        ("rate", {"solvent": "milk"}, "milk"),
    ],
)
def test_slices_that_make_no_sense(parameters: Any, at: dict[str, Any], expected: str) -> None:
    study = studied(SPACES["mixed"], trials=4)
    with pytest.raises(NoRegretError, match=expected):
        plot.slice(study, parameters, at=at)


@pytest.mark.parametrize("values", [[3.0], [3.0, 3.0, 3.0], [1e300, -1e300], [1e-300, 2e-300]])
def test_strange_values(values: list[float]) -> None:
    study = nr.Study(
        {"x": nr.Float(0, 1), "y": nr.Float(1, 2), "n": nr.Int(1, 1000, log=True)}, "minimize"
    )
    for index, each in enumerate(values):
        study.add({"x": index / 3, "y": 1.5, "n": 1 + index}, each)
    line, *maps, course = (
        plot.slice(study, "x"),
        plot.slice(study, ["x", "y"]),
        plot.slice(study, ["x", "n"]),
        plot.convergence(study),
    )
    for ax in (line, *maps, course):
        ax.figure.canvas.draw()
        assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()
        for drawn in ax.lines:
            assert np.isfinite(np.asarray(drawn.get_ydata(), dtype=float)).all()
    xs = [index / 3 for index in range(len(values))]
    for ax, heights in zip(
        (line, *maps), (values, [1.5] * len(values), range(1, 1 + len(values))), strict=True
    ):
        points = np.asarray(ax.collections[-1].get_offsets())
        np.testing.assert_allclose(points[:, 0], xs)
        np.testing.assert_allclose(points[:, 1], heights)
        low, high = sorted(ax.get_ylim())
        assert all(low <= height <= high for height in heights)
    told, best, _ = (np.asarray(each.get_ydata(), dtype=float) for each in course.lines)
    assert told.tolist() == values
    assert best[: len(values)].tolist() == np.minimum.accumulate(values).tolist()


def test_a_list_of_candidates_has_no_slices_to_choose() -> None:
    with pytest.raises(ConfigurationError, match="every candidate is drawn"):
        plot.slice(studied(SPACES["list"], trials=4), "t", at={"s": "dmf"})


def test_without_matplotlib() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; import noregret as nr; from noregret import"
        " plot\ntry: plot.convergence(nr.Study([(0, 1)], 'minimize'))\nexcept"
        " nr.errors.MissingExtraError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert "noregret[plot]" in done.stdout


def test_a_slice_is_drawn_from_one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    study = studied(SPACES["mixed"], trials=8)
    fits: list[int] = []
    belief = nr.GPUCB.belief

    def counted(strategy: Any, space: Any, history: Any, delta: Any = None) -> Any:
        fits.append(len(history.X))
        return belief(strategy, space, history, delta)

    monkeypatch.setattr(nr.GPUCB, "belief", counted)
    plot.slice(study, "rate")
    assert len(fits) == 1


def mixed_study() -> nr.Study:
    space = {
        "x": nr.Float(1e-3, 1, log=True),
        "n": nr.Int(0, 20, step=5),
        "s": nr.Choice(["low", "middle", "high"], ordered=True),
        "only": nr.Choice(["one"]),
    }

    def f(p: dict[str, Any]) -> float:
        if p["x"] > 0.7:
            raise ArithmeticError("too much")
        return float(-((np.log10(p["x"]) + 1) ** 2) - p["n"] / 100)

    study = nr.Study(space, "maximize", name="mixed").run(f, 14, catch=(ArithmeticError,))
    study.add({"x": 0.5, "n": 3, "s": "low", "only": "one"}, 0.1)
    study.ask()
    study.enqueue({"x": 0.2, "n": 5, "s": "low", "only": "one"})
    return study


def test_overviews_show_what_they_say() -> None:
    study = mixed_study()
    bars = plot.importance(study)
    assert [label.get_text() for label in bars.get_yticklabels()][-1] == "x"
    assert len(bars.patches) == 3
    widths = sorted(each.total for each in study.importances())
    drawn_widths: list[Any] = [vars(bar)["_width"] for bar in bars.patches]
    assert drawn_widths == pytest.approx(widths)
    lines = plot.parallel(study)
    told = [t for t in study.trials if t.value is not None]
    drawn = [line for line in lines.lines if len(line.get_xdata()) == 4]
    assert len(drawn) == len(told)
    assert drawn[-1].get_label() == f"best: trial {study.best.number}"
    np.testing.assert_allclose(np.asarray(drawn[-1].get_ydata())[-1], 1.0)
    when = plot.timeline(study)
    assert len(when.patches) == sum(t.started is not None for t in study.trials)
    labels = {text.get_text() for text in when.get_legend().get_texts()}
    assert {"told", "under way", "waiting"} <= labels
    axes = plot.slices(study, at={"n": 5})  # not a figure: a notebook would show it twice
    assert [ax.get_xlabel() for ax in axes] == ["x", "n", "s"]
    assert [ax.get_xlabel() for ax in axes[0].figure.axes if ax.get_visible()] == ["x", "n", "s"]
    assert plot.contour(study, "x", "n").get_ylabel() == "n"


def test_a_contour_is_over_the_inputs_that_matter() -> None:
    space = {name: nr.Float(0, 1) for name in "abcd"}
    study = nr.maximize(lambda p: p["b"] + 3 * p["d"] ** 2, space, 15, progress=False)

    def inputs(*names: str) -> tuple[str, str]:
        ax = plot.contour(study, *names)
        return ax.get_xlabel(), ax.get_ylabel()

    assert inputs() == ("d", "b")
    assert inputs("b") == ("b", "d")
    assert inputs("a", "c") == ("a", "c")
    one = nr.maximize(lambda x: float(x[0]), [(0, 1)], 6, progress=False)
    with pytest.raises(ConfigurationError, match="needs two inputs"):
        plot.contour(one)


def test_studies_beside_each_other() -> None:
    made = [
        nr.Study([(0, 1)], "minimize", nr.RandomSearch(), seed=seed, name=f"s{seed}").run(
            lambda x: float(x[0]), 6
        )
        for seed in range(3)
    ]
    ax = plot.comparison(made)
    for study, line in zip(made, ax.lines, strict=True):
        assert np.asarray(line.get_ydata())[-1] == study.best.value
    empty = nr.Study([(0, 1)], "minimize", name="empty")
    texts = plot.comparison([*made, empty]).get_legend().get_texts()
    assert texts[-1].get_text() == "empty: no value yet"
    with pytest.raises(ConfigurationError, match="one goal"):
        plot.comparison([made[0], nr.Study([(0, 1)], "maximize")])
    with pytest.raises(ConfigurationError, match="no study"):
        plot.comparison([])


@pytest.mark.parametrize("count", [1, 2, 8, 9, 17, 40, 100])
def test_no_two_series_look_alike(count: int) -> None:
    looks = series_looks(count)
    assert len({look["color"] for look in looks}) == count
    for one, other in itertools.pairwise(looks):
        assert one["ls"] != other["ls"]
        assert one["marker"] != other["marker"]
        distance = np.subtract(to_rgb(one["color"]), to_rgb(other["color"]))
        assert np.abs(distance).max() > 0.15  # neighbours in the legend


@pytest.mark.parametrize("draw", [plot.importance, plot.parallel, plot.timeline, plot.slices])
def test_overviews_of_nothing(draw: Any) -> None:
    with pytest.raises(TrialError):
        draw(nr.Study([(0, 1)], "minimize"))


def test_slices_of_a_mixture_show_what_can_be_run() -> None:
    solvents = {name: nr.Float(0, 1) for name in ("water", "dmf", "ether")}
    space = nr.Space(
        solvents,
        constraints=[
            nr.Linear(dict.fromkeys(solvents, 1.0), equals=1.0),
            nr.Linear({"water": 1}, at_most=0.5),
        ],
    )
    study = nr.maximize(lambda p: p["water"] - p["ether"] ** 2, space, trials=6, progress=False)
    ax = plot.slice(study, "water")
    mean = next(line for line in ax.lines if line.get_label() == "mean")
    assert max(np.asarray(mean.get_xdata(), dtype=float)) == pytest.approx(0.5, abs=0.02)
    assert plot.slice(study, ["water", "dmf"]) is not None
    assert len(study.importances()) == 3
