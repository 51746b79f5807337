"""The pictures of docs/how-it-works.md, from real runs: ``python docs/making/how_it_works.py
[folder]``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

import noregret as nr
from noregret.gp import SquaredExponential, condition
from noregret.space import Array
from noregret.strategies import Strategy
from noregret.testing import bump
from noregret.theory import cumulative

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

NOISE, START, TRIALS = 0.05, 5, 60
GRID = np.linspace(0, 1, 301)[:, None]
BAND, TRUTH, SEEN, NEXT = "#9ecae1", "0.2", "#b2182b", "#2f8f3a"


def run(
    strategy: Strategy, trials: int, seed: int = START, start: nr.Study | None = None
) -> nr.Study:
    """start: a study whose initial design is taken over, values included."""
    f, rng = bump(), np.random.default_rng([seed, 2024])
    study = nr.Study([(0, 1)], "maximize", strategy, seed)
    for trial in [] if start is None else start.trials:
        if trial.decision.source == "initial":
            study.add(trial.params, trial.value)
            rng.standard_normal()
    return study.run(
        lambda x: float(f(x)) + NOISE * rng.standard_normal(),
        trials - len(study.trials),
        progress=False,
    )


def points(study: nr.Study) -> tuple[Array, Array]:
    return np.array([trial.params[0] for trial in study.trials]), np.array(
        [trial.value for trial in study.trials], dtype=np.float64
    )


def draw_belief(axis: Axes, mean: Array, lower: Array, upper: Array, band: str) -> None:
    axis.fill_between(GRID[:, 0], lower, upper, color=BAND, lw=0, label=band)
    axis.plot(GRID[:, 0], bump()(GRID), color=TRUTH, lw=2, label="the objective, unknown to it")
    axis.plot(GRID[:, 0], mean, color="#2166ac", lw=1, label="mean")
    axis.set(xlabel="x", ylim=(-0.7, 2.3))


def share_legend(figure: Figure, axis: Axes) -> None:
    figure.legend(
        *axis.get_legend_handles_labels(),
        fontsize=9,
        loc="outside lower center",
        ncols=5,
        frameon=False,
    )


def stuck() -> Figure:
    """Log-EI on a fitted model, from a start at which it sticks."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
    for axis, trials in zip(axes, (10, TRIALS), strict=True):
        study = run(nr.LogEI(), trials)
        belief, (x, y) = study.belief(), points(study)
        assert belief is not None
        mean, std = belief.predict(GRID)
        draw_belief(axis, mean, mean - 2 * std, mean + 2 * std, "mean ± 2 std")
        axis.plot(x, y, "x", color=SEEN, ms=6, label="evaluated")
        axis.set_title(
            f"after {trials} trials: fitted lengthscale {belief.lengthscales[0]:.2g}", fontsize=10
        )
    share_legend(figure, axes[0])
    return figure


def widened() -> Figure:
    """One data set, three classes of functions."""
    x, y = points(run(nr.LogEI(), 10))
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharey=True)
    for axis, g in zip(axes, (1, 2, 4), strict=True):
        posterior = condition(SquaredExponential(), np.array([0.8 / g]), x[:, None], y, NOISE**2)
        mean, std = posterior.predict(GRID)
        width = 2.0 * np.sqrt(g)
        draw_belief(axis, mean, mean - width * std, mean + width * std, "mean ± width × std")
        best = float(GRID[int(np.argmax(mean + width * std)), 0])
        axis.plot(x, y, "x", color=SEEN, ms=6, label="evaluated")
        axis.axvline(best, color=NEXT, ls="--", lw=1.5, label="next: the highest upper edge")
        axis.set_title(f"g = {g}: lengthscale {0.8 / g:.1f}", fontsize=10)
    share_legend(figure, axes[0])
    return figure


def speed() -> Figure:
    """What widening too little, too much and slowly cost on the bump."""
    methods: dict[str, tuple[Strategy, str, str]] = {
        "never widened": (
            nr.GPUCB(lengthscales=1.0, norm_bound=2.0, noise_std=NOISE, width="mixture"),
            "#d95f02",
            ":",
        ),
        "widened without restraint": (nr.MinimumUncertainty(), "#7570b3", "--"),
        "widened slowly": (
            nr.AdaptiveGPUCB.rigorous(NOISE, norm_bound=2.0, lengthscales=1.0),
            "#1b4f9c",
            "-",
        ),
        "the right class from the start": (
            nr.GPUCB(lengthscales=0.1, norm_bound=2.0, noise_std=NOISE, width="mixture"),
            "0.4",
            "-.",
        ),
    }
    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    f, maximum = bump(), bump().maximum
    for name, (strategy, color, line) in methods.items():
        curves = [
            cumulative(f(points(run(strategy, 150, seed))[0][2:, None]), maximum)
            for seed in range(5)
        ]
        axis.plot(
            np.arange(1, 149), np.median(curves, axis=0), color=color, ls=line, lw=2, label=name
        )
    axis.set(xlabel="trial", ylabel="regret paid so far (median of 5 starts)", ylim=(0, None))
    axis.legend(fontsize=9)
    axis.grid(alpha=0.25)
    return figure


def surveys() -> Figure:
    """The default from the start at which log-EI sticks: where it looked, and why."""
    fitted = run(nr.LogEI(), TRIALS)
    study = run(nr.InsuredGPUCB(), TRIALS, start=fitted)
    x, _ = points(study)
    survey = np.array(
        [t.decision.model is not None and t.why.kind == "survey" for t in study.trials]
    )
    figure, axis = plt.subplots(figsize=(8, 3.4), layout="constrained")
    stuck_x, _ = points(fitted)
    axis.axhline(float(bump().maximiser()[0]), color="0.6", lw=1, label="the maximum")
    axis.plot(stuck_x, ".", color="#d95f02", ms=5, label="expected improvement on the same model")
    axis.plot(
        np.flatnonzero(~survey),
        x[~survey],
        "o",
        color="#1b4f9c",
        ms=4.5,
        label="the default: where the fitted model expects most",
    )
    axis.plot(
        np.flatnonzero(survey),
        x[survey],
        "D",
        mfc="none",
        color="#1b4f9c",
        ms=5.5,
        label="the default: a survey, because nothing new was learnt",
    )
    axis.set(xlabel="trial", ylabel="x evaluated", ylim=(-0.05, 1.06))
    figure.legend(
        *axis.get_legend_handles_labels(),
        fontsize=9,
        loc="outside lower center",
        ncols=2,
        frameon=False,
    )
    return figure


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in {
        "stuck": stuck,
        "widened": widened,
        "speed": speed,
        "surveys": surveys,
    }.items():
        figure = draw()
        figure.savefig(folder / f"how-{name}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures"))
