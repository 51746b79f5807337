"""The largest ball of the unit cube without an evaluation: the resolution of a search.

Nothing is assumed of f. A bump that is wider than the ball cannot have been missed entirely; a
narrower one can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from noregret.errors import ConfigurationError
from noregret.space import Array, Region

EXACT_UP_TO = 3  # inputs up to which the largest ball is found to TOLERANCE
TOLERANCE = 1e-4  # of the radius, in units of the cube's side
CELLS = 60_000  # cells at once, at most: where there are more, points are sampled instead
SAMPLES = 16_384  # sampled points
CLIMBS, STEPS = 32, 60  # the best of them, and steps in which each climbs
SAYS_LITTLE_ABOVE = 6  # inputs in which a ball that touches every range may still be empty


@dataclass(frozen=True, slots=True)
class Resolution:
    """Every ball of this radius with its centre in the cube, and where there are constraints in
    what they leave of it, holds an evaluation, if ``exact``.

    Otherwise it was the largest empty one found: there may be a larger one.
    """

    radius: float
    centre: Array
    exact: bool

    def __str__(self) -> str:
        """What it means, for people."""
        d = len(self.centre)
        if d > SAYS_LITTLE_ABOVE:
            return (
                f"In {d} inputs the largest ball without an evaluation has radius"
                f" {self.radius:.2g} of every range: in so many inputs this says next to nothing."
            )
        if not self.exact:
            return (
                f"A ball of radius {self.radius:.2g} of every range without an evaluation was"
                " found; there may be a larger one."
            )
        return (
            f"A bump that reaches {self.radius:.2g} of every range from its centre cannot have"
            " been missed entirely; a narrower one can."
        )


def largest_empty_ball(X: Array, region: Region | None = None) -> Resolution:
    """Of evaluations X (n, d) in the unit cube, with its centre in the region. Exact to TOLERANCE,
    from above, in d ≤ 3; of a region with functions, from above alone.
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or len(X) == 0:
        raise ConfigurationError(
            f"the resolution needs at least one evaluation, got shape {X.shape}"
        )
    tree = cKDTree(X)
    if X.shape[1] <= EXACT_UP_TO:
        found = _halving(tree, X.shape[1], region)
        if found is not None:
            return found
    return _sampled(tree, X.shape[1], region)


def _halving(tree: cKDTree, d: int, region: Region | None) -> Resolution | None:
    """Cells in which the distance to the nearest evaluation may be larger than the largest found:
    it is 1-Lipschitz, so at most that of the centre plus half the diagonal."""
    corners = np.stack(np.meshgrid(*[[-0.5, 0.5]] * d, indexing="ij"), axis=-1).reshape(-1, d)
    inside = (lambda points: points) if region is None else region.repair
    best, at = _better(tree, inside(0.5 + corners), -1.0, np.full(d, 0.5))  # the cube's own corners
    centres, side = np.full((1, d), 0.5), 1.0
    rng = np.random.default_rng(0)
    while True:
        if region is not None:
            centres = centres[region.touches(centres - side / 2, centres + side / 2)]
        best, at = _better(tree, inside(centres), best, at)
        near = at + side * rng.uniform(-1, 1, (64, d))  # a larger one cuts more cells away
        best, at = _better(tree, inside(np.clip(near, 0.0, 1.0)), best, at)
        bounds = tree.query(centres)[0] + side * np.sqrt(d) / 2
        centres = centres[bounds > best]
        if len(centres) == 0 or side * np.sqrt(d) / 2 <= TOLERANCE:
            return Resolution(float(max(best, bounds.max())), at, True)
        if len(centres) > CELLS:
            return None
        side /= 2
        centres = (centres[:, None, :] + side * corners).reshape(-1, d)


def _better(tree: cKDTree, points: Array, best: float, at: Array) -> tuple[float, Array]:
    distance, _ = tree.query(points)
    top = int(np.argmax(distance))
    return (float(distance[top]), points[top]) if distance[top] > best else (best, at)


def _sampled(tree: cKDTree, d: int, region: Region | None) -> Resolution:
    """The best of many points, each climbed away from its nearest evaluations."""
    rng = np.random.default_rng(0)
    points = np.vstack([rng.random((SAMPLES, d)), rng.integers(0, 2, (SAMPLES // 4, d))])
    if region is not None:
        points = np.vstack([region.mapped(points[:SAMPLES]), region.repair(points[SAMPLES:])])
    distance, _ = tree.query(points)
    x = points[np.argsort(-distance)[:CLIMBS]]
    now, nearest = tree.query(x)
    step = np.full(len(x), 0.1)
    for _ in range(STEPS):
        away = x - tree.data[nearest]
        away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-12)
        away += 0.3 * rng.standard_normal(away.shape) / np.sqrt(d)
        trial = np.clip(x + step[:, None] * away, 0.0, 1.0)
        trial = trial if region is None else region.repair(trial)
        value, index = tree.query(trial)
        better = value > now
        x[better], now[better], nearest[better] = trial[better], value[better], index[better]
        step = np.where(better, step * 1.5, step * 0.7)
    top = int(np.argmax(now))
    return Resolution(float(now[top]), x[top], False)
