"""Constraints and conditions from text: ``a + 2 b <= 1``, ``not solvent=water, base=NaH``,
``satisfies module:function``, ``C only for model=svm, forest``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from noregret.errors import SpaceError
from noregret.space.conditions import ONLY_FOR, ActiveWhen
from noregret.space.constraints import Constraint, Forbidden, Linear, Satisfies
from noregret.space.parameters import Choice, Float, Parameter

RELATIONS = {
    **dict.fromkeys(("<=", "≤", "<"), "at_most"),
    **dict.fromkeys((">=", "≥", ">"), "at_least"),
    **dict.fromkeys(("==", "="), "equals"),
}
NUMBER = r"\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?|[.,]\d+"


def read_constraint(
    text: str, parameters: Mapping[str, Parameter], *, functions: bool = True
) -> Constraint:
    """Any of them, as ``str`` writes it. functions: whether one may be named."""
    words = text.strip()
    if words.startswith("not "):
        return read_forbidden(words[4:], parameters)
    if words.startswith("satisfies "):
        if not functions:
            raise SpaceError(
                f"the constraint {words!r} names a function, which runs on this machine: make the"
                " study from Python or the shell instead"
            )
        return Satisfies(words.removeprefix("satisfies ").strip())
    return read_linear(words, parameters)


def read_linear(text: str, parameters: Mapping[str, Parameter]) -> Linear:
    """``a + 2 b <= 1``, ``a + b + c = 1``, ``0.2 <= a - b <= 1``, ``a <= 2 b``."""
    sides, kinds = _sides(text, parameters)
    if not kinds or len(kinds) > 2 or (len(kinds) == 2 and "equals" in kinds):
        raise _unclear(text, "it needs one <=, >= or =, or two of the same direction")
    if len(kinds) == 2:
        (left, low), (middle, constant), (right, high) = sides
        if kinds[0] != kinds[1] or left or right:
            raise _unclear(text, "between two relations stands the sum, around them numbers")
        ends = sorted([low - constant, high - constant])
        return Linear(middle, at_least=ends[0], at_most=ends[1])
    (left, below), (right, above) = sides
    total = {name: left.get(name, 0.0) - right.get(name, 0.0) for name in {**left, **right}}
    total = {name: coefficient for name, coefficient in total.items() if coefficient != 0}
    if not total:
        raise _unclear(text, f"it names no input; there are {', '.join(parameters)}")
    return Linear(total, **{kinds[0]: above - below})


def _sides(
    text: str, parameters: Mapping[str, Parameter]
) -> tuple[list[tuple[dict[str, float], float]], list[str]]:
    """The sums between the relations, each as coefficients by name and the number beside them; and
    what the relations say. A name may hold anything.
    """
    names = "|".join(map(re.escape, sorted(parameters, key=len, reverse=True)))
    word = rf"(?<![^\W\d])(?:{names})(?!\w)"  # by itself; a number may stand before it: 2a
    relation = "|".join(RELATIONS)
    pieces = re.findall(rf"({word})|({relation})|(.)", text, re.DOTALL)
    sides, kinds = [""], []
    for name, sign, other in pieces:
        if sign:
            kinds.append(RELATIONS[sign])
            sides.append("")
        sides[-1] += name or other
    term = re.compile(rf"({word})|({NUMBER})(?:\s*[*·]?\s*({word}))?")
    return [_sum(side.strip(), term, text, parameters) for side in sides], kinds


def _sum(
    rest: str, term: re.Pattern[str], text: str, parameters: Mapping[str, Parameter]
) -> tuple[dict[str, float], float]:
    total: dict[str, float] = {}
    constant, first = 0.0, True
    if not rest:
        raise _unclear(text, "something is missing beside a relation")
    while rest:
        signed = rest[0] in "+-−"
        if not (signed or first):
            raise _unclear(text, f"a + or − is missing before {rest!r}")
        body = rest[1:].lstrip() if signed else rest
        match = term.match(body)
        if not match:
            named = ", ".join(parameters)
            raise _unclear(text, f"{body or 'the end'!r} is no input; there are {named}")
        alone, number, of = match.groups()
        amount = float(number.replace(",", ".")) if number else 1.0
        if signed and rest[0] != "+":
            amount = -amount
        name = alone or of
        if name:
            total[name] = total.get(name, 0.0) + amount
        else:
            constant += amount
        rest, first = body[match.end() :].strip(), False
    return total, constant


def read_forbidden(text: str, parameters: Mapping[str, Parameter]) -> Forbidden:
    """``solvent=water, base=NaH``."""
    values: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, word = (each.strip() for each in part.partition("="))
        if not equals or not name or not word:
            raise SpaceError(
                f"a forbidden combination is written name=value, name=value, got {text!r}: such as"
                " solvent=water, base=NaH"
            )
        if name not in parameters:
            raise SpaceError(
                f"the forbidden combination {text!r} names {name!r}, which this space does not"
                f" have: its parameters are {list(parameters)!r}"
            )
        values[name] = _value(word, parameters[name], text)
    return Forbidden(values)


def _value(word: str, parameter: Parameter, text: str) -> Any:
    if isinstance(parameter, Choice):
        options = [option for option in parameter.options if str(option) == word]
        return options[0] if options else word  # Forbidden refuses a word that is no option
    try:
        number = float(word)
    except ValueError:
        raise SpaceError(
            f"the forbidden combination {text!r} needs a number, got {word!r}"
        ) from None
    return number if isinstance(parameter, Float) or number != int(number) else int(number)


def _unclear(text: str, why: str) -> SpaceError:
    return SpaceError(
        f"the constraint {text!r} cannot be read: {why}. Write it as a + 2 b <= 1,"
        " a + b + c = 1, 0.2 <= a - b <= 1, or not solvent=water, base=NaH"
    )


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
