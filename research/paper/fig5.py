"""Figure 5: RKHS-interpolated GP samples of norm 4 with B_0 = 0.25; no estimation of
hyperparameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import noregret as nr
from noregret.strategies import Strategy
from noregret.testing import rkhs_sample
from research.paper.regret_run import by_method, panels, regret_run, seeded
from research.paper.runner import Job, Options, Result

NAME, TITLE = "fig5", "Samples with a misspecified norm bound"

NODES = 11  # spacing θ: docs/decisions/0003

METHODS: dict[str, Callable[[float], Strategy]] = {
    "GP-UCB (true)": lambda s: nr.GPUCB(
        lengthscales=0.1, norm_bound=4.0, noise_std=s, width="paper"
    ),
    "GP-UCB (misspecified)": lambda s: nr.GPUCB(
        lengthscales=0.1, norm_bound=0.25, noise_std=s, width="paper"
    ),
    "A-GP-UCB (one step)": lambda s: nr.AdaptiveGPUCB.paper(
        noise_std=s, norm_bound=0.25, estimation=None
    ),
    "A-GP-UCB (bound)": lambda s: nr.AdaptiveGPUCB.paper(
        noise_std=s, norm_bound=0.25, estimation=None, estimator="regret_bound"
    ),
    "A-GP-UCB (bound, anchored)": lambda s: nr.AdaptiveGPUCB.paper(
        noise_std=s, norm_bound=0.25, estimation=None, estimator="regret_bound", anchored=True
    ),
}


def jobs(options: Options) -> list[Job]:
    seeds, iterations = options.pick((30, 4), (200, 100))
    return seeded(
        METHODS, seeds, lambda method, seed: Job(method, seed, iterations, options.noise_std)
    )


def run(job: Job) -> Result:
    f = rkhs_sample(job.seed, lengthscale=0.1, norm=4.0, points=NODES)
    return regret_run(METHODS[job.method](job.noise), f, job)


def summarise(results: dict[Job, Result]) -> dict[str, Any]:
    return {"methods": by_method(results, METHODS)}


def draw(results: dict[Job, Result]) -> Figure:
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
    panels(
        axes, results, METHODS, [("simple", "simple regret"), ("cumulative", "cumulative regret")]
    )
    axes[0].set_title("(a) simple regret")
    axes[1].set_title("(b) cumulative regret")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9
    )
    return figure
