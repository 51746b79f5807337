"""Figure 2: stuck in a local optimum, the function class expanded, the global optimum found. One
run, three moments.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import noregret as nr
from noregret.gp import SquaredExponential, condition
from noregret.testing import bump
from research.paper.runner import Job, Options, Result

NAME, TITLE = "fig2", "Stuck, widened, found"

GRID = np.linspace(0, 1, 301)[:, None]
START = 0  # seed of the run shown


def jobs(options: Options) -> list[Job]:
    _, iterations = options.pick((1, 1), (120, 120))
    return [Job("A-GP-UCB (one step)", START, iterations, options.noise_std)]


def run(job: Job) -> Result:
    """θ_0 = 1 and no estimation: the lengthscale in force is the widening's alone. Stops once the
    bump is found.
    """
    f, rng = bump(), np.random.default_rng([job.seed, 77])
    study = nr.Study(
        [(0, 1)],
        "maximize",
        strategy=nr.AdaptiveGPUCB.paper(noise_std=job.noise, estimation=None),
        seed=job.seed,
    )
    top = float(f.maximiser()[0])
    study.run(
        lambda x: float(f(x)) + job.noise * rng.standard_normal(), job.iterations, progress=False
    )
    x = np.array([trial.params[0] for trial in study.trials])
    y = np.array([trial.value for trial in study.trials], dtype=np.float64)
    h = [t.decision.payload.get("h", 1.0) for t in study.trials]
    decided = range(2, len(x))
    found = next(i for i in decided if abs(x[i] - top) < 0.05)
    widened = next(
        i for i in decided if x[i] < 0.6 and i > 4
    )  # the first step away from the hill on the right
    moments = {"stuck": widened - 1, "widened": widened, "found": min(found + 8, len(x) - 1)}
    result: Result = {"x": x.tolist(), "y": y.tolist(), "h": h, "moments": list(moments.values())}
    for name, index in moments.items():
        recorded = study.trials[index].decision.payload
        posterior = condition(
            SquaredExponential(),
            np.array(recorded["lengthscales"]),
            x[:index, None],
            y[:index],
            job.noise**2,
        )
        mean, std = posterior.predict(GRID)
        result |= {
            f"{name}_mean": mean.tolist(),
            f"{name}_width": (recorded["beta_sqrt"] * std).tolist(),
            f"{name}_lengthscale": recorded["lengthscales"][0],
            f"{name}_h": recorded["h"],
        }
    return result


def summarise(results: dict[Job, Result]) -> dict[str, Any]:
    (result,) = results.values()
    function = bump()
    f = function(GRID)
    seen = function(np.array(result["x"])[:, None])
    table = {}
    for name, index in zip(("stuck", "widened", "found"), result["moments"], strict=True):
        outside = np.abs(f - np.array(result[f"{name}_mean"])) > np.array(result[f"{name}_width"])
        table[name] = {
            "evaluations": index,
            "h": result[f"{name}_h"],
            "lengthscale": result[f"{name}_lengthscale"],
            "share_of_f_outside_band": float(outside.mean()),
            "mean_width": float(np.mean(result[f"{name}_width"])),
            "next_x": result["x"][index],
            "simple_regret": float(function.maximum - np.max(seen[: index + 1])),
        }
    return {"moments": table}


def draw(results: dict[Job, Result]) -> Figure:
    (result,) = results.values()
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained", sharey=True)
    titles = ("(a) stuck in a local optimum", "(b) the class expanded", "(c) global optimum found")
    for axis, name, title, index in zip(
        axes, ("stuck", "widened", "found"), titles, result["moments"], strict=True
    ):
        mean, width = np.array(result[f"{name}_mean"]), np.array(result[f"{name}_width"])
        axis.fill_between(
            GRID[:, 0], mean - width, mean + width, color="#9ecae1", label="μ ± β^½ σ"
        )
        axis.plot(GRID[:, 0], bump()(GRID), color="0.25", lw=2, label="f")
        axis.plot(GRID[:, 0], mean, color="#2166ac", lw=1, label="μ")
        axis.plot(
            result["x"][:index],
            result["y"][:index],
            "x",
            color="#b2182b",
            ms=6,
            label="evaluations",
        )
        axis.axvline(result["x"][index], color="#2f8f3a", lw=1.4, ls="--", label="next evaluation")
        axis.set(
            title=(
                f"{title}\nt = {index}, h = {result[f'{name}_h']:.2f}, θ ="
                f" {result[f'{name}_lengthscale']:.2f}"
            ),
            xlabel="x",
            ylim=(-1.2, 3.2),
        )
    axes[0].set_ylabel("f(x)")
    axes[0].legend(fontsize=8, loc="upper left", ncols=2)
    return figure
