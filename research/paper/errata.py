"""The errata of the paper, measured: joint coverage of the printed width, when the bound estimator
starts, how norms and information grow, what the appendices print. theory.md#errata
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist

import noregret as nr
from noregret.gp import MAP, Kernel, Matern, SquaredExponential, condition
from noregret.rkhs import LogGrowth, confidence
from noregret.search import low_discrepancy
from noregret.space import Array
from noregret.testing import RKHSFunction, bump, rkhs_sample
from noregret.theory import (
    Setting,
    capture_time,
    check_reference,
    check_schedule,
    greedy_information,
    regret_constant,
    regret_rate,
)
from research.paper.intervals import wilson
from research.paper.regret_run import regret_run
from research.paper.runner import Job, Options, Result

NAME, TITLE = "errata", "What is wrong in print, measured"

DELTA, NORM, STEPS, FUNCTIONS = 0.1, 2.0, 150, 20
NOISES, DESIGNS = (0.01, 0.1, 0.5), ("ucb", "random")
STARTS = 3  # seeds of "when does h leave 1"
GRID = np.linspace(0, 1, 201)[:, None]
WIDTHS = ("paper", "mixture", "abbasi_yadkori", "constant 2")
KERNELS: dict[str, Kernel] = {
    "SE": SquaredExponential(),
    "Matérn 1/2": Matern(0.5),
    "Matérn 3/2": Matern(1.5),
    "Matérn 5/2": Matern(2.5),
    "Matérn 1/2 with one factor": Matern(0.5),
}
FIXED_CLASSES: tuple[tuple[str, Kernel, int], ...] = (
    ("SE", SquaredExponential(), 2),
    ("Matérn 5/2", Matern(2.5), 2),
    ("Matérn 3/2", Matern(1.5), 2),
    ("Matérn 5/2", Matern(2.5), 4),
)


def jobs(options: Options) -> list[Job]:
    seeds, _ = options.pick((10, 2), (1, 1))  # blocks of twenty functions
    coverage = [
        Job(f"coverage {d}", s, STEPS, n) for n in NOISES for d in DESIGNS for s in range(seeds)
    ]
    start = [
        Job(kind, s, steps, n)
        for n, horizon in ((0.01, 300), (0.05, 350), (0.1, 650))[: 1 if options.quick else 3]
        for s in range(1 if options.quick else STARTS)
        for kind, steps in (("start", horizon), ("start anchored", 20))
    ]
    monotone = [
        Job("variance when lengthscales shrink", s, 1000, 0.05)
        for s in range(1 if options.quick else 8)
    ]
    rest = [
        Job("not monotone one step", 0, 30, 0.05),
        *(Job("sum of widths", s, 200, 0.05) for s in range(2 if options.quick else 10)),
        *(Job("information growth", s, 200, 0.05) for s in range(1 if options.quick else 5)),
        Job("appendix", 0, 1, 0.05),
    ]
    return [*coverage, *start, *monotone, *rest]


def run(job: Job) -> Result:
    kinds: dict[str, Callable[[Job], Result]] = {
        "start": _start,
        "start anchored": _start,
        "sum of widths": _widths,
        "information growth": _information_growth,
        "appendix": _appendix,
        "variance when lengthscales shrink": _monotone,
        "not monotone one step": _one_step,
    }
    return kinds.get(job.method, _coverage)(job)


def _coverage(job: Job) -> Result:
    """How many of the block's functions each width covered at every step and grid point."""
    count = dict.fromkeys(WIDTHS, 0)
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
                "paper": confidence.paper(NORM, gain, job.noise, job.noise**2, DELTA),
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
    """The step at which h first leaves 1 with the bound estimator and p = t^0.9, or an anchored
    reference.
    """
    strategy = nr.AdaptiveGPUCB.paper(
        job.noise, "regret_bound", estimation=None, anchored=job.method.endswith("anchored")
    )
    h = regret_run(strategy, bump(), job)["h"]
    return {"first": next((t + 1 for t, value in enumerate(h) if value > 1), None)}


def _monotone(job: Job) -> Result:
    """Random trials of 'shorter lengthscales, larger variance': the worst violation per kernel."""
    rng, worst = np.random.default_rng(job.seed), {}
    for name, kernel in KERNELS.items():
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
    falls, ends_below = 0, 0
    for seed in range(job.iterations):
        rng = np.random.default_rng([seed, 3])
        f, x = bump(), rng.random((8, 1))
        y = f(x) + job.noise * rng.standard_normal(8)
        bounds = []
        for h in np.geomspace(1, 10, 40):
            posterior = condition(SquaredExponential(), np.array([1 / h]), x, y, job.noise**2)
            width = confidence.paper(
                2.0 * h, max(posterior.information_gain, 0.0), job.noise, job.noise**2, DELTA
            )
            mean, std = posterior.predict(GRID)
            bounds.append(2 * width * std[int(np.argmax(mean + width * std))])
        falls += bool(np.any(np.diff(bounds) < -1e-9 * max(bounds)))
        ends_below += bool(bounds[-1] <= bounds[0])
    return {"falls": falls, "ends_below": ends_below, "data_sets": job.iterations}


def _widths(job: Job) -> Result:
    """GP-UCB with the true class: the sum of 2β^½σ that the proof of Theorem 1 bounds, the regret
    it stands for, and the two bounds, with t and without.
    """
    f, rng = rkhs_sample(job.seed, lengthscale=0.2, norm=NORM), np.random.default_rng(job.seed)
    lam, truth, total, regret = job.noise**2, f(GRID), 0.0, 0.0
    posterior = condition(SquaredExponential(), f.lengthscales, np.empty((0, 1)), np.empty(0), lam)
    for _ in range(job.iterations):
        mean, std = posterior.predict(GRID)
        gain = max(posterior.information_gain, 0.0)
        width = confidence.paper(NORM, gain, job.noise, job.noise**2, DELTA)
        best = int(np.argmax(mean + width * std))
        total += float(2 * width * std[best])
        regret += float(truth.max() - truth[best])
        y = float(truth[best]) + job.noise * rng.standard_normal()
        posterior = posterior.append(GRID[best], y, lam)
    squared = regret_constant(lam) * width**2 * posterior.information_gain
    return {
        "widths_over_printed": total**2 / squared,
        "widths_over_bound_with_t": total**2 / (squared * job.iterations),
        "regret_over_printed": regret**2 / squared,
    }


def _information_growth(job: Job) -> Result:
    """γ(θ/2)/γ(θ) by greedy choice, λ = 0.0025, θ = 0.2 (d = 1) or 0.4: the proposition says about
    2^d.
    """
    growth = {}
    for d in (1, 2):
        candidates = low_discrepancy(800, d, np.random.default_rng(job.seed))
        theta = np.full(d, 0.2 * d)
        gains = [
            greedy_information(SquaredExponential(), t, candidates, job.iterations, 0.0025)[-1]
            for t in (theta, theta / 2)
        ]
        growth[f"d={d}"] = float(gains[1] / gains[0])
    return growth


def _appendix(job: Job) -> Result:
    """What four formulas of the appendices say, against the same computed another way."""
    return {**_alpha(), **_matern_tail(), **_log_lemma()}


def _alpha() -> Result:
    """SE: α = log(1/B), B = b/A, A = a + b + √(a² + 2ab), b = 1/(2θ²). The exponent of g in 1/α for
    short lengthscales; and the tail integral ∫ exp(−α√s) ds from T_* = 9, d = 2, over the two forms
    of its substitution.
    """

    def alpha(theta: float, a: float = 1.0) -> float:
        b = 1 / (2 * theta**2)
        return math.log((a + b + math.sqrt(a * a + 2 * a * b)) / b)

    exponent = math.log(alpha(1e-3) / alpha(1e-4)) / math.log(10)
    rate, start, d = alpha(0.3), 9.0, 2
    s = start + np.linspace(0, 400, 400_001) ** 2  # the integrand is exp(-60) at the end
    integral = float(np.trapezoid(np.exp(-rate * np.sqrt(s)), s))
    beta = rate * math.sqrt(start)
    gamma = math.exp(-beta) * (1 + beta)  # Γ(2, β)
    return {
        "alpha_exponent": exponent,
        "tail_over_one_over_alpha": integral / (d * gamma / rate),
        "tail_over_alpha_to_minus_d": integral / (d * gamma / rate**d),
    }


def _matern_tail() -> Result:
    """Matérn 3/2: the exponent of g in the sum of the eigenvalues after the first hundred, uniform
    points, lengthscales halved.
    """
    kernel = Matern(1.5)
    found: Result = {
        "matern_tail_exponent": {},
        "matern_printed_exponent": {f"d={d}": 2 * kernel.nu * d for d in (1, 2)},
        "matern_constant_exponent": {f"d={d}": 2 * kernel.nu + d for d in (1, 2)},
    }
    for d, side in ((1, 600), (2, 30)):
        axis = (np.arange(side) + 0.5) / side
        points: Array = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
        tails = []
        for theta in (1.0, 0.5):
            K = kernel.value(cdist(points, points, "sqeuclidean") / theta**2)
            spectrum = np.linalg.eigvalsh(K)[::-1]
            tails.append(float(spectrum[100:].sum() / len(points)))
        found["matern_tail_exponent"][f"d={d}"] = math.log2(tails[1] / tails[0])
    return found


def _log_lemma() -> Result:
    """log(1 + x²) ≥ x² log(1 + m²)/m²: the share of [0, m²] and of [0, m] where it fails, m = 2."""
    m = 2.0
    share = {}
    for name, end in (("squared", m * m), ("plain", m)):
        x = np.linspace(0, end, 4001)
        fails = np.log1p(x**2) < x**2 * math.log1p(m * m) / (m * m) - 1e-12
        share[f"log_lemma_fails_{name}"] = float(np.mean(fails))
    return share


def summarise(results: dict[Job, Result]) -> dict[str, Any]:
    """Lists have one entry per seed; counts come with their number of trials."""

    def of(method: str) -> list[Result]:
        return [r for j, r in results.items() if j.method == method]

    flat = RKHSFunction(
        SquaredExponential(), np.ones(1), np.linspace(-60, 60, 241)[:, None], np.ones(241)
    )
    monotone = of("variance when lengthscales shrink")
    (one_step,), (appendix,) = of("not monotone one step"), of("appendix")
    schedule = check_schedule(Setting(SquaredExponential(), 3, "paper", "printed"), "log", "log")
    return {
        "coverage": _coverage_table(results),
        "bound_estimator_starts": _starts(results, "start"),
        "anchored_estimator_starts": _starts(results, "start anchored"),
        "norm_ratio_of_a_flat_function_at_g_2": flat.norm_at(0.5) / flat.norm,
        "worst_variance_change": {name: min(r[name] for r in monotone) for name in KERNELS},
        "variance_trials": sum(
            j.iterations for j in results if j.method == "variance when lengthscales shrink"
        ),
        "one_step_falls": one_step["falls"],
        "one_step_ends_below": one_step["ends_below"],
        "one_step_data_sets": one_step["data_sets"],
        "information_growth_at_half_lengthscale": {
            d: [r[d] for r in of("information growth")] for d in ("d=1", "d=2")
        },
        "log_schedule": {
            "printed_at_t_1": math.log(1),
            "rate": schedule.rate,
            "exponent": schedule.order.t,
            "capture_time_ratio_10": capture_time(LogGrowth(), LogGrowth(), [10.0], 1.0),
        },
        "reference_p": 0.9,
        "fixed_class_exponent": {
            f"{name} in d = {d}": regret_rate(Setting(kernel, d)).information.t
            for name, kernel, d in FIXED_CLASSES
        },
        "reference_matern_reason": check_reference(Setting(Matern(1.5), 2), 0.9, 0.1).reason,
        "min_and_scale": {
            how: float(MAP(combine=how).combined(np.array([0.5]), np.array([1.0]), 1.5)[0])
            for how in ("min", "scale")
        },
        "widths": {
            name: [r[name] for r in of("sum of widths")]
            for name in ("widths_over_printed", "widths_over_bound_with_t", "regret_over_printed")
        },
        "appendix": {name: v for name, v in appendix.items() if name != "seconds"},
    }


def _coverage_table(results: dict[Job, Result]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for design in DESIGNS:
        for noise in NOISES:
            blocks = [
                r
                for j, r in results.items()
                if j.method == f"coverage {design}" and j.noise == noise
            ]
            table[f"{design} design at σ = {noise:g}"] = {
                name: sum(block[name] for block in blocks) for name in (*WIDTHS, "functions")
            }
    return table


def _starts(results: dict[Job, Result], method: str) -> dict[str, list[float]]:
    """By noise, one entry per seed: the step at which h left 1; infinite if it did not."""
    found: dict[str, list[float]] = {}
    for job, result in results.items():
        if job.method == method:
            first = result["first"]
            found.setdefault(f"{job.noise:g}", []).append(math.inf if first is None else first)
    return found


def draw(results: dict[Job, Result]) -> Figure:
    coverage = _coverage_table(results)
    figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
    position = np.arange(len(coverage))
    looks = (
        ("paper", "#c51b1b", "//"),
        ("constant 2", "0.6", ".."),
        ("abbasi_yadkori", "#9ecae1", ""),
        ("mixture", "#2166ac", ""),
    )
    for offset, (name, color, hatch) in enumerate(looks):
        bars = [row[name] / row["functions"] for row in coverage.values()]
        ends = [wilson(row[name], row["functions"]) for row in coverage.values()]
        axis.bar(
            position + 0.2 * (offset - 1.5),
            bars,
            0.19,
            color=color,
            hatch=hatch,
            edgecolor="white",
            label=name,
            yerr=[
                [max(0.0, bar - low) for bar, (low, _) in zip(bars, ends, strict=True)],
                [max(0.0, high - bar) for bar, (_, high) in zip(bars, ends, strict=True)],
            ],
            error_kw={"lw": 0.9, "ecolor": "0.2"},
        )
    axis.axhline(1 - DELTA, color="black", ls="--", lw=1.2, label="nominal 0.9")
    axis.set(
        ylim=(0, 1.28),
        ylabel="share of functions covered",
        title="Joint coverage over all x and 150 steps, with 95 % intervals",
        xticks=position,
    )
    axis.set_xticklabels([key.replace("ucb", "UCB").replace(" at ", "\n") for key in coverage])
    axis.legend(ncols=5, fontsize=8, loc="upper center")
    return figure
