"""Numbers as people write them: 65.5, 65,5, 1e-3, −4, 65.5 °C."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from noregret.errors import TrialError

DIGITS = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?"
NUMERAL = re.compile(rf"({DIGITS})\s*([^\d\s.,;+\-].*)?")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")
PREFIXES = ("k", "e", "E")  # these alone behind a number are no units but factors


def split(text: str, *, comma: bool = False) -> tuple[float, str]:
    """A number and its unit, empty if it has none. comma: it is known to stand before decimals.

    ValueError for anything else, with what is wrong if that can be said.
    """
    plain = text.strip().replace("\u2212", "-").replace("\u00a0", " ").replace("\u202f", " ")
    try:
        return float(plain), ""
    except ValueError:
        found = NUMERAL.fullmatch(plain)
    if found is None:
        raise ValueError("")
    digits, unit = found[1], (found[2] or "").strip()
    if unit in PREFIXES:
        raise ValueError(f"{unit!r} behind a number is no unit: write it out, such as 12000")
    if not comma and THOUSANDS.fullmatch(digits):
        other = digits.replace(",", "")
        raise ValueError(
            f"{digits!r} may mean {digits.replace(',', '.', 1)} or {other}: write one of these"
        )
    return float(digits.replace(",", ".")), unit


def read_number(text: str, name: str, *, comma: bool = False) -> float | None:
    """The number in a cell, a field or a word; its unit is left out. None if there is nothing."""
    if not text.strip():
        return None
    try:
        return split(text, comma=comma)[0]
    except ValueError as error:
        why = f": {error}" if str(error) else ", with a unit behind it if you like"
        raise TrialError(f"{name} must be a number, got {text.strip()!r}{why}") from None


def numbers(cells: Sequence[str], *, comma: bool = False) -> list[Any]:
    """A column as whole numbers or numbers if every cell is one, all with one unit; else the texts
    themselves.
    """
    try:
        return [int(cell) for cell in cells]
    except ValueError:
        pass
    try:
        pairs = [split(cell, comma=comma) for cell in cells]
    except ValueError:
        return list(cells)
    if len({unit for _, unit in pairs}) > 1:
        return list(cells)
    return [value for value, _ in pairs]
