"""Learnt against random directions: ``python -m research.theory.subspaces``.

f depends on two oblique directions of 20 inputs, a bump of height 1 off the centre. Prints the mean
of the largest f found, and how well the plane was learnt: the cosine of the largest angle between
it and the true one, the least over the functions.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.linalg import subspace_angles

import noregret as nr
from noregret.extensions.subspace import LEARNING
from noregret.space import Array

INPUTS, FUNCTIONS, TRIALS, POINTS = 20, 6, 140, 8
WIDTH, AWAY = 0.3, 0.5  # of the bump, and from the centre to its top, in units of the cube's side
NOISES = (0.0, 0.02)


def plane(seed: int) -> tuple[Array, Array]:
    """An orthonormal basis (inputs, 2), and where the top is in it."""
    rng = np.random.default_rng([seed, 41])
    basis = np.linalg.qr(rng.standard_normal((INPUTS, 2)))[0]
    angle = rng.uniform(0, 2 * np.pi)
    return basis, AWAY * np.array([np.cos(angle), np.sin(angle)])


def best_of(strategy: nr.strategies.Strategy, seed: int, noise: float) -> tuple[float, float]:
    """The largest f found, and the cosine to the true plane; NaN where none was learnt."""
    basis, top = plane(seed)
    rng = np.random.default_rng([seed, 43])

    def f(x: Array) -> float:
        return float(np.exp(-np.sum(((x - 0.5) @ basis - top) ** 2) / (2 * WIDTH**2)))

    study = nr.Study([(0, 1)] * INPUTS, "maximize", strategy=strategy, seed=seed)
    study.run(lambda x: f(x) + noise * rng.standard_normal(), TRIALS, progress=False)
    cosine = np.nan
    if isinstance(strategy, nr.Subspace) and strategy.learn:
        told = {
            int(each.decision.payload[LEARNING]): float(each.value or 0.0)
            for each in study.trials
            if LEARNING in each.decision.payload
        }
        learnt = strategy._learnt(INPUTS, told)
        assert learnt is not None
        cosine = float(np.cos(subspace_angles(learnt[0][:, :2], basis).max()))
    return max(f(np.asarray(trial.params)) for trial in study.trials), cosine


def main() -> int:
    methods: dict[str, nr.strategies.Strategy] = {
        "learnt": nr.Subspace(learn=POINTS),
        "random": nr.Subspace(),
        "default": nr.InsuredGPUCB(),
    }
    for noise in NOISES:
        for name, strategy in methods.items():
            runs = np.array([best_of(strategy, seed, noise) for seed in range(FUNCTIONS)])
            cosine = f", least cosine {runs[:, 1].min():.2f}" if name == "learnt" else ""
            print(f"noise {noise}: {name} {runs[:, 0].mean():.3f}{cosine}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
