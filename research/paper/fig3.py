"""Figure 3, from computed numbers: norm balls under scaling, and cumulative regret with its
estimate and reference p(t).
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

import noregret as nr
from noregret.gp import SquaredExponential
from noregret.rkhs import FunctionClass
from noregret.space import Array
from noregret.strategies import Strategy
from noregret.testing import RKHSFunction, bump, rkhs_sample
from research.paper.regret_run import STYLES, by_method, regret_run, seeded
from research.paper.runner import Job, Options, Result

NAME, TITLE = "fig3", "Norm balls, and regret with scaling"

B_0, B_GROWTH, G_GROWTH = 2.0, 1.7, 1.6  # the balls drawn: B_0, b·B_0, and b·g^q·B_0
SHRINK = np.linspace(1.0, 6.0, 60)


def ball_function() -> RKHSFunction:
    """‖f‖_θ0 = 3 > B_0 at θ_0 = 0.3, and smooth: its norm grows as lengthscales shrink, nearly as
    fast as the lemma allows.
    """
    centres = np.linspace(-1.0, 2.0, 31)[:, None]
    return RKHSFunction(SquaredExponential(), np.array([0.3]), centres, np.ones(31)).scaled_to(3.0)


def rough_function() -> RKHSFunction:
    """A sample, rough at the scale of θ_0: shorter lengthscales suit it, and its norm
    falls first.
    """
    return rkhs_sample(1, lengthscale=0.3, norm=3.0)


def strategies(noise: float) -> dict[str, Strategy]:
    return {
        "GP-UCB (misspecified)": nr.GPUCB(
            lengthscales=1.0, norm_bound=2.0, noise_std=noise, width="paper"
        ),
        "GP-UCB (true)": nr.GPUCB(lengthscales=0.1, norm_bound=2.0, noise_std=noise, width="paper"),
        "A-GP-UCB (one step)": nr.AdaptiveGPUCB.paper(noise_std=noise, estimation=None),
    }


def jobs(options: Options) -> list[Job]:
    seeds, iterations = options.pick((10, 1), (200, 80))
    return seeded(
        strategies(0.4),
        seeds,
        lambda method, seed: Job(method, seed, iterations, options.noise_std),
    )


def run(job: Job) -> Result:
    return regret_run(strategies(job.noise)[job.method], bump(), job)


def norms(f: RKHSFunction) -> Array:
    """‖f‖ at lengthscales θ_0/g, exact."""
    return np.array([f.norm_at(f.lengthscales / g) for g in SHRINK])


def summarise(results: dict[Job, Result]) -> dict[str, Any]:
    f = ball_function()
    start = FunctionClass(f.lengthscales, B_0)
    shrunk = f.norm_at(f.lengthscales / G_GROWTH)
    one_step = [result for job, result in results.items() if job.method == "A-GP-UCB (one step)"]
    return {
        "norm_at_theta_0": f.norm,
        "norm_at_theta_t": shrunk,
        "norm_growth": shrunk / f.norm,
        "norm_growth_of_a_sample": (
            rough_function().norm_at(f.lengthscales / G_GROWTH) / rough_function().norm
        ),
        "lemma_allows": G_GROWTH**0.5,
        "paper_allows": G_GROWTH,
        "ball_tight": start.widened(G_GROWTH, B_GROWTH, "tight").norm_bound,
        "ball_paper": start.widened(G_GROWTH, B_GROWTH, "paper").norm_bound,
        "methods": by_method(results, strategies(0.4)),
        "final_estimate": [r["estimate"][-1] for r in one_step],
        "final_reference": [r["reference"][-1] for r in one_step],
    }


def draw(results: dict[Job, Result]) -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    _balls(axes[0])
    _norm_curves(axes[1])
    _regret(axes[2], results)
    return figure


def _balls(axis: Axes) -> None:
    f = ball_function()
    start = FunctionClass(f.lengthscales, B_0)
    radii = [
        (start.widened(G_GROWTH, B_GROWTH, "paper").norm_bound, "b·g·B₀ (as printed)", ":", "0.5"),
        (start.widened(G_GROWTH, B_GROWTH, "tight").norm_bound, "b·√g·B₀ (tight)", "-", "#2166ac"),
        (B_GROWTH * B_0, "b·B₀", "--", "#e08214"),
        (B_0, "B₀", "-", "0.2"),
    ]
    for radius, label, line, color in radii:
        axis.add_patch(
            Circle(
                (0, 0),
                radius,
                fill=False,
                ls=line,
                ec=color,
                lw=1.8,
                label=f"{label} = {radius:.2f}",
            )
        )
    for norm, angle, label in (
        (f.norm, 2.6, "‖f‖ at θ₀"),
        (f.norm_at(f.lengthscales / G_GROWTH), 0.6, "‖f‖ at θ₀/g"),
    ):
        x, y = norm * np.cos(angle), norm * np.sin(angle)
        axis.plot([x], [y], "o", color="#b2182b")
        axis.annotate(
            f"{label} = {norm:.2f}",
            (x, y),
            (0, 8),
            textcoords="offset points",
            fontsize=8,
            ha="center",
            bbox={"fc": "white", "ec": "none", "alpha": 0.85, "pad": 1},
        )
    limit = radii[0][0] * 1.08
    axis.set(
        xlim=(-limit, limit),
        ylim=(-limit, limit * 1.35),
        aspect="equal",
        title=f"(a) norm balls, b = {B_GROWTH}, g = {G_GROWTH}, d = 1",
    )
    axis.legend(fontsize=7, loc="upper center", ncols=2, handlelength=1.2, columnspacing=1)
    axis.set(xlabel="radius in the space of θ₀/g (norm)", yticks=[])


def _norm_curves(axis: Axes) -> None:
    f = ball_function()
    axis.plot(
        SHRINK, f.norm * SHRINK, ":", color="0.5", lw=1.8, label="g·‖f‖: what the paper charges"
    )
    axis.plot(
        SHRINK,
        f.norm * np.sqrt(SHRINK),
        "-",
        color="#2166ac",
        lw=1.8,
        label="√g·‖f‖: what the lemma gives",
    )
    axis.plot(SHRINK, norms(f), "--", color="#b2182b", lw=2, label="‖f‖ at θ₀/g, exact: a smooth f")
    axis.plot(
        SHRINK,
        norms(rough_function()),
        "-.",
        color="#e08214",
        lw=2,
        label="exact: a sample of the GP",
    )
    axis.set(xlabel="g", ylabel="RKHS norm", title="(a′) the norm as lengthscales shrink")
    axis.legend(fontsize=8)
    axis.grid(alpha=0.25)


def _regret(axis: Axes, results: dict[Job, Result]) -> None:
    for method in strategies(0.4):
        curves = np.array(
            [result["cumulative"] for job, result in results.items() if job.method == method]
        )
        color, line = STYLES[method]
        axis.plot(
            np.arange(1, curves.shape[1] + 1),
            curves.mean(axis=0),
            ls=line,
            color=color,
            lw=1.8,
            label=f"regret, {method}",
        )
    one_step = [result for job, result in results.items() if job.method == "A-GP-UCB (one step)"]
    steps = np.arange(1, len(one_step[0]["estimate"]) + 1)
    axis.plot(
        steps,
        np.mean([r["estimate"] for r in one_step], axis=0),
        color="#e08214",
        lw=1,
        ls="--",
        label="its estimate of the regret",
    )
    axis.plot(
        steps,
        np.mean([r["reference"] for r in one_step], axis=0),
        color="black",
        lw=1.2,
        ls=":",
        label="reference p(t) = t^0.9",
    )
    axis.set(
        xlabel="iteration t",
        ylabel="cumulative regret",
        title="(b) cumulative regret with scaling",
        ylim=(0, None),
    )
    axis.legend(fontsize=8)
    axis.grid(alpha=0.25)
