"""Which inputs matter: how much of the model's variance over the space each one explains.

The variance of f over the space (uniform on the scale of each input) splits into what an input
explains alone, ``first``, and what goes away when it is held, ``total``: alone and together with
others (Sobol's indices). The model is uncertain about f, so both are computed for functions drawn
from its posterior and have a spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from noregret.diagnostics.presentation import check_count
from noregret.space import Array, Candidates, Space
from noregret.strategies import Belief

ROWS = 2048  # points at which functions are drawn together, at most
DRAWS = 64  # functions
NUGGET = 1e-8  # of the prior variance, so that a draw at very close points can be made


@dataclass(frozen=True, slots=True)
class Importance:
    """Shares of the variance, from 0 to 1, and their standard deviations over what the model holds
    possible; None if it gives one function only.
    """

    name: str
    first: float
    total: float
    first_std: float | None
    total_std: float | None


def importances(
    belief: Belief, space: Space | Candidates, *, draws: int = DRAWS, seed: int = 0
) -> list[Importance]:
    """One per input, in the order of the space. Of a list of candidates, and where there are
    constraints: as if every combination of the inputs' values were there.
    """
    check_count("draws", draws, at_least=2)
    parameters, d = space.parameters, space.dimension
    names = [name for name, parameter in parameters.items() if parameter.width > 0]
    count = 2 ** int(np.log2(max(ROWS / (len(names) + 2), 16)))
    rng = np.random.default_rng(seed)
    from scipy.stats import qmc  # slow to import

    both = qmc.Sobol(2 * d, seed=rng).random(count)
    A, B = _snapped(space, both[:, :d]), _snapped(space, both[:, d:])
    blocks, start = [A, B], 0
    for parameter in parameters.values():
        columns = slice(start, start + parameter.width)
        start += parameter.width
        if parameter.width > 0:
            mixed = A.copy()
            mixed[:, columns] = B[:, columns]
            blocks.append(mixed)
    values, single = _functions(belief, np.vstack(blocks), draws, rng)
    shares = np.array([_shares(f.reshape(len(blocks), count)) for f in values])
    mean, std = shares.mean(axis=0), shares.std(axis=0, ddof=0)
    return [
        Importance(
            name,
            float(mean[0, index]),
            float(mean[1, index]),
            None if single else float(std[0, index]),
            None if single else float(std[1, index]),
        )
        for index, name in enumerate(names)
    ]


def _snapped(space: Space | Candidates, U: Array) -> Array:
    """Each input by itself: also of a list, whose combinations need not be in it."""
    parts, start = [], 0
    for parameter in space.parameters.values():
        parts.append(parameter.snap(U[:, start : start + parameter.width]))
        start += parameter.width
    return np.hstack(parts)


def _functions(
    belief: Belief, points: Array, draws: int, rng: np.random.Generator
) -> tuple[Array, bool]:
    """Functions the model holds possible, at these points, and whether it is one only: its mean."""
    predictor: Any = belief.predictor
    if not hasattr(predictor, "joint"):
        return belief.predict(points)[0][None, :], True
    mean, covariance = predictor.joint(points)
    try:
        L = cholesky(covariance + NUGGET * np.eye(len(points)), lower=True)
    except LinAlgError:  # nothing is uncertain but for rounding
        return np.asarray(mean)[None, :], True
    return mean + (L @ rng.standard_normal((len(points), draws))).T, False


def _shares(f: Array) -> tuple[Array, Array]:
    """First-order and total shares by Jansen's estimators; rows: A, B, A with an input of B."""
    a, b, mixed = f[0], f[1], f[2:]
    variance = float(np.var(f[:2]))
    if variance <= 0:
        return np.zeros(len(mixed)), np.zeros(len(mixed))
    first = 1 - ((b - mixed) ** 2).mean(axis=1) / (2 * variance)
    total = ((a - mixed) ** 2).mean(axis=1) / (2 * variance)
    return np.clip(first, 0.0, 1.0), np.clip(total, 0.0, 1.0)
