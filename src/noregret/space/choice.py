"""A parameter that is one of several options."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.errors import SpaceError
from noregret.space import code
from noregret.space.array import Array
from noregret.space.levels import around, written

SHOWN = 20  # options in an error message
MOST_JUMPS = 512  # options of a long choice that are tried from one point


@dataclass(frozen=True, slots=True, repr=False)
class Choice:
    """One of several options, without order or, with ``ordered``, as levels of a scale.

    Two options take one coordinate, more take one coordinate each (so that all are equally far
    apart), from 128 on they share 127 (see ``space.code``), a single option takes none. Ordered
    levels take one coordinate, on which they stand in the order given, equally far apart:
    neighbours are alike, the ends are not. Options must be JSON values, so that a study can be
    stored.
    """

    options: tuple[Any, ...]
    ordered: bool = False
    _places: dict[tuple[type, Any], int] = field(init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        return written(self, {"ordered": False})

    def __init__(self, options: Sequence[Any], ordered: bool = False) -> None:
        if isinstance(options, str) or not isinstance(options, Sequence):
            raise SpaceError(
                f"Choice needs a list of options, got {options!r}: write Choice([...])"
            )
        listed = tuple(options)
        if not listed:
            raise SpaceError("Choice needs at least one option, got an empty list")
        for option in listed:
            if not isinstance(option, (str, int, float, bool, type(None))):
                raise SpaceError(
                    f"a Choice option must be a string, number, bool or None, got {option!r}: name"
                    " it by a string and look it up in the objective"
                )
            if isinstance(option, float) and not math.isfinite(option):
                raise SpaceError(
                    f"a Choice option must be finite, got {option!r}: name it by a string, or use"
                    " None, and look it up in the objective"
                )
        if len(listed) > code.LARGEST:
            raise SpaceError(
                f"a Choice has at most {code.LARGEST} options, got {len(listed)}: describe them by"
                " numbers (Float, Int), or several choices"
            )
        places = {(type(option), option): index for index, option in enumerate(listed)}
        if len(places) < len(listed):
            raise SpaceError(f"Choice has the same option twice: {_shown(listed)}")
        object.__setattr__(self, "options", listed)
        object.__setattr__(self, "ordered", bool(ordered))
        object.__setattr__(self, "_places", places)

    @property
    def width(self) -> int:
        most = 1 if self.ordered else min(len(self.options), code.LENGTH)
        return {1: 0, 2: 1}.get(len(self.options), most)

    @property
    def _coded(self) -> bool:
        return len(self.options) > code.LENGTH and not self.ordered

    @property
    def size(self) -> float:
        return len(self.options)

    def levels(self) -> Array:
        if self.width <= 1:
            return np.linspace(0.0, 1.0, len(self.options))[:, None][:, : self.width]
        return code.words(len(self.options)) if self._coded else np.eye(self.width)

    def place(self, u: Array) -> int:
        """The index of the option at a point of the cube."""
        return int(self._index(np.asarray(u, dtype=np.float64)[None, :])[0])

    def around(self, u: Array) -> Array:
        """The levels to jump to: all of them, or of a long scale some."""
        if not self.ordered and self.size <= MOST_JUMPS:
            return self.levels()
        if not self.ordered:  # as many, all over the list, from this one on
            steps = np.linspace(1, self.size - 1, MOST_JUMPS).astype(np.intp)
            return self.levels()[(self.place(u) + steps) % int(self.size)]
        return self.levels()[around(self.size, int(self._index(u[None, :])[0]))]

    def _index(self, U: Array) -> NDArray[np.intp]:
        if self.width == 0:
            return np.zeros(len(U), dtype=np.intp)
        if self.width == 1:
            return np.rint(np.clip(U[:, 0], 0.0, 1.0) * (len(self.options) - 1)).astype(np.intp)
        if self._coded:
            return code.nearest(U, len(self.options))
        return np.argmax(U, axis=1)

    def encode(self, value: Any) -> list[float]:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, (str, int, float, bool, type(None))):
            other = {int: float, float: int}.get(type(plain), type(plain))  # 1 for 1.0
            for kind in (type(plain), other):
                index = self._places.get((kind, plain))
                if index is not None:
                    return self._coordinates(index)
        raise SpaceError(f"{value!r} is not one of the options {_shown(self.options)}")

    def _coordinates(self, index: int) -> list[float]:
        if self._coded or self.width <= 1:
            return [float(v) for v in self.levels()[index]]
        return [float(place == index) for place in range(self.width)]

    def decode(self, u: Array) -> Any:
        return self.options[self.place(u)]

    def snap(self, U: Array) -> Array:
        return self.levels()[self._index(U)]


def _shown(options: Sequence[Any]) -> str:
    """The options as an error message has room for them."""
    if len(options) <= SHOWN:
        return repr(list(options))
    return f"{list(options[:SHOWN])!r} and {len(options) - SHOWN} more"
