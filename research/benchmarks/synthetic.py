"""Made-up functions: suites needle, high, mixed, faults and laboratory, and what they are made of.

Functions of the literature are maximised as −f, on the ranges of the literature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import gamma

from noregret.space import Array, Choice, Float, Int, Parameter, Space
from noregret.testing import rkhs_sample
from research.benchmarks.problem import Problem


def needle(index: int) -> Problem:
    """Smooth nearly everywhere, one narrow bump that holds the maximum: the paper's figure 2,
    randomised.
    """
    rng = np.random.default_rng([index, 31])
    d = 1 + index % 3
    width = rng.uniform(0.05, 0.09) * (1.0, 1.7, 2.4)[d - 1]
    direction = rng.standard_normal(d)
    direction /= np.abs(direction).sum()
    hill = np.where(direction > 0, 1.0, 0.0)  # the corner that the trend leads to
    centre = rng.uniform(0.15, 0.85, d)
    while np.linalg.norm(centre - hill) < 0.4:
        centre = rng.uniform(0.15, 0.85, d)
    gap, curve = rng.uniform(0.2, 0.5), rng.uniform(0.0, 0.3)
    noise = float(rng.choice([0.0, 0.02, 0.05]))

    def trend(x: Array) -> float:
        u = float(direction @ (x - hill)) + 1.0  # 1 at the hill, 0 at the opposite corner
        return u - curve * u * (1 - u)

    height = 1.0 + gap - trend(centre)

    def value(x: Array) -> float:
        return trend(x) + height * float(np.exp(-0.5 * np.sum((x - centre) ** 2) / width**2))

    cloud = np.clip(centre + width * np.random.default_rng(0).uniform(-1, 1, (4000, d)), 0, 1)
    top = cloud[int(np.argmax([value(x) for x in cloud]))]
    for scale in (0.1, 0.01, 0.001):
        cloud = np.clip(
            top + scale * width * np.random.default_rng(1).uniform(-1, 1, (1000, d)), 0, 1
        )
        top = max([top, *cloud], key=value)
    maximum = value(top)
    return Problem(
        f"needle-{index}-d{d}",
        "needle",
        Space.from_bounds([(0.0, 1.0)] * d),
        value,
        maximum,
        50 * d,
        noise,
        (maximum - 1.0) / 2,
    )


def rkhs(index: int) -> Problem:
    """A random function of norm 4 with a lengthscale between 0.05 and 0.5 (d = 1), 0.15 and 0.5
    above.
    """
    rng = np.random.default_rng([index, 32])
    d = 1 + index % 3
    lengthscale = float(np.exp(rng.uniform(np.log((0.05, 0.15, 0.2)[d - 1]), np.log(0.5))))
    f = rkhs_sample(index, dimension=d, lengthscale=lengthscale, norm=4.0)
    noise = float(rng.choice([0.0, 0.05]))
    return Problem(
        f"rkhs-{index}-d{d}",
        "rkhs",
        Space.from_bounds([(0.0, 1.0)] * d),
        lambda x: float(f(x)),
        f.maximum,
        30 + 20 * d,
        noise,
    )


def branin(x: Array) -> float:
    a, b = x
    return float(
        (b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6) ** 2
        + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a)
        + 10
    )


_H3_A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
_H3_P = 1e-4 * np.array(
    [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
)
_H6_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_H6_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
_H_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])


def hartmann3(x: Array) -> float:
    return float(-_H_ALPHA @ np.exp(-np.sum(_H3_A * (x - _H3_P) ** 2, axis=1)))


def hartmann6(x: Array) -> float:
    return float(-_H_ALPHA @ np.exp(-np.sum(_H6_A * (x - _H6_P) ** 2, axis=1)))


def ackley(x: Array) -> float:
    return float(
        -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
        - np.exp(np.mean(np.cos(2 * np.pi * x)))
        + 20
        + np.e
    )


def rastrigin(x: Array) -> float:
    return float(10 * len(x) + np.sum(x**2 - 10 * np.cos(2 * np.pi * x)))


def levy(x: Array) -> float:
    w = 1 + (x - 1) / 4
    middle = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2))
    return float(
        np.sin(np.pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
    )


def rosenbrock(x: Array) -> float:
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def michalewicz(x: Array) -> float:
    i = np.arange(1, len(x) + 1)
    return float(-np.sum(np.sin(x) * np.sin(i * x**2 / np.pi) ** 20))


def styblinski_tang(x: Array) -> float:
    return float(0.5 * np.sum(x**4 - 16 * x**2 + 5 * x))


def shifted(function: Callable[[Array], float], shift: float) -> Callable[[Array], float]:
    """Optimum off the centre, where some optimizers start."""
    return lambda x: function(x - shift)


# name: function, bounds, minimum, trials, noise std of the noisy version (about 2 % of the typical
# range)
STANDARD: dict[
    str, tuple[Callable[[Array], float], list[tuple[float, float]], float, int, float]
] = {
    "Branin": (branin, [(-5, 10), (0, 15)], 0.397887, 60, 1.0),
    "Hartmann-3": (hartmann3, [(0, 1)] * 3, -3.86278, 60, 0.05),
    "Hartmann-6": (hartmann6, [(0, 1)] * 6, -3.32237, 100, 0.05),
    "Ackley-5": (shifted(ackley, 3.7), [(-15, 15)] * 5, 0.0, 100, 0.3),
    "Rastrigin-4": (shifted(rastrigin, 1.3), [(-5.12, 5.12)] * 4, 0.0, 100, 1.0),
    "Levy-4": (levy, [(-10, 10)] * 4, 0.0, 80, 0.5),
    "Rosenbrock-4": (rosenbrock, [(-2.048, 2.048)] * 4, 0.0, 80, 5.0),
    "Michalewicz-5": (michalewicz, [(0, np.pi)] * 5, -4.687658, 100, 0.05),
    "Styblinski–Tang-5": (styblinski_tang, [(-5, 5)] * 5, -39.166165 * 5, 100, 3.0),
}


def standard(name: str, noisy: bool) -> Problem:
    function, bounds, minimum, trials, noise = STANDARD[name]
    full = f"{name}{' noisy' if noisy else ''}"
    return Problem(
        full,
        "standard",
        Space.from_bounds(bounds),
        lambda x: -function(x),
        -minimum,
        trials,
        noise if noisy else 0.0,
    )


def high(name: str) -> Problem:
    """Few active inputs among 20 or 50, in places that depend on the name."""
    base, total = name.split("/")
    function, bounds, minimum, _, _ = STANDARD[base]
    d = int(total)
    active = np.random.default_rng(d).permutation(d)[: len(bounds)]
    every = [(0.0, 1.0)] * d
    low, high_ = np.array(bounds, dtype=float).T

    def value(x: Array) -> float:
        return -function(low + (high_ - low) * x[active])

    return Problem(f"{base} in {d}", "high", Space.from_bounds(every), value, -minimum, 100)


HIGH = ("Branin/20", "Hartmann-6/20", "Hartmann-3/50", "Hartmann-6/50")
TUNING_HIGH = ("Levy-4/20", "Rosenbrock-4/20", "Hartmann-6/30", "Branin/40")

# -- mixed inputs --

# of the range: a run that ends farther below the maximum settled for the wrong choice or place
OFF = 0.1


def mixed(index: int) -> Problem:
    """One broad peak per combination of options, its place and height moved by each option; range 0
    to 1.

    Three to ten inputs, one to three of them choices; every third number input of some problems is
    an Int. In a trap (every third problem, up to six inputs) the best option of the first choice is
    worse by 0.5 or more nearly everywhere, and has a narrower peak of its own that holds the
    maximum, 0.25 above any other.
    """
    rng = np.random.default_rng([index, 33])
    trap = index % 3 == 0
    inputs = 3 + index // 3 % 4 if trap else 3 + index % 8
    choices = min(1 + index % 2 if trap else 1 + index // 2 % 3, inputs - 2)
    options = [int(rng.integers(3 if trap else 2, 6)) for _ in range(choices)]
    ordered = rng.random(inputs - choices) < 0.3
    steps = rng.integers(3, 12, inputs - choices)
    noise = float(rng.choice([0.0, 0.02, 0.05]))
    parameters: dict[str, Parameter] = {
        f"c{j}": Choice([f"option {k}" for k in rng.permutation(count)])
        for j, count in enumerate(options)
    }
    for i, (whole, count) in enumerate(zip(ordered, steps, strict=True)):
        parameters[f"x{i}"] = Int(0, int(count)) if whole else Float(0.0, 1.0)
    m = inputs - choices
    centre = rng.uniform(0.25, 0.75, m)
    moves = [rng.uniform(-0.2, 0.2, (count, m)) for count in options]
    costs = [np.concatenate([[0.0], rng.uniform(0.1, 0.4, count - 1)]) for count in options]
    width = rng.uniform(0.3, 0.5, m) * np.sqrt(m)
    hidden = rng.uniform(0.15, 0.85, m)
    share = rng.uniform(0.08, 0.15)  # of the option's space within one width of the narrow peak
    narrow = (share * gamma(m / 2 + 1)) ** (1 / m) / np.sqrt(np.pi)

    def parts(params: Any) -> tuple[list[int], Array]:
        picked = [int(params[f"c{j}"].removeprefix("option ")) for j in range(choices)]
        u = np.array([params[f"x{i}"] / (steps[i] if ordered[i] else 1.0) for i in range(m)])
        return picked, u

    def level(picked: list[int], u: Array) -> float:
        at = centre + sum(moves[j][k] for j, k in enumerate(picked))
        cost = sum(float(costs[j][k]) for j, k in enumerate(picked))
        return float(np.exp(-0.5 * np.sum(((u - at) / width) ** 2))) - cost / choices

    def raw(params: Any) -> float:
        picked, u = parts(params)
        if not trap:
            return level(picked, u)
        others = sum(float(costs[j][k]) for j, k in enumerate(picked[1:], 1)) / choices
        if picked[0] != 0:
            return level(picked, u)
        bump = float(np.exp(-0.5 * np.sum((u - hidden) ** 2) / narrow**2))
        height = 1.75 - 0.5 * level([0] * choices, hidden)
        return 0.5 * level(picked, u) - 0.5 + height * bump - others

    space = Space(parameters)
    low, high = _range(space, raw)
    return Problem(
        f"mixed-{index}",
        "mixed",
        space,
        lambda p: (raw(p) - low) / (high - low),
        1.0,
        20 + 10 * inputs,
        noise,
        OFF,
    )


def _range(space: Space, raw: Any) -> tuple[float, float]:
    """Lowest value seen, and the maximum: the best of a cloud, climbed from several starts by
    shrinking steps and jumps."""
    rng = np.random.default_rng(0)
    cloud = space.snap(rng.random((3000, space.dimension)))
    values = np.array([raw(space.decode(u)) for u in cloud])
    tops = []
    for start in np.argsort(-values)[:12]:
        u, best = cloud[start], float(values[start])
        scale = 0.2
        while scale > 1e-4:
            step = np.where(
                space.continuous, scale * rng.standard_normal((24, space.dimension)), 0.0
            )
            near = np.vstack([space.snap(np.clip(u + step, 0, 1)), space.jumps(u)])
            found = [raw(space.decode(v)) for v in near]
            if max(found) > best:
                u, best = near[int(np.argmax(found))], float(max(found))
            else:
                scale /= 2
        tops.append(best)
    return float(values.min()), max(tops)


# -- failing trials --

FAILING = 0.1  # of the space
CRASHES = 0.05  # of the evaluations, anywhere
OUTLIERS = 0.02  # of the values: lower by 3 to 30 times the spread of the values
FAULTS_OF = ("Hartmann-3", "Rosenbrock-4", "Styblinski–Tang-5", "Michalewicz-5", "Ackley-5")
TUNING_FAULTS_OF = ("Branin", "Hartmann-6", "Levy-4", "Rastrigin-4", "Branin")


def faultless(index: int) -> Problem:
    """Half of them mixed, a quarter random functions, a quarter standard ones; from 1000 on the
    tuning side."""
    if index % 2 == 0:
        return mixed(index)
    if index % 4 == 1:
        return rkhs(index)
    names = TUNING_FAULTS_OF if index >= 1000 else FAULTS_OF
    return standard(names[index // 4 % 5], noisy=True)


def faults(index: int) -> Problem:
    """What fails is beyond a plane that leaves the maximum at least 0.1 of the cube on the good
    side."""
    problem = faultless(index)
    space = problem.space
    rng = np.random.default_rng([index, 34])
    cloud = space.snap(rng.random((4000, space.dimension)))
    values = np.array([problem.value(space.decode(u)) for u in cloud])
    spread = float(np.std(values))
    top = cloud[np.argsort(-values)[:5]]
    for _ in range(200):
        direction = rng.standard_normal(space.dimension)
        direction /= np.linalg.norm(direction)
        cut = float(np.quantile(cloud @ direction, 1 - FAILING))
        if (top @ direction).max() < cut - 0.1:
            break

    def fails(params: Any, rng: np.random.Generator) -> bool:
        crashed = bool(rng.random() < CRASHES)
        return crashed or float(space.encode(params) @ direction) > cut

    def observe(params: Any, rng: np.random.Generator) -> float:
        value = problem.value(params) + problem.noise_std * float(rng.standard_normal())
        if rng.random() < OUTLIERS:
            value -= spread * float(np.exp(rng.uniform(np.log(3), np.log(30))))
        return value

    return replace(problem, name=f"faults-{index}", suite="faults", observe=observe, fails=fails)


# -- a laboratory --

SOLVENTS = ("water", "dmf", "toluene", "ethanol", "thf", "dioxane")
CATALYSTS = ("none", "Pd", "Ni", "Cu")
LABORATORY_OFF = 10.0  # per cent of yield: a run that ends farther below the maximum is off


def laboratories(first: int) -> list[str]:
    return [f"laboratory-{index}" for index in range(first, first + 8)]


def laboratory(name: str) -> Problem:
    """A reaction with solvents, catalysts and noise, as a chemist would enter it.

    Yield: a peak in temperature, time, concentration and ratio whose place and height depend on
    solvent and catalyst; each catalyst decays above a temperature of its own.
    """
    index = int(name.removeprefix("laboratory-"))
    rng = np.random.default_rng([index, 36])
    solvents = list(rng.permutation(SOLVENTS)[: rng.integers(3, 7)])
    catalysts = list(rng.permutation(CATALYSTS)[: rng.integers(2, 5)])
    centre = {s: rng.uniform(0.25, 0.75, 4) for s in solvents}
    height = {s: rng.uniform(0.3, 1.0) for s in solvents}
    factor = {c: rng.uniform(0.3, 1.0) for c in catalysts}
    move = {c: rng.uniform(-0.15, 0.15, 4) for c in catalysts}
    decay = {c: rng.uniform(0.6, 0.95) for c in catalysts}
    width = rng.uniform(0.25, 0.6, 4)

    def yield_of(solvent: str, catalyst: str, u: np.ndarray) -> np.ndarray:
        at = np.clip(centre[solvent] + move[catalyst], 0.1, 0.9)
        peak = np.exp(-0.5 * np.sum(((u - at) / width) ** 2, axis=-1))
        lost = 1 / (1 + np.exp(-25 * (u[..., 0] - decay[catalyst])))
        return 100 * height[solvent] * factor[catalyst] * peak * (1 - 0.8 * lost)

    space = Space(
        {
            "temperature": Float(20.0, 120.0),
            "minutes": Int(5, 240, log=True),
            "concentration": Float(0.01, 1.0, log=True),
            "equivalents": Float(1.0, 3.0),
            "solvent": Choice([str(s) for s in solvents]),
            "catalyst": Choice([str(c) for c in catalysts]),
        }
    )

    def value(p: Mapping[str, Any]) -> float:
        u = np.array(
            [
                (p["temperature"] - 20) / 100,
                np.log(p["minutes"] / 5) / np.log(48),
                np.log(p["concentration"] / 0.01) / np.log(100),
                (p["equivalents"] - 1) / 2,
            ]
        )
        return float(yield_of(p["solvent"], p["catalyst"], u))

    cloud = rng.random((200_000, 4))
    top = -np.inf
    for solvent in solvents:
        for catalyst in catalysts:
            values = yield_of(solvent, catalyst, cloud)
            best, found = cloud[int(np.argmax(values))], float(values.max())
            for scale in (0.03, 0.01, 0.003, 0.001):
                near = np.clip(best + scale * rng.standard_normal((2000, 4)), 0, 1)
                values = yield_of(solvent, catalyst, near)
                if values.max() > found:
                    best, found = near[int(np.argmax(values))], float(values.max())
            top = max(top, found)
    noise = float(rng.choice([0.5, 1.0, 2.0]))
    return Problem(name, "laboratory", space, value, top, 60, noise, LABORATORY_OFF)
