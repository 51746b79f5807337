"""Inputs that exist only for some options of a choice.

``Branch({"svm": {"C": Float(0.1, 10)}, "forest": {"trees": Int(10, 500)}})`` is a choice each of
whose options brings inputs of its own, maybe branches again. In a space they are parameters like
any other, with a note of where they exist (``branching``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noregret.errors import SpaceError
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Branch) and self.options == other.options

    __hash__ = None  # type: ignore[assignment]  # its options are dicts

    def __repr__(self) -> str:
        return f"Branch({self.options!r})"


def flattened(
    pairs: Sequence[tuple[str, Any]],
) -> tuple[list[tuple[str, Parameter]], tuple[Only, ...]]:
    """Parameters without branches, each choice followed by the inputs of its options, and where
    these exist. An input of several options is one, if it is the same in all of them. A branch
    inside a branch is a choice that does not always exist.
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
                if key in inner and inner[key] != value:
                    raise SpaceError(
                        f"{key!r} is {inner[key]!r} for one option of {name!r} and {value!r} for"
                        " another: give them two names"
                    )
                inner[key] = value
                where.setdefault(key, []).append(option)
        below, deeper = flattened(list(inner.items()))
        flat += below
        owned += [Only(key, name, tuple(options)) for key, options in where.items()]
        owned += deeper
    return flat, tuple(owned)
