"""Figure 6: multinomial logistic regression on MNIST over learning rate, l2, batch size and
dropout; validation loss.

16 uniform initial points, the same for all methods of a seed. The optimum is not known: regret is
with respect to the best value any run found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import noregret as nr
from noregret.space import Array
from noregret.strategies import Strategy
from research.paper.mnist import FULL, QUICK, SPACE, ValidationLoss, load_mnist
from research.paper.regret_run import plot_band, seeded, spread
from research.paper.runner import Job, Options, Result

NAME, TITLE = "fig6", "MNIST logistic regression"

INITIAL = 16  # 2^d, JMLR sec. 5
OFFSET = (
    -1.5
)  # fixed prior mean of the negative loss, between the uniform guess (−2.3) and a good model (−0.3)
REPEAT = 0.02  # a shorter step in the unit cube repeats the last input
NOISE = 0.05  # of the model: what the theorem's width calls σ

METHODS: dict[str, Callable[[], Strategy]] = {
    "GP-UCB (MAP)": nr.GPUCB,
    "GP-UCB (HMC)": nr.MarginalGPUCB,
    "A-GP-UCB (one step)": lambda: replace(nr.AdaptiveGPUCB.paper(NOISE), offset=OFFSET),
    "A-GP-UCB (bound, anchored)": lambda: replace(
        nr.AdaptiveGPUCB.paper(NOISE, "regret_bound", anchored=True), offset=OFFSET
    ),
}


def jobs(options: Options) -> list[Job]:
    seeds, iterations = options.pick((5, 2), (50, 14))
    folder = None if options.mnist is None else str(options.mnist)
    return seeded(
        METHODS,
        seeds,
        lambda method, seed: Job(method, seed, iterations, NOISE, options.quick, folder),
    )


@cache
def objective(folder: str | None, quick: bool, seed: int) -> ValidationLoss:
    """Loaded once per process; trainings are cached on disk by the module itself."""
    data = load_mnist(None if folder is None else Path(folder))
    cache_file = Path.home() / ".cache" / "noregret" / "mnist-evaluations.jsonl"
    return ValidationLoss(data, QUICK if quick else FULL, seed=seed, cache=cache_file)


def run(job: Job) -> Result:
    loss = objective(job.mnist, job.quick, job.seed)
    study = nr.minimize(
        loss, SPACE, INITIAL + job.iterations, METHODS[job.method](), job.seed, progress=False
    )
    decisions = study.trials[INITIAL:]
    points = np.array([study.space.encode(trial.params) for trial in decisions])
    recorded = [trial.decision.payload for trial in decisions]
    theta = np.array([each["lengthscales"] for each in recorded])
    fitted = np.array([each["fitted_lengthscales"] for each in recorded])
    losses = np.array([trial.value for trial in study.trials], dtype=np.float64)
    return {
        "loss": losses[INITIAL:].tolist(),
        "initial_best": float(losses[:INITIAL].min()),
        "step": [0.0, *np.linalg.norm(np.diff(points, axis=0), axis=1).tolist()],
        "lengthscale": np.exp(np.mean(np.log(theta), axis=1)).tolist(),
        "final_fit": fitted[-1].tolist(),
        "best_params": dict(study.best.params),
    }


def _curves(results: dict[Job, Result], method: str) -> tuple[Array, Array]:
    """Simple and cumulative regret against the best value found by any run, per seed."""
    best = min(min(result["initial_best"], *result["loss"]) for result in results.values())
    rows = [result for job, result in results.items() if job.method == method]
    losses = np.array([row["loss"] for row in rows])
    start = np.array([row["initial_best"] for row in rows])
    simple = np.minimum.accumulate(np.minimum(losses, start[:, None]), axis=1) - best
    return simple, np.cumsum(losses - best, axis=1)


def summarise(results: dict[Job, Result]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for method in METHODS:
        simple, total = _curves(results, method)
        rows = [result for job, result in results.items() if job.method == method]
        last = max(1, simple.shape[1] // 3)
        steps = np.array([row["step"] for row in rows])[:, -last:]
        table[method] = {
            "seeds": len(rows),
            "simple_regret": spread(simple[:, -1]),
            "cumulative_regret": spread(total[:, -1]),
            "best_loss": [float(min(row["initial_best"], *row["loss"])) for row in rows],
            "late_step": np.median(steps, axis=1).tolist(),
            "late_repeats": np.mean(steps < REPEAT, axis=1).tolist(),
            "fitted_lengthscales": [row["final_fit"] for row in rows],
        }
    names = list(SPACE.parameters) if isinstance(SPACE, nr.Space) else list(SPACE)
    best = min(results.values(), key=lambda r: min(r["loss"]))
    return {"methods": table, "inputs": names, "best_params": best["best_params"]}


def draw(results: dict[Job, Result]) -> Figure:
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
    for method in METHODS:
        for axis, curves in zip(axes, _curves(results, method), strict=True):
            plot_band(axis, curves, method, floor=0.0)
    axes[0].set(
        xlabel="iteration t",
        ylabel="validation loss − best found",
        title="(a) simple regret",
        ylim=(0, None),
    )
    axes[1].set(
        xlabel="iteration t",
        ylabel="cumulative regret",
        title="(b) cumulative regret",
        ylim=(0, None),
    )
    for axis in axes:
        axis.grid(alpha=0.25)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9
    )
    return figure
