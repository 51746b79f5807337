"""The point of noregret in about a minute: an optimizer with estimated lengthscales sticks, ours
leaves.

All optimize a straight line with one narrow bump that holds the maximum, from eight seeds, with the
same noise. Prints a table, draws a picture, and opens the studies on the page.

``RIVAL=optuna`` takes the Gaussian-process sampler of Optuna in place of our own versions of what
others do. Its picture is the one of README.md: ``make demo RIVAL=optuna``, then ``out/demo.png``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
import webbrowser
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np

import noregret as nr
from noregret.space import Array
from noregret.study import Progress
from noregret.theory import cumulative, simple
from noregret.web.schemas import encode_name

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RIVAL = os.environ.get("RIVAL", "")
TRIALS, NOISE, STARTS = 60 if RIVAL else 100, 0.02, 8
METHODS: dict[str, nr.strategies.Strategy | None] = {
    **(
        {"Optuna's GPSampler": None}
        if RIVAL
        else {
            "log-EI, estimated lengthscales": nr.LogEI(),
            "GP-UCB, estimated lengthscales": nr.GPUCB(),
        }
    ),
    "noregret (default)": nr.InsuredGPUCB(),
}
STYLES = dict(
    zip([*METHODS][::-1], (("#1b4f9c", "-"), ("#d95f02", ":"), ("0.55", "--")), strict=False)
)


def objective(x: float | Array) -> Array:
    """A line with a bump of width 0.03: a smooth fit to a few points sees the line alone."""
    x = np.asarray(x, dtype=np.float64)
    return 0.6 * x + 0.9 * np.exp(-0.5 * ((x - 0.23) / 0.03) ** 2)


@dataclass(frozen=True, slots=True)
class Run:
    """One method from one start: its points, and the values there without noise."""

    values: Array
    points: Array


DATABASE = Path("out") / "demo.db"
GRID = np.linspace(0, 1, 400)


def run(job: tuple[str, int]) -> Run:
    method, seed = job
    rng, strategy = np.random.default_rng([seed, 2024]), METHODS[method]
    study = nr.Study.create(
        f"{method}, start {seed}",
        {"x": nr.Float(0, 1)},
        "maximize",
        strategy or nr.RandomSearch(),
        seed,
        storage=DATABASE,
    )

    def measured(x: float) -> float:
        return float(objective(x)) + NOISE * rng.standard_normal()

    if strategy is None:
        for x, value in optuna_run(measured, seed):
            study.add({"x": x}, value)
    else:
        study.run(lambda p: measured(p["x"]), TRIALS, progress=False)
    points = np.array([trial.params["x"] for trial in study.trials])
    return Run(objective(points), points)


def optuna_run(measured: Callable[[float], float], seed: int) -> list[tuple[float, float]]:
    """What Optuna's sampler tries at its default settings, and what it measures."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the sampler is experimental
        study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.GPSampler(seed=seed)
        )
    study.optimize(lambda trial: measured(trial.suggest_float("x", 0, 1)), TRIALS)
    return [(trial.params["x"], float(trial.value or 0.0)) for trial in study.trials]


def table(runs: dict[str, list[Run]], maximum: float) -> str:
    lines = [
        f"{'method':32s} {'stuck':>8s} {'simple regret':>14s} {'cumulative regret':>18s}   (medians"
        f" of {STARTS} starts, {TRIALS} trials)"
    ]
    for name, results in runs.items():
        final = np.array([simple(r.values, maximum)[-1] for r in results])
        total = np.array([cumulative(r.values, maximum)[-1] for r in results])
        stuck = f"{(final > 0.1).sum()} of {len(final)}"
        lines.append(f"{name:32s} {stuck:>8s} {np.median(final):14.4f} {np.median(total):18.1f}")
    return "\n".join(lines)


def draw(runs: dict[str, list[Run]], maximum: float, path: Path) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(13.5, 3.9), layout="constrained")
    first, last = next(iter(runs)), list(runs)[-1]  # the rival, and ours
    stuck = max(range(STARTS), key=lambda seed: simple(runs[first][seed].values, maximum)[-1])
    for axis, name in zip(axes, (first, last), strict=False):
        result = runs[name][stuck]
        axis.plot(GRID, objective(GRID), color="black", lw=1.6, label="the objective")
        axis.plot(
            result.points,
            result.values,
            "o",
            ms=4.5,
            mfc="none",
            color=STYLES[name][0] if name == last else "#d95f02",
            label="evaluated",
        )
        axis.set(
            title=f"{name}\n{TRIALS} trials, start {stuck} of {STARTS}",
            xlabel="x",
            ylabel="f(x)",
            ylim=(-0.2, 1.4),
        )
        axis.legend(loc="upper right", fontsize=8)
    for name, results in runs.items():
        curves = np.array([cumulative(r.values, maximum) for r in results])
        color, line = STYLES[name]
        steps = np.arange(1, TRIALS + 1)
        axes[2].plot(steps, np.median(curves, axis=0), line, color=color, lw=2, label=name)
        axes[2].fill_between(
            steps, *np.quantile(curves, [0.25, 0.75], axis=0), color=color, alpha=0.15, lw=0
        )
    axes[2].set(
        title=f"regret paid so far\n(median and quartiles of {STARTS} starts)",
        xlabel="trial",
        ylabel="cumulative regret",
    )
    axes[2].legend(loc="upper left", fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main() -> int:
    jobs = [(name, seed) for name in METHODS for seed in range(STARTS)]
    print(
        f"Maximising a straight line with one narrow bump: {' and '.join(METHODS)},"
        f" {STARTS} starts, {TRIALS} trials each.\nEvery trial asks a method for a point, measures"
        " there with noise, and tells it the value. The bar counts runs."
    )
    DATABASE.parent.mkdir(exist_ok=True)
    for old in DATABASE.parent.glob(f"{DATABASE.name}*"):
        old.unlink()
    results: list[Run] = []
    with ProcessPoolExecutor() as pool, Progress(len(jobs)) as bar:
        for result in pool.map(run, jobs):
            results.append(result)
            bar.advance()
    runs = {
        name: [result for (method, _), result in zip(jobs, results, strict=True) if method == name]
        for name in METHODS
    }
    maximum = float(objective(np.linspace(0, 1, 100_001)).max())
    path = Path("out") / "demo.png"
    print(table(runs, maximum))
    draw(runs, maximum, path)
    shown = list(METHODS)[-1] + ", start 0"
    address = f"http://127.0.0.1:8080/studies/{encode_name(shown)}"
    serve = [sys.executable, "-m", "noregret", "serve", "--storage", str(DATABASE)]
    print(
        f"\nThe picture is in {path}: left, a fitted model is sure of itself and stays on the wrong"
        f" hill; middle, ours from the same start.\nEvery trial is in {DATABASE}. The page of ours:"
        f" {address}\nShown by: noregret serve --storage {DATABASE}",
        flush=True,
    )
    if sys.stdout.isatty():  # a person is watching
        webbrowser.open(address)
        subprocess.run(serve, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
