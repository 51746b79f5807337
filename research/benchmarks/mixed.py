"""Suite mixed: synthetic problems with numbers, ordered and unordered choices; several hide the
best choice."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gamma

from noregret.space import Array, Choice, Float, Int, Parameter, Space
from research.benchmarks.problem import Problem

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
