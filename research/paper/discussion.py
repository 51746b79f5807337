"""The paper's last pages, measured: on a function made for each extension, ours with it beside
ours without, log-EI, and two peers where they are installed. docs/extensions.md shows the figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import noregret as nr
from noregret.extensions import Additive, Smoothness, Sparse, Warping
from noregret.extensions.randomised_gp_ucb import PRACTICAL
from noregret.gp import Matern, covariance
from noregret.rkhs import Ladder, MinimumStd, Shortening
from noregret.space import Array, Space
from noregret.strategies import Strategy
from noregret.strategies.surrogate import PLAIN
from noregret.testing import rkhs_sample
from research.benchmarks.players import Ours, peer_python, player
from research.benchmarks.problem import Problem
from research.paper.runner import Job, Options, Result

NAME, TITLE = "discussion", "The paper's last pages"
PEERS = {"Optuna TPE": "optuna_tpe", "Optuna GP": "optuna_gp"}
SLOW = {"Optuna GP": 2}  # a minute per run: on so many functions of a panel

# -- functions made for each --


def nonstationary(index: int) -> Problem:
    """A broad hill on a log scale of each of three inputs, of which nobody said so."""
    at = np.random.default_rng([index, 41]).uniform(-2.5, -1.2, 3)

    def value(x: Array) -> float:
        return float(np.exp(-0.5 * np.sum((np.log10(np.maximum(x, 0.0) + 1e-3) - at) ** 2)))

    return _boxed(f"nonstationary-{index}", 3, value, 1.0, 50)


def rough(index: int) -> Problem:
    """In the space of Matérn ½: continuous, with kinks everywhere."""
    rng = np.random.default_rng([index, 42])
    Z, weights, theta = rng.random((40, 2)), rng.standard_normal(40), np.array([0.4, 0.4])

    def value(x: Array) -> float:
        return float((covariance(Matern(0.5), theta, np.atleast_2d(x), Z) @ weights)[0])

    center, step, top = np.full(2, 0.5), 0.5, max(value(z) for z in Z)  # at a kink, or between
    for _ in range(6):
        axis = np.linspace(-step, step, 61)
        cloud = np.clip(center + np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2), 0, 1)
        found = covariance(Matern(0.5), theta, cloud, Z) @ weights
        center, step = cloud[int(np.argmax(found))], step / 8
        top = max(top, float(found.max()))
    return _boxed(f"rough-{index}", 2, value, top, 40)


def additive(index: int) -> Problem:
    """A sum of ten functions of one input each."""
    rng = np.random.default_rng([index, 43])
    at, width = rng.uniform(0.1, 0.9, 10), rng.uniform(0.1, 0.3, 10)

    def value(x: Array) -> float:
        return float(np.mean(np.exp(-0.5 * ((x - at) / width) ** 2)))

    return _boxed(f"additive-{index}", 10, value, 1.0, 70)


def sparse(index: int) -> Problem:
    """Three of fifty inputs matter, each as much: a random function of them."""
    active = np.random.default_rng([index, 44]).permutation(50)[:3]
    f = rkhs_sample(index, dimension=3, lengthscale=0.3, norm=3.0)
    return _boxed(f"sparse-{index}", 50, lambda x: float(f(x[active])), f.maximum, 70)


def branches(index: int) -> Problem:
    """Five branches with two inputs of their own, and two inputs that do the same in all."""
    rng = np.random.default_rng([index, 46])
    own = {kind: (f"{kind}1", f"{kind}2") for kind in "abcde"}
    names = ("u", "v", *(name for both in own.values() for name in both))
    place = dict(zip(names, rng.uniform(0.15, 0.85, 12), strict=True))
    height = dict(zip(own, rng.permutation([1.0, 0.85, 0.7, 0.55, 0.4]), strict=True))
    kinds = {kind: {name: nr.Float(0, 1) for name in both} for kind, both in own.items()}
    space = Space({"u": nr.Float(0, 1), "v": nr.Float(0, 1), "kind": nr.Branch(kinds)})

    def hill(params: Any, names: Iterable[str]) -> float:
        return math.exp(-sum((params[name] - place[name]) ** 2 for name in names) / 0.1)

    def value(params: Any) -> float:
        kind = params["kind"]
        return 0.5 * hill(params, "uv") + 0.5 * float(height[kind]) * hill(params, own[kind])

    return Problem(f"branches-{index}", NAME, space, value, 1.0, 60)


def smooth(index: int) -> Problem:
    f = rkhs_sample(index, lengthscale=0.15, norm=2.0)
    return _boxed(f"smooth-{index}", 1, lambda x: float(f(x)), f.maximum, 40, 0.05)


def many(index: int) -> Problem:
    f = rkhs_sample(index, dimension=2, lengthscale=0.2, norm=2.0)
    return _boxed(f"many-{index}", 2, lambda x: float(f(x)), f.maximum, 50, 0.05)


def _boxed(
    name: str,
    d: int,
    value: Callable[[Array], float],
    maximum: float,
    trials: int,
    noise: float = 0.0,
) -> Problem:
    space = Space.from_bounds([(0.0, 1.0)] * d)
    return Problem(name, NAME, space, value, maximum, trials, noise)


# -- who plays where; the first of each is the extension --

OURS: dict[str, Callable[[], Strategy]] = {"default": nr.InsuredGPUCB, "log-EI": nr.LogEI}
R = 0.05
RULE: dict[str, Any] = {"noise_std": R, "width": "mixture", "norm_power": "tight"}
PANELS: dict[str, tuple[str, Callable[[int], Problem], dict[str, Callable[[], Strategy]]]] = {
    "warping": (
        "bent inputs",
        nonstationary,
        {"with warping": lambda: nr.InsuredGPUCB(surrogate=Warping()), **OURS},
    ),
    "smoothness": (
        "a rough function",
        rough,
        {"with smoothness": lambda: nr.InsuredGPUCB(surrogate=Smoothness()), **OURS},
    ),
    "additive": (
        "a sum over ten inputs",
        additive,
        {"with sums": lambda: nr.InsuredGPUCB(surrogate=Additive()), **OURS},
    ),
    "sparse": (
        "three of fifty inputs",
        sparse,
        {
            "with sparsity": lambda: nr.InsuredGPUCB(surrogate=Sparse()),
            "in a subspace": nr.Subspace,
            **OURS,
        },
    ),
    "branches": (
        "five branches",
        branches,
        {
            "sum over branches": nr.InsuredGPUCB,
            "kernel of all inputs": lambda: nr.InsuredGPUCB(surrogate=PLAIN),
            "log-EI": nr.LogEI,
        },
    ),
    "algorithms": (
        "other algorithms, one input",
        smooth,
        {
            "A-GP-TS": nr.AdaptiveThompson,
            "random width": nr.RandomisedGPUCB,
            "A-GP-UCB": lambda: PRACTICAL,
        },
    ),
    "rules": (
        "rules, two inputs",
        many,
        {
            "2^(1/d)": lambda: nr.AdaptiveGPUCB(
                widening=Shortening(2.0, 0.2), estimation=None, **RULE
            ),
            "2 as printed": lambda: nr.AdaptiveGPUCB(
                widening=Shortening(2.0, 0.2, printed=True), estimation=None, **RULE
            ),
            "1.1^(1/d)": lambda: nr.AdaptiveGPUCB(
                widening=Shortening(1.1, 0.2), estimation=None, **RULE
            ),
            "κ with a lower bound": lambda: nr.AdaptiveGPUCB(
                widening=MinimumStd(0.2, largest=10.0), estimation=None, **RULE
            ),
        },
    ),
    "rigorous": (
        "rigorous, one input",
        smooth,
        {
            "R from repeats": lambda: nr.AdaptiveGPUCB.rigorous(norm_bound=2.0),
            "ladder": lambda: nr.AdaptiveGPUCB.rigorous(R, norm_bound=2.0, kernel=Ladder()),
            "R given, SE": lambda: nr.AdaptiveGPUCB.rigorous(R, norm_bound=2.0),
        },
    ),
}
AGAINST_PEERS = ("warping", "smoothness", "additive", "sparse", "branches")


def peers() -> list[str]:
    """Those whose environment is there (``make bench-peers``)."""
    found = []
    for name, module in PEERS.items():
        try:
            peer_python(module)
        except RuntimeError:
            continue
        found.append(name)
    return found


def peers_of(panel: str, seed: int) -> list[str]:
    """None where ours are compared with ours; a slow one on few functions, and not in fifty
    inputs.
    """
    if panel not in AGAINST_PEERS:
        return []
    return [
        name for name in peers() if name not in SLOW or (panel != "sparse" and seed < SLOW[name])
    ]


def jobs(options: Options) -> list[Job]:
    seeds, iterations = options.pick((5, 1), (70, 40))
    return [
        Job(f"{panel}: {method}", seed, iterations, options.noise_std, options.quick)
        for seed in range(seeds)
        for panel, (_, _, methods) in PANELS.items()
        for method in [*methods, *(peers_of(panel, seed))]
    ]


def run(job: Job) -> Result:
    """The simple regret after every trial, the same initial points and noise for all."""
    panel, method = job.method.split(": ", 1)
    _, make, methods = PANELS[panel]
    problem = make(job.seed)
    playing = (
        nullcontext(Ours(methods[method](), problem, job.seed))
        if method in methods
        else player(PEERS[method], problem, job.seed, own_start=False)
    )
    values: list[float] = []
    # strategies that measure points twice first need their own initial design
    own = panel == "rigorous"
    points = iter([] if own else problem.initial_points(job.seed))
    with playing as optimizer:
        for index in range(min(job.iterations, problem.trials)):
            params = next(points, None)
            if params is None:
                params = optimizer.ask()
            values.append(problem.value(params))
            optimizer.tell(params, problem.measure(params, index, job.seed), [])
    best = problem.maximum - np.maximum.accumulate(values)
    total = np.cumsum(problem.maximum - np.array(values))
    return {"simple": best.tolist(), "cumulative": total.tolist()}


def summarise(results: dict[Job, Result]) -> dict[str, Any]:
    """Medians over the seeds at the end, by panel and method."""
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for panel in PANELS:
        rows[panel] = {}
        for method in dict.fromkeys(
            job.method.split(": ", 1)[1] for job in results if job.method.startswith(f"{panel}: ")
        ):
            runs = [r for job, r in results.items() if job.method == f"{panel}: {method}"]
            rows[panel][method] = {
                "runs": len(runs),
                "simple_regret": float(np.median([each["simple"][-1] for each in runs])),
                "cumulative_regret": float(np.median([each["cumulative"][-1] for each in runs])),
                "ends": [float(f"{each['simple'][-1]:.4g}") for each in runs],
            }
    return {"panels": rows}


def draw(results: dict[Job, Result]) -> Figure:
    figure, axes = plt.subplots(2, 4, figsize=(14, 6.4), layout="constrained")
    flat = axes.ravel()
    for axis, (panel, (title, _, _)) in zip(flat, PANELS.items(), strict=False):
        chosen = [job for job in results if job.method.startswith(f"{panel}: ")]
        for method in dict.fromkeys(job.method for job in chosen):
            curves = np.array([results[job]["simple"] for job in chosen if job.method == method])
            middle = np.maximum(np.median(curves, axis=0), 1e-4)
            axis.plot(np.arange(1, len(middle) + 1), middle, label=method.split(": ", 1)[1], lw=1.6)
        axis.set(title=title, xlabel="trials", yscale="log")
        axis.grid(alpha=0.25)
        axis.legend(fontsize=7)
    for axis in flat[len(PANELS) :]:
        axis.set_axis_off()
    axes[0, 0].set_ylabel("simple regret, median")
    axes[1, 0].set_ylabel("simple regret, median")
    return figure
