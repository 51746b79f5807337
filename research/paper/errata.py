"""The errata of the paper, measured: joint coverage of the printed width, when the bound estimator
starts, how norms grow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import noregret as nr
from noregret.classes import LogGrowth, confidence
from noregret.gp import Kernel, Matern, SquaredExponential, condition
from noregret.search import low_discrepancy
from noregret.testing import RKHSFunction, bump, rkhs_sample
from noregret.theory import capture_time, greedy_information
from research.paper.regret_run import regret_run
from research.paper.runner import Job, Options, Result

NAME, TITLE = "errata", "What is wrong in print, measured"

DELTA, NORM, STEPS, FUNCTIONS = 0.1, 2.0, 150, 20
NOISES, DESIGNS = (0.01, 0.1, 0.5), ("ucb", "random")
GRID = np.linspace(0, 1, 201)[:, None]


def jobs(options: Options) -> list[Job]:
    seeds, _ = options.pick((10, 2), (1, 1))  # blocks of twenty functions
    coverage = [
        Job(f"coverage {d}", s, STEPS, n) for n in NOISES for d in DESIGNS for s in range(seeds)
    ]
    start = [Job("start", 0, t, n) for n, t in ((0.01, 150), (0.05, 350), (0.1, 650))][
        : 1 if options.quick else 3
    ]
    monotone = [
        Job("variance when lengthscales shrink", s, 1000, 0.05)
        for s in range(1 if options.quick else 8)
    ]
    return [*coverage, *start, *monotone, Job("not monotone one step", 0, 30, 0.05)]


def run(job: Job) -> Result:
    kinds: dict[str, Callable[[Job], Result]] = {
        "start": _start,
        "variance when lengthscales shrink": _monotone,
        "not monotone one step": _one_step,
    }
    return kinds.get(job.method, _coverage)(job)


def _coverage(job: Job) -> Result:
    """How many of the block's functions each width covered at every step and grid point."""
    count = {"paper": 0, "mixture": 0, "abbasi_yadkori": 0, "constant 2": 0}
    lam = job.noise**2
    for index in range(FUNCTIONS):
        seed = job.seed * FUNCTIONS + index
        f, rng = rkhs_sample(seed, lengthscale=0.2, norm=NORM), np.random.default_rng([seed, 5])
        truth, good = f(GRID), dict.fromkeys(count, True)
        posterior = condition(
            SquaredExponential(), f.lengthscales, np.empty((0, 1)), np.empty(0), lam
        )
        for _ in range(STEPS):
            mean, std = posterior.predict(GRID)
            gain = max(posterior.information_gain, 0.0)
            widths = {
                "paper": confidence.paper(NORM, gain, noise_std=job.noise, delta=DELTA),
                "mixture": confidence.mixture(
                    NORM, gain, noise_bound=job.noise, regulariser=lam, delta=DELTA
                ),
                "abbasi_yadkori": confidence.abbasi_yadkori(
                    NORM, gain, noise_bound=job.noise, regulariser=lam, delta=DELTA
                ),
                "constant 2": 2.0,
            }
            for name, width in widths.items():
                good[name] &= bool(np.all(np.abs(truth - mean) <= width * std + 1e-9))
            x = (
                GRID[int(np.argmax(mean + widths["paper"] * std))]
                if job.method.endswith("ucb")
                else rng.random(1)
            )
            posterior = posterior.append(x, float(f(x)) + job.noise * rng.standard_normal(), lam)
        for name in count:
            count[name] += good[name]
    return {**count, "functions": FUNCTIONS}


def _start(job: Job) -> Result:
    """The step at which h first leaves 1 with p = t^0.9 and the bound estimator."""
    strategy = nr.AdaptiveGPUCB.paper(job.noise, "regret_bound", estimation=None)
    h = regret_run(strategy, bump(), job)["h"]
    return {"first": next((t + 1 for t, value in enumerate(h) if value > 1), None)}


def _monotone(job: Job) -> Result:
    """Random trials of 'shorter lengthscales, larger variance': the worst violation per kernel."""
    rng, worst = np.random.default_rng(job.seed), {}
    kernels: dict[str, Kernel] = {
        "SE": SquaredExponential(),
        "Matérn 1/2": Matern(0.5),
        "Matérn 3/2": Matern(1.5),
        "Matérn 5/2": Matern(2.5),
        "Matérn 1/2, one factor": Matern(0.5),
    }
    for name, kernel in kernels.items():
        least = math.inf
        for _ in range(job.iterations):
            d, n = int(rng.integers(1, 4)), int(rng.integers(1, 6))
            X, A, theta = rng.random((n, d)), rng.random((10, d)), rng.uniform(0.05, 2.0, d)
            factors = rng.uniform(0.1, 1.0, d)
            factors[rng.random(d) < 0.5] = 1.0  # often only some inputs shrink: the hard case
            shorter = theta * (rng.uniform(0.1, 1.0) if name.endswith("one factor") else factors)
            lam = 10 ** rng.uniform(-4, 0)
            wide, narrow = (
                condition(kernel, t, X, np.zeros(n), lam).predict(A)[1] for t in (theta, shorter)
            )
            least = min(least, float(np.min(narrow**2 - wide**2)))
        worst[name] = least
    return worst


def _one_step(job: Job) -> Result:
    """Data sets on which the one-step estimate falls somewhere as h grows."""
    falls = 0
    for seed in range(job.iterations):
        rng = np.random.default_rng([seed, 3])
        f, x = bump(), rng.random((8, 1))
        y = f(x) + job.noise * rng.standard_normal(8)
        bounds = []
        for h in np.geomspace(1, 10, 40):
            posterior = condition(SquaredExponential(), np.array([1 / h]), x, y, job.noise**2)
            width = confidence.paper(
                2.0 * h, max(posterior.information_gain, 0.0), noise_std=job.noise, delta=DELTA
            )
            mean, std = posterior.predict(GRID)
            bounds.append(2 * width * std[int(np.argmax(mean + width * std))])
        falls += bool(np.any(np.diff(bounds) < -1e-9 * max(bounds)))
    return {"falls": falls, "data_sets": job.iterations}


def summarise(results: dict[Job, Result]) -> dict[str, Any]:
    coverage: dict[str, Any] = {}
    for design in DESIGNS:
        for noise in NOISES:
            blocks = [
                r
                for j, r in results.items()
                if j.method == f"coverage {design}" and j.noise == noise
            ]
            total = sum(block["functions"] for block in blocks)
            coverage[f"{design}, σ={noise:g}"] = {
                **{
                    name: sum(block[name] for block in blocks) / total
                    for name in ("paper", "mixture", "abbasi_yadkori", "constant 2")
                },
                "functions": total,
            }
    flat = RKHSFunction(
        SquaredExponential(), np.ones(1), np.linspace(-60, 60, 241)[:, None], np.ones(241)
    )
    monotone = [r for j, r in results.items() if j.method == "variance when lengthscales shrink"]
    (one_step,) = (r for j, r in results.items() if j.method == "not monotone one step")
    return {
        "coverage": coverage,
        "bound_estimator_starts": {
            f"{j.noise:g}": r["first"] for j, r in results.items() if j.method == "start"
        },
        "norm_ratio_of_a_flat_function_at_g_2": flat.norm_at(0.5) / flat.norm,
        "worst_variance_change": {
            name: min(r[name] for r in monotone)
            for name in ("SE", "Matérn 1/2", "Matérn 3/2", "Matérn 5/2", "Matérn 1/2, one factor")
        },
        "variance_trials": sum(
            j.iterations for j in results if j.method == "variance when lengthscales shrink"
        ),
        "one_step_falls": one_step["falls"],
        "one_step_data_sets": one_step["data_sets"],
        "information_growth_at_half_lengthscale": {
            f"d={d}": _information_growth(d) for d in (1, 2)
        },
        "log_schedule_capture_time_ratio_10": capture_time(LogGrowth(), LogGrowth(), [10.0], 1.0),
    }


def _information_growth(dimension: int) -> float:
    """γ(θ/2)/γ(θ) by greedy choice, t = 200, λ = 0.0025, θ = 0.2 (d = 1) or 0.4: the proposition
    says about 2^d.
    """
    candidates = low_discrepancy(800, dimension, np.random.default_rng(0))
    theta = np.full(dimension, 0.2 * dimension)
    gains = [
        greedy_information(SquaredExponential(), t, candidates, 200, 0.0025)[-1]
        for t in (theta, theta / 2)
    ]
    return float(gains[1] / gains[0])


def draw(results: dict[Job, Result]) -> Figure:
    coverage = summarise(results)["coverage"]
    figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
    position = np.arange(len(coverage))
    looks = (
        ("paper", "#c51b1b", "//"),
        ("constant 2", "0.6", ".."),
        ("abbasi_yadkori", "#9ecae1", ""),
        ("mixture", "#2166ac", ""),
    )
    for offset, (name, color, hatch) in enumerate(looks):
        bars = [row[name] for row in coverage.values()]
        axis.bar(
            position + 0.2 * (offset - 1.5),
            bars,
            0.19,
            color=color,
            hatch=hatch,
            edgecolor="white",
            label=name,
        )
    axis.axhline(1 - DELTA, color="black", ls="--", lw=1.2, label="nominal 0.9")
    axis.set(
        ylim=(0, 1.28),
        ylabel="share of functions covered",
        title="Joint coverage over all x and 150 steps",
        xticks=position,
    )
    axis.set_xticklabels(
        [
            key.replace("ucb", "UCB design").replace("random", "random design").replace(", ", "\n")
            for key in coverage
        ]
    )
    axis.legend(ncols=5, fontsize=8, loc="upper center")
    return figure
