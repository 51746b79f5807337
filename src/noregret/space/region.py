"""The feasible part of a box: what its constraints leave, to be sampled, searched and shown.

Constraints tie inputs together to blocks; inputs in no constraint are as they were. Functions
(``Satisfies``) are asked last: points that they refuse are drawn again. So is a constraint between
inputs that do not always exist together: it counts where all of them do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import Array, Mask
from noregret.space.axis import Axis
from noregret.space.blocks import LIST_LIMIT, ListBlock
from noregret.space.branching import Branching
from noregret.space.constraints import Constraint, Forbidden, Satisfies
from noregret.space.parameters import Parameter
from noregret.space.polytope import seeded
from noregret.space.rows import nearest_rows
from noregret.space.search_space import product
from noregret.space.sums import INSIDE, Sums
from noregret.space.tying import blocks_of

ASKED = 20_000  # points at which functions are asked before the space counts as empty
KEPT = 256  # points that satisfy them, at least, if there are as many
ROUNDS = 200  # of drawing again what they refuse


class Region:
    """The points of a box that satisfy its constraints; ``held``: coordinates that are given;
    ``branching``: where inputs exist that do not always.
    """

    def __init__(
        self,
        parameters: Mapping[str, Parameter],
        constraints: Sequence[Constraint],
        held: Mapping[str, Array] | None = None,
        branching: Branching | None = None,
    ) -> None:
        starts = np.cumsum([0] + [parameter.width for parameter in parameters.values()])
        places = [slice(int(a), int(b)) for a, b in pairwise(starts)]
        self.axes = {
            name: Axis(name, parameter, place)
            for (name, parameter), place in zip(parameters.items(), places, strict=True)
        }
        self.dimension = int(starts[-1])
        self.constraints, self._held = tuple(constraints), dict(held or {})
        for constraint in constraints:
            constraint.check(parameters)
        self.branching = branching
        asked = [each for each in constraints if isinstance(each, Satisfies) or self._parted(each)]
        self._functions = asked
        self._solved = tuple(each for each in constraints if each not in asked)
        self._sums = Sums.of(self.axes, self.dimension, self._solved)
        self.blocks = blocks_of(self.axes, self._sums, self._solved, self._held)
        if branching is not None and not self._held:
            rest = branching.rest.copy()
            for block in self.blocks:
                rest[block.columns] = block.repair(rest[None, block.columns])[0]
            self.branching = replace(branching, rest=rest)
        self._check_functions()

    def _parted(self, constraint: Constraint) -> bool:
        """Whether some of its inputs may exist where others do not."""
        if self.branching is None or isinstance(constraint, Satisfies):
            return False
        return not self.branching.together(constraint.names)

    def _counts(self, constraint: Constraint, values: Mapping[str, Any]) -> bool:
        """Whether all that it names exists."""
        if self.branching is None or isinstance(constraint, Satisfies):
            return True
        return all(self.branching.exists(name, values) for name in constraint.names)

    def _settled(self, U: Array) -> Array:
        return U if self.branching is None else self.branching.settled(U)

    # -- what holds --

    def feasible(self, U: Array, tolerance: float = INSIDE) -> Mask:
        """Which rows satisfy everything; functions are asked only where the rest holds."""
        good = self._plainly(U, tolerance)
        for row in np.flatnonzero(good) if self._functions else ():
            good[row] = self._agreed(U[row])
        return good

    def _plainly(self, U: Array, tolerance: float = INSIDE) -> Mask:
        good = self._sums.hold(U, tolerance)
        for each in self._solved:
            if isinstance(each, Forbidden):
                same = np.ones(len(U), dtype=np.bool_)
                for name, value in each.values.items():
                    axis = self.axes[name]
                    code = np.array(axis.parameter.encode(value))
                    same &= np.all(np.abs(U[:, axis.columns] - code) < 1e-9, axis=1)
                good &= ~same
        return np.asarray(good)

    def _agreed(self, u: Array) -> bool:
        values = {
            name: axis.parameter.decode(np.clip(u[axis.columns], 0.0, 1.0))
            for name, axis in self.axes.items()
        }
        parameters = {name: axis.parameter for name, axis in self.axes.items()}
        return all(
            each.holds(values)
            if isinstance(each, Satisfies)
            else not self._counts(each, values) or each.broken(values, parameters) is None
            for each in self._functions
        )

    def broken(self, values: Mapping[str, Any]) -> str | None:
        """The first constraint that a point breaks, and how; None: none."""
        parameters = {name: axis.parameter for name, axis in self.axes.items()}
        for each in self.constraints:
            how = each.broken(values, parameters) if self._counts(each, values) else None
            if how is not None:
                return f"breaks the constraint '{each}': {how}"
        return None

    # -- points --

    def mapped(self, V: Array) -> Array:
        """Feasible points for rows of the cube, uniform to uniform; equal rows give equal points.
        Dense rows give dense points. theory.md#feasible
        """
        U = self._placed(V)
        if self._functions:
            bad = np.flatnonzero([not self._agreed(u) for u in U])
            rng = seeded(V)
            for _ in range(ROUNDS):
                if len(bad) == 0:
                    break
                U[bad] = self._placed(rng.random((len(bad), self.dimension)))
                bad = bad[[not self._agreed(U[row]) for row in bad]]
            if len(bad):
                U[bad] = self._known[rng.integers(len(self._known), size=len(bad))]
        return U

    def uniform(self, count: int, rng: np.random.Generator) -> Array:
        every = self.enumeration()
        if every is not None:
            return every[rng.integers(len(every), size=count)]
        return self.mapped(rng.random((count, self.dimension)))

    def _placed(self, V: Array) -> Array:
        """Everything but the functions."""
        U = self._snapped(V)
        for block in self.blocks:
            U[:, block.columns] = block.mapped(V[:, block.columns])
        return self._settled(U)

    def _snapped(self, V: Array) -> Array:
        parts = [axis.parameter.snap(V[:, axis.columns]) for axis in self.axes.values()]
        U = np.hstack(parts) if parts else V.copy()
        for name, block in self._held.items():
            U[:, self.axes[name].columns] = block
        return np.array(U)

    def repair(self, U: Array) -> Array:
        """Each row at a feasible point, its own or one nearby."""
        U = self._snapped(np.clip(U, 0.0, 1.0))
        rows = np.flatnonzero(~self._plainly(U, 1e-12))
        for block in self.blocks:
            if len(rows):
                part = np.ix_(rows, block.columns)
                U[part] = block.repair(U[part])
        U = self._settled(U)
        if self._functions:
            bad = np.flatnonzero([not self._agreed(u) for u in U])
            if len(bad):
                U[bad] = self._known[nearest_rows(U[bad], self._known)]
        return U

    def through(self, U: Array, names: Sequence[str]) -> tuple[Array, Mask]:
        """Rows whose other inputs give way to the named ones, as a slice shows them; and which of
        them are feasible.
        """
        kept = np.zeros(self.dimension, dtype=np.bool_)
        for name in names:
            kept[self.axes[name].columns] = True
        U = np.array(U, dtype=np.float64)
        rows = np.flatnonzero(~self._plainly(U))
        for block in self.blocks:
            part = np.ix_(rows, block.columns)
            if len(rows):
                U[part] = block.through(U[part], kept[block.columns])
        U = self._settled(U)
        return U, self.feasible(U, 1e-6)

    def jumps(self, u: Array) -> Array:
        """Points next to one in a block, and in single inputs of no block."""
        rows, tied = [], np.zeros(self.dimension, dtype=np.bool_)
        for block in self.blocks:
            tied[block.columns] = True
            near = block.jumps(u[block.columns])
            moved = np.repeat(u[None, :], len(near), axis=0)
            moved[:, block.columns] = near
            rows.append(moved)
        for name, axis in self.axes.items():
            free = axis.kind == "levels" and axis.parameter.width > 0 and name not in self._held
            if free and not tied[axis.columns].any():
                levels = axis.parameter.around(u[axis.columns])
                moved = np.repeat(u[None, :], len(levels), axis=0)
                moved[:, axis.columns] = levels
                rows.append(moved[~np.all(moved == u, axis=1)])
        found = self._settled(np.vstack(rows) if rows else np.empty((0, self.dimension)))
        return found[self.feasible(found)]

    @property
    def tied(self) -> Mask:
        """Coordinates in blocks whose levels only jump."""
        mask = np.zeros(self.dimension, dtype=np.bool_)
        for block in self.blocks:
            mask[block.columns] = True
        levels = [axis.columns for axis in self.axes.values() if axis.kind == "levels"]
        of_levels = np.zeros(self.dimension, dtype=np.bool_)
        for columns in levels:
            of_levels[columns] = True
        return mask & of_levels

    @cached_property
    def _every(self) -> Array | None:
        lists = [block for block in self.blocks if isinstance(block, ListBlock)]
        tied = {int(column) for block in self.blocks for column in block.columns}
        free = [axis for axis in self.axes.values() if not set(_range(axis)) & tied]
        sizes = [
            1.0 if axis.name in self._held else axis.parameter.size
            for axis in free
            if axis.parameter.width
        ]
        if len(lists) < len(self.blocks) or math.prod(sizes) == math.inf:
            return None
        if math.prod([*sizes, *(len(block.table) for block in lists)]) > LIST_LIMIT:
            return None
        parts = [*(block.table for block in lists), *(self._levels(axis) for axis in free)]
        order = [*(int(c) for block in lists for c in block.columns)]
        order += [column for axis in free for column in _range(axis)]
        found = product(parts)[:, np.argsort(order)]
        if self.branching is not None:
            found = np.unique(self._settled(found), axis=0)
        return found[self.feasible(found)] if self._functions else found

    def _levels(self, axis: Axis) -> Array:
        if axis.name in self._held:
            return self._held[axis.name][None, :]
        return axis.parameter.levels()

    def enumeration(self) -> Array | None:
        """All points, if they are few enough to try each."""
        return self._every

    def _check_functions(self) -> None:
        if not self._functions:
            return
        every = self.enumeration()
        if every is None:
            empty, looked = len(self._known) == 0, f"none of {ASKED:,} points spread over the space"
        else:
            empty, looked = len(every) == 0, "no point of the space"
        if empty:
            named = " and ".join(repr(str(each)) for each in self._functions)
            raise SpaceError(
                f"{looked} satisfies {named}: the feasible set is empty, or too small to be found"
                " so; loosen it, or choose inputs in which it is no rare exception"
            )

    @cached_property
    def _known(self) -> Array:
        """Points at which the functions say yes, as far as they were found."""
        rng, asked = np.random.default_rng(0), 0
        found: list[Array] = []
        while asked < ASKED and len(found) < KEPT:
            U = self._placed(rng.random((KEPT, self.dimension)))
            found += [u for u in U if self._agreed(u)]
            asked += len(U)
        return np.array(found).reshape(-1, self.dimension)

    # -- geometry for searches --

    def rows(self, X: Array) -> tuple[Array, Array, Mask]:
        """The linear constraints at points X as a J u ≤ b: gradients (n, m, d), what is left (n, m)
        and which of them are equalities. An inequality with two ends stands twice.
        """
        return self._sums.rows(X)

    def touches(self, low: Array, high: Array) -> Mask:
        """Which boxes low ≤ u ≤ high may hold a feasible point: False is certain."""
        return self._sums.touch(low, high)


def _range(axis: Axis) -> range:
    return range(axis.columns.start, axis.columns.stop)
