"""Sobol indices of the inputs: the share of the model's variance that each input explains.

``first`` is the share that an input explains alone, ``total`` the share that disappears if it is
kept fixed: alone and together with others. Inputs are uniform on their scales. Both are computed
for functions drawn from the posterior, so they have a standard deviation. That of one fit leaves
out that its hyperparameters may be wrong: so halves of the data are fitted too, and their
disagreement is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from noregret.errors import check_count
from noregret.space import Array, Candidates, Indices, Space
from noregret.strategies import Belief, Strategy
from noregret.trials import History

ROWS = 2048  # largest number of points at which functions are drawn jointly
DRAWS = 64  # number of functions drawn
SPLITS = 2  # how often the data are halved
# Of the squared difference of two halves, the share added to the variance: a quarter if all data
# err half as much as a half does, twice that because fits of one study err alike.
BETWEEN = 0.5
UNSTABLE = 0.35  # mean difference of an input's share between halves above which nothing is known
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
        stable: Whether halves of the data agree on the shares of all inputs; if not, they are not
            known yet.
    """

    name: str
    first: float
    total: float
    first_std: float | None
    total_std: float | None
    stable: bool = True


def half_beliefs(
    strategy: Strategy, space: Space | Candidates, history: History
) -> list[tuple[Belief | None, Belief | None]]:
    """The models of halves of the data, split at random ``SPLITS`` times.

    Args:
        strategy: The strategy.
        space: The search space.
        history: What was observed.

    Returns:
        Two models per split, None where half of the data is too little. Earlier fits are left out:
        they know all of the data.
    """
    pairs = []
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(len(history.X))
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        pairs.append(tuple(_half_belief(strategy, space, history, rows) for rows in halves))
    return [(first, second) for first, second in pairs]


def _half_belief(
    strategy: Strategy, space: Space | Candidates, history: History, rows: Indices
) -> Belief | None:
    rows = np.sort(rows)
    columns = {name: getattr(history, name)[rows] for name in ("X", "y", "noise_std")}
    none: Any = ()
    half = replace(history.observed, **columns, decisions=none, rows=none, outcomes=none)
    return strategy.belief(space, half)


def importances(
    belief: Belief,
    space: Space | Candidates,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    halves: Sequence[tuple[Belief | None, Belief | None]] = (),
) -> list[Importance]:
    """Sobol indices of the inputs. Constraints are ignored: inputs vary independently.

    Args:
        belief: The model.
        space: The search space.
        draws: Number of functions drawn from the posterior, at least 2.
        seed: Of the random numbers.
        halves: Models of halves of the data, see ``half_beliefs``: their differences are added to
            the standard deviations.

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
    found = [Importance(*row) for row in zip(names, *columns, strict=True)]
    return _with_halves(found, space, halves, draws, seed) if halves else found


def _with_halves(
    found: list[Importance],
    space: Space | Candidates,
    halves: Sequence[tuple[Belief | None, Belief | None]],
    draws: int,
    seed: int,
) -> list[Importance]:
    """With the disagreement of halves added: an input's own, or the mean of all if that is more."""
    apart = [
        _shares_of(first, space, draws, seed) - _shares_of(second, space, draws, seed)
        for first, second in halves
        if first is not None and second is not None
    ]
    if not apart:
        return [replace(each, stable=False) for each in found]
    variance = BETWEEN * np.mean(np.square(apart), axis=0)  # (2, inputs): first-order, total
    variance = np.maximum(variance, variance.mean(axis=1, keepdims=True))
    stable = bool(np.mean(np.abs(apart), axis=0)[1].max() <= UNSTABLE)
    return [
        replace(
            each,
            first_std=float(np.hypot(each.first_std or 0.0, np.sqrt(variance[0, row]))),
            total_std=float(np.hypot(each.total_std or 0.0, np.sqrt(variance[1, row]))),
            stable=stable,
        )
        for row, each in enumerate(found)
    ]


def _shares_of(belief: Belief, space: Space | Candidates, draws: int, seed: int) -> Array:
    """(2, inputs): first-order and total shares."""
    found = importances(belief, space, draws=draws, seed=seed)
    return np.array([[each.first for each in found], [each.total for each in found]])


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
