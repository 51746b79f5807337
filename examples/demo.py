"""The point of noregret in about a minute: an optimizer with estimated lengthscales sticks, ours
leaves.

All optimize a straight line with one narrow bump that holds the maximum, from eight seeds, with the
same noise. Prints a table, draws a picture.
"""

from __future__ import annotations

import sys
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

TRIALS, NOISE, STARTS = 100, 0.02, 8
METHODS: dict[str, nr.strategies.Strategy] = {
    "log-EI, estimated lengthscales": nr.LogEI(),
    "GP-UCB, estimated lengthscales": nr.GPUCB(),
    "noregret (default)": nr.InsuredGPUCB(),
}
STYLES = dict(zip(METHODS, (("0.55", "--"), ("#d95f02", ":"), ("#1b4f9c", "-")), strict=True))


def objective(x: float | Array) -> Array:
    """A line with a bump of width 0.03: a smooth fit to a few points sees the line alone."""
    x = np.asarray(x, dtype=np.float64)
    return 0.6 * x + 0.9 * np.exp(-0.5 * ((x - 0.23) / 0.03) ** 2)


@dataclass(frozen=True, slots=True)
class Run:
    """One method from one start: its points, the values there without noise, and what its model
    believes at the end (±2 std).
    """

    values: Array
    points: Array
    lower: Array
    upper: Array


DATABASE = Path("out") / "demo.db"
GRID = np.linspace(0, 1, 400)[:, None]


def run(job: tuple[str, int]) -> Run:
    method, seed = job
    rng = np.random.default_rng([seed, 2024])
    study = nr.Study.create(
        f"{method}, start {seed}", [(0, 1)], "maximize", METHODS[method], seed, storage=DATABASE
    )
    study.run(
        lambda x: float(objective(x[0])) + NOISE * rng.standard_normal(), TRIALS, progress=False
    )
    points = np.array([trial.params[0] for trial in study.trials])
    belief = study.belief()
    assert belief is not None
    mean, std = belief.predict(GRID)
    return Run(objective(points), points, mean - 2 * std, mean + 2 * std)


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
    first, last = next(iter(runs)), list(runs)[-1]
    stuck = max(range(STARTS), key=lambda seed: simple(runs[first][seed].values, maximum)[-1])
    for axis, name in zip(axes, (first, last), strict=False):
        result = runs[name][stuck]
        axis.fill_between(
            GRID[:, 0], result.lower, result.upper, color="0.85", label="what it believes (±2 std)"
        )
        axis.plot(GRID[:, 0], objective(GRID[:, 0]), color="black", lw=1.6, label="the objective")
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
            title=f"{name}\nafter {TRIALS} trials, start {stuck}",
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
        f"Maximising a straight line with one narrow bump: {len(METHODS)} methods,"
        f" {STARTS} starts, {TRIALS} trials each."
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
    command = Path(sys.executable).parent / "noregret"
    if command.is_relative_to(Path.cwd()):
        command = command.relative_to(Path.cwd())
    print(
        f"\nThe picture is in {path}: left, a fitted model is sure of itself and stays on the wrong"
        f" hill; middle, ours from the same start.\nEvery trial is in {DATABASE}:"
        f" nr.Study.open({shown!r}, storage={str(DATABASE)!r}) goes on where it stopped.\nSee the"
        f" same studies on the page:\n\n    {command} serve --storage {DATABASE}\n\nand open"
        f" http://127.0.0.1:8080/studies/{encode_name(shown)}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
