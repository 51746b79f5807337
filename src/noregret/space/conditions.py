"""Inputs that exist only for some options of a choice.

``Branch({"svm": {"C": Float(0.1, 10)}, "forest": {"trees": Int(10, 500)}})`` is a choice whose
options bring inputs of their own, which may be branches again. A space holds them as parameters
like any other, with an ``ActiveWhen`` each.

An input that does not exist rests at the middle of its range (a choice at its first option), so
that it makes no difference. If a constraint forbids the middle, its inputs rest together at a point
nearby that it allows: every point of the space satisfies every constraint as it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import Array, Mask
from noregret.space.parameters import Choice, Parameter

ONLY_FOR = "only for"  # in text: 'C only for model=svm'


@dataclass(frozen=True, slots=True)
class ActiveWhen:
    """The input ``name`` exists only where ``choice`` has one of ``options``.

    Args:
        name: The input.
        choice: The choice that decides.
        options: Its options for which the input exists.
    """

    name: str
    choice: str
    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))

    def __str__(self) -> str:
        return f"{self.name} {ONLY_FOR} {self.choice}={', '.join(map(str, self.options))}"


@dataclass
class Branch:
    """A choice whose options bring inputs of their own.

    Args:
        options: For each option its inputs by name, maybe none.

    Raises:
        SpaceError: There are fewer than two options, or inputs that are no dict.
    """

    options: Mapping[Any, Mapping[str, Any]]

    def __post_init__(self) -> None:
        if not isinstance(self.options, Mapping) or len(self.options) < 2:
            raise SpaceError(
                "a Branch needs two options or more with their inputs, got"
                f" {self.options!r}: write Branch({{'svm': {{'C': Float(0.1, 10)}}, 'none': {{}}}})"
            )
        for option, inputs in self.options.items():
            if not isinstance(inputs, Mapping):
                raise SpaceError(
                    f"the inputs of option {option!r} must be a dict, empty if it has none, got"
                    f" {inputs!r}"
                )
        self.options = {option: dict(inputs) for option, inputs in self.options.items()}


def flatten(
    pairs: Sequence[tuple[str, Any]],
) -> tuple[list[tuple[str, Parameter]], list[ActiveWhen]]:
    """Parameters without branches, each choice followed by the inputs of its options, and where
    these exist. An input that several options share is one parameter.
    """
    flat: list[tuple[str, Parameter]] = []
    conditions: list[ActiveWhen] = []
    for name, parameter in pairs:
        if not isinstance(parameter, Branch):
            flat.append((name, parameter))
            continue
        flat.append((name, Choice(list(parameter.options))))
        inner: dict[str, Any] = {}
        where: dict[str, list[Any]] = {}
        for option, inputs in parameter.options.items():
            for key, value in inputs.items():
                if key in inner and inner[key] != value:
                    raise SpaceError(
                        f"{key!r} has two ranges below {name!r}, {inner[key]!r} and {value!r}: give"
                        " them two names"
                    )
                inner[key] = value
                where.setdefault(key, []).append(option)
        below, deeper = flatten(list(inner.items()))
        flat += below
        conditions += [ActiveWhen(key, name, tuple(options)) for key, options in where.items()]
        conditions += deeper
    return flat, conditions


@dataclass(frozen=True, slots=True)
class Conditions:
    """Where the inputs of a space exist, on points and on rows of the unit cube.

    owned: each after the one that decides where its choice exists; rest (d,): the coordinates of
    inputs where they do not exist.
    """

    owned: tuple[ActiveWhen, ...]
    parameters: dict[str, Parameter]
    slices: dict[str, slice]
    rest: Array

    @staticmethod
    def of(
        owned: Sequence[ActiveWhen], parameters: dict[str, Parameter], slices: dict[str, slice]
    ) -> Conditions:
        """The conditions of a space, checked."""
        for each in owned:
            choice = parameters.get(each.choice)
            if each.name not in parameters or not isinstance(choice, Choice):
                raise SpaceError(
                    f"{each.name!r} can exist only for some options of a choice, got"
                    f" {each.choice!r}: the parameters are {list(parameters)!r}"
                )
            for option in each.options:
                choice.encode(option)
            if not each.options:
                raise SpaceError(f"{each.name!r} exists for no option of {each.choice!r}")
        names = [each.name for each in owned]
        if len(set(names)) < len(names):
            raise SpaceError(f"each input has one choice that decides where it exists: {names!r}")
        rest = [
            np.array(parameter.encode(parameter.options[0]))
            if isinstance(parameter, Choice)
            else parameter.snap(np.full((1, 1), 0.5))[0]
            for parameter in parameters.values()
        ]
        return Conditions(_outer_first(owned), parameters, slices, np.concatenate(rest))

    def above(self, name: str) -> list[ActiveWhen]:
        """The conditions under which an input exists, the outermost first."""
        of = {each.name: each for each in self.owned}
        chain: list[ActiveWhen] = []
        while name in of:
            chain.insert(0, of[name])
            name = of[name].choice
        return chain

    def together(self, names: Sequence[str]) -> bool:
        """Whether inputs exist under the same conditions."""
        conditions = [[(o.choice, o.options) for o in self.above(name)] for name in names]
        return all(each == conditions[0] for each in conditions)

    def settled(self, U: Array) -> Array:
        """Rows with every input that does not exist where it rests."""
        if not self.owned:
            return U
        U, absent = U.copy(), dict[str, Mask]()
        for each in self.owned:
            choice, place = self.parameters[each.choice], self.slices[each.name]
            assert isinstance(choice, Choice)
            options = [choice.options.index(option) for option in each.options]
            missing = ~np.isin(choice.indices(U[:, self.slices[each.choice]]), options)
            if each.choice in absent:
                missing |= absent[each.choice]
            absent[each.name] = missing
            U[missing, place] = self.rest[place]
        return U

    def filled(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A point with every input that does not exist where it rests."""
        values = dict(params)
        for each in self.owned:
            if each.choice in values and not self.exists(each.name, values):
                resting = self.rest[self.slices[each.name]]
                values[each.name] = self.parameters[each.name].decode(resting)
        return values

    def exists(self, name: str, params: Mapping[str, Any]) -> bool:
        """Whether an input exists at a point."""
        for each in self.above(name):
            choice = self.parameters[each.choice]
            assert isinstance(choice, Choice)
            here = choice.position(params[each.choice])
            if not any(choice.position(option) == here for option in each.options):
                return False
        return True

    def active(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A point's inputs that exist."""
        return {name: value for name, value in params.items() if self.exists(name, params)}

    @property
    def coordinates(self) -> Mask:
        """Coordinates of inputs that do not always exist."""
        mask = np.zeros(len(self.rest), dtype=np.bool_)
        for each in self.owned:
            mask[self.slices[each.name]] = True
        return mask


def _outer_first(owned: Sequence[ActiveWhen]) -> tuple[ActiveWhen, ...]:
    """Each after the one that decides where its choice exists."""
    of = {each.name: each for each in owned}
    try:
        order = list(TopologicalSorter({each.name: [each.choice] for each in owned}).static_order())
    except CycleError as error:
        circle = ", ".join(repr(str(of[name])) for name in dict.fromkeys(error.args[1]))
        raise SpaceError(f"{circle} form a circle: leave one of them out") from None
    return tuple(of[name] for name in order if name in of)


def read_only(text: str, parameters: Mapping[str, Parameter]) -> ActiveWhen:
    """A condition as ``str`` writes it.

    Args:
        text: For example ``C only for model=svm, forest``.
        parameters: The parameters of the space.

    Raises:
        SpaceError: The text is not of this form, or an option is unknown.
    """
    name, relation, rest = text.partition(f" {ONLY_FOR} ")
    choice, equals, listed = (part.strip() for part in rest.partition("="))
    parameter = parameters.get(choice)
    if not (relation and equals and isinstance(parameter, Choice)):
        raise SpaceError(
            f"{text!r} must say where an input exists, as in 'C {ONLY_FOR} model=svm, forest' with"
            f" model a choice; the parameters are {list(parameters)!r}"
        )
    by_text = {str(option): option for option in parameter.options}
    options = [part.strip() for part in listed.split(",")]
    unknown = [part for part in options if part not in by_text]
    if unknown:
        raise SpaceError(f"{unknown[0]!r} is no option of {choice!r}: {list(by_text)!r}")
    return ActiveWhen(name.strip(), choice, tuple(by_text[part] for part in options))
