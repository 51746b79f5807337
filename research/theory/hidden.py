"""A function on which the default without patrols has linear regret and the default has not:
python -m research.theory.hidden [--trials 2000]; results in research/theory/
hidden.json, the picture in docs/theory.md.

The function is made of a run. The default without patrols, and so without the leash, runs on
f_0, which is smooth. f is f_0 plus a bump (1 − u²)⁴ in the widest hole that this run left around
one of the first patrol points, so narrow that the run never entered it: every value it saw is one
of f too, and it would do the same on f.

``--leash``: patrols at a rate at which the leash acts within 2,000 decisions. A rule that always
wants the worst point, with and without the leash (docs/figures/leash.png), and the default on
single bumps.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import noregret as nr
from noregret.space import Array, Inputs, SearchSpace, Space
from noregret.strategies import Strategy
from noregret.strategies.base import default_initial_points
from noregret.strategies.exploration import MEAN, Leash, patrol_point
from noregret.strategies.insured import SHIFT
from noregret.study import Progress
from noregret.trials import History, Proposal

ROOT = Path(__file__).resolve().parents[2]
RESULT = Path(__file__).resolve().with_name("hidden.json")
PICTURE = ROOT / "docs" / "figures" / "hidden.png"
LEASH = PICTURE.with_name("leash.png")
HEIGHT = 2.0  # of the bump; f_0 is between −1 and 1
ASIDE = 0.25  # of its radius: the patrol point is not its top
FORCED = 4.0  # patrols of t decisions over t^(2/3), where the leash is to act
PATROLLED = 0.1  # of the trials: the patrol must have come by then


class Unpatrolled(nr.InsuredGPUCB):
    """The default without patrols, and so without the leash."""

    def patrols(self, t: int) -> int:
        return 0


class Forced(nr.InsuredGPUCB):
    """The default with so many patrols that the leash acts."""

    def patrols(self, t: int) -> int:
        return math.floor(FORCED * t ** (2 / 3))


class Unleashed(Forced):
    """Without the leash."""

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        with patch.object(Leash, "from_patrols", lambda *_: None):
            return Forced.propose(self, space, history, rng)


def smooth(x: float) -> float:
    """f_0: two hills of different height."""
    return math.sin(2 * math.pi * 2.2 * x + 0.3) * (0.3 + 0.7 * x)


def with_bump(centre: float, radius: float) -> Callable[[float], float]:
    """f: above f_0 inside the radius only."""

    def value(x: float) -> float:
        u = (x - centre) / radius
        return smooth(x) + (HEIGHT * (1 - u**2) ** 4 if abs(u) < 1 else 0.0)

    return value


def run(
    function: Callable[[float], float], strategy: Strategy, trials: int, bar: Progress
) -> tuple[list[float], list[float], Array]:
    """The points and their values, without noise, and where the patrols' sequence starts."""
    study = nr.Study([(0.0, 1.0)], "maximize", strategy, seed=0)
    points, values = [], []
    for _ in range(trials):
        trial = study.ask()
        points.append(float(trial.params[0]))
        values.append(function(points[-1]))
        study.tell(trial, values[-1])
        bar.advance(type(strategy).__name__)
    return points, values, np.array(study.trials[0].decision.payload[SHIFT])


def patrolled(trials: int, shift: Array) -> Array:
    """The patrols of the first tenth. The initial design is the sequence's beginning."""
    line = Space.from_bounds([(0.0, 1.0)])
    inputs, count = Inputs(line), max(nr.InsuredGPUCB().patrols(int(PATROLLED * trials)), 1)
    first = default_initial_points(inputs.count, "spread")
    numbers = range(first, first + count)
    return np.array([patrol_point(line, inputs, number, shift)[0] for number in numbers])


def hole(points: Array, walked: Array) -> tuple[float, float]:
    """Centre and radius of the bump: the widest hole around a patrol."""
    gaps = np.array([np.abs(points - z).min() for z in walked])
    best = int(np.argmax(gaps))
    radius = float(gaps[best]) / (1 + ASIDE)
    return float(walked[best]) + ASIDE * radius, radius


def measure(trials: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    with Progress(2 * trials, "hidden ") as bar:
        points, without, shift = run(smooth, Unpatrolled(), trials, bar)
        centre, radius = hole(np.array(points), patrolled(trials, shift))
        function = with_bump(centre, radius)
        assert [function(x) for x in points] == without  # it never entered the bump
        with_patrols = run(function, nr.InsuredGPUCB(), trials, bar)[1]
    line = np.linspace(centre - radius, centre + radius, 20_001)
    maximum = max(function(float(x)) for x in line)
    return {
        "trials": trials,
        "centre": centre,
        "radius": radius,
        "maximum": maximum,
        "regret": {
            name: [float(f"{maximum - value:.4g}") for value in values]
            for name, values in (("without patrols", without), ("the default", with_patrols))
        },
    }


def stubborn(trials: int, is_leashed: bool) -> list[float]:
    """Regret on f(x) = x, with noise 0.1, of patrols and a rule that wants x = 0 at all other
    times; leashed, the nearest point that it may take.
    """
    line = Space.from_bounds([(0.0, 1.0)])
    inputs, free = Inputs(line), np.ones(1, dtype=np.bool_)
    rng, shift, grid = np.random.default_rng(0), np.array([0.5]), np.linspace(0, 1, 1001)[:, None]
    forced, values, regret, wanted = Forced(), list[float](), list[float](), 0.0
    for t in range(1, trials + 1):
        x = wanted
        if forced.patrols(t) > forced.patrols(t - 1):
            X = np.array([patrol_point(line, inputs, i, shift) for i in range(len(values) + 1)])
            x = float(X[-1, 0])
            values.append(x + 0.1 * rng.standard_normal())
            if is_leashed:
                leash = Leash.of(X, np.array(values), free, 1)
                wanted = float(grid[np.argmax(leash.allows(grid)), 0])
        regret.append(1.0 - x)
    return regret


def bump(seed: int, strategy: Strategy, trials: int) -> list[float]:
    """Regret on one bump of width 0.1 in a flat square, exact values."""
    centre = np.random.default_rng(seed).uniform(0.15, 0.85, 2)
    study, regret = nr.Study([(0.0, 1.0)] * 2, "maximize", strategy, seed), []
    for _ in range(trials):
        trial = study.ask()
        value = math.exp(-50 * float(np.sum((trial.params - centre) ** 2)))
        study.tell(trial, value)
        regret.append(1.0 - value)
    return regret


def leash_picture(trials: int, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
    for name, is_leashed in (("without the leash", False), ("with the leash", True)):
        axis.plot(np.cumsum(stubborn(trials, is_leashed)), lw=2, label=name)
    acts = next(t for t in range(trials) if Forced().patrols(t) >= MEAN)
    axis.axvline(acts, color="0.6", ls=":", label=f"{MEAN} patrols")
    axis.set(title="a rule that wants the worst point", xlabel="trials", ylabel="cumulative regret")
    axis.grid(alpha=0.25)
    axis.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def halves(regret: list[float]) -> tuple[float, float]:
    """Cumulative regret of the first half and of the second: equal, it is linear."""
    middle = len(regret) // 2
    return sum(regret[:middle]), sum(regret[middle:])


def picture(result: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    line = np.union1d(
        np.linspace(0, 1, 2001),
        result["centre"] + result["radius"] * np.linspace(-1.1, 1.1, 201),
    )
    function = with_bump(result["centre"], result["radius"])
    left.plot(line, [function(float(x)) for x in line], "k", lw=1)
    left.set(title="f: smooth, and a bump in a hole", xlabel="x", ylabel="f(x)")
    for name, regret in result["regret"].items():
        right.plot(np.cumsum(regret), lw=2, label=name)
    right.set(title="cumulative regret", xlabel="trials")
    right.legend()
    for axis in (left, right):
        axis.grid(alpha=0.25)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="research.theory.hidden", description="Linear regret without patrols."
    )
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    parser.add_argument("--report", action="store_true", help="only draw the results again")
    parser.add_argument("--leash", action="store_true", help="a forced rate of patrols")
    options = parser.parse_args()
    if options.leash:
        for is_leashed in (False, True):
            first, second = halves(stubborn(options.trials, is_leashed))
            print(f"leash {is_leashed}: first half {first:.0f}, second {second:.0f}")
        leash_picture(options.trials, LEASH)
        for seed in range(8):
            last = [sum(bump(seed, each(), 400)[200:]) / 200 for each in (Unleashed, Forced)]
            print(
                f"bump {seed}: mean regret {last[0]:.4f} without the leash, {last[1]:.4f} with it"
            )
        return 0
    if options.report:
        picture(json.loads(RESULT.read_text(encoding="utf-8")), PICTURE)
        return 0
    result = measure(options.trials)
    print(f"bump at {result['centre']:.4f}, radius {result['radius']:.4f}")
    for name, regret in result["regret"].items():
        print(f"{name}: first half {halves(regret)[0]:.1f}, second {halves(regret)[1]:.1f}")
    if not options.dry:
        RESULT.write_text(json.dumps(result) + "\n", encoding="utf-8")
        picture(result, PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
