"""What figures 2–6 share: one run of a strategy on a function with a known maximum, and curves with
bands by method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

import noregret as nr
from noregret.space import Array
from noregret.strategies import Strategy
from noregret.testing import RKHSFunction
from noregret.theory import cumulative, simple
from research.paper.runner import Job, Result

STUCK = 0.1  # simple regret above this at the end: a local optimum

# colour and line by method: distinguishable in grey by the line
STYLES: dict[str, tuple[str, str]] = {
    "GP-UCB (true)": ("0.25", "--"),
    "GP-UCB (MAP)": ("#7b3294", (0, (1, 1))),  # type: ignore[dict-item]
    "GP-UCB (HMC)": ("#c51b1b", "-."),
    "GP-UCB (misspecified)": ("#c2379b", "-."),
    "κ rule (Wang & de Freitas)": ("#2f8f3a", (0, (5, 1, 1, 1, 1, 1))),  # type: ignore[dict-item]
    "A-GP-UCB (one step)": ("#e08214", "-"),
    "A-GP-UCB (bound)": ("#2166ac", (0, (3, 1))),  # type: ignore[dict-item]
    "A-GP-UCB (bound, anchored)": ("#0b2f63", "-"),
}


def regret_run(strategy: Strategy, f: RKHSFunction, job: Job) -> Result:
    """Simple and cumulative regret on the noise-free f, decisions only, and the effective scaling
    θ_0/θ_t with θ_0 = 1.
    """
    rng = np.random.default_rng([job.seed, 77])
    study = nr.Study([(0, 1)] * len(f.lengthscales), "maximize", strategy=strategy, seed=job.seed)
    initial = 2 ** len(f.lengthscales)
    study.run(
        lambda x: float(f(x)) + job.noise * rng.standard_normal(),
        job.iterations + initial,
        progress=False,
    )
    decisions = study.trials[initial:]
    values = np.array([float(f(trial.params)) for trial in decisions])
    recorded = [trial.decision.payload for trial in decisions]
    return {
        "simple": simple(values, f.maximum).tolist(),
        "cumulative": cumulative(values, f.maximum).tolist(),
        "scaling": [float(np.exp(-np.mean(np.log(each["lengthscales"])))) for each in recorded],
        "x": [float(trial.params[0]) for trial in decisions],
        "h": [each.get("h", 1.0) for each in recorded],
        "estimate": [_number(each.get("estimate")) for each in recorded],
        "reference": [_number(each.get("reference")) for each in recorded],
    }


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def stack(results: dict[Job, Result], method: str, quantity: str) -> Array:
    """(seeds, iterations)."""
    return np.array(
        [result[quantity] for job, result in results.items() if job.method == method],
        dtype=np.float64,
    )


def plot_band(axis: Axes, curves: Array, method: str, *, floor: float | None = None) -> None:
    """Mean and standard deviation over the seeds, as in the paper."""
    steps = np.arange(1, curves.shape[1] + 1)
    mean, spread = curves.mean(axis=0), curves.std(axis=0)
    color, line = STYLES[method]
    lower = mean - spread if floor is None else np.maximum(mean - spread, floor)
    axis.plot(steps, mean, linestyle=line, color=color, lw=1.8, label=method)
    axis.fill_between(steps, lower, mean + spread, color=color, alpha=0.13, lw=0)


def panels(
    axes: Sequence[Axes],
    results: dict[Job, Result],
    methods: Iterable[str],
    quantities: Sequence[tuple[str, str]],
) -> None:
    for axis, (quantity, label) in zip(axes, quantities, strict=True):
        for method in methods:
            plot_band(axis, stack(results, method, quantity), method, floor=0.0)
        axis.set(xlabel="iteration t", ylabel=label, xlim=(1, None), ylim=(0, None))
        axis.grid(alpha=0.25)


def by_method(results: dict[Job, Result], methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The numbers the page quotes, per method; lists have one entry per seed, in their order."""
    table = {}
    for method in methods:
        best, total = stack(results, method, "simple"), stack(results, method, "cumulative")
        last = min(50, total.shape[1] // 2)
        table[method] = {
            "seeds": len(best),
            "stuck": int((best[:, -1] > STUCK).sum()),
            "stuck_starts": (best[:, -1] > STUCK).tolist(),
            "simple_regret": spread(best[:, -1]),
            "cumulative_regret": spread(total[:, -1]),
            "found_at": [_first_below(row, 0.05) for row in best],
            "last_slope": ((total[:, -1] - total[:, -1 - last]) / last).tolist(),
            "first_slope": ((total[:, last] - total[:, 0]) / last).tolist(),
        }
        if "scaling" in next(iter(results.values())):
            scaling = stack(results, method, "scaling")
            table[method] |= {
                "final_scaling": spread(scaling[:, -1]),
                "scaling_jumps": np.mean(np.abs(np.diff(np.log(scaling), axis=1)), axis=1).tolist(),
            }
    return table


def _first_below(curve: Array, level: float) -> float:
    below = np.flatnonzero(curve < level)
    return float(below[0] + 1) if len(below) else math.inf


def spread(values: Array) -> dict[str, Any]:
    return {
        "mean": float(values.mean()),
        "std": float(values.std()),
        "median": float(np.median(values)),
        "min": float(values.min()),
        "max": float(values.max()),
        "values": values.tolist(),
    }


def seeded(methods: Iterable[str], seeds: int, make: Callable[[str, int], Job]) -> list[Job]:
    """Seeds in the outer loop: an interrupted run has all methods on fewer seeds."""
    return [make(method, seed) for seed in range(seeds) for method in methods]
