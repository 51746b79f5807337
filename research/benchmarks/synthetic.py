"""Suites needle, rkhs, standard and high. Standard functions are maximised as −f; ranges are those
of the literature.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from noregret.space import Array, Space
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
