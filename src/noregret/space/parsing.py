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

RELATION = re.compile(r"<=|>=|==|≤|≥|=|<|>")
NUMBER = re.compile(r"\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?|[.,]\d+")
AT_MOST, AT_LEAST = ("<=", "≤", "<"), (">=", "≥", ">")


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
    sides, signs = _sides(text, parameters)
    if not signs or len(signs) > 2 or (len(signs) == 2 and any(sign == "=" for sign in signs)):
        raise _unclear(text, "it needs one <=, >= or =, or two of the same direction")
    parts = [_side(side, parameters, text) for side in sides]
    if len(signs) == 2:
        if signs[0] != signs[1] or parts[0][0] or parts[2][0]:
            raise _unclear(text, "between two relations stands the sum, around them numbers")
        ends = sorted([parts[0][1] - parts[1][1], parts[2][1] - parts[1][1]])
        return Linear(parts[1][0], at_least=ends[0], at_most=ends[1])
    (left, below), (right, above) = parts
    total = {**left}
    for name, coefficient in right.items():
        total[name] = total.get(name, 0.0) - coefficient
    total = {name: coefficient for name, coefficient in total.items() if coefficient != 0}
    if not total:
        raise _unclear(text, f"it names no input; there are {', '.join(parameters)}")
    kind = {"<": "at_most", ">": "at_least", "=": "equals"}[signs[0]]
    return Linear(total, **{kind: above - below})


def _sides(text: str, parameters: Mapping[str, Parameter]) -> tuple[list[str], list[str]]:
    """What stands between relations, and these; a name may hold anything."""
    sides, signs, at = [""], list[str](), 0
    names = sorted(parameters, key=len, reverse=True)
    while at < len(text):
        name = _name_at(text, at, names)
        found = RELATION.match(text, at)
        if name is not None:
            sides[-1] += name
            at += len(name)
        elif found:
            word = found.group()
            signs.append("<" if word in AT_MOST else ">" if word in AT_LEAST else "=")
            sides.append("")
            at = found.end()
        else:
            sides[-1] += text[at]
            at += 1
    return sides, signs


def _name_at(text: str, at: int, names: list[str]) -> str | None:
    """The longest name that stands here as a word of its own."""
    if at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_") and not text[at - 1].isdigit():
        return None
    for name in names:
        end = at + len(name)
        if text.startswith(name, at) and not (
            end < len(text) and (text[end].isalnum() or text[end] == "_")
        ):
            return name
    return None


def _side(
    side: str, parameters: Mapping[str, Parameter], text: str
) -> tuple[dict[str, float], float]:
    """Coefficients by name, and the number beside them."""
    names = sorted(parameters, key=len, reverse=True)
    total: dict[str, float] = {}
    constant, at, first = 0.0, 0, True
    while True:
        at = _skip(side, at)
        if at == len(side):
            if first:
                raise _unclear(text, "something is missing beside a relation")
            return total, constant
        sign = 1.0
        if side[at] in "+-−":
            sign = 1.0 if side[at] == "+" else -1.0
            at = _skip(side, at + 1)
        elif not first:
            raise _unclear(text, f"a + or − is missing before {side[at:].strip()!r}")
        first = False
        name = _name_at(side, at, names)
        number = None if name is not None else NUMBER.match(side, at)
        factor = 1.0
        if number:
            factor = float(number.group().replace(",", "."))
            at = _skip(side, number.end())
            starred = at < len(side) and side[at] in "*·"
            at = _skip(side, at + 1) if starred else at
            name = _name_at(side, at, names)
        if name is not None:
            total[name] = total.get(name, 0.0) + sign * factor
            at += len(name)
        elif number:
            constant += sign * factor
        else:
            rest = side[at:].strip() or "the end"
            raise _unclear(text, f"{rest!r} is no input; there are {', '.join(parameters)}")


def _skip(side: str, at: int) -> int:
    while at < len(side) and side[at].isspace():
        at += 1
    return at


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
        found = [option for option in parameter.options if str(option) == word]
        return found[0] if found else word  # what is no option is refused with the others named
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
