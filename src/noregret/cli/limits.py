"""Constraints as flags and files give them: pairs of a kind and a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from noregret.errors import ConfigurationError
from noregret.space import (
    ONLY_FOR,
    ActiveWhen,
    Candidates,
    Constraint,
    Parameter,
    Satisfies,
    Space,
    read_forbidden,
    read_linear,
    read_only,
)

CONSTRAINTS = ("linear", "forbidden", "satisfies", "only")


def constrained(
    space: Space | Candidates, written: Mapping[str, Any], typed: Sequence[tuple[str, str]]
) -> Space | Candidates:
    """With what flags and the file say cannot be run."""
    tables = written.get("constraints", {})
    if not isinstance(tables, Mapping) or any(key not in CONSTRAINTS for key in tables):
        raise ConfigurationError(
            "constraints must be a table of linear, forbidden, satisfies and only, each a list of"
            f" texts such as linear = ['a + b <= 1'], got {tables!r}"
        )
    texts = [(kind, text) for kind, each in tables.items() for text in _texts(kind, each)]
    texts += typed
    if not texts:
        return space
    if isinstance(space, Candidates):
        raise ConfigurationError(
            "a list of candidates needs no constraints: leave out the rows that cannot be run"
        )
    limits = [pair for pair in texts if pair[0] != "only"]
    return Space(
        space.parameters,
        space.vector,
        typed_constraints(limits, space.parameters),
        [existing(text, space.parameters) for kind, text in texts if kind == "only"],
    )


def existing(text: str, parameters: Mapping[str, Parameter]) -> ActiveWhen:
    """``C model=svm, forest``, or as the study shows it."""
    name, _, rest = text.strip().partition(" ")
    shown = f" {ONLY_FOR} " in text
    return read_only(text if shown else f"{name} {ONLY_FOR} {rest.strip()}", parameters)


def _texts(kind: str, given: Any) -> list[str]:
    if isinstance(given, list) and all(isinstance(text, str) for text in given):
        return given
    raise ConfigurationError(f"constraints.{kind} must be a list of texts, got {given!r}")


def typed_constraints(
    texts: Sequence[tuple[str, str]], parameters: Mapping[str, Parameter]
) -> list[Constraint]:
    """Pairs of the kind and what was written."""
    made: list[Constraint] = []
    for kind, text in texts:
        if kind == "only":
            raise ConfigurationError(
                "where inputs exist is said when a study is made: create one with --only, and"
                " import the old trials"
            )
        if kind == "linear":
            made.append(read_linear(text, parameters))
        elif kind == "forbidden":
            made.append(read_forbidden(text, parameters))
        else:
            made.append(Satisfies(text))
    return made
