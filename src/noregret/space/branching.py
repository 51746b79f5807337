"""Where the inputs of a space exist that do not always: on points, and on rows of the unit cube.

Where an input does not exist it rests at the middle of its range (a choice at its first option), so
that it makes no difference. If a constraint forbids the middle, its inputs rest together at a point
nearby that it allows: so every point of the space satisfies every constraint as it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import Array, Mask
from noregret.space.branch import Only
from noregret.space.choice import Choice
from noregret.space.parameters import Parameter


@dataclass(frozen=True, slots=True)
class Branching:
    """The branches of a space on the unit cube. owned: each behind the one that owns its choice;
    rest (d,): where inputs that do not exist are.
    """

    owned: tuple[Only, ...]
    parameters: dict[str, Parameter]
    slices: dict[str, slice]
    rest: Array

    @staticmethod
    def of(
        owned: Sequence[Only], parameters: dict[str, Parameter], slices: Sequence[slice]
    ) -> Branching:
        for each in owned:
            choice = parameters.get(each.choice)
            if each.name not in parameters or not isinstance(choice, Choice):
                raise SpaceError(
                    f"{each.name!r} can exist only for some options of a choice of the space, got"
                    f" {each.choice!r}: the parameters are {list(parameters)!r}"
                )
            for option in each.options:
                choice.encode(option)
            if not each.options:
                raise SpaceError(f"{each.name!r} exists for no option of {each.choice!r}")
        names = [each.name for each in owned]
        if len(set(names)) < len(names):
            raise SpaceError(f"each input has one choice that decides where it exists: {names!r}")
        places = dict(zip(parameters, slices, strict=True))
        rest = [_middle(parameter) for parameter in parameters.values()]
        return Branching(_outer_first(owned), parameters, places, np.concatenate(rest))

    def above(self, name: str) -> list[Only]:
        """What must hold for an input to exist, the outermost first."""
        of = {each.name: each for each in self.owned}
        chain: list[Only] = []
        while name in of:
            chain.insert(0, of[name])
            name = of[name].choice
        return chain

    def together(self, names: Sequence[str]) -> bool:
        """Whether inputs exist under the same condition: all, or none of them."""
        conditions = [[(o.choice, o.options) for o in self.above(name)] for name in names]
        return all(each == conditions[0] for each in conditions)

    def absent(self, U: Array) -> dict[str, Mask]:
        """In which rows each input does not exist."""
        gone: dict[str, Mask] = {}
        for each in self.owned:
            choice = self.parameters[each.choice]
            assert isinstance(choice, Choice)
            options = [choice.options.index(option) for option in each.options]
            at = [choice.place(row) for row in U[:, self.slices[each.choice]]]
            missing = ~np.isin(np.array(at, dtype=np.intp), options)
            gone[each.name] = missing | gone.get(each.choice, np.zeros(len(U), dtype=np.bool_))
        return gone

    def settled(self, U: Array) -> Array:
        """With every input that does not exist where it rests."""
        U = U.copy()
        for name, missing in self.absent(U).items():
            place = self.slices[name]
            U[missing, place] = self.rest[place]
        return U

    def filled(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A point with what does not exist where it rests, whether it was given or not."""
        values = dict(params)
        for each in self.owned:
            if each.choice in values and not self.exists(each.name, values):
                resting = self.rest[self.slices[each.name]]
                values[each.name] = self.parameters[each.name].decode(resting)
        return values

    def exists(self, name: str, params: Mapping[str, Any]) -> bool:
        for each in self.above(name):
            choice = self.parameters[each.choice]
            wanted = choice.encode(params[each.choice])
            if not any(choice.encode(option) == wanted for option in each.options):
                return False
        return True

    def active(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Only the inputs that exist."""
        return {name: value for name, value in params.items() if self.exists(name, params)}

    @property
    def of_branches(self) -> Mask:
        """Coordinates of inputs that do not always exist."""
        mask = np.zeros(len(self.rest), dtype=np.bool_)
        for each in self.owned:
            mask[self.slices[each.name]] = True
        return mask


def _outer_first(owned: Sequence[Only]) -> tuple[Only, ...]:
    """Each behind the one that says where its choice exists."""
    names, rest = {each.name for each in owned}, list(owned)
    placed: list[Only] = []
    while rest:
        known = {each.name for each in placed}
        ready = [each for each in rest if each.choice not in names or each.choice in known]
        if not ready:
            circle = ", ".join(repr(str(each)) for each in rest)
            raise SpaceError(
                f"{circle} go in a circle: a choice cannot decide where the inputs exist that"
                " decide where it exists itself"
            )
        placed += ready
        rest = [each for each in rest if each not in ready]
    return tuple(placed)


def _middle(parameter: Parameter) -> Array:
    if isinstance(parameter, Choice):
        return np.array(parameter.encode(parameter.options[0]))
    return parameter.snap(np.full((1, parameter.width), 0.5))[0]
