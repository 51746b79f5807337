"""Blocks of inputs that constraints tie together: a list of combinations, a polytope, or both
mixed. Each block maps rows of the cube to its points, uniform to uniform, and repairs points
outside.

w: shares of the parameters' ranges, in which linear constraints are linear; u: coordinates of the
unit cube. theory.md#feasible
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from noregret.errors import SpaceError
from noregret.space.array import ENUMERATION_LIMIT, Array, Indices, Mask, nearest_rows
from noregret.space.constraints import Constraint, Forbidden, Linear
from noregret.space.parameters import Choice, Parameter
from noregret.space.polytope import (
    FLAT,
    ROUNDING,
    Solved,
    chord,
    deepest_ball,
    hit_and_run,
    seeded,
    simplices_of,
    solve,
    through_simplices,
)

INSIDE = 1e-7  # in units of a constraint: the tolerance of a search
EXACT = 1e-9  # in units of a constraint: rounding
GROWTH_LIMIT = 2_000_000  # partial combinations up to which a list is built
NEIGHBOURS = 64  # combinations to jump to from one
STARTS = 12  # points from which a mixed walk begins, each the best for a random objective
SEARCHED = 100  # objectives that are tried until STARTS of them lead to allowed points
RESERVOIR, BURN_IN, ROUNDS = 512, 40, 4  # mixed walk: points, rounds before, rounds per draw
KEPT_POINTS, FIRST_STEPS = 1024, 240  # hit-and-run: points, steps before
STEPS = 4  # of hit-and-run per draw and coordinate
SWEEPS = 40  # of alternating projections
TIDY = 1e-13  # from a face of the cube: closer shares are on it
TRIED = 24  # levels that are tried in one step of a mixed walk
FREEDOM = {"line": 2.0, "log": 1.0, "levels": 0.0}  # the freest parameters follow from equalities


@dataclass(frozen=True, slots=True)
class LinearSystem:
    """low ≤ C w ≤ high for k parameters, and forbidden combinations of levels.

    The largest coefficient of each row is 1. forbidden: shares by position of the parameter.
    """

    C: Array  # (m, k)
    low: Array
    high: Array
    forbidden: tuple[dict[int, float], ...] = ()

    @staticmethod
    def of(parameters: Mapping[str, Parameter], constraints: Sequence[Constraint]) -> LinearSystem:
        """The Linear and Forbidden constraints of a space."""
        linear = [each for each in constraints if isinstance(each, Linear)]
        position = {name: index for index, name in enumerate(parameters)}
        C, ends = np.zeros((len(linear), len(parameters))), np.zeros((2, len(linear)))
        for row, each in enumerate(linear):
            unit, below = each.unit(parameters), 0.0
            for name, coefficient in each.coefficients.items():
                parameter = parameters[name]
                assert not isinstance(parameter, Choice)
                C[row, position[name]] = coefficient * parameter.span / unit
                below += coefficient * float(parameter.low)
            ends[:, row] = [(end - below) / unit for end in each.bounds]
        forbidden = tuple(
            {position[name]: _share(parameters[name], value) for name, value in each.values.items()}
            for each in constraints
            if isinstance(each, Forbidden)
        )
        return LinearSystem(C, ends[0], ends[1], forbidden)

    def restricted(self, w: Array, positions: Sequence[int]) -> LinearSystem:
        """The system of the parameters at these positions, the others fixed at shares w (k,)."""
        others = [j for j in range(len(w)) if j not in positions]
        fixed, C = self.C[:, others] @ w[others], self.C[:, positions]
        size = np.abs(C).max(axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        words = [
            {positions.index(j): v for j, v in word.items() if j in positions}
            for word in self.forbidden
        ]
        low, high = (self.low - fixed) / size, (self.high - fixed) / size
        return LinearSystem(C / size[:, None], low, high, tuple(words))

    def holds(self, W: Array, tolerance: float = EXACT) -> Mask:
        """Which rows satisfy the system."""
        total = W @ self.C.T
        inside = (total >= self.low - tolerance) & (total <= self.high + tolerance)
        return np.asarray(np.all(inside, axis=1) & self.allowed(W))

    def allowed(self, W: Array) -> Mask:
        """Which rows are not forbidden."""
        good = np.ones(len(W), dtype=np.bool_)
        for word in self.forbidden:
            good &= ~np.all(
                np.abs(W[:, list(word)] - np.array(list(word.values()))) < EXACT, axis=1
            )
        return good

    def touches(self, low: Array, high: Array) -> Mask:
        """Which boxes low ≤ w ≤ high may hold a point; False is certain."""
        up, down = np.maximum(self.C, 0.0), np.minimum(self.C, 0.0)
        least, most = low @ up.T + high @ down.T, high @ up.T + low @ down.T
        return np.asarray(
            np.all((least <= self.high + INSIDE) & (most >= self.low - INSIDE), axis=1)
        )

    @property
    def is_equality(self) -> Mask:
        """Which rows are equalities, (m,)."""
        return self.low == self.high

    def inequalities(self) -> tuple[Array, Array]:
        """The other rows and the faces of the cube as G w ≤ h; a row that is bounded on both sides
        counts twice.
        """
        above = np.isfinite(self.high) & ~self.is_equality
        below = np.isfinite(self.low) & ~self.is_equality
        k = self.C.shape[1]
        h = np.concatenate([self.high[above], -self.low[below], np.ones(k), np.zeros(k)])
        return np.vstack([self.C[above], -self.C[below], np.eye(k), -np.eye(k)]), h


def slices_of(parameters: Mapping[str, Parameter]) -> dict[str, slice]:
    """The coordinates of each parameter."""
    stops = np.cumsum([parameter.width for parameter in parameters.values()])
    return {
        name: slice(int(stop) - parameter.width, int(stop))
        for (name, parameter), stop in zip(parameters.items(), stops, strict=True)
    }


def coordinate_mask(parameters: Mapping[str, Parameter], flags: Sequence[bool]) -> Mask:
    """The flags of the parameters for each of their coordinates, (d,)."""
    widths = [parameter.width for parameter in parameters.values()]
    return np.repeat(np.array(flags, dtype=np.bool_), widths)


def _share(parameter: Parameter, value: object) -> float:
    return float(parameter.shares(np.array([parameter.encode(value)]))[0])


class Block(ABC):
    """Parameters that constraints tie together.

    columns: their columns of the unit cube; rows U of a block hold these only.
    """

    def __init__(self, parameters: Mapping[str, Parameter], columns: Indices) -> None:
        self.names, self.parameters = list(parameters), list(parameters.values())
        self.columns, self.places = columns, list(slices_of(parameters).values())

    @abstractmethod
    def mapped(self, V: Array) -> Array:
        """Points for rows of the cube: uniform to uniform."""

    @abstractmethod
    def repair(self, U: Array) -> Array:
        """Points near rows; points of the block stay."""

    @abstractmethod
    def through(self, U: Array, held: Mask) -> Array:
        """As ``repair``, but the held columns stay as they are even if no point has them."""

    def jumps(self, u: Array) -> Array:
        """Points near one that no gradient leads to."""
        return np.empty((0, len(u)))

    def shares(self, U: Array) -> Array:
        """w of rows, (n, k)."""
        pairs = zip(self.parameters, self.places, strict=True)
        return np.column_stack([parameter.shares(U[:, place]) for parameter, place in pairs])

    def from_shares(self, W: Array) -> Array:
        """Rows at shares, snapped."""
        return np.hstack([p.from_shares(W[:, j]) for j, p in enumerate(self.parameters)])


class ListBlock(Block):
    """Levels: every allowed combination is in a table."""

    table: Array

    def solve(self, system: LinearSystem) -> bool | None:
        """Fills the table. False: no combination is allowed. None: they are too many."""
        steps = np.array([parameter.share_step for parameter in self.parameters])
        counts = [int(parameter.size) for parameter in self.parameters]
        most = steps * (np.array(counts) - 1)
        least_rest, most_rest = np.minimum(system.C * most, 0.0), np.maximum(system.C * most, 0.0)
        W = np.zeros((1, 0))
        for j, count in enumerate(counts):  # combinations that cannot be completed are dropped
            low = system.low - EXACT - most_rest[:, j + 1 :].sum(axis=1)
            high = system.high + EXACT - least_rest[:, j + 1 :].sum(axis=1)
            so_far = W @ system.C[:, :j].T
            first, last = np.zeros(len(W)), np.full(len(W), count - 1.0)
            for row in np.flatnonzero(system.C[:, j]):
                ends = np.array([low[row] - so_far[:, row], high[row] - so_far[:, row]])
                ends /= system.C[row, j] * steps[j]
                first = np.maximum(first, np.ceil(ends.min(axis=0) - 1e-6))
                last = np.minimum(last, np.floor(ends.max(axis=0) + 1e-6))
            width = np.maximum(last - first + 1, 0).astype(np.intp)
            if width.sum() > GROWTH_LIMIT:
                return None
            start = np.repeat(first - np.cumsum(width) + width, width)
            level = (start + np.arange(len(start))) * steps[j]
            W = np.column_stack([np.repeat(W, width, axis=0), level])
            total = W @ system.C[:, : j + 1].T
            W = W[np.all((total >= low) & (total <= high), axis=1)]
        W = W[system.allowed(W)]
        if len(W) > ENUMERATION_LIMIT:
            return None
        self.table = self.from_shares(W)
        return len(W) > 0

    def mapped(self, V: Array) -> Array:
        last = len(self.table) - 1
        return self.table[np.minimum((V[:, 0] * len(self.table)).astype(np.intp), last)]

    def repair(self, U: Array) -> Array:
        return self.table[nearest_rows(U, self.table)]

    def through(self, U: Array, held: Mask) -> Array:
        weight = np.where(held, 1e6, 1.0)  # the held columns come first
        return np.where(held, U, self.table[nearest_rows(U * weight, self.table * weight)])

    def jumps(self, u: Array) -> Array:
        distance = ((self.table - u) ** 2).sum(axis=1)
        near = np.argsort(distance, kind="stable")[: NEIGHBOURS + 1]
        return self.table[near[distance[near] > 0]]


class LinearBlock(Block):
    """Shares with linear constraints. Equalities are solved: some shares follow from the others,
    which walk: G z ≤ h. theory.md#feasible
    """

    system: LinearSystem
    solved: Solved
    _G: Array
    _h: Array

    @property
    @abstractmethod
    def _reservoir(self) -> Array:
        """Walking shares of points from which every walk starts."""

    @abstractmethod
    def _round(self, Z: Array, rng: np.random.Generator) -> Array:
        """A step of the walk, which leaves the uniform distribution as it is."""

    def _walked(self, V: Array, rounds: int) -> Array:
        """Walking shares for rows of the cube, which seed the walk."""
        rng = seeded(V)
        Z = self._reservoir[rng.integers(len(self._reservoir), size=len(V))]
        for _ in range(rounds):
            Z = self._round(Z, rng)
        return Z


class PolytopeBlock(LinearBlock):
    """Numbers on linear scales without levels: the walking shares fill a polytope of full
    dimension. It is sampled through its simplices (exactly) where these are few.
    """

    def solve(self, system: LinearSystem) -> bool:
        """Whether there is a point."""
        self.system = system
        E, e = system.C[system.is_equality], system.high[system.is_equality]
        G, h = system.inequalities()
        while True:
            solved = solve(E, e, np.zeros(len(self.parameters)))
            if solved is None:
                return False
            inner, room = G @ solved.basis, h - G @ solved.start
            size = np.linalg.norm(inner, axis=1)
            if np.any(room[size <= ROUNDING] < -FLAT):
                return False
            kept, k = size > ROUNDING, len(solved.free)
            self._G, self._h = inner[kept] / size[kept, None], room[kept] / size[kept]
            self.solved, self._centre, self._factor = solved, np.zeros(k), np.eye(k)
            if k == 0:
                return True
            self._centre, radius, tight = deepest_ball(self._G, self._h)
            if abs(radius) > FLAT:
                return radius > 0
            rows = np.flatnonzero(kept)[tight]
            E, e = np.vstack([E, G[rows]]), np.append(e, h[rows])

    @property
    def dimension(self) -> int:
        """Number of shares that walk."""
        return len(self.solved.free)

    def mapped(self, V: Array) -> Array:
        """Rows of the cube to points: uniform to uniform. Through simplices the map is piecewise
        smooth; by hit-and-run the rows are its seed.
        """
        k = self.dimension
        if k == 0:
            return np.repeat(self.solved.start[None, :], len(V), axis=0)
        if self.simplices is None:
            return self._lifted(self._walked(V, STEPS * k))
        return self._lifted(through_simplices(self.simplices, V[:, :k]))

    def _lifted(self, Z: Array) -> Array:
        """Inside the cube; what is next to its faces is on them."""
        X = self.solved.lift(Z)
        X[X < TIDY], X[X > 1 - TIDY] = 0.0, 1.0
        return X

    @cached_property
    def simplices(self) -> tuple[Array, Array] | None:
        """The simplices of the walking shares; None: too many."""
        return simplices_of(self._G, self._h, self._centre)

    @cached_property
    def _reservoir(self) -> Array:
        rng = np.random.default_rng(0)
        Z = np.repeat(self._centre[None, :], KEPT_POINTS, axis=0)
        for _ in range(3):
            for _ in range(FIRST_STEPS // 3):
                Z = self._round(Z, rng)
            spread = np.atleast_2d(np.cov(Z.T)) + 1e-12 * np.eye(self.dimension)
            self._factor = np.asarray(np.linalg.cholesky(spread), dtype=np.float64)
        return Z

    def _round(self, Z: Array, rng: np.random.Generator) -> Array:
        directions = rng.standard_normal(Z.shape) @ self._factor.T
        return hit_and_run(self._G, self._h, Z, directions, rng)

    def repair(self, X: Array) -> Array:
        """Each row, moved to a point nearby; a point of the polytope stays where it is."""
        if self.dimension == 0:
            return np.repeat(self.solved.start[None, :], len(X), axis=0)
        basis = self.solved.basis
        Z = np.linalg.lstsq(basis, (X - self.solved.start).T, rcond=None)[0].T
        for _ in range(SWEEPS):
            over = Z @ self._G.T - self._h
            worst = np.argmax(over, axis=1)
            much = over[np.arange(len(Z)), worst]
            if not np.any(much > 0):
                break
            Z = Z - np.maximum(much, 0.0)[:, None] * self._G[worst]
        away = Z - self._centre
        rise, room = away @ self._G.T, self._h - self._G @ self._centre
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(rise > room, room / rise, 1.0).min(axis=1)
        Z = self._centre + reach[:, None] * away
        return self._lifted(Z)

    def through(self, U: Array, held: Mask) -> Array:
        """By projections on the constraints in turn."""
        system = self.system
        U, C = U.copy(), np.where(held, 0.0, system.C)
        length = (C**2).sum(axis=1)
        for _ in range(4 * SWEEPS):
            for row in np.flatnonzero(length > 0):
                total = U @ system.C[row]
                miss = total - np.clip(total, system.low[row], system.high[row])
                U -= (miss / length[row])[:, None] * C[row]
            U[:, ~held] = np.clip(U[:, ~held], 0.0, 1.0)
        return U


class MixedIntegerBlock(LinearBlock):
    """Integers, steps, choices and log scales beside numbers on a linear scale.

    The shares that follow from the equalities are chosen among the freest parameters. The others
    walk (Gibbs sampling): each is drawn uniformly, in its own scale, from what the rest leaves it.
    """

    def solve(self, system: LinearSystem) -> bool:
        """Whether there is a point."""
        same, self.system = system.is_equality, system
        self._kinds = [parameter.kind for parameter in self.parameters]
        self._levels = [j for j, kind in enumerate(self._kinds) if kind == "levels"]
        self._steps = np.array([parameter.share_step for parameter in self.parameters])
        freedom = np.array([FREEDOM[kind] for kind in self._kinds])
        solved = solve(system.C[same], system.high[same], freedom)
        starts = None if solved is None else self._programmed()
        if solved is None or starts is None:
            return False
        self.solved, self._starts = solved, starts
        G, h = system.inequalities()
        self._G, self._h = G @ solved.basis, h - G @ solved.start
        return True

    def _programmed(self) -> Array | None:
        """Points of the block by mixed-integer programming; None: there is none."""
        system = self.system
        whole = np.array([kind == "levels" for kind in self._kinds])
        unit = np.where(whole, self._steps, 1.0)
        most = [p.size - 1.0 if p.kind == "levels" else 1.0 for p in self.parameters]
        C = system.C * unit
        least = np.where((C != 0) & whole, np.abs(C), np.inf).min(axis=1, initial=np.inf)
        finest = np.where(np.isfinite(least), np.maximum(least, 1e-12), 1.0)  # a level's step is 1
        ends = (system.low - EXACT) / finest, (system.high + EXACT) / finest
        rng, points = np.random.default_rng(0), list[Array]()
        for _ in range(SEARCHED):
            answer = milp(
                rng.standard_normal(len(unit)) * unit,
                integrality=whole.astype(int),
                bounds=Bounds(0, most),
                constraints=LinearConstraint(C / finest[:, None], *ends) if len(C) else None,
            )
            if answer.x is None:
                return None
            point = np.where(whole, np.rint(answer.x), answer.x) * unit
            if system.allowed(point[None, :])[0]:
                points.append(point)
            if len(points) == STARTS:
                break
        if not points:
            raise SpaceError(
                f"every point found of {', '.join(self.names)} is forbidden: forbid fewer"
            )
        return np.clip(np.array(points), 0.0, 1.0)

    # -- the walk --

    def mapped(self, V: Array) -> Array:
        return self.from_shares(np.clip(self.solved.lift(self._walked(V, ROUNDS)), 0.0, 1.0))

    @cached_property
    def _reservoir(self) -> Array:
        rng = np.random.default_rng(0)
        Z = self._starts[rng.integers(len(self._starts), size=RESERVOIR)][:, self.solved.free]
        for _ in range(BURN_IN):
            Z = self._round(Z, rng)
        return Z

    def _round(self, Z: Array, rng: np.random.Generator) -> Array:
        free = list(self.solved.free)
        for i, j in enumerate(free):
            if self._kinds[j] == "log":
                Z = self._log_step(Z, i, rng)
            elif self._kinds[j] == "levels":
                Z = self._level_step(Z, i, rng)
        lines = [i for i, j in enumerate(free) if self._kinds[j] == "line"]
        if lines and all(j in free for j in self._levels):
            for _ in range(2 * len(lines)):
                directions = np.zeros_like(Z)
                directions[:, lines] = rng.standard_normal((len(Z), len(lines)))
                Z = hit_and_run(self._G, self._h, Z, directions, rng)
        return Z

    def _interval(self, Z: Array, i: int) -> tuple[Array, Array]:
        """What the others leave walking share i."""
        direction = np.zeros_like(Z)
        direction[:, i] = 1.0
        low, high = chord(self._G, self._h, Z, direction)
        return np.clip(Z[:, i] + low, 0.0, 1.0), np.clip(Z[:, i] + high, 0.0, 1.0)

    def _log_step(self, Z: Array, i: int, rng: np.random.Generator) -> Array:
        parameter = self.parameters[self.solved.free[i]]
        assert not isinstance(parameter, Choice)
        low, high = (parameter.coordinates(end) for end in self._interval(Z, i))
        Z = Z.copy()
        Z[:, i] = parameter.shares((low + rng.random(len(Z)) * (high - low))[:, None])
        return Z

    def _level_step(self, Z: Array, i: int, rng: np.random.Generator) -> Array:
        """One of the allowed levels among those tried and the present one: equally likely there
        and back.
        """
        step = self._steps[self.solved.free[i]]
        low, high = self._interval(Z, i)
        first = np.ceil((low - EXACT) / step)
        count = np.maximum(np.floor((high + EXACT) / step) - first + 1, 1)
        levels = first[:, None] + np.floor(rng.random((len(Z), TRIED)) * count[:, None])
        tried = np.repeat(Z[:, None, :], TRIED + 1, axis=1)
        tried[:, 1:, i] = levels * step
        W = self.solved.lift(tried.reshape(-1, Z.shape[1]))
        good = (self.system.allowed(W) & self._on_grid(W)).reshape(len(Z), -1)
        good[:, 0] = True
        pick = np.argmax(np.where(good, rng.random(good.shape), -1.0), axis=1)
        return tried[np.arange(len(Z)), pick]

    def _on_grid(self, W: Array) -> Mask:
        """Which rows are in the cube and on levels, those that follow from equalities too."""
        good = np.all((W > -EXACT) & (W < 1 + EXACT), axis=1)
        for j in self._levels:
            place = W[:, j] / self._steps[j]
            good &= np.abs(place - np.rint(place)) < 1e-6
        return np.asarray(good)

    # -- repair --

    def repair(self, U: Array) -> Array:
        W, good = self._clamped(self.shares(U), np.zeros(len(self.parameters), dtype=np.bool_))
        points = self.from_shares(W)
        if not good.all():
            drawn = self.mapped(np.full((RESERVOIR, 1), 0.5))
            points[~good] = drawn[nearest_rows(U[~good], drawn)]
        return points

    def through(self, U: Array, held: Mask) -> Array:
        fixed = np.array([bool(held[place].any()) for place in self.places])
        W, _ = self._clamped(self.shares(U), fixed)
        return np.where(held, U, self.from_shares(W))

    def jumps(self, u: Array) -> Array:
        """Each parameter with levels moved, and the others after it."""
        W, rows = self.shares(u[None, :]), []
        for j in self._levels:
            parameter = self.parameters[j]
            levels = parameter.shares(parameter.around(u[self.places[j]]))
            moved = np.repeat(W, len(levels), axis=0)
            moved[:, j] = levels
            clamped, good = self._clamped(moved, np.arange(len(self.parameters)) == j)
            rows.append(clamped[good & (np.abs(clamped[:, j] - W[0, j]) > EXACT)])
        points = self.from_shares(np.vstack(rows)) if rows else np.empty((0, len(u)))
        return np.unique(points, axis=0)

    def _clamped(self, W: Array, fixed: Mask) -> tuple[Array, Mask]:
        """Share after share moved into what those before it leave: fixed ones first, then levels,
        log scales and lines; and which rows became feasible.
        """
        k, system = len(self.parameters), self.system
        order = sorted(range(k), key=lambda j: (not fixed[j], FREEDOM[self._kinds[j]]))
        W, C = np.clip(W, 0.0, 1.0), system.C
        total = np.zeros((len(W), len(C)))
        for place, j in enumerate(order):
            others = C[:, sorted(order[place + 1 :])]
            least, most = np.minimum(others, 0.0).sum(axis=1), np.maximum(others, 0.0).sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                lower = (system.low - total - most) / C[:, j]
                upper = (system.high - total - least) / C[:, j]
            counts = C[:, j] != 0
            low = np.where(counts, np.minimum(lower, upper), -np.inf).max(axis=1, initial=0.0)
            high = np.where(counts, np.maximum(lower, upper), np.inf).min(axis=1, initial=1.0)
            if not fixed[j]:
                W[:, j] = self._into(j, W[:, j], low, high)
            total = total + W[:, [j]] * C[:, j]
        return W, system.holds(W, 10 * EXACT) & self._on_grid(W)

    def _into(self, j: int, w: Array, low: Array, high: Array) -> Array:
        """Shares of parameter j moved into [low, high], to a level if it has levels."""
        if self._kinds[j] != "levels":
            return np.clip(np.minimum(np.maximum(w, low), high), 0.0, 1.0)
        step = self._steps[j]
        first, last = np.ceil((low - EXACT) / step), np.floor((high + EXACT) / step)
        index = np.minimum(np.maximum(np.rint(w / step), first), last)
        return np.asarray(np.clip(index, 0, int(self.parameters[j].size) - 1) * step)


def decompose(
    parameters: Mapping[str, Parameter],
    constraints: Sequence[Constraint],
    fixed: Mapping[str, Array],
) -> list[Block]:
    """The blocks into which constraints tie the parameters of a space.

    Args:
        parameters: The parameters of the space.
        constraints: Linear and Forbidden constraints.
        fixed: Coordinates of the parameters whose values are given.

    Raises:
        SpaceError: The constraints leave no point; the message names those that contradict.
    """
    names, slices = list(parameters), slices_of(parameters)
    w = np.zeros(len(names))
    for name, u in fixed.items():
        w[names.index(name)] = parameters[name].shares(u[None, :])[0]

    def block_of(group: Sequence[str], mine: Sequence[Constraint]) -> Block | None:
        inner = {name: parameters[name] for name in group}
        columns = np.concatenate([np.arange(slices[n].start, slices[n].stop) for n in group])
        system = LinearSystem.of(parameters, mine).restricted(w, [names.index(n) for n in group])
        kinds = {parameter.kind for parameter in inner.values()}
        if kinds == {"levels"}:
            listed = ListBlock(inner, columns)
            has_points = listed.solve(system)
            if has_points is not None:
                return listed if has_points else None
        block = (PolytopeBlock if kinds == {"line"} else MixedIntegerBlock)(inner, columns)
        return block if block.solve(system) else None

    def contradiction(group: Sequence[str], mine: Sequence[Constraint]) -> SpaceError:
        guilty = list(mine)
        for each in mine:  # drop constraints without which there is still no point
            rest = [other for other in guilty if other is not each]
            try:
                empty = bool(rest) and block_of(group, rest) is None
            except SpaceError:
                empty = True
            guilty = rest if empty else guilty
        ranges = ", ".join(
            f"{name} {parameter!r}"
            for name, parameter in parameters.items()
            if any(name in each.names for each in guilty)
        )
        where = f" with {', '.join(fixed)} fixed" if fixed else ""
        noun = "constraint" if len(guilty) == 1 else "constraints"
        return SpaceError(
            f"no point{where} satisfies the {noun} {' and '.join(repr(str(g)) for g in guilty)}:"
            f" the feasible set is empty for {ranges}; loosen a constraint, or widen a range"
        )

    alive = [each for each in constraints if not _is_ruled_out(each, parameters, fixed)]
    alive.sort(key=lambda each: isinstance(each, Forbidden))  # linear constraints tie first
    blocks: list[Block] = []
    for group in _components(alive, fixed):
        mine = [each for each in alive if set(each.names) & set(group)]
        block = block_of(group, mine)
        if block is None:
            raise contradiction(group, mine)
        blocks.append(block)
    for each in alive:
        system = LinearSystem.of(parameters, [each])
        if set(each.names) <= set(fixed) and not system.holds(w[None, :], INSIDE)[0]:
            raise contradiction(each.names, [each])
    return blocks


def _is_ruled_out(
    constraint: Constraint, parameters: Mapping[str, Parameter], fixed: Mapping[str, Array]
) -> bool:
    """Whether fixed values differ from a forbidden combination already."""
    return isinstance(constraint, Forbidden) and any(
        name in fixed and fixed[name].tolist() != parameters[name].encode(value)
        for name, value in constraint.values.items()
    )


def _components(constraints: Sequence[Constraint], fixed: Mapping[str, Array]) -> list[list[str]]:
    """Names that constraints tie together, in the order in which they are first named."""
    groups: list[list[str]] = []
    for each in constraints:
        mine = [name for name in each.names if name not in fixed]
        touched = [group for group in groups if set(group) & set(mine)]
        merged = list(dict.fromkeys([*chain(*touched), *mine]))
        groups = [group for group in groups if group not in touched]
        groups += [merged] if merged else []
    return groups
