"""The linear constraints of a box, on its unit cube: low ≤ C w(u) ≤ high, w the shares of the
ranges in the values' own scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from noregret.space.array import Array, Mask
from noregret.space.axis import Axis
from noregret.space.choice import Choice
from noregret.space.constraints import Constraint, Linear

INSIDE = 1e-7  # of a constraint's unit: what counts as satisfied in a search


@dataclass(frozen=True, slots=True)
class Sums:
    """The largest coefficient of each row is 1."""

    linear: tuple[Linear, ...]
    C: Array  # (m, d)
    low: Array
    high: Array
    logs: tuple[Axis, ...]  # on which w is curved

    @staticmethod
    def of(axes: Mapping[str, Axis], dimension: int, constraints: Sequence[Constraint]) -> Sums:
        linear = tuple(each for each in constraints if isinstance(each, Linear))
        C, ends = np.zeros((len(linear), dimension)), np.zeros((2, len(linear)))
        parameters = {name: axis.parameter for name, axis in axes.items()}
        for row, each in enumerate(linear):
            unit, below = each.unit(parameters), 0.0
            for name, coefficient in each.coefficients.items():
                parameter = parameters[name]
                assert not isinstance(parameter, Choice)
                low, high = float(parameter.low), float(parameter.high)
                C[row, axes[name].columns.start] = coefficient * (high - low) / unit
                below += coefficient * low
            ends[:, row] = [(end - below) / unit for end in each.bounds]
        logs = tuple(axis for axis in axes.values() if axis.is_log)
        return Sums(linear, C, ends[0], ends[1], logs)

    def shares(self, U: Array) -> Array:
        """w of rows of the cube."""
        if not self.logs:
            return U
        W = U.copy()
        for axis in self.logs:
            W[:, axis.columns.start] = axis.shares(U[:, axis.columns.start])
        return W

    def hold(self, U: Array, tolerance: float) -> Mask:
        total = self.shares(U) @ self.C.T
        inside = (total >= self.low - tolerance) & (total <= self.high + tolerance)
        return np.asarray(np.all(inside, axis=1))

    def rows(self, X: Array) -> tuple[Array, Array, Mask]:
        """At points X as J u ≤ b: gradients (n, m, d), what is left (n, m), and which of them are
        equalities. An inequality with two ends stands twice.
        """
        slopes = np.ones_like(X)
        for axis in self.logs:
            column = axis.columns.start
            slopes[:, column] = axis.slope(X[:, column])
        total = self.shares(X) @ self.C.T
        same = self.low == self.high
        above, below = np.isfinite(self.high), np.isfinite(self.low) & ~same
        C = np.vstack([self.C[above], -self.C[below]])
        room = np.hstack([(self.high - total)[:, above], (total - self.low)[:, below]])
        is_equal = np.append(same[above], np.zeros(int(below.sum()), dtype=np.bool_))
        return C[None] * slopes[:, None, :], room, is_equal

    def touch(self, low: Array, high: Array) -> Mask:
        """Which boxes low ≤ u ≤ high may hold a point: False is certain, as w rises with u."""
        below, above = self.shares(low), self.shares(high)
        up, down = np.maximum(self.C, 0.0), np.minimum(self.C, 0.0)
        least, most = below @ up.T + above @ down.T, above @ up.T + below @ down.T
        return np.asarray(
            np.all((least <= self.high + INSIDE) & (most >= self.low - INSIDE), axis=1)
        )
