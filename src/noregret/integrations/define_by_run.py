"""Spaces declared by running a function: ``def space(trial): trial.suggest_float("lr", 1e-5, 1,
log=True)``; branches make conditional parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.integrations.axes import Axes, Axis, listed, plain, stepped
from noregret.space import Float, Int


@dataclass(frozen=True, slots=True)
class Declared:
    """What a function said of one parameter."""

    kind: str
    low: Any
    high: Any
    step: Any = None
    log: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def single(self) -> bool:
        return len(self.choices) == 1 or (not self.choices and self.low == self.high)

    @property
    def axis(self) -> Axis:
        if self.choices:
            return listed(self.choices)
        if self.step is not None:
            return stepped(self.low, self.high, self.step)
        return plain((Float if self.kind == "float" else Int)(self.low, self.high, self.log))


class Suggestions:
    """What the function is called with. Parameters that the model proposed get its value, all
    others a random one.
    """

    def __init__(
        self,
        proposed: Mapping[str, Any],
        declared: Mapping[str, Declared],
        rng: np.random.Generator,
    ) -> None:
        self._proposed, self._known, self._rng = proposed, declared, rng
        self.values: dict[str, Any] = {}
        self.declared: dict[str, Declared] = {}

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        return float(self._suggest(name, Declared("float", low, high, step, log)))

    def suggest_int(
        self, name: str, low: int, high: int, *, step: int = 1, log: bool = False
    ) -> int:
        return int(
            self._suggest(name, Declared("int", low, high, None if step == 1 else step, log))
        )

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        return self._suggest(name, Declared("categorical", None, None, choices=tuple(choices)))

    def _suggest(self, name: str, declared: Declared) -> Any:
        if name in self.values:
            return self.values[name]
        if declared.log and declared.step is not None:
            raise SpaceError(f"parameter {name!r}: a log scale and a step cannot go together")
        if declared.single:
            self.values[name] = declared.choices[0] if declared.choices else declared.low
            return self.values[name]
        try:
            axis = declared.axis
        except SpaceError as error:
            raise SpaceError(f"parameter {name!r}: {error}") from None
        if self._known.get(name) == declared and name in self._proposed:
            value = self._proposed[name]
        else:
            value = axis.theirs(axis.parameter.decode(self._rng.random(axis.parameter.width)))
        self.values[name], self.declared[name] = value, declared
        return value


def common(runs: Sequence[Mapping[str, Declared]]) -> dict[str, Declared]:
    """The parameters that every run had, declared in the same way: what can be modelled
    together.
    """
    if not runs:
        return {}
    return {
        name: declared
        for name, declared in runs[0].items()
        if all(run.get(name) == declared for run in runs)
    }


def axes_of(declared: Mapping[str, Declared]) -> Axes:
    return Axes({name: one.axis for name, one in declared.items()})


def run(function: Callable[[Any], Any], suggestions: Suggestions) -> dict[str, Any]:
    """The function's parameters, with the constants that it returned."""
    constants = function(suggestions)
    if constants is not None and not (
        isinstance(constants, Mapping) and all(isinstance(name, str) for name in constants)
    ):
        raise SpaceError(f"a space function returns None or a dict of constants, got {constants!r}")
    if not suggestions.values:
        raise SpaceError(
            "the space function suggested no parameter: call trial.suggest_float, suggest_int or"
            " suggest_categorical in it"
        )
    return {**suggestions.values, **(constants or {})}
