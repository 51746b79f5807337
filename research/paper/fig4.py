"""Figure 4: the bump, ten starts: simple regret, cumulative regret, effective scaling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import noregret as nr
from noregret.strategies import Strategy
from noregret.testing import bump
from research.paper.regret_run import by_method, panels, regret_run, seeded
from research.paper.runner import Job, Options, Result

NAME, TITLE = "fig4", "The bump: regret and effective scaling"

METHODS: dict[str, Callable[[float], Strategy]] = {
    "GP-UCB (true)": lambda s: nr.GPUCB(
        lengthscales=0.1, norm_bound=2.0, noise_std=s, width="paper"
    ),
    "GP-UCB (MAP)": lambda s: nr.GPUCB(noise_std=s),
    "GP-UCB (HMC)": lambda s: nr.MarginalGPUCB(noise_std=s),
    "κ rule (Wang & de Freitas)": lambda s: nr.MinimumUncertainty(noise_std=s),
    "A-GP-UCB (one step)": lambda s: nr.AdaptiveGPUCB.paper(noise_std=s),
    "A-GP-UCB (bound)": lambda s: nr.AdaptiveGPUCB.paper(noise_std=s, estimator="regret_bound"),
    "A-GP-UCB (bound, anchored)": lambda s: nr.AdaptiveGPUCB.paper(
        noise_std=s, estimator="regret_bound", anchored=True
    ),
}


def jobs(options: Options) -> list[Job]:
    seeds, iterations = options.pick((10, 4), (200, 80))
    return seeded(
        METHODS, seeds, lambda method, seed: Job(method, seed, iterations, options.noise_std)
    )


def run(job: Job) -> Result:
    return regret_run(METHODS[job.method](job.noise), bump(), job)


def summarise(results: dict[Job, Result]) -> dict[str, Any]:
    return {"methods": by_method(results, METHODS)}


def draw(results: dict[Job, Result]) -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
    panels(
        axes,
        results,
        METHODS,
        [
            ("simple", "simple regret"),
            ("cumulative", "cumulative regret"),
            ("scaling", "effective scaling θ₀/θ_t"),
        ],
    )
    axes[2].axhline(10, color="0.25", ls="--", lw=1)
    axes[2].annotate("true: 10", (1, 10), (4, 11), fontsize=8)
    axes[2].set(yscale="log", ylim=(0.8, None))
    axes[0].set_title("(a) simple regret")
    axes[1].set_title("(b) cumulative regret")
    axes[2].set_title("(c) scaling g(t), log scale")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9
    )
    return figure
