"""The grammar of numbers that people type, in the shell, on the page and in CSV files.

    number   sign? digits decimals? exponent?   65.5  65,5  −4  1'000  1e-3  5×10³  5x10^3
    value    number unit? (± number unit?)?      41.5 ± 0.2 %

Thousands are separated by an apostrophe or a thin or no-break space, never by a point or a comma.
A unit is made of letters, °, % and the like. Everything else is refused: no text is read in part.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from noregret.errors import ConfigurationError, TrialError
from noregret.trials import AtLeast, AtMost, Limit

Decimal = Literal[".", ",", ""]

SIGN = "[+\u2212-]?"
POWER = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻"
NUMERAL = re.compile(
    rf"(?P<sign>{SIGN})"
    r"(?:(?P<grouped>[1-9][0-9]{0,2}(?:(?P<mark>['\u2019\u2009\u202f\u00a0])[0-9]{3})"
    r"(?:(?P=mark)[0-9]{3})*(?![0-9]))|(?P<digits>[0-9]+)|(?=[.,][0-9]))"
    r"(?P<decimals>[.,][0-9]+|\.)?"
    rf"(?:[eE](?P<e>{SIGN}[0-9]+)"
    rf"|\s*[×x·*]\s*10(?:\^(?P<caret>{SIGN}[0-9]+)|(?P<power>[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)))?"
    r"(?P<space>\s*)(?P<unit>.*)",
    re.DOTALL,
)
NOISE = re.compile(r"±|\+/-|\+[-\u2212]")
THOUSANDS = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
SEPARATED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:(,|\.| )[0-9]{3})(?:\1[0-9]{3})*(?:[.,][0-9]+)?")
PLAIN = str.maketrans(f"\u2212{POWER}", "-0123456789+-")
SYMBOLS = "°%‰℃℉€$£¥"
FACTORS = ("k", "e", "E", "x", "X")  # alone behind a number: a factor or an operator, not a unit
LIKE_DIGITS = set("oOlI")  # 5o is a slip for 50, and 5l may be 51
NOT_FINITE = re.compile(rf"{SIGN}(?:nan|inf|infinity)", re.IGNORECASE)
LIMIT = re.compile(r"^\s*(?P<name>.+?)\s*(?P<how><=|>=|≤|≥)\s*(?P<limit>\S.*?)\s*$")
EXAMPLES = "write it like 41.5, 41,5, 1'000 or 1e-3, with its unit and ± its noise if you like"


class AmbiguousError(ValueError):
    """A point or a comma in a number may separate decimals or thousands."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says: a number, its noise's standard deviation and its unit, "" if none."""

    value: float
    noise_std: float | None = None
    unit: str = ""


def read(text: str, *, unit: str = "", decimal: Decimal = ".") -> Reading:
    """A text as a number.

    Args:
        text: What was typed, not empty.
        unit: The unit that it must have if it has one; "": any.
        decimal: The decimal sign where 1.500 and 1,500 could both be thousands; "": not known,
            so both are refused.

    Raises:
        ValueError: It is anything else. The message says what to write instead.
    """
    stripped = text.strip()
    if NOT_FINITE.fullmatch(stripped):
        raise ValueError("a number is finite")
    written, *noise = NOISE.split(stripped, maxsplit=1)
    value, its_unit = _part(written, unit, decimal)
    if not noise:
        return Reading(value, None, its_unit)
    std, noise_unit = _part(noise[0], unit, decimal)
    if noise_unit and not its_unit and _same(noise_unit, "%") and not _same(unit, "%"):
        raise ValueError(f"the noise may be {std:g} or {std:g} % of the value: write a number")
    if its_unit and noise_unit and not _same(its_unit, noise_unit):
        raise ValueError(f"its noise is in {noise_unit}: write both in one unit")
    return Reading(value, std, its_unit or noise_unit)


def _part(text: str, unit: str, decimal: Decimal) -> tuple[float, str]:
    """One number and its unit."""
    stripped = text.strip()
    match = NUMERAL.fullmatch(stripped)
    if match is None:
        raise ValueError(EXAMPLES)
    after = match["unit"]
    if after and not (match["space"] or _letter(after[0])):
        raise ValueError(_advice(stripped))
    if after and not _is_unit(after, unit, attached=not match["space"]):
        raise ValueError(_advice(stripped))
    if after and unit and not _same(after, unit):
        raise ValueError(f"its unit is {after} where {unit} is meant: write it in {unit}")
    decimals = match["decimals"] or ""
    exponent = (match["e"] or match["caret"] or match["power"] or "").translate(PLAIN)
    if not exponent and THOUSANDS.fullmatch(f"{match['digits']}{decimals}"):
        whole, places = match["digits"] + decimals[1:], f"{match['digits']}{decimal or '.'}"
        if decimals[0] != decimal:
            raise AmbiguousError(
                f"it may mean {places}{decimals[1:].rstrip('0') or '0'} or {whole}:"
                " write one of these"
            )
    sign = match["sign"].translate(PLAIN)
    digits = match["digits"] or re.sub("[^0-9]", "", match["grouped"] or "0")
    if not decimals and not exponent:
        return _finite(int, f"{sign}{digits}"), after
    return _finite(float, f"{sign}{digits}.{decimals[1:] or '0'}e{exponent or '0'}"), after


def _finite(kind: type, text: str) -> Any:
    """Whole numbers stay whole, and so exact."""
    try:
        number = kind(text)
        finite = math.isfinite(float(number))
    except (OverflowError, ValueError):  # ValueError: more digits than Python converts
        finite = False
    if not finite:
        raise ValueError("a number is finite, and at most 1.8e308")
    return number


def _letter(character: str) -> bool:
    """No digit of any script: 5½ and 5万 are other numbers than 5."""
    return character in SYMBOLS or (character.isalpha() and not character.isnumeric())


def _is_unit(text: str, own: str, *, attached: bool) -> bool:
    """Whether a text behind a number can be its unit. own: the unit of the study, if it has one,
    may be anything, such as mg/L.
    """
    if own and _same(text, own):
        return True
    if not all(map(_letter, text)) or text in FACTORS or set(text) <= set("oO"):
        return False
    return not (attached and (set(text) <= LIKE_DIGITS or text[0] in "xX"))


def _same(unit: str, other: str) -> bool:
    """µ has two code points, and ° C is °C."""
    plain = [re.sub(r"\s+", "", unicodedata.normalize("NFKC", text)) for text in (unit, other)]
    return plain[0] == plain[1]


def _advice(text: str) -> str:
    """What to write instead of a number with something else behind it."""
    if SEPARATED.fullmatch(text):
        return "separate thousands by an apostrophe, such as 1'500, or not at all"
    factor = re.fullmatch(r".*[0-9.,]\s*([a-zA-Z])", text)
    if factor and factor[1] in FACTORS:
        return f"{factor[1]!r} behind a number is no unit: write it out, such as 12000"
    return f"{EXAMPLES}; a unit has letters, ° or %, and no digit, operator or quote"


# -- with a name --


def read_measured(
    text: str | None, name: str, unit: str = "", *, decimal: Decimal = ".", noise: str | None = None
) -> tuple[float | None, float | None, str]:
    """Reads a measured value.

    Args:
        text: What was typed, or nothing.
        name: The value's name, for messages.
        unit: The unit that it must have if it has one; "": any.
        decimal: The decimal sign.
        noise: The noise as a separate text, instead of ± behind the value.

    Returns:
        The value, its noise's standard deviation and the unit that was written; None where there is
        nothing.

    Raises:
        TrialError: A text is no number, or the noise is given twice.
    """
    reading = _named(text, name, unit, decimal)
    unit = unit or reading.unit if reading else unit
    separate = _named(noise, f"the noise of {name}", unit, decimal)
    if separate is not None and separate.noise_std is not None:
        raise TrialError(f"the noise of {name} must be a number, got {noise!r}: write it without ±")
    if reading is None:
        return None, None if separate is None else float(separate.value), ""
    if reading.noise_std is not None and separate is not None:
        raise TrialError(f"{name} has its noise twice, got {text!r} and {noise!r}: write it once")
    std = reading.noise_std if separate is None else separate.value
    return float(reading.value), None if std is None else float(std), reading.unit


def read_exact(
    text: str | None, name: str, unit: str = "", *, decimal: Decimal = "."
) -> Reading | None:
    """A number that has no noise; None if there is nothing."""
    reading = _named(text, name, unit, decimal)
    if reading is not None and reading.noise_std is not None:
        raise TrialError(
            f"{name} must be one number, got {(text or '').strip()!r}: only a measured value has ±"
        )
    return reading


def read_number(text: str | None, name: str, unit: str = "") -> float | None:
    """Reads a number that has no noise.

    Args:
        text: What was typed, or nothing.
        name: The number's name, for messages.
        unit: The unit that it must have if it has one; "": any.

    Returns:
        The number; None if there is nothing.

    Raises:
        TrialError: It is no number, or has ±.
    """
    reading = read_exact(text, name, unit)
    return None if reading is None else float(reading.value)


def _named(text: str | None, name: str, unit: str, decimal: Decimal) -> Reading | None:
    stripped = (text or "").strip()
    if not stripped:
        return None
    try:
        return read(stripped, unit=unit, decimal=decimal)
    except ValueError as error:
        shown = stripped if len(stripped) <= 100 else f"{stripped[:99]}…"
        raise TrialError(f"{name} must be a number, got {shown!r}: {error}") from None


def understood(value: float, noise_std: float | None = None, unit: str = "") -> str:
    """Returns what was read, with all its digits: 41.5 ± 0.2 %.

    Args:
        value: The number.
        noise_std: Its noise's standard deviation, if any.
        unit: Its unit, "" if none.
    """
    numbers = [value] if noise_std is None else [value, noise_std]
    texts = [repr(float(number)).removesuffix(".0") for number in numbers]
    return " ± ".join(texts) + (f" {unit}" if unit else "")


# -- of a study, of a file --


Units = dict[str | None, str]


def units_of(attributes: Mapping[str, Any]) -> Units:
    """Returns the unit of each input and outcome by its name, and of the values under None.

    Args:
        attributes: A study's attributes; those named ``units`` and ``unit`` are read.
    """
    units = attributes.get("units")
    listed = units.items() if isinstance(units, Mapping) else ()
    by_name: Units = {str(name): str(unit).strip() for name, unit in listed if unit}
    return by_name | {None: str(attributes.get("unit") or "").strip()}


def decimal_of(cells: Iterable[Any], separator: str) -> Decimal:
    """The decimal sign of a file, from the numbers in it whose sign cannot separate thousands: 65,5
    or 0.125. Where there is none, semicolons between the cells speak for a comma.
    """
    seen: set[str] = set()
    for cell in cells:
        match = NUMERAL.fullmatch(cell.strip()) if isinstance(cell, str) else None
        if match is None or not match["decimals"]:
            continue
        if match["unit"] and not _is_unit(match["unit"], "", attached=False):
            continue
        exponent = match["e"] or match["caret"] or match["power"]
        if exponent or not THOUSANDS.fullmatch(f"{match['digits']}{match['decimals']}"):
            seen.add(match["decimals"][0])
    if len(seen) == 2:
        return ""
    if seen:
        return "," if "," in seen else "."
    return "," if separator == ";" else "."


def numbers(cells: Sequence[str], *, decimal: Decimal = ".") -> list[Any]:
    """Returns a column as numbers if every cell is one, all with one unit; else the texts.

    Args:
        cells: The texts.
        decimal: The decimal sign.

    Raises:
        TrialError: Every cell is a number, but in one the decimal sign is ambiguous.
    """
    readings, unclear = [], ""
    for cell in cells:
        try:
            readings.append(read(cell, decimal=decimal))
        except AmbiguousError as error:
            unclear = unclear or f"{cell!r} in a column of numbers: {error}"
        except ValueError:
            return list(cells)
    if unclear:
        raise TrialError(unclear)
    alike = len({reading.unit for reading in readings}) == 1
    exact = all(reading.noise_std is None for reading in readings)
    if not alike or not exact:
        return list(cells)
    whole = all(isinstance(reading.value, int) for reading in readings)
    return [reading.value if whole else float(reading.value) for reading in readings]


# -- limits: toxicity<=0.3, purity >= 50 % --


def _read_limit(text: str) -> tuple[str, Limit]:
    """The outcome's name, and its limit."""
    match = LIMIT.match(text)
    if match is None:
        raise ConfigurationError(f"write an outcome's limit as 'toxicity<=0.3', got {text!r}")
    value = read_number(match["limit"], f"the limit of {match['name']}")
    assert value is not None  # the pattern has a text there
    return match["name"], (AtMost if match["how"] in ("<=", "≤") else AtLeast)(value)


def read_limits(texts: Iterable[str], known: Iterable[tuple[str, Limit]] = ()) -> dict[str, Limit]:
    """Returns the limits of a study by their outcome.

    Args:
        texts: Limits as text, such as ``toxicity<=0.3``.
        known: Limits that were given otherwise.

    Raises:
        ConfigurationError: A text is no limit, or an outcome has two.
    """
    limits: dict[str, Limit] = {}
    for name, limit in (*known, *map(_read_limit, texts)):
        if name in limits:
            raise ConfigurationError(
                f"{name} has two limits, {limits[name]} and {limit}: make two outcomes of it,"
                f" {name}_low and {name}_high, and tell the same number as both"
            )
        limits[name] = limit
    return limits
