"""A parameter as a linear constraint sees it: by its share w of the range, in the values' own
scale, whatever the scale of its coordinate u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from noregret.space.array import Array
from noregret.space.choice import Choice
from noregret.space.parameters import Float, Parameter

Kind = Literal["line", "log", "levels"]


@dataclass(frozen=True, slots=True)
class Axis:
    """columns: of the unit cube. Levels stand at w = 0, step, 2 step, …; a choice has levels and
    no place in a sum.
    """

    name: str
    parameter: Parameter
    columns: slice

    @property
    def kind(self) -> Kind:
        if self.parameter.size < math.inf:
            return "levels"
        assert isinstance(self.parameter, Float)
        return "log" if self.parameter.log else "line"

    @property
    def count(self) -> int:
        """Of levels."""
        return int(self.parameter.size)

    @property
    def step(self) -> float:
        """The distance of neighbouring levels."""
        if isinstance(self.parameter, Choice):
            return 1.0 / max(self.count - 1, 1)
        step = self.parameter.step if self.parameter.step is not None else 0.0
        if isinstance(self.parameter, Float) and self.parameter.resolution is not None:
            step = self.parameter.resolution
        return float(step) / (float(self.parameter.high) - float(self.parameter.low))

    @property
    def is_log(self) -> bool:
        return not isinstance(self.parameter, Choice) and self.parameter.log

    def shares(self, u: Array) -> Array:
        """w at coordinates u of a number."""
        if not self.is_log:
            return u
        ratio = self._log_ratio
        return np.asarray(np.expm1(u * ratio) / math.expm1(ratio))

    def slope(self, u: Array) -> Array:
        """dw/du."""
        if not self.is_log:
            return np.ones_like(u)
        ratio = self._log_ratio
        return np.asarray(ratio * np.exp(u * ratio) / math.expm1(ratio))

    def coordinates(self, w: Array) -> Array:
        """u at shares w of a number."""
        if not self.is_log:
            return w
        ratio = self._log_ratio
        return np.asarray(np.log1p(np.clip(w, 0.0, 1.0) * math.expm1(ratio)) / ratio)

    @property
    def _log_ratio(self) -> float:
        assert not isinstance(self.parameter, Choice)
        return math.log(self.parameter.high / self.parameter.low)

    # -- w of blocks of columns, choices too --

    def read(self, U: Array) -> Array:
        """w of rows of the cube."""
        if isinstance(self.parameter, Choice):
            return np.array([self.parameter.place(row) * self.step for row in U[:, self.columns]])
        return self.shares(U[:, self.columns.start])

    def write(self, U: Array, w: Array) -> None:
        """Sets the coordinates of rows of the cube."""
        if isinstance(self.parameter, Choice):
            U[:, self.columns] = self.parameter.levels()[np.rint(w / self.step).astype(np.intp)]
        else:
            U[:, self.columns] = self.parameter.snap(self.coordinates(w)[:, None])
