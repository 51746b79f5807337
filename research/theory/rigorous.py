"""What `rigorous` costs and captures: ``python -m research.theory.rigorous`` prints the tables of
docs/theory.md#measured that are about the strategies themselves.

regret   cumulative regret, regret of the recommended point and certificate at the end, and whether
         the class of the last decision contains f: bump, figure 5, random functions
capture  d = 2, θ_0/θ = 5, B_0 = 1, ‖f‖ = 3, R = .05: the first trial at which the class contains f
cost     the paper's rule with the printed width and with the proved one, and the rigorous preset:
         figures 4 and 5 and random functions, θ_0 = 1, B_0 = 2; cumulative regret, and the runs in
         which no evaluated point came within a tenth of the range of f

The norm of f at any lengthscales is exact, so containment is no estimate.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import noregret as nr
from noregret.errors import GuaranteeWarning
from noregret.strategies import Strategy
from noregret.testing.problems import RKHSFunction, bump, rkhs_sample

STARTS = 10  # runs of each strategy in ``cost``


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    functions: tuple[RKHSFunction, ...]
    trials: int
    noise: float
    norm_bound: float = 1.0
    dimension: int = 1


def settings() -> list[Setting]:
    """θ_0 = 1 throughout."""
    rough = tuple(rkhs_sample(seed, lengthscale=0.1, norm=4.0) for seed in range(10))
    line = tuple(rkhs_sample(seed, lengthscale=0.2, norm=2.0) for seed in range(10))
    plane = tuple(rkhs_sample(seed, dimension=2, lengthscale=0.3, norm=3.0) for seed in range(10))
    return [
        Setting("bump", (bump(),) * 10, 60, 0.05),
        Setting("figure 5", rough, 60, 0.05, norm_bound=0.25),
        Setting("θ = .2, norm 2, d = 1", line, 40, 0.1),
        Setting("θ = .3, norm 3, d = 2", plane, 60, 0.05, dimension=2),
    ]


def contains(f: RKHSFunction, decided: nr.Trial) -> bool:
    """Whether the class of a decision does; a function has no norm at lengthscales √2 times its
    own and longer.
    """
    recorded = decided.decision.payload
    theta = np.array(recorded["lengthscales"])
    if not np.all(theta < math.sqrt(2) * f.lengthscales):
        return False
    return f.norm_at(theta) <= float(recorded["norm_bound"] * recorded["scale"]) * (1 + 1e-9)


def play(
    f: RKHSFunction, seed: int, trials: int, noise: float, strategy: Strategy, dimension: int
) -> nr.Study:
    rng = np.random.default_rng([seed, 4])
    study = nr.Study([(0, 1)] * dimension, "maximize", strategy=strategy, seed=seed)
    return study.run(lambda x: float(f(x)) + noise * float(rng.standard_normal()), trials)


def regret(setting: Setting) -> str:
    rows = []
    for seed, f in enumerate(setting.functions):
        bound = setting.norm_bound
        strategy = nr.AdaptiveGPUCB.rigorous(setting.noise, norm_bound=bound, lengthscales=1.0)
        study = play(f, seed, setting.trials, setting.noise, strategy, setting.dimension)
        best = f.maximum
        cumulative = sum(best - float(f(np.asarray(t.params))) for t in study.trials)
        certificate = study.certificate()
        last = best - float(f(np.asarray(certificate.params)))
        rows.append((cumulative, last, certificate.regret_bound, contains(f, study.trials[-1])))
    means = np.mean([row[:3] for row in rows], axis=0)
    error = np.std([row[0] for row in rows], ddof=1) / math.sqrt(len(rows))
    held = sum(row[3] for row in rows)
    return (
        f"{setting.name}: cumulative {means[0]:.1f} ± {error:.1f}, regret of x̂ {means[1]:.3f},"
        f" certificate {means[2]:.2f}, contained {held} of {len(rows)}"
    )


def capture(seed: int, longest: int = 200, after: int = 40) -> tuple[int | None, int, int]:
    """The first trial whose class contains f, and of the ``after`` next decisions how many do."""
    f, noise = rkhs_sample(seed, dimension=2, lengthscale=0.2, norm=3.0), 0.05
    rng = np.random.default_rng([seed, 4])
    strategy = nr.AdaptiveGPUCB.rigorous(noise, norm_bound=1.0, lengthscales=1.0)
    study = nr.Study([(0, 1)] * 2, "maximize", strategy=strategy, seed=seed)
    first, held, looked = None, 0, 0
    for number in range(longest):
        trial = study.ask()
        if trial.decision.model is not None:
            inside = contains(f, trial)
            if first is None and inside:
                first = number
            elif first is not None:
                held, looked = held + inside, looked + 1
                if looked == after:
                    break
        study.tell(trial, float(f(np.asarray(trial.params))) + noise * rng.standard_normal())
    return first, held, looked


COSTS: dict[str, Callable[[float], Strategy]] = {
    "printed": lambda noise: nr.AdaptiveGPUCB.paper(noise),
    "proved": lambda noise: nr.AdaptiveGPUCB.paper(noise, width="radius"),
    "rigorous": lambda noise: nr.AdaptiveGPUCB.rigorous(noise, norm_bound=2.0, lengthscales=1.0),
}


def compared() -> list[Setting]:
    """Figures 4 and 5, and ten random functions in one, two and three inputs."""
    figure_4, figure_5, line, plane = settings()
    space = tuple(rkhs_sample(seed, dimension=3, lengthscale=0.4, norm=3.0) for seed in range(10))
    return [figure_4, figure_5, line, plane, Setting("d = 3", space, 80, 0.05, dimension=3)]


def cost(setting: Setting, starts: int) -> str:
    """Mean cumulative regret of each strategy, and in how many runs it was stuck."""
    lines, d = [setting.name], setting.dimension
    for name, strategy_for in COSTS.items():
        total, stuck = [], 0
        for seed, f in enumerate(setting.functions[:starts]):
            study = play(f, seed, setting.trials, setting.noise, strategy_for(setting.noise), d)
            regrets = np.array([f.maximum - float(f(np.asarray(t.params))) for t in study.trials])
            cloud = f(np.random.default_rng(0).random((2_000, d)))
            stuck += bool(regrets.min() > 0.1 * (f.maximum - float(cloud.min())))
            total.append(float(regrets.sum()))
        error = np.std(total, ddof=1) / math.sqrt(len(total))
        lines.append(f"  {name}: {np.mean(total):.1f} ± {error:.1f}, stuck {stuck} of {len(total)}")
    return "\n".join(lines)


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["regret", "capture", "cost"]
    if "cost" in chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuaranteeWarning)  # of the printed width
            for setting in compared():
                print(cost(setting, STARTS), flush=True)
    if "regret" in chosen:
        for setting in settings():
            print(regret(setting), flush=True)
    if "capture" in chosen:
        for seed in range(10):
            first, held, looked = capture(seed)
            print(f"seed {seed}: first {first}, then {held} of {looked}", flush=True)
