"""The pictures of docs/benchmarks.md: regret over the trials, and what insurance buys."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from docs.making.regret_runs import Run, of
from noregret.space import Array
from research.benchmarks.methods import BEFORE, DEFAULT, INSURANCE, at, is_ours

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def plot(suite: str, runs: list[Run], path: Path) -> None:
    """Median over problems of the simple regret relative to that after the initial points, against
    the share of trials.
    """
    grid = np.linspace(0, 1, 60)
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    every = len({run.problem for run in runs})
    ran = {m: len({run.problem for run in of(runs, m)}) for m in {run.method for run in runs}}
    levels = {at(level) for level in INSURANCE} - {DEFAULT, at(0.0)}  # have a picture of their own
    methods = sorted(
        (m for m in ran if 2 * ran[m] >= every and m not in levels),
        key=lambda m: (not is_ours(m), m),
    )  # few problems would not be comparable
    lines = ["-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (5, 2, 1, 2))]
    colors = plt.get_cmap("tab20")(np.linspace(0, 1, max(len(methods), 2)))
    for index, method in enumerate(methods):
        curves: list[Array] = []
        totals: list[Array] = []
        for run in of(runs, method):
            best = np.minimum.accumulate(run.regret)[run.initial - 1 :]
            share = np.linspace(0, 1, len(best))
            start = max(best[0], 1e-12)
            curves.append(np.interp(grid, share, best / start))
            paid = np.concatenate([[0.0], np.cumsum(run.regret[run.initial :])]) / (
                start * len(best)
            )
            totals.append(np.interp(grid, share, paid))
        style: dict[str, Any] = {
            "color": "black" if method == DEFAULT else colors[index],
            "ls": "-" if method == DEFAULT else lines[1:][index % (len(lines) - 1)],
            "label": method,
        }
        style["lw"] = 2.6 if method == DEFAULT else 1.3
        axes[0].plot(grid, np.maximum(np.median(curves, axis=0), 1e-6), **style)
        axes[1].plot(grid, np.median(totals, axis=0), **style)
    axes[0].set(
        yscale="log",
        xlabel="share of the trials after the initial points",
        ylabel="simple regret / initial",
        title=f"{suite}: simple regret (median)",
    )
    axes[1].set(
        xlabel="share of the trials after the initial points",
        ylabel="cumulative regret / (initial · trials)",
        title=f"{suite}: cumulative regret (median)",
    )
    for axis in axes:
        axis.grid(alpha=0.25)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


Point = tuple[float, float]  # mean cumulative regret, share of runs that ended stuck


def bought(runs: list[Run]) -> dict[str, Point]:
    """Method → what it pays and how often it sticks, of those that ran on every needle."""
    every = {(run.problem, run.seed) for run in runs}
    found = {}
    for method in {run.method for run in runs}:
        mine = of(runs, method)
        if {(run.problem, run.seed) for run in mine} == every:
            found[method] = (
                float(np.mean([run.cumulative for run in mine])),
                float(np.mean([bool(run.stuck) for run in mine])),
            )
    return found


def curve(points: dict[str, Point]) -> list[Point]:
    """Our points over the insurance, as far as they were run."""
    return [points[at(level)] for level in INSURANCE if at(level) in points]


def is_below(point: Point, line: list[Point]) -> bool:
    """Whether nothing on the line, its segments included, is as good in both. A point between two
    levels is had by drawing lots between them.
    """
    pairs = [*itertools.pairwise(line), *((each, each) for each in line)]
    return not any(_reaches(point, first, second) for first, second in pairs)


def _reaches(point: Point, first: Point, second: Point) -> bool:
    """Whether some first + s (second − first), s in [0, 1], is at most ``point`` in both."""
    low, high = 0.0, 1.0
    for wanted, a, b in zip(point, first, second, strict=True):
        if b == a:
            if a > wanted + 1e-12:
                return False
        elif b > a:
            high = min(high, (wanted - a) / (b - a))
        else:
            low = max(low, (a - wanted) / (a - b))
    return low <= high + 1e-12


def plot_insurance(points: dict[str, Point], path: Path) -> None:
    figure, axis = plt.subplots(figsize=(7.5, 5), layout="constrained")
    line = curve(points)
    axis.plot([x for x, _ in line], [100 * y for _, y in line], "k-o", lw=2, label="noregret")
    levels = [level for level in INSURANCE if at(level) in points]
    for level, (x, y) in zip(levels, line, strict=True):
        axis.annotate(f"{level:g}", (x, 100 * y), textcoords="offset points", xytext=(6, 6))
    for method, (x, y) in sorted(points.items()):
        if not is_ours(method) or method == BEFORE:
            axis.plot(x, 100 * y, "s" if method == BEFORE else "o", color="tab:red", ms=5)
            axis.annotate(
                method, (x, 100 * y), textcoords="offset points", xytext=(6, -9), fontsize=8
            )
    axis.set(
        xlabel="mean cumulative regret on needle",
        ylabel="runs that end stuck, %",
        title="What insurance buys: the black line is ours over insurance, lower left is better",
    )
    axis.title.set_fontsize(10)
    axis.grid(alpha=0.25)
    figure.savefig(path, dpi=110)
    plt.close(figure)
