"""Inputs that exist only for some options of a choice.

``Branch({"svm": {"C": Float(0.1, 10)}, "forest": {"trees": Int(10, 500)}})`` is a choice each of
whose options brings inputs of its own. In a space they are parameters like any other, with a note
of where they exist; where one does not it stands at the middle of its range (a choice at its first
option), so that it makes no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import Array, Indices, Mask
from noregret.space.choice import Choice
from noregret.space.parameters import Parameter

WORDS = "only for"  # how a person writes where an input exists


@dataclass(frozen=True, slots=True)
class Only:
    """The input ``name`` exists only where ``choice`` has one of ``options``."""

    name: str
    choice: str
    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))

    def __str__(self) -> str:
        return f"{self.name} {WORDS} {self.choice}={', '.join(map(str, self.options))}"


def read_only(text: str, parameters: Mapping[str, Parameter]) -> Only:
    """``C only for model=svm, forest``, as ``str`` writes it."""
    name, said, rest = text.partition(f" {WORDS} ")
    choice, equals, listed = rest.partition("=")
    parameter = parameters.get(choice.strip())
    if not (said and equals and isinstance(parameter, Choice)):
        raise SpaceError(
            f"{text!r} must say where an input exists, as in 'C {WORDS} model=svm, forest' with"
            f" model a choice; the parameters are {list(parameters)!r}"
        )
    written = {str(option): option for option in parameter.options}
    options = [part.strip() for part in listed.split(",")]
    unknown = [part for part in options if part not in written]
    if unknown:
        raise SpaceError(f"{unknown[0]!r} is no option of {choice.strip()!r}: {list(written)!r}")
    return Only(name.strip(), choice.strip(), tuple(written[part] for part in options))


class Branch:
    """A choice whose options bring inputs of their own: option → its inputs by name, maybe none."""

    def __init__(self, options: Mapping[Any, Mapping[str, Any]]) -> None:
        if not isinstance(options, Mapping) or len(options) < 2:
            raise SpaceError(
                "a Branch needs two options or more with their inputs, got"
                f" {options!r}: write Branch({{'svm': {{'C': Float(0.1, 10)}}, 'none': {{}}}})"
            )
        for option, inputs in options.items():
            if not isinstance(inputs, Mapping):
                raise SpaceError(
                    f"the inputs of option {option!r} must be a dict, empty if it has none, got"
                    f" {inputs!r}"
                )
        self.options = {option: dict(inputs) for option, inputs in options.items()}

    def __repr__(self) -> str:
        return f"Branch({self.options!r})"


def flattened(
    pairs: Sequence[tuple[str, Any]],
) -> tuple[list[tuple[str, Parameter]], tuple[Only, ...]]:
    """Parameters without branches, each choice followed by the inputs of its options, and where
    these exist. An input of several options is one, if it is the same in all of them.
    """
    flat: list[tuple[str, Parameter]] = []
    owned: list[Only] = []
    for name, parameter in pairs:
        if not isinstance(parameter, Branch):
            flat.append((name, parameter))
            continue
        flat.append((name, Choice(list(parameter.options))))
        inner: dict[str, Any] = {}
        where: dict[str, list[Any]] = {}
        for option, inputs in parameter.options.items():
            for key, value in inputs.items():
                if isinstance(value, Branch):
                    raise SpaceError(
                        f"{name!r} has a Branch inside a Branch ({key!r}): list every combination"
                        " as an option of one Branch"
                    )
                if key in inner and inner[key] != value:
                    raise SpaceError(
                        f"{key!r} is {inner[key]!r} for one option of {name!r} and {value!r} for"
                        " another: give them two names"
                    )
                inner[key] = value
                where.setdefault(key, []).append(option)
        flat += inner.items()
        owned += [Only(key, name, tuple(options)) for key, options in where.items()]
    return flat, tuple(owned)


@dataclass(frozen=True, slots=True)
class Branching:
    """The branches of a space on the unit cube."""

    owned: tuple[Only, ...]
    parameters: dict[str, Parameter]
    slices: dict[str, slice]

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
            if each.name == each.choice or any(each.choice == other.name for other in owned):
                raise SpaceError(
                    f"{each.choice!r} decides where {each.name!r} exists, so it must always exist"
                )
            for option in each.options:
                choice.encode(option)
            if not each.options:
                raise SpaceError(f"{each.name!r} exists for no option of {each.choice!r}")
        names = [each.name for each in owned]
        if len(set(names)) < len(names):
            raise SpaceError(f"each input has one choice that decides where it exists: {names!r}")
        return Branching(tuple(owned), parameters, dict(zip(parameters, slices, strict=True)))

    def absent(self, each: Only, U: Array) -> Mask:
        """In which rows the input does not exist."""
        choice = self.parameters[each.choice]
        assert isinstance(choice, Choice)
        options = [choice.options.index(option) for option in each.options]
        at = np.array([choice.place(row) for row in U[:, self.slices[each.choice]]], dtype=np.intp)
        return ~np.isin(at, options)

    def settled(self, U: Array) -> Array:
        """With every input that does not exist in the middle of its range."""
        U = U.copy()
        for each in self.owned:
            U[np.ix_(self.absent(each, U), self._columns(each))] = self.middle(each.name)
        return U

    def _columns(self, each: Only) -> Indices:
        s = self.slices[each.name]
        return np.arange(s.start, s.stop)

    def middle(self, name: str) -> Array:
        """The coordinates of an input that does not exist."""
        parameter = self.parameters[name]
        if isinstance(parameter, Choice):
            return np.array(parameter.encode(parameter.options[0]))
        return parameter.snap(np.full((1, parameter.width), 0.5))[0]

    def filled(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A point with what does not exist at its middle, whether it was given or not."""
        values = dict(params)
        for each in self.owned:
            if each.choice in values and not self.exists(each, values):
                values[each.name] = self.parameters[each.name].decode(self.middle(each.name))
        return values

    def exists(self, each: Only, params: Mapping[str, Any]) -> bool:
        choice = self.parameters[each.choice]
        wanted = choice.encode(params[each.choice])
        return any(choice.encode(option) == wanted for option in each.options)

    def active(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Only the inputs that exist."""
        gone = {each.name for each in self.owned if not self.exists(each, params)}
        return {name: value for name, value in params.items() if name not in gone}

    @property
    def of_branches(self) -> Mask:
        """Coordinates of inputs that do not always exist."""
        mask = np.zeros(max(s.stop for s in self.slices.values()), dtype=np.bool_)
        for each in self.owned:
            mask[self.slices[each.name]] = True
        return mask
