"""How much better than the recommended point it may get, by joint draws of f.
docs/theory.md#left
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noregret.search import argmax, low_discrepancy, ucb
from noregret.space import Array, SearchSpace, spread_points
from noregret.strategies import Belief
from noregret.study.result import Result, complete

if TYPE_CHECKING:
    from noregret.study.study import Study

CHANCE = 0.95  # of what is shown; on problems of other kinds it was true in 90 % of the looks
DRAWS = 2000  # of f
CLOUD, BEST = 4096, 192  # points of which those with the best bounds are drawn, and how many
SPREAD = 160  # points of the cloud that are drawn whatever their bounds
NEAR = 48  # points drawn around the recommended point, and around the point of the best bound
# Values per coordinate (a number, or an option of a choice) up to which it is not known: the
# hyperparameters of so few are hardly determined.
PER_COORDINATE = 5
WIDTH = 2.0  # posterior stds of the bounds that rank the cloud


@dataclass(frozen=True, slots=True)
class Left:
    """What may be left: f hardly gets better than the recommended point by more than ``gain``.

    Args:
        gain: In the value's unit; None while it is not known.
        chance: That of the quantile, under the averaged model.
    """

    gain: float | None
    chance: float


def left_of(study: Study, result: Result, chance: float = CHANCE) -> Left | None:
    """What is left by a result that was computed already.

    Args:
        study: The study.
        result: Its result.
        chance: The quantile's level, in (0, 1).

    Returns:
        The number; None in a study with context, and where nothing is averaged.
    """
    belief = result.belief
    if study.context or belief is None or belief.mixture is None:
        return None
    x = study.space.encode(result.recommended.params)
    y = np.array([t.value for t in complete(study.trials) if t.value is not None])
    return Left(left_at(study.space, belief, x, y, chance, study.record().seed), chance)


def left_at(
    space: SearchSpace, belief: Belief, x: Array, y: Array, chance: float, seed: int
) -> float | None:
    """The quantile of max f − f(x) under the averaged posterior, in the values' unit; with limits
    the maximum is over points that keep them.

    Args:
        space: The search space, or the part of it that a context leaves.
        belief: Has a mixture.
        x: The recommended point.
        y: The values told.
        chance: The quantile's level, in (0, 1).
        seed: Of the draws.

    Returns:
        The quantile; None while it is not known: with few values per coordinate, or where it would
        exceed the range of the values.
    """
    every = space.enumeration()
    least = PER_COORDINATE * space.dimension
    if len(y) <= (least if every is None else min(least, len(every) - 1)):
        return None
    with np.errstate(over="ignore"):
        seen = float(np.max(y) - np.min(y))
    left = quantile_of_gain(space, belief, x, chance, seed)
    return left if left <= seen else None


def quantile_of_gain(
    space: SearchSpace, belief: Belief, x: Array, chance: float, seed: int
) -> float:
    """``left_at`` without asking whether it is known."""
    assert belief.mixture is not None
    rng = np.random.default_rng(seed)
    points = _points(space, belief, x, rng)
    f = belief.mixture().draws(points, DRAWS, rng)
    f -= f[:, :1]
    for outcome in belief.outcomes:
        margin = outcome.margin
        assert margin.mixture is not None
        drawn = margin.offset + margin.scale * margin.mixture().draws(points, DRAWS, rng)
        f = np.where(rng.permutation(drawn) >= 0, f, -math.inf)
    gain = np.maximum(f.max(axis=1), 0.0)
    return belief.in_values(float(np.quantile(gain, chance, method="higher")))


def _points(space: SearchSpace, belief: Belief, x: Array, rng: np.random.Generator) -> Array:
    """x first; then the best of a cloud, some of it whatever they are, and points near x and near
    the point with the best bound.
    """
    every = space.enumeration()
    bound = ucb(belief.predictor, WIDTH)
    if every is not None:
        cloud = every[rng.permutation(len(every))[:CLOUD]]
        near = np.empty((0, space.dimension))
    else:
        cloud = spread_points(space, low_discrepancy(CLOUD, space.dimension, rng))
        none = np.empty((0, space.dimension))
        top = argmax(bound, space, belief.lengthscales, rng, x[None, :], none)
        size = 10.0 ** rng.uniform(-2.5, -0.3, (2 * NEAR, 1))
        steps = rng.standard_normal((2 * NEAR, space.dimension)) * size * belief.lengthscales
        around = np.vstack([x + steps[:NEAR], top + steps[NEAR:]])
        near = np.vstack([top[None, :], space.snap(np.clip(around, 0.0, 1.0))])
    rest, rank = cloud[:SPREAD], np.argsort(-bound.values(cloud[SPREAD:]), kind="stable")
    best = cloud[SPREAD:][rank[:BEST]]
    points = np.vstack([near, best, rest])
    points = np.unique(points[np.any(points != x, axis=1)], axis=0)
    return np.vstack([x[None, :], points])
