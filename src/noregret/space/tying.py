"""Which inputs constraints tie together, and the block that each such group is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import Array
from noregret.space.axis import Axis
from noregret.space.blocks import Block, ListBlock, PolytopeBlock, Rows, combinations, written
from noregret.space.choice import Choice
from noregret.space.constraints import Constraint, Forbidden
from noregret.space.mixed import MixedBlock
from noregret.space.sums import INSIDE, Sums


def blocks_of(
    axes: Mapping[str, Axis],
    sums: Sums,
    constraints: Sequence[Constraint],
    held: Mapping[str, Array],
) -> list[Block]:
    """The blocks of a box, or an error that names the constraints which leave nothing."""
    return Tying(axes, sums, constraints, held).blocks()


class Tying:
    """held: coordinates that are given."""

    def __init__(
        self,
        axes: Mapping[str, Axis],
        sums: Sums,
        constraints: Sequence[Constraint],
        held: Mapping[str, Array],
    ) -> None:
        self.axes, self.sums, self.constraints, self.held = axes, sums, constraints, held
        self.at = np.zeros((1, sums.C.shape[1]))
        self.given = np.zeros(sums.C.shape[1], dtype=np.bool_)
        for name, block in held.items():
            self.at[0, axes[name].columns] = block
            self.given[axes[name].columns] = True

    def blocks(self) -> list[Block]:
        forbidden = [each for each in self.constraints if isinstance(each, Forbidden)]
        alive = [each for each in forbidden if not self._contradicted(each)]
        tying: list[Constraint] = [*self.sums.linear, *alive]
        blocks: list[Block] = []
        for names in _components(tying, set(self.held)):
            mine = [each for each in tying if set(each.names) & set(names)]
            block = self._block(names, mine)
            if block is None:
                raise SpaceError(self._emptiness(names, mine))
            blocks.append(block)
        self._check_held(alive)
        return blocks

    def _contradicted(self, forbidden: Forbidden) -> bool:
        """Whether what is held rules it out already."""
        return any(
            name in self.held
            and self.held[name].tolist() != self.axes[name].parameter.encode(value)
            for name, value in forbidden.values.items()
        )

    def _check_held(self, forbidden: Sequence[Forbidden]) -> None:
        """Constraints that speak of held inputs only."""
        if not self.held:
            return
        total = (self.sums.C @ self.sums.shares(self.at)[0]).tolist()
        for row, each in enumerate(self.sums.linear):
            low, high = self.sums.low[row] - INSIDE, self.sums.high[row] + INSIDE
            if set(each.names) <= set(self.held) and not low <= total[row] <= high:
                raise SpaceError(self._emptiness(each.names, [each]))
        for other in forbidden:
            if set(other.names) <= set(self.held):
                raise SpaceError(self._emptiness(other.names, [other]))

    def _block(self, names: Sequence[str], mine: Sequence[Constraint]) -> Block | None:
        axes = [self.axes[name] for name in names]
        rows = self._rows_of(names, mine)
        if all(axis.kind == "levels" for axis in axes):
            W = combinations(axes, rows)
            if W is not None:
                return ListBlock(axes, written(axes, W)) if len(W) else None
        if all(axis.kind == "line" for axis in axes):
            return PolytopeBlock.of(axes, rows)
        return MixedBlock.of(axes, rows)

    def _rows_of(self, names: Sequence[str], mine: Sequence[Constraint]) -> Rows:
        chosen = [row for row, each in enumerate(self.sums.linear) if each in mine]
        last = self.sums.C.shape[1] - 1
        columns = [min(self.axes[name].columns.start, last) for name in names]
        given = np.where(self.given, self.sums.C[chosen], 0.0) @ self.sums.shares(self.at)[0]
        C = self.sums.C[np.ix_(chosen, columns)]
        size = np.abs(C).max(axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        words = [self._word(names, each) for each in mine if isinstance(each, Forbidden)]
        # a choice that takes no column of the sum has a start that may be another's
        for place, name in enumerate(names):
            if isinstance(self.axes[name].parameter, Choice):
                C[:, place] = 0.0
        return Rows(
            C / size[:, None],
            (self.sums.low[chosen] - given) / size,
            (self.sums.high[chosen] - given) / size,
            tuple(words),
        )

    def _word(self, names: Sequence[str], forbidden: Forbidden) -> dict[int, float]:
        word = {}
        for name, value in forbidden.values.items():
            if name in names:
                axis = self.axes[name]
                u = np.zeros((1, self.sums.C.shape[1]))
                u[0, axis.columns] = axis.parameter.encode(value)
                word[list(names).index(name)] = float(axis.read(u)[0])
        return word

    def _emptiness(self, names: Sequence[str], mine: Sequence[Constraint]) -> str:
        guilty = list(mine)
        for each in mine:  # what is not needed for the contradiction is not named
            rest = [other for other in guilty if other is not each]
            try:
                empty = bool(rest) and self._block(names, rest) is None
            except SpaceError:
                empty = True
            guilty = rest if empty else guilty
        ranges = ", ".join(
            f"{name} {self.axes[name].parameter!r}"
            for name in self.axes
            if any(name in each.names for each in guilty)
        )
        held = f" with {', '.join(self.held)} held as given" if self.held else ""
        what = "the constraint " if len(guilty) == 1 else "the constraints "
        return (
            f"no point{held} satisfies {what}{' and '.join(repr(str(each)) for each in guilty)}:"
            f" the feasible set is empty for {ranges}; loosen a constraint, or widen a range"
        )


def _components(constraints: Sequence[Constraint], held: set[str]) -> list[list[str]]:
    """Names that constraints tie together, in the order in which they are first named."""
    groups: list[list[str]] = []
    for each in constraints:
        mine = [name for name in each.names if name not in held]
        touched = [group for group in groups if set(group) & set(mine)]
        merged = [name for group in touched for name in group]
        merged += [name for name in mine if name not in merged]
        groups = [group for group in groups if group not in touched]
        if merged:
            groups.append(merged)
    return groups
