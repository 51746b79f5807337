"""The largest ball that holds no evaluation: what a search cannot have seen.

Nothing is assumed of f. A bump that is wider than the ball cannot have been missed entirely; a
narrower one can. There is a ball per combination of options: choices have no distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from noregret.errors import ConfigurationError, SpaceError
from noregret.space import (
    Array,
    Candidates,
    Choice,
    FixedInputs,
    Indices,
    Region,
    SearchSpace,
    Space,
    named_params,
)

EXACT_UP_TO = 3  # inputs up to which the largest ball is found to TOLERANCE
TOLERANCE = 1e-4  # of the radius, in units of the cube's side
CELLS = 60_000  # cells at once, at most: where there are more, points are sampled instead
CHECKED_CELLS = 1000  # the same where a function of the user's is called at each point
SAMPLES = 16_384  # sampled points; a quarter of them where functions are called
CLIMBS, STEPS = 32, 60  # the best of them, and steps in which each climbs
SAYS_LITTLE_ABOVE = 6  # inputs in which a ball that touches every range may still be empty
LISTED = 1024  # combinations of options that are looked at one by one


@dataclass(frozen=True, slots=True)
class Resolution:
    """Every ball of this radius with its centre in the space holds an evaluation, if ``exact``.

    Otherwise it was the largest empty one found: there may be a larger one.

    Args:
        radius: Of the largest empty ball, as a share of every range.
        centre: Its centre, encoded.
        exact: Whether there is none larger.
        inputs: Number of inputs that are numbers; None: every coordinate is one.
        choices: Names of the choices. The radius is then the largest over the combinations of
            options that have a value.
        combinations: Number of combinations of options.
        unseen: Number of those without a value.
    """

    radius: float
    centre: Array
    exact: bool
    inputs: int | None = None
    choices: tuple[str, ...] = ()
    combinations: int = 1
    unseen: int = 0

    def __str__(self) -> str:
        """What it means, for people."""
        listed = " and ".join(self.choices[-2:])
        named = ", ".join([*self.choices[:-2], listed]) if len(self.choices) < 5 else "the choices"
        what = f"options of {named}" if len(self.choices) == 1 else f"combinations of {named}"
        numbers = len(self.centre) if self.inputs is None else self.inputs
        if not numbers:
            seen = self.combinations - self.unseen
            return f"{seen} of {self.combinations} {what} have a value."
        if not self.choices:
            return self._of_numbers(numbers)
        found = self._of_numbers(numbers)
        found = found[0].lower() + found[1:]
        if not self.unseen:
            return f"For each of the {self.combinations} {what}: {found}"
        return (
            f"{self.unseen} of {self.combinations} {what} have no value: anything may be there."
            f" For the others: {found}"
        )

    def _of_numbers(self, d: int) -> str:
        many = "numbers" if self.choices else "inputs"
        if d > SAYS_LITTLE_ABOVE:
            return (
                f"In {d} {many} the largest ball without an evaluation has radius"
                f" {self.radius:.2g} of every range: in so many {many} this says next to nothing."
            )
        if self.radius >= 1:
            return "Even a bump as wide as every range could have been missed: values are few."
        if not self.exact:
            return (
                f"A ball of radius {self.radius:.2g} of every range without an evaluation was"
                " found; there may be a larger one."
            )
        return (
            f"A bump that reaches {self.radius:.2g} of every range from its centre cannot have"
            " been missed entirely; a narrower one can."
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """The points of the cube with some coordinates as in ``base``; those of ``columns`` move."""

    columns: Indices
    base: Array
    region: Region | None = None

    def lift(self, points: Array) -> Array:
        full = np.repeat(self.base[None, :], len(points), axis=0)
        full[:, self.columns] = points
        return full

    def repair(self, points: Array) -> Array:
        if self.region is None:
            return points
        return self.region.repair(self.lift(points))[:, self.columns]

    def mapped(self, points: Array) -> Array:
        if self.region is None:
            return points
        return self.region.mapped(self.lift(points))[:, self.columns]

    def largest(self, X: Array) -> Resolution:
        """The largest ball without a row of X (n, columns)."""
        tree = cKDTree(X)
        found = _halving(tree, self) if X.shape[1] <= EXACT_UP_TO else None
        found = found or _sampled(tree, self)
        return Resolution(found.radius, self.lift(found.centre[None, :])[0], found.exact)


def largest_empty_ball(X: Array, region: Region | None = None) -> Resolution:
    """Of evaluations X (n, d) in the unit cube, with its centre in the region. Exact to TOLERANCE,
    from above, in d ≤ 3; of a region with functions, from above alone.
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or len(X) == 0:
        raise ConfigurationError(
            f"the resolution needs at least one evaluation, got shape {X.shape}"
        )
    d = X.shape[1]
    return _Part(np.arange(d), np.zeros(d), region).largest(X)


def resolution_of(space: SearchSpace, X: Array) -> Resolution:
    """What could have been missed in a space.

    Args:
        space: The search space.
        X: The points that have a value, encoded, at least one.

    Returns:
        The largest ball without one of them, over the combinations of options that have a value.
    """
    shown = {name: each for name, each in space.parameters.items() if each.width}
    choices = [name for name, each in shown.items() if isinstance(each, Choice)]
    numbers = [name for name in shown if name not in choices]
    if not choices and not isinstance(space, Candidates):
        return largest_empty_ball(X, space.region)
    keys = _options(space, X, choices)
    every = _every_combination(space, choices)
    seen = np.unique(keys, axis=0)
    worst = Resolution(0.0, X[0], True)
    for key in seen:
        mine = X[np.all(keys == key, axis=1)]
        columns = np.array(
            [space.slices[name].start for name in _existing(space, mine[0], numbers)], dtype=np.intp
        )
        if len(columns) == 0:
            continue
        if isinstance(space, Candidates):
            designs = space.enumeration()
            designs = designs[np.all(_options(space, designs, choices) == key, axis=1)]
            distance = cKDTree(mine[:, columns]).query(designs[:, columns])[0]
            far = int(np.argmax(distance))
            found = Resolution(float(distance[far]), designs[far], True)
        else:
            region = _region_of(space, choices, mine[0])
            found = _Part(columns, mine[0], region).largest(mine[:, columns])
        if found.radius > worst.radius:
            worst = Resolution(found.radius, found.centre, worst.exact and found.exact)
        elif not found.exact:
            worst = Resolution(worst.radius, worst.centre, False)
    total = max(every, len(seen))
    return Resolution(
        worst.radius,
        worst.centre,
        worst.exact,
        len(numbers),
        tuple(choices),
        total,
        total - len(seen),
    )


def _options(space: SearchSpace, U: Array, choices: Sequence[str]) -> Indices:
    """(n, 1 + choices): 0, and the option of each choice by number."""
    columns = [np.zeros(len(U), dtype=np.intp)]
    for name in choices:
        parameter = space.parameters[name]
        assert isinstance(parameter, Choice)
        columns.append(parameter.indices(U[:, space.slices[name]]))
    return np.array(columns).T


def _existing(space: SearchSpace, u: Array, names: Sequence[str]) -> list[str]:
    """The inputs that exist at a point."""
    if not isinstance(space, Space) or not space.branches:
        return list(names)
    there = space.active(named_params(space, space.decode(u)))
    return [name for name in names if name in there]


def _region_of(space: SearchSpace, choices: Sequence[str], u: Array) -> Region | None:
    """What constraints leave at the options of a point."""
    if space.region is None:
        return None
    point, names = named_params(space, space.decode(u)), _existing(space, u, choices)
    return FixedInputs(space, {name: point[name] for name in names}).region


def _every_combination(space: SearchSpace, choices: Sequence[str]) -> int:
    """How many combinations of options there are; with constraints, that are possible."""
    if isinstance(space, Candidates):
        return len(np.unique(_options(space, space.enumeration(), choices), axis=0))
    levels = [space.parameters[name].levels() for name in choices]
    count = math.prod(len(each) for each in levels)
    if count > LISTED:
        return count
    rows = np.full((count, space.dimension), 0.5)
    picked = np.stack(np.meshgrid(*map(np.arange, map(len, levels)), indexing="ij"), -1)
    for index, (name, each) in enumerate(zip(choices, levels, strict=True)):
        rows[:, space.slices[name]] = each[picked.reshape(-1, len(levels))[:, index]]
    if isinstance(space, Space) and space.branches:
        rows = space.branching.settled(rows)
    first = np.unique(_options(space, rows, choices), axis=0, return_index=True)[1]
    return sum(_possible(space, choices, row) for row in rows[first])


def _possible(space: SearchSpace, choices: Sequence[str], u: Array) -> bool:
    try:
        _region_of(space, choices, u)
    except SpaceError:
        return False
    return True


def _halving(tree: cKDTree, part: _Part) -> Resolution | None:
    """Cells in which the distance to the nearest evaluation may be larger than the largest found:
    it is 1-Lipschitz, so at most that of the centre plus half the diagonal."""
    d, region, inside = len(part.columns), part.region, part.repair
    corners = np.stack(np.meshgrid(*[[-0.5, 0.5]] * d, indexing="ij"), axis=-1).reshape(-1, d)
    best, at = _better(tree, inside(0.5 + corners), -1.0, np.full(d, 0.5))  # the cube's own corners
    centres, side = np.full((1, d), 0.5), 1.0
    rng = np.random.default_rng(0)
    while True:
        if region is not None:
            low, high = part.lift(centres - side / 2), part.lift(centres + side / 2)
            centres = centres[region.touches(low, high)]
        best, at = _better(tree, inside(centres), best, at)
        near = at + side * rng.uniform(-1, 1, (64, d))  # a larger one cuts more cells away
        best, at = _better(tree, inside(np.clip(near, 0.0, 1.0)), best, at)
        bounds = tree.query(centres)[0] + side * np.sqrt(d) / 2
        centres = centres[bounds > best]
        if len(centres) == 0 or side * np.sqrt(d) / 2 <= TOLERANCE:
            return Resolution(float(max(best, bounds.max(initial=best))), at, True)
        if len(centres) > (CHECKED_CELLS if region and region.is_checked else CELLS):
            return None
        side /= 2
        centres = (centres[:, None, :] + side * corners).reshape(-1, d)


def _better(tree: cKDTree, points: Array, best: float, at: Array) -> tuple[float, Array]:
    distance, _ = tree.query(points)
    top = int(np.argmax(distance))
    return (float(distance[top]), points[top]) if distance[top] > best else (best, at)


def _sampled(tree: cKDTree, part: _Part) -> Resolution:
    """The best of many points, each climbed away from its nearest evaluations."""
    rng, d = np.random.default_rng(0), len(part.columns)
    count = SAMPLES // 4 if part.region and part.region.is_checked else SAMPLES
    points = np.vstack([rng.random((count, d)), rng.integers(0, 2, (count // 4, d))])
    points = np.vstack([part.mapped(points[:count]), part.repair(points[count:])])
    distance, _ = tree.query(points)
    x = points[np.argsort(-distance)[:CLIMBS]]
    now, nearest = tree.query(x)
    step = np.full(len(x), 0.1)
    for _ in range(STEPS):
        away = x - tree.data[nearest]
        away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-12)
        away += 0.3 * rng.standard_normal(away.shape) / np.sqrt(d)
        trial = part.repair(np.clip(x + step[:, None] * away, 0.0, 1.0))
        value, index = tree.query(trial)
        better = value > now
        x[better], now[better], nearest[better] = trial[better], value[better], index[better]
        step = np.where(better, step * 1.5, step * 0.7)
    top = int(np.argmax(now))
    return Resolution(float(now[top]), x[top], False)
