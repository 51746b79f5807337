"""Suite laboratory: a reaction with solvents, catalysts and noise, as a chemist would enter it.

Yield = a peak in temperature, time, concentration and ratio whose place and height depend on
solvent and catalyst; catalysts decay above a temperature of their own. Eight laboratories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from noregret.space import Choice, Float, Int, Space
from research.benchmarks.problem import Problem

SOLVENTS = ("water", "dmf", "toluene", "ethanol", "thf", "dioxane")
CATALYSTS = ("none", "Pd", "Ni", "Cu")
OFF = 10.0  # per cent of yield: a run that ends farther below the maximum is off


def names(first: int) -> list[str]:
    return [f"laboratory-{index}" for index in range(first, first + 8)]


def laboratory(name: str) -> Problem:
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
    return Problem(name, "laboratory", space, value, top, 60, noise, OFF)
