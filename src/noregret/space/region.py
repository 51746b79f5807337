"""The points of a box, or those that satisfy its constraints: sampled, searched and shown.

Constraints tie inputs together to blocks (``decompose``); other inputs are as they were. Functions
(``Satisfies``) come last: rejected points are drawn again. So does a constraint between inputs that
do not always exist together: it counts where all of them do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import ENUMERATION_LIMIT, Array, Indices, Mask, nearest_rows, product
from noregret.space.blocks import (
    INSIDE,
    LinearSystem,
    ListBlock,
    coordinate_mask,
    decompose,
    slices_of,
)
from noregret.space.conditions import Conditions
from noregret.space.constraints import Constraint, Linear, Satisfies
from noregret.space.parameters import Choice, Parameter
from noregret.space.polytope import seeded

ASKED = 20_000  # points at which functions are called before the space counts as empty
KEPT = 256  # points that satisfy the functions: how many are collected at least
ROUNDS = 200  # how often rejected points are drawn again


class Region:
    """The points of a box that satisfy its constraints; all of them if it has none.

    Args:
        parameters: The parameters of the box.
        constraints: Its constraints, maybe none.
        conditions: Where inputs exist that do not always.
        fixed: Coordinates of the parameters whose values are given.

    Raises:
        SpaceError: A constraint does not fit the parameters, or no point is feasible.
    """

    def __init__(
        self,
        parameters: Mapping[str, Parameter],
        constraints: Sequence[Constraint],
        conditions: Conditions,
        fixed: Mapping[str, Array] | None = None,
    ) -> None:
        self.parameters, self.constraints = parameters, tuple(constraints)
        self.conditions, self._fixed = conditions, dict(fixed or {})
        self._slices = slices_of(parameters)
        self.dimension = max(place.stop for place in self._slices.values())
        for constraint in constraints:
            constraint.check(parameters)
        self._checked = [
            each
            for each in constraints
            if isinstance(each, Satisfies) or not conditions.together(each.names)
        ]  # at each point; the others are solved
        solved = [each for each in constraints if each not in self._checked]
        self._system = LinearSystem.of(parameters, solved)
        self._named = {name for each in solved for name in each.names}
        self.blocks = decompose(parameters, solved, self._fixed)
        self._tied = np.zeros(self.dimension, dtype=np.bool_)
        for block in self.blocks:
            self._tied[block.columns] = True
        if not self._fixed:
            rest = conditions.rest.copy()
            for block in self.blocks:
                rest[block.columns] = block.repair(rest[None, block.columns])[0]
            self.conditions = replace(conditions, rest=rest)
        self._check_not_empty()

    @property
    def is_checked(self) -> bool:
        """Whether some constraints are tried at each point, such as functions: points then cost."""
        return bool(self._checked)

    def _shares(self, U: Array) -> Array:
        """Shares of the ranges (n, parameters); zeros for parameters in no solved constraint."""
        W = np.zeros((len(U), len(self.parameters)))
        for j, (name, parameter) in enumerate(self.parameters.items()):
            if name in self._named:
                W[:, j] = parameter.shares(U[:, self._slices[name]])
        return W

    def _outside(self, U: Array, tolerance: float) -> Indices:
        """Positions of the rows that violate a solved constraint."""
        if not self.blocks:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(~self._system.holds(self._shares(U), tolerance))

    # -- feasibility --

    def feasible(self, U: Array, tolerance: float = INSIDE) -> Mask:
        """Which rows satisfy all constraints; functions are called only where the others hold."""
        good = self._system.holds(self._shares(U), tolerance)
        rows = np.flatnonzero(good)
        good[rows[self._rejected(U[rows])]] = False
        return good

    def _rejected(self, U: Array) -> Indices:
        """Positions of the rows that the constraints checked at each point reject."""
        if not self._checked:
            return np.empty(0, dtype=np.intp)
        U = np.clip(U, 0.0, 1.0)
        columns = [p.values(U[:, self._slices[name]]) for name, p in self.parameters.items()]
        rows = (dict(zip(self.parameters, row, strict=True)) for row in zip(*columns, strict=True))
        return np.flatnonzero([self.broken(values, self._checked) is not None for values in rows])

    def broken(
        self, values: Mapping[str, Any], constraints: Sequence[Constraint] | None = None
    ) -> str | None:
        """The first constraint that a point violates, and how; None: it is feasible. A constraint
        counts where all inputs that it names exist.
        """
        for each in self.constraints if constraints is None else constraints:
            if all(self.conditions.exists(name, values) for name in each.names):
                why = each.broken(values, self.parameters)
                if why is not None:
                    return f"breaks the constraint '{each}': {why}"
        return None

    def refused(self, values: Mapping[str, Any]) -> str | None:
        """As ``broken`` of a point that was run: rounded digits break no sum, and where one factor
        would make a sum right, the message has the scaled inputs.
        """
        linear = [each for each in self.constraints if isinstance(each, Linear)]
        rounded = [each for each in linear if each.is_rounding(values, self.parameters)]
        rest = [each for each in self.constraints if each not in rounded]
        why = self.broken(values, rest)
        for each in linear if why is not None else ():
            scaled = each.scaled(values, self.parameters)
            if scaled is not None and each.broken(values, self.parameters) and each in rest:
                listed = ", ".join(f"{name}={value:.6g}" for name, value in scaled.items())
                return f"{why}. Scaled to the sum it is {listed}"
        return why

    # -- points --

    def mapped(self, V: Array) -> Array:
        """Feasible points for rows of the cube: uniform to uniform, dense to dense, equal to equal.
        theory.md#feasible
        """
        U, rng = self._placed(V), seeded(V)
        bad = self._rejected(U)
        for _ in range(ROUNDS):
            if len(bad) == 0:
                return U
            U[bad] = self._placed(rng.random((len(bad), self.dimension)))
            bad = bad[self._rejected(U[bad])]
        U[bad] = self._accepted[rng.integers(len(self._accepted), size=len(bad))]
        return U

    def _placed(self, V: Array) -> Array:
        """Points that satisfy the solved constraints."""
        U = self._snap(np.array(V))
        for block in self.blocks:
            U[:, block.columns] = block.mapped(V[:, block.columns])
        return self.conditions.settled(U)

    def _snap(self, U: Array) -> Array:
        """Snaps each input by itself, in place."""
        for name, parameter in self.parameters.items():
            place = self._slices[name]
            if name in self._fixed:
                U[:, place] = self._fixed[name]
            elif parameter.kind == "levels":
                U[:, place] = parameter.snap(U[:, place])
        return U

    def repair(self, U: Array) -> Array:
        """Each row, moved to a feasible point nearby unless it is feasible."""
        U = self._snap(np.clip(np.asarray(U, dtype=np.float64), 0.0, 1.0))
        rows = self._outside(U, 1e-12)
        for block in self.blocks if len(rows) else ():
            part = np.ix_(rows, block.columns)
            U[part] = block.repair(U[part])
        U = self.conditions.settled(U)
        bad = self._rejected(U)
        if len(bad):
            U[bad] = self._accepted[nearest_rows(U[bad], self._accepted)]
        return U

    def through(self, U: Array, names: Sequence[str]) -> tuple[Array, Mask]:
        """Rows of a slice along the named inputs, the others moved so that constraints hold; and
        which rows are feasible.
        """
        kept = np.zeros(self.dimension, dtype=np.bool_)
        for name in names:
            kept[self._slices[name]] = True
        U = np.array(U, dtype=np.float64)
        rows = self._outside(U, INSIDE)
        for block in self.blocks if len(rows) else ():
            part = np.ix_(rows, block.columns)
            U[part] = block.through(U[part], kept[block.columns])
        U = self.conditions.settled(U)
        return U, self.feasible(U, 1e-6)

    def jumps(self, u: Array) -> Array:
        """Feasible points that differ from one in a block, or in one input of no block."""
        moves = [(block.columns, block.jumps(u[block.columns])) for block in self.blocks]
        for name, parameter in self._untied().items():
            columns = np.arange(self._slices[name].start, self._slices[name].stop)
            if parameter.kind == "levels" and len(columns) and name not in self._fixed:
                levels = parameter.around(u[columns])
                moves.append((columns, levels[~np.all(levels == u[columns], axis=1)]))
        rows = []
        for columns, near in moves:
            moved = np.repeat(u[None, :], len(near), axis=0)
            moved[:, columns] = near
            rows.append(moved)
        around = self.conditions.settled(np.vstack(rows) if rows else np.empty((0, self.dimension)))
        return around[self.feasible(around)]

    def _untied(self) -> dict[str, Parameter]:
        """Parameters in no block."""
        return {
            name: parameter
            for name, parameter in self.parameters.items()
            if not self._tied[self._slices[name]].any()
        }

    @property
    def tied(self) -> Mask:
        """Coordinates in blocks whose parameters move by levels only."""
        levels = [parameter.kind == "levels" for parameter in self.parameters.values()]
        return self._tied & coordinate_mask(self.parameters, levels)

    @cached_property
    def _every(self) -> Array | None:
        lists = [block for block in self.blocks if isinstance(block, ListBlock)]
        untied = {name: p for name, p in self._untied().items() if p.width}
        sizes = [1.0 if name in self._fixed else p.size for name, p in untied.items()]
        if len(lists) < len(self.blocks) or math.prod(sizes) == math.inf:
            return None
        if math.prod([*sizes, *(len(block.table) for block in lists)]) > ENUMERATION_LIMIT:
            return None
        tables, order = [block.table for block in lists], [block.columns for block in lists]
        for name, parameter in untied.items():
            fixed = self._fixed.get(name)
            tables.append(parameter.levels() if fixed is None else fixed[None, :])
            order.append(np.arange(self._slices[name].start, self._slices[name].stop))
        every = product(tables)
        if self.blocks:
            every = every[:, np.argsort(np.concatenate(order))]
        if self.conditions.owned:
            every = np.unique(self.conditions.settled(every), axis=0)
        return every[self.feasible(every)] if self._checked else every

    def enumeration(self) -> Array | None:
        """All feasible points, if they are few enough to try each."""
        return self._every

    def _check_not_empty(self) -> None:
        """Checks that the constraints checked at each point accept some."""
        every = self.enumeration() if self._checked else None
        if self._checked and len(self._accepted if every is None else every) == 0:
            looked = f"none of {ASKED:,} points" if every is None else "no point of the space"
            named = " and ".join(repr(str(each)) for each in self._checked)
            raise SpaceError(
                f"{looked} satisfies {named}: the feasible set is empty or very small. Relax the"
                " constraint, or reparameterise so that feasible points are not rare"
            )

    @cached_property
    def _accepted(self) -> Array:
        """Points at which all constraints hold, as many as were found."""
        rng, asked = np.random.default_rng(0), 0
        points: list[Array] = []
        while asked < ASKED and sum(map(len, points)) < KEPT:
            U = self._placed(rng.random((KEPT, self.dimension)))
            points.append(np.delete(U, self._rejected(U), axis=0))
            asked += len(U)
        return np.vstack(points)

    # -- geometry for searches --

    def rows(self, X: Array) -> tuple[Array, Array, Mask]:
        """The linear constraints at points X as J u ≤ b: gradients (n, m, d), slack (n, m), and
        which of them are equalities. A constraint with two different ends has two rows.
        """
        system = self._system
        C, slopes = np.zeros((len(system.C), self.dimension)), np.ones_like(X)
        for j, (name, parameter) in enumerate(self.parameters.items()):
            if not isinstance(parameter, Choice):
                column = self._slices[name].start
                C[:, column] = system.C[:, j]
                slopes[:, column] = parameter.share_slope(X[:, column])
        total = self._shares(X) @ system.C.T
        same = system.is_equality
        above, below = np.isfinite(system.high), np.isfinite(system.low) & ~same
        C = np.vstack([C[above], -C[below]])
        room = np.hstack([(system.high - total)[:, above], (total - system.low)[:, below]])
        is_equal = np.append(same[above], np.zeros(int(below.sum()), dtype=np.bool_))
        return C[None] * slopes[:, None, :], room, is_equal

    def touches(self, low: Array, high: Array) -> Mask:
        """Which boxes low ≤ u ≤ high may hold a feasible point; False is certain, as w rises with
        u.
        """
        return self._system.touches(self._shares(low), self._shares(high))
