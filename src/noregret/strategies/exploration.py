"""Exploration beyond the fitted model: patrols, the leash, and surveys.

**Patrols** are points of one space-filling sequence, for the initial design and for all looks that
nothing observed influences: x_i = shift + i·a mod 1 with a_k = φ^(−k), φ^(d+1) = φ + 1, the
generalised golden ratio. 1, a_1, …, a_d are linearly independent over the rationals, so every cell
of the cube gets its share of the points. The **leash** ties the other decisions to what patrols
found (theory.md#leash). A **survey** looks around in a class widened for one decision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noregret.gp import VARIANCE_FLOOR, Posterior
from noregret.search import golden_ratio
from noregret.space import Array, Inputs, Mask, SearchSpace, spread_points
from noregret.trials import History

# Mean posterior std over the space, in prior stds, of the class a survey looks at, unless that of
# the fitted class is larger. Larger: surveys look for narrower peaks.
UNKNOWN = 0.85
WIDEST = 100.0  # largest factor by which a survey shortens the fitted lengthscales
TOLERANCE = 0.2  # of log g
# Points that stand for the space: a mean posterior std is taken over so many, and with fewer
# patrols the leash excludes nothing.
MEAN = 128


def patrol_point(space: SearchSpace, inputs: Inputs, number: int, shift: Array) -> Array:
    """Point ``number`` of the sequence, from 0 on. A choice takes one coordinate of it, so that its
    options come in turn; a list is visited in a random order.
    """
    every = space.enumeration()
    if every is not None:
        order = np.random.default_rng(int(shift[0] * 2**32)).permutation(len(every))
        return every[order[number % len(every)]]
    levels = inputs.levels
    if levels is None:
        a = golden_ratio(space.dimension)
        return spread_points(space, (shift[: space.dimension] + number * a)[None, :] % 1.0)[0]
    u = (shift[: len(levels)] + number * golden_ratio(len(levels))) % 1.0
    row = [
        np.array([v]) if level is None else level[min(int(v * len(level)), len(level) - 1)]
        for v, level in zip(u, levels, strict=True)
    ]
    return space.snap(np.concatenate(row)[None, :])[0]


def patrolled(history: History) -> int:
    """How many points of the sequence were asked for: the initial design and the patrols."""
    return sum(decision.source == "initial" or decision.is_patrol for decision in history.decisions)


@dataclass(frozen=True, slots=True)
class Leash:
    """Which points a promise may take: those whose cell the patrols found at most ``slack`` below
    the best cell. Nothing is assumed of f but continuity: theory.md#leash.
    """

    cells_per_side: int
    is_free: Mask  # (d,): coordinates that are cut into cells; the others are taken as they are
    mean: dict[tuple[float, ...], float]  # of the patrols' values in each cell
    slack: float
    is_complete: bool  # whether every cell has a value; otherwise nothing is excluded

    @staticmethod
    def from_patrols(space: SearchSpace, inputs: Inputs, history: History) -> Leash | None:
        """None: it excludes nothing, because there are too few patrols or the theorem does not
        cover the space.
        """
        rows = [
            row
            for decision, row in zip(history.decisions, history.rows, strict=True)
            if row is not None and (decision.source == "initial" or decision.is_patrol)
        ]
        if len(rows) < MEAN or inputs.in_context or inputs.branches:
            return None
        every = space.enumeration()
        if not inputs.is_free.all() or (inputs.levels is None and every is None):
            return None
        is_free = space.continuous & (every is None)
        combinations = inputs.combinations if every is None else len(every)
        largest = float(np.max(np.abs(history.y))) or 1.0  # their mean must be a number
        return Leash.of(history.X[rows], history.y[rows] / largest, is_free, combinations)

    @staticmethod
    def of(X: Array, values: Array, is_free: Mask, combinations: float) -> Leash:
        """X, values: the patrols that have a value. combinations: how many the coordinates that are
        not free can have.
        """
        n, k = len(X), int(is_free.sum())
        per_side = max(math.floor(n ** (1 / (k + 2)) + 1e-9), 1)  # r_N = N^(−1/(k+2))
        leash = Leash(per_side, is_free, {}, 0.0, False)
        sums: dict[tuple[float, ...], list[float]] = {}
        for cell, value in zip(leash.cells(X), values, strict=True):
            sums.setdefault(cell, []).append(float(value))
        mean = {cell: float(np.mean(each)) for cell, each in sums.items()}
        spread = max(mean.values()) - min(mean.values()) if mean else 0.0
        slack = spread * (MEAN / max(n, MEAN)) ** (1 / (k + 2))
        complete = n >= MEAN and len(mean) == combinations * per_side**k
        return Leash(per_side, is_free, mean, slack, complete)

    def cells(self, A: Array) -> list[tuple[float, ...]]:
        m = self.cells_per_side
        cut = np.where(self.is_free, np.clip(np.floor(A * m), 0, m - 1), A)
        return [tuple(row) for row in cut.tolist()]

    def allows(self, A: Array) -> Mask:
        if not self.is_complete:
            return np.ones(len(A), dtype=np.bool_)
        least = max(self.mean.values()) - self.slack
        return np.array([self.mean[cell] >= least for cell in self.cells(A)], dtype=np.bool_)


def widening_scale(widened: Callable[[float], Posterior], cloud: Array, last: float) -> float:
    """Some g at which the mean std of the widened class over the space is at least ``UNKNOWN``, and
    at g·e^−TOLERANCE below it; 1 or ``WIDEST`` if there is none between them.

    Searched from the last survey's g: two classes if that is right, steps that double if not.
    """

    def is_unknown(g: float) -> bool:
        return float(np.mean(widened(g).predict(cloud[:MEAN])[1])) >= UNKNOWN

    near, step = min(last, WIDEST), TOLERANCE
    rises = not is_unknown(near)
    end = WIDEST if rises else 1.0
    while near != end:
        far = min(max(near * math.exp(step if rises else -step), 1.0), WIDEST)
        if is_unknown(far) == rises:
            break
        near, step = far, 2 * step
    else:
        return end
    low, high = min(near, far), max(near, far)
    while math.log(high / low) > TOLERANCE * (1 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_unknown(middle) else (middle, high)
    return high


def information(posterior: Posterior, cloud: Array, noise_var: float) -> Array:
    """By how much a value at each point of the cloud lowers the variance of f, summed over the
    cloud: Σ_j cov(x, x_j)²/(σ²(x) + λ) (Cohn 1996). Unlike the largest variance it prefers no
    corners.
    """
    covariance = posterior.joint(cloud)[1]
    var = np.maximum(np.diag(covariance), VARIANCE_FLOOR)
    return np.asarray(np.square(covariance).sum(axis=1) / (var + noise_var))
