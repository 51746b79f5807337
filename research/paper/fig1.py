"""Figure 1: a GP sample; an RKHS function with a bump, and the marginalised band that misses it;
the posterior of θ.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import noregret as nr
from noregret.extensions import HMC
from noregret.extensions.marginal_gp_ucb import sample
from noregret.gp import Evidence, Gamma, LogNormal, SquaredExponential
from noregret.space import Array
from noregret.testing import bump, rkhs_sample
from research.paper.runner import Job, Options, Result

NAME, TITLE = "fig1", "Why estimated lengthscales mislead"

GRID = np.linspace(0, 1, 301)[:, None]
TRUE_LENGTHSCALE = 0.1
STUCK = 0.2  # simple regret above this after 20 decisions
PRIOR = Gamma(2.0, 10.0)  # suggests short lengthscales, theory.md#estimation


def jobs(options: Options) -> list[Job]:
    seeds, iterations = options.pick((10, 5), (20, 12))
    return [
        Job("GP-UCB (HMC)", seed, iterations, options.noise_std, options.quick)
        for seed in range(seeds)
    ]


def run(job: Job) -> Result:
    """HMC-marginalised GP-UCB on the bump; then its band, and many samples of θ given its data."""
    f, rng = bump(), np.random.default_rng([job.seed, 77])
    strategy = nr.MarginalGPUCB(prior=PRIOR, noise_std=job.noise, sampler=HMC(40, 40, 2))
    study = nr.Study([(0, 1)], "maximize", strategy=strategy, seed=job.seed)
    study.run(
        lambda x: float(f(x)) + job.noise * rng.standard_normal(),
        job.iterations + 2,
        progress=False,
    )
    belief = study.belief()
    assert belief is not None
    mean, std = belief.predict(GRID)
    X, y = (
        np.array([t.params for t in study.trials]),
        np.array([t.value for t in study.trials], dtype=np.float64),
    )
    y = (y - belief.offset) / belief.scale
    evidence = Evidence(
        SquaredExponential(),
        X,
        y,
        np.full(len(y), (job.noise / belief.scale) ** 2),
        PRIOR,
        LogNormal(),
    )
    settings = HMC(200 if job.quick else 1000, 100, 2)
    draws = np.exp(
        sample(evidence, settings, np.log(np.array([0.3])), np.random.default_rng(job.seed))
    )[:, 0]
    log_theta = np.linspace(np.log(0.02), np.log(2.0), 400)
    density = _density(evidence, log_theta)
    best = f.maximum - max(float(f(t.params)) for t in study.trials)
    return {
        "x": X[:, 0].tolist(),
        "y": (belief.offset + belief.scale * y).tolist(),
        "mean": mean.tolist(),
        "std": std.tolist(),
        "lengthscales": draws.tolist(),
        "density": density.tolist(),
        "simple": best,
    }


def _density(evidence: Evidence, log_theta: Array) -> Array:
    """p(θ | y) on a grid, normalised: what the samples must follow."""
    log_p = np.array([evidence.log_posterior(np.array([v]), jacobian=False)[0] for v in log_theta])
    p = np.exp(log_p - log_p.max())
    return p / np.trapezoid(p, np.exp(log_theta))


def _shown(results: dict[Job, Result]) -> Job:
    """The first start that is stuck; else the one furthest from the optimum."""
    stuck = [job for job, result in results.items() if result["simple"] > STUCK]
    return stuck[0] if stuck else max(results, key=lambda job: results[job]["simple"])


def summarise(results: dict[Job, Result]) -> dict[str, Any]:
    """Lists have one entry per start, in the order of the seeds."""
    f = bump()(GRID)
    rows = list(results.values())
    theta = [np.array(r["lengthscales"]) for r in rows]
    miss = [np.abs(f - np.array(r["mean"])) / np.array(r["std"]) for r in rows]
    return {
        "stuck": sum(r["simple"] > STUCK for r in rows),
        "stuck_starts": [r["simple"] > STUCK for r in rows],
        "seeds": len(rows),
        "shown_seed": _shown(results).seed,
        "share_of_grid_missed": [float(np.mean(m > 2)) for m in miss],
        "largest_miss_in_std": [float(np.max(m)) for m in miss],
        "posterior_mean_lengthscale": [float(t.mean()) for t in theta],
        "posterior_share_above_true": [float(np.mean(t > TRUE_LENGTHSCALE)) for t in theta],
        "prior_mean_lengthscale": PRIOR.shape / PRIOR.rate,
        "prior_share_above_true": float(
            (1 + PRIOR.rate * TRUE_LENGTHSCALE) * np.exp(-PRIOR.rate * TRUE_LENGTHSCALE)
        ),
    }


def draw(results: dict[Job, Result]) -> Figure:
    job = _shown(results)
    result = results[job]
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained")
    gp_sample = rkhs_sample(4, lengthscale=TRUE_LENGTHSCALE, norm=5.0)
    axes[0].plot(GRID[:, 0], gp_sample(GRID), color="black")
    axes[0].set(title="(a) a sample of the GP prior, θ = 0.1", xlabel="x", ylabel="f(x)")
    mean, std = np.array(result["mean"]), np.array(result["std"])
    axes[1].fill_between(
        GRID[:, 0], mean - 2 * std, mean + 2 * std, color="#9ecae1", label="2σ, θ marginalised"
    )
    axes[1].plot(GRID[:, 0], mean, color="#2166ac", lw=1, label="posterior mean")
    axes[1].plot(GRID[:, 0], bump()(GRID), color="0.25", lw=2, label="f, in the RKHS of θ = 0.1")
    axes[1].plot(result["x"], result["y"], "x", color="#b2182b", ms=6, label="evaluations")
    axes[1].set(
        title=f"(b) GP estimate after {len(result['x'])} evaluations", xlabel="x", ylabel="f(x)"
    )
    axes[1].legend(fontsize=8)
    theta = np.exp(np.linspace(np.log(0.02), np.log(2.0), 400))
    axes[2].hist(
        result["lengthscales"], bins=40, density=True, color="#9ecae1", label="HMC samples"
    )
    axes[2].plot(theta, result["density"], color="#2166ac", lw=1.2, label="quadrature")
    prior = theta * PRIOR.rate**2 * np.exp(-PRIOR.rate * theta)
    axes[2].plot(theta, prior, color="0.5", ls=":", label="prior Gamma(2, 10)")
    axes[2].axvline(TRUE_LENGTHSCALE, color="0.2", ls="--", label="true θ = 0.1")
    axes[2].set(
        title="(c) posterior of the lengthscale",
        xlabel="θ",
        ylabel="density",
        xlim=(0, max(1.0, float(np.max(result["lengthscales"])) * 1.05)),
    )
    axes[2].legend(fontsize=8)
    return figure
