"""Trials from CSV files: our own, a spreadsheet's, a laboratory's."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import IO, Any

from noregret.errors import NoRegretError, SpaceError, TrialError
from noregret.space import Candidates, Choice, Int, Parameter, Space
from noregret.study.files import (
    AFTER,
    BEFORE,
    SAID,
    column,
    guarded,
    option_cells,
    outcome_columns,
    unguarded,
)
from noregret.study.numerals import (
    Decimal,
    Units,
    decimal_of,
    numbers,
    read,
    read_exact,
    read_value,
)
from noregret.trials import (
    STATES,
    Decision,
    Limit,
    Trial,
    check_attributes,
    check_measured,
    check_note,
    check_outcome,
    check_transient,
)

Source = str | os.PathLike[str] | IO[str]
OLD = (*BEFORE, *AFTER[:5])  # columns that every version wrote


@dataclass(frozen=True, slots=True)
class Numerals:
    """How the numbers of a file are read. units: by input and outcome, and of the values under
    None; the first unit in a column is the unit of all its cells.
    """

    decimal: Decimal
    units: Units

    def value(
        self, name: str | None, label: str, cell: str | None, noise: str | None
    ) -> tuple[float | None, float | None]:
        """A measured value and its noise."""
        unit = self.units.get(name, "")
        value, std, found = read_value(cell, label, unit, decimal=self.decimal, noise=noise)
        self.units[name] = unit or found
        return value, std


def read_csv(
    source: Source,
    space: Space | Candidates,
    limits: Mapping[str, Limit] | None = None,
    units: Units | None = None,
) -> list[Trial]:
    """Trials not yet numbered. Without a column ``state`` every row needs a value; with one, rows
    may have failed or be still to try. limits: each outcome has a column of its own, and if you
    like one for its noise. units: see ``numerals.units_of``.
    """
    try:
        names, rows, decimal = table(source)
    except UnicodeDecodeError:
        raise TrialError(
            "the CSV file is not text in UTF-8: save it as such; nothing was imported"
        ) from None
    except csv.Error as error:
        raise TrialError(f"the CSV file cannot be read ({error}); nothing was imported") from None
    # a parameter may be called as a column that only newer versions write
    ours = {name: guarded(column(name, limits or ())) for name in space.parameters}
    place = {name: there if there in names else name for name, there in ours.items()}
    place |= {name: ours[name] for name in space.parameters if name in OLD}
    stripped = {
        name: name if name in place.values() or name == "value" else name.strip() for name in names
    }
    names = [stripped[name] for name in names]
    rows = [{stripped.get(name, name): cell for name, cell in row.items()} for row in rows]
    needed = {"value": "value"} | {ours[name]: place[name] for name in place}
    missing = [name for name, there in needed.items() if there not in names]
    if missing:
        raise TrialError(
            f"the CSV file lacks the columns {missing!r}: it needs {list(needed)!r}, and has"
            f" {names!r}"
        )
    trials, numerals = [], Numerals(decimal, dict(units or {}))
    corrected = {row.get("corrects") for row in rows} - {None, ""}
    for index, row in enumerate(rows):
        if row.get("number") in corrected:
            continue
        try:
            trials.append(_trial(row, space, place, numerals, limits or {}))
        except NoRegretError as error:
            raise TrialError(
                f"row {index + 1} of the CSV file: {error}; nothing was imported"
            ) from None
    return trials


def table(source: Source) -> tuple[list[str], list[dict[str, Any]], Decimal]:
    """Names and rows of a file with commas, semicolons or tabs, and the decimal sign in it."""
    with (
        open(source, encoding="utf-8", errors="surrogatepass", newline="")
        if isinstance(source, (str, os.PathLike))
        else nullcontext(source)
    ) as file:
        text = file.read().removeprefix("\ufeff")
    header = text.splitlines()[0] if text.strip() else ""
    ours = header.replace('"', "").startswith(",".join(BEFORE))
    mark = "," if ours else max(",;\t", key=header.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    names = next(rows, [])
    if len(set(names)) < len(names):
        raise TrialError(f"the CSV file has a column twice: {names!r}; nothing was imported")
    listed = []
    for cells in rows:
        if not cells or (len(cells) == 1 and not cells[0].strip() and len(names) > 1):
            continue  # an empty line
        row: dict[str, Any] = dict(zip(names, cells, strict=False))
        row |= dict.fromkeys(names[len(cells) :])
        listed.append(row | ({"": cells[len(names) :]} if len(cells) > len(names) else {}))
    every = (cell for row in listed for cell in row.values())
    return names, listed, "." if ours else decimal_of(every, mark)


def designs(source: Source) -> list[dict[str, Any]]:
    """A file's rows as designs by name; a column of numbers is read as such."""
    names, rows, decimal = table(source)
    if not names or not rows:
        raise SpaceError("a list of designs needs a line of names and at least one line of values")
    for line, row in enumerate(rows, start=2):
        if "" in row or None in row.values():
            cells = [cell for cell in row.values() if cell is not None]
            there = len(cells) + (len(row[""]) - 1 if "" in row else 0)
            raise SpaceError(f"line {line} has {there} values, the first line names {len(names)}")
    columns = [numbers([row[name].strip() for row in rows], decimal=decimal) for name in names]
    stripped = [name.strip() for name in names]
    return [dict(zip(stripped, values, strict=True)) for values in zip(*columns, strict=True)]


def _outcomes(
    row: dict[str, Any], limits: Mapping[str, Limit], numerals: Numerals
) -> dict[str, Any]:
    """Each outcome with its noise, as far as the row has them."""
    told: dict[str, Any] = {}
    for name, (place, noise) in outcome_columns(limits).items():
        pair = numerals.value(name, place, row.get(guarded(place)), row.get(noise))
        if pair[0] is not None:
            told[name] = pair
    return told


def _trial(
    row: dict[str, Any],
    space: Space | Candidates,
    place: Mapping[str, str],
    numerals: Numerals,
    limits: Mapping[str, Limit],
) -> Trial:
    if "" in row:
        raise TrialError(f"more cells than columns: {row['']!r}")
    said_state = (row.get("state") or "complete").strip()
    state = next((each for each in STATES if each == said_state), None)
    if state is None:
        raise TrialError(f"state is one of {list(STATES)}, got {said_state!r}")
    values = {
        name: parsed(row[place[name]], name, parameter, numerals.units, decimal=numerals.decimal)
        for name, parameter in space.parameters.items()
    }
    params = space.canonical(values)
    texts = {
        name: unguarded(row.get(name) or "") or None for name in SAID if name not in place.values()
    }
    said: dict[str, Any] = {
        "error": check_note(texts.get("error"), "an error"),
        "note": check_note(texts.get("note")),
        "attributes": _attributes(texts.get("attributes")),
    }
    if state in ("waiting", "running"):
        return Trial(0, params, "waiting", decision=Decision("enqueued"), **said)
    value, noise = numerals.value(None, "value", row.get("value"), row.get("noise_std"))
    told = check_measured(_outcomes(row, limits, numerals) or None, limits, state)
    if state == "complete" and value is None and told.feasible is not False:
        raise TrialError(
            'it has no value: give one, or a column "state" that says "failed" or "waiting"'
        )
    chance = "" if "transient" in place.values() else (row.get("transient") or "").strip().lower()
    if chance not in ("", "true", "false", "1", "0", "yes", "no"):
        raise TrialError(f"transient is true or false, got {chance!r}")
    return Trial(
        0,
        params,
        state,
        *check_outcome(value, noise, state, may_miss=True),
        transient=check_transient(chance in ("true", "1", "yes"), state),
        **said,
        outcomes=told.values,
        outcome_noise=told.noise,
        feasible=told.feasible,
    )


def _attributes(text: str | None) -> dict[str, Any]:
    try:
        return check_attributes(json.loads(text) if text and text.strip() else None)
    except ValueError:
        raise TrialError(f"attributes must be a JSON object, got {text!r}") from None


def parsed(
    text: str | None,
    name: str,
    parameter: Parameter,
    units: Units | None = None,
    *,
    decimal: Decimal = ".",
) -> Any:
    """A cell as the parameter's value. units: by name; a number's own is kept there if there is
    none.
    """
    if isinstance(parameter, Choice):
        for (_, option), written in (option_cells(parameter) or {}).items():
            if written == (text or ""):
                return option
    cell = (text or "").strip()
    if isinstance(parameter, Choice):
        fitting = [option for option in parameter.options if _same(option, cell, decimal)]
        if len(fitting) != 1:
            raise TrialError(
                f"parameter {name!r}: {cell!r} is {'none' if not fitting else 'more than one'} of"
                f" the options {list(parameter.options)!r}"
            )
        return fitting[0]
    known = {} if units is None else units
    found = read_exact(cell, f"parameter {name!r}", known.get(name, ""), decimal=decimal)
    if found is None:
        raise TrialError(f"parameter {name!r} is empty")
    known[name] = known.get(name) or found.unit
    whole = isinstance(parameter, Int) and float(found.value).is_integer()
    return int(found.value) if whole else float(found.value)


def _same(option: Any, cell: str, decimal: Decimal) -> bool:
    if option is None or isinstance(option, (bool, str)):
        return cell == ("" if option is None else str(option)) or (
            isinstance(option, bool) and cell.lower() == str(option).lower()
        )
    try:
        found = read(cell, decimal=decimal)
    except ValueError:
        return False
    return found.noise_std is None and found.value == option
