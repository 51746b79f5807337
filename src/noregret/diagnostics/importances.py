"""Sobol indices of the inputs: the share of the model's variance that each input explains.

``first`` is the share that an input explains alone, ``total`` the share that disappears if it is
kept fixed: alone and together with others. Inputs are uniform on their scales. Both are computed
for functions drawn from the posterior, so they have a standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from noregret.diagnostics.presentation import check_count
from noregret.space import Array, Candidates, Space
from noregret.strategies import Belief

ROWS = 2048  # largest number of points at which functions are drawn jointly
DRAWS = 64  # number of functions drawn
NUGGET = 1e-8  # jitter (prior-variance units) for the Cholesky factor at nearby points


@dataclass(frozen=True, slots=True)
class Importance:
    """Shares of the variance, from 0 to 1, and their posterior standard deviations.

    Args:
        name: The input.
        first: The first-order index.
        total: The total-effect index.
        first_std: Standard deviation of ``first``; None if the model has only a mean.
        total_std: Standard deviation of ``total``; None if the model has only a mean.
    """

    name: str
    first: float
    total: float
    first_std: float | None
    total_std: float | None


def importances(
    belief: Belief, space: Space | Candidates, *, draws: int = DRAWS, seed: int = 0
) -> list[Importance]:
    """Sobol indices of the inputs. Constraints are ignored: inputs vary independently.

    Args:
        belief: The model.
        space: The search space.
        draws: Number of functions drawn from the posterior, at least 2.
        seed: Of the random numbers.

    Returns:
        One entry per input, in the order of the space.

    Raises:
        ConfigurationError: ``draws`` is not a whole number of at least 2.
    """
    check_count("draws", draws, at_least=2)
    slices, d = space.slices, space.dimension
    names = [name for name, parameter in space.parameters.items() if parameter.width > 0]
    count = 2 ** int(np.log2(max(ROWS / (len(names) + 2), 16)))
    rng = np.random.default_rng(seed)
    from scipy.stats import qmc  # slow to import

    both = qmc.Sobol(2 * d, seed=rng).random(count)
    # each input by itself, also of a list, which need not hold every combination
    A, B = (
        np.hstack([p.snap(U[:, slices[name]]) for name, p in space.parameters.items()])
        for U in (both[:, :d], both[:, d:])
    )
    blocks = [A, B]
    for name in names:
        mixed = A.copy()
        mixed[:, slices[name]] = B[:, slices[name]]
        blocks.append(mixed)
    values, single = _functions(belief, np.vstack(blocks), draws, rng)
    shares = np.array([_shares(f.reshape(len(blocks), count)) for f in values])
    std = np.full(shares.shape[1:], None) if single else shares.std(axis=0)
    columns = [*shares.mean(axis=0).tolist(), *std.tolist()]
    return [Importance(*row) for row in zip(names, *columns, strict=True)]


def _functions(
    belief: Belief, points: Array, draws: int, rng: np.random.Generator
) -> tuple[Array, bool]:
    """Posterior draws at these points, and whether there is only one of them, the mean."""
    predictor: Any = belief.predictor
    if not hasattr(predictor, "joint"):
        return belief.predict(points)[0][None, :], True
    mean, covariance = predictor.joint(points)
    try:
        L = cholesky(covariance + NUGGET * np.eye(len(points)), lower=True)
    except LinAlgError:  # the posterior variance is zero up to rounding
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
