"""Inputs of different kinds in one linear constraint: whole numbers, steps and log scales beside
numbers that may take any value.

The coordinates that follow from the equalities are chosen among the freest; the others walk, each
uniformly over what the rest leaves it, in its own scale. theory.md#feasible
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import Array, Indices, Mask
from noregret.space.axis import Axis
from noregret.space.blocks import EXACT, Rows, columns_of, written
from noregret.space.polytope import Solved, chord, seeded, solve
from noregret.space.rows import nearest_rows

STARTS = 12  # points from which the walk begins, each the best for a random objective
SEARCHED = 100  # objectives that are tried until one is not forbidden
RESERVOIR, BURN_IN, ROUNDS = 512, 40, 4  # points that are kept, rounds before, and from one on
TRIED = 24  # levels at once
PREFERRED = {"line": 2.0, "log": 1.0, "levels": 0.0}


class MixedBlock:
    """w of every axis is in [0, 1], levels on their grid."""

    def __init__(self, axes: Sequence[Axis], rows: Rows, solved: Solved, starts: Array) -> None:
        self.axes, self.rows, self.solved = axes, rows, solved
        self._columns, self._starts = columns_of(axes), starts
        C = np.vstack([rows.C, np.eye(len(axes))])
        low = np.concatenate([rows.low, np.zeros(len(axes))])
        high = np.concatenate([rows.high, np.ones(len(axes))])
        inner, at = C @ solved.basis, C @ solved.start
        self._G = np.vstack([inner[np.isfinite(high)], -inner[np.isfinite(low)]])
        self._h = np.concatenate(
            [(high - at)[np.isfinite(high)], (at - low)[np.isfinite(low)]]
        )  # of the walking coordinates: G z ≤ h
        self._levels = [j for j, axis in enumerate(axes) if axis.kind == "levels"]

    @staticmethod
    def of(axes: Sequence[Axis], rows: Rows) -> MixedBlock | None:
        """None: it is empty."""
        same = rows.equal
        preferred = np.array([PREFERRED[axis.kind] for axis in axes])
        solved = solve(rows.C[same], rows.high[same], preferred)
        starts = _starts(axes, rows) if solved is not None else None
        return None if solved is None or starts is None else MixedBlock(axes, rows, solved, starts)

    @property
    def columns(self) -> Indices:
        return self._columns

    # -- the walk --

    def mapped(self, V: Array) -> Array:
        rng = seeded(V)
        Z = self._reservoir[rng.integers(len(self._reservoir), size=len(V))]
        for _ in range(ROUNDS):
            Z = self._round(Z, rng)
        return written(self.axes, self._on_grid(self.solved.lift(Z)))

    @cached_property
    def _reservoir(self) -> Array:
        """Of the walking coordinates."""
        rng = np.random.default_rng(0)
        Z = self._starts[rng.integers(len(self._starts), size=RESERVOIR)][:, self.solved.free]
        for _ in range(BURN_IN):
            Z = self._round(Z, rng)
        return Z

    def _round(self, Z: Array, rng: np.random.Generator) -> Array:
        lines = [i for i, j in enumerate(self.solved.free) if self.axes[j].kind == "line"]
        for i, j in enumerate(self.solved.free):
            if self.axes[j].kind == "log":
                Z = self._log_step(Z, i, self.axes[j], rng)
            elif self.axes[j].kind == "levels":
                Z = self._level_step(Z, i, self.axes[j], rng)
        follows_grid = any(j not in self.solved.free for j in self._levels)
        if lines and not follows_grid:
            for _ in range(2 * len(lines)):
                directions = np.zeros_like(Z)
                directions[:, lines] = rng.standard_normal((len(Z), len(lines)))
                low, high = chord(self._G, self._h, Z, directions)
                Z = Z + (low + rng.random(len(Z)) * (high - low))[:, None] * directions
        return Z

    def _interval(self, Z: Array, i: int) -> tuple[Array, Array]:
        """What the others leave coordinate i."""
        direction = np.zeros_like(Z)
        direction[:, i] = 1.0
        low, high = chord(self._G, self._h, Z, direction)
        return np.clip(Z[:, i] + low, 0.0, 1.0), np.clip(Z[:, i] + high, 0.0, 1.0)

    def _log_step(self, Z: Array, i: int, axis: Axis, rng: np.random.Generator) -> Array:
        low, high = (axis.coordinates(end) for end in self._interval(Z, i))
        Z = Z.copy()
        Z[:, i] = axis.shares(low + rng.random(len(Z)) * (high - low))
        return Z

    def _level_step(self, Z: Array, i: int, axis: Axis, rng: np.random.Generator) -> Array:
        """One of the levels tried that are allowed, the present one among them: equally likely
        there and back.
        """
        low, high = self._interval(Z, i)
        first = np.ceil((low - EXACT) / axis.step)
        count = np.maximum(np.floor((high + EXACT) / axis.step) - first + 1, 1)
        levels = first[:, None] + np.floor(rng.random((len(Z), TRIED)) * count[:, None])
        tried = np.repeat(Z[:, None, :], TRIED + 1, axis=1)
        tried[:, 1:, i] = levels * axis.step
        flat = tried.reshape(-1, Z.shape[1])
        good = self._allowed(flat).reshape(len(Z), -1)
        good[:, 0] = True
        pick = np.argmax(np.where(good, rng.random(good.shape), -1.0), axis=1)
        return tried[np.arange(len(Z)), pick]

    def _allowed(self, Z: Array) -> Mask:
        W = self.solved.lift(Z)
        return np.asarray(self.rows.free(W) & self._is_on_grid(W))

    def _is_on_grid(self, W: Array) -> Mask:
        """Of the levels that follow from the others too."""
        good = np.all((W > -EXACT) & (W < 1 + EXACT), axis=1)
        for j in self._levels:
            place = W[:, j] / self.axes[j].step
            good &= np.abs(place - np.rint(place)) < 1e-6
        return np.asarray(good)

    def _on_grid(self, W: Array) -> Array:
        W = np.clip(W, 0.0, 1.0)
        for j in self._levels:
            W[:, j] = np.rint(W[:, j] / self.axes[j].step) * self.axes[j].step
        return W

    # -- the way back --

    def repair(self, U: Array) -> Array:
        W, good = self._clamped(self._read(U), np.zeros(len(self.axes), dtype=np.bool_))
        made = written(self.axes, W)
        if not good.all():
            known = self.mapped(np.full((RESERVOIR, 1), 0.5))
            made[~good] = known[nearest_rows(U[~good], known)]
        return made

    def through(self, U: Array, kept: Mask) -> Array:
        held, at = [], 0
        for axis in self.axes:
            width = axis.columns.stop - axis.columns.start
            held.append(bool(kept[at : at + width].any()))
            at += width
        W, _ = self._clamped(self._read(U), np.array(held))
        return np.where(kept, U, written(self.axes, W))

    def jumps(self, u: Array) -> Array:
        """Each level axis moved, the rest after it."""
        W, rows = self._read(u[None, :]), []
        for j in self._levels:
            axis = self.axes[j]
            levels = axis.read(_placed(axis, axis.parameter.around(u[self._within(j)])))
            moved = np.repeat(W, len(levels), axis=0)
            moved[:, j] = levels
            held = np.arange(len(self.axes)) == j
            clamped, good = self._clamped(moved, held)
            rows.append(clamped[good & (np.abs(clamped[:, j] - W[0, j]) > EXACT)])
        made = written(self.axes, np.vstack(rows)) if rows else np.empty((0, len(u)))
        return np.unique(made, axis=0)

    def _within(self, j: int) -> slice:
        """The columns of an axis among those of the block."""
        widths = [axis.columns.stop - axis.columns.start for axis in self.axes]
        start = sum(widths[:j])
        return slice(start, start + widths[j])

    def _read(self, U: Array) -> Array:
        return np.column_stack(
            [axis.read(_placed(axis, U[:, self._within(j)])) for j, axis in enumerate(self.axes)]
        )

    def _clamped(self, W: Array, held: Mask) -> tuple[Array, Mask]:
        """Axis after axis moved into what those before it leave, held ones first, then levels, at
        last those that may take any value; and which rows came out right.
        """
        order = sorted(range(len(self.axes)), key=lambda j: (not held[j], self._freedom(j)))
        W, C = np.clip(W, 0.0, 1.0), self.rows.C
        rest = set(order)
        total = np.zeros((len(W), len(C)))
        for j in order:
            rest.remove(j)
            others = C[:, sorted(rest)]
            least, most = np.minimum(others, 0.0).sum(axis=1), np.maximum(others, 0.0).sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                lower = (self.rows.low - total - most) / C[:, j]
                upper = (self.rows.high - total - least) / C[:, j]
            counted = C[:, j] != 0
            low = np.where(counted, np.minimum(lower, upper), -np.inf).max(axis=1, initial=0.0)
            high = np.where(counted, np.maximum(lower, upper), np.inf).min(axis=1, initial=1.0)
            if not held[j]:
                W[:, j] = self._into(self.axes[j], W[:, j], low, high)
            total = total + W[:, [j]] * C[:, j]
        return W, self.rows.hold(W, 10 * EXACT) & self._is_on_grid(W)

    def _freedom(self, j: int) -> float:
        return PREFERRED[self.axes[j].kind]

    def _into(self, axis: Axis, w: Array, low: Array, high: Array) -> Array:
        inside = np.clip(np.minimum(np.maximum(w, low), high), 0.0, 1.0)
        if axis.kind != "levels":
            return inside
        first, last = np.ceil((low - EXACT) / axis.step), np.floor((high + EXACT) / axis.step)
        index = np.minimum(np.maximum(np.rint(w / axis.step), first), last)
        return np.asarray(np.clip(index, 0, axis.count - 1) * axis.step)


def _placed(axis: Axis, block: Array) -> Array:
    """The columns of one axis, where it looks for them."""
    U = np.zeros((len(block), axis.columns.stop))
    U[:, axis.columns] = block
    return U


def _starts(axes: Sequence[Axis], rows: Rows) -> Array | None:
    """Points of the block by mixed-integer programming; None: there is none."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    whole = np.array([axis.kind == "levels" for axis in axes])
    unit = np.array([axis.step if axis.kind == "levels" else 1.0 for axis in axes])
    most = np.array([axis.count - 1.0 if axis.kind == "levels" else 1.0 for axis in axes])
    C = rows.C * unit
    least = np.where((C != 0) & whole, np.abs(C), np.inf).min(axis=1, initial=np.inf)
    finest = np.where(np.isfinite(least), np.maximum(least, 1e-12), 1.0)  # a step of a level is 1
    ends = (rows.low - EXACT) / finest, (rows.high + EXACT) / finest
    rng, found = np.random.default_rng(0), []
    for _ in range(SEARCHED):
        answer = milp(
            rng.standard_normal(len(axes)) * unit,
            integrality=whole.astype(int),
            bounds=Bounds(0, most),
            constraints=LinearConstraint(C / finest[:, None], *ends) if len(C) else None,
        )
        if answer.x is None:
            return None
        point = np.where(whole, np.rint(answer.x), answer.x) * unit
        if rows.free(point[None, :])[0]:
            found.append(point)
        if len(found) == STARTS:
            break
    if not found:
        raise SpaceError(
            f"no point of {', '.join(axis.name for axis in axes)} was found that is not forbidden:"
            " forbid fewer combinations, or widen the ranges"
        )
    return np.clip(np.array(found), 0.0, 1.0)
