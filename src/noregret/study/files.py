"""Trials in files: CSV, JSON, Parquet and data frames; back from our CSV, a spreadsheet's or a
laboratory's.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal, get_args

from noregret.errors import (
    ConfigurationError,
    MissingExtraError,
    NoRegretError,
    SpaceError,
    TrialError,
)
from noregret.space import Candidates, Choice, Int, Parameter, Space, named_params
from noregret.storage import finished
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
    About,
    Decision,
    Limit,
    Trial,
    check_attributes,
    check_note,
    check_outcome,
    check_transient,
)

Format = Literal["csv", "json", "parquet"]
Target = str | os.PathLike[str] | IO[Any]
Source = str | os.PathLike[str] | IO[str]
# columns before and after those of the parameters and outcomes
BEFORE = ("number", "state")
AFTER = (
    *("value", "noise_std", "corrects", "created", "finished", "started", "duration"),
    *("error", "note", "attributes", "transient"),
)
SAID = ("error", "note", "attributes")
# suffixes by which a program would expect another format than text
BINARY = {"xls", "xlsx", "ods", "feather", "arrow", "pkl", "pickle", "h5", "hdf5", "db", "zip"}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters that make a spreadsheet run a cell


def column(name: str, outcomes: Iterable[str] = ()) -> str:
    """The column of a parameter: its name, unless a trial's own columns have it."""
    taken = {*BEFORE, *AFTER, *_measured_columns(outcomes)}
    return f"params.{name}" if name in taken else name


def outcome_columns(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """For each outcome the columns of its value and of its noise."""
    taken = (*BEFORE, *AFTER, "feasible")
    places = {name: f"outcomes.{name}" if name in taken else name for name in names}
    return {name: (place, f"{place}.noise_std") for name, place in places.items()}


def _measured_columns(outcomes: Iterable[str]) -> list[str]:
    pairs = outcome_columns(outcomes).values()
    return [*(name for pair in pairs for name in pair), *(["feasible"] if pairs else [])]


def _measured(trial: Trial, outcomes: Iterable[str]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, (value, noise) in outcome_columns(outcomes).items():
        row |= {value: trial.outcomes.get(name), noise: trial.outcome_noise.get(name)}
    return row | {"feasible": trial.feasible} if row else {}


def records(
    space: Space | Candidates, trials: Sequence[Trial], outcomes: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """A flat row per trial."""
    outcomes = list(outcomes)
    rows = []
    for trial in trials:
        params = named_params(space, trial.params)
        row = {
            "number": trial.number,
            "state": trial.state,
            **{column(name, outcomes): params[name] for name in space.parameters},
        }
        said = json.dumps(dict(trial.attributes)) if trial.attributes else None
        after = {name: getattr(trial, name) for name in AFTER}
        rows.append(row | _measured(trial, outcomes) | after | {"attributes": said})
    return rows


def write(
    target: Target,
    kind: Format | None,
    space: Space | Candidates,
    trials: Sequence[Trial],
    outcomes: Iterable[str] = (),
) -> None:
    outcomes = list(outcomes)
    suffix = (
        Path(target).suffix.lstrip(".").lower() if isinstance(target, (str, os.PathLike)) else ""
    )
    if kind is None and suffix in BINARY:
        raise ConfigurationError(
            f"{Path(str(target)).name!r} names a kind of file that is not written here: end it in"
            ' .csv, .json or .parquet, or say format="csv"'
        )
    chosen = kind or (suffix if suffix in get_args(Format) else "csv")
    if chosen not in get_args(Format):
        raise ConfigurationError(f'format is "csv", "json" or "parquet", got {kind!r}')
    if chosen == "parquet":
        _parquet(target, space, trials, outcomes)
        return
    with (
        open(target, "w", encoding="utf-8", errors="surrogatepass", newline="")
        if isinstance(target, (str, os.PathLike))
        else nullcontext(target)
    ) as file:
        if chosen == "json":
            json.dump([trial.to_json() for trial in trials], file, allow_nan=False, indent=1)
            file.write("\n")
        else:
            names = [guarded(name) for name in _columns(space, outcomes)]
            _row(file, [*BEFORE, *names, *AFTER])
            options = {name: option_cells(p) for name, p in space.parameters.items()}
            cells = {column(name, outcomes): each for name, each in options.items()}
            for row in records(space, trials, outcomes):
                said = {name: guarded(row[name]) for name in SAID if row[name]}
                written = {name: _written(cells.get(name), value) for name, value in row.items()}
                _row(file, list((written | said).values()))


def _columns(space: Space | Candidates, outcomes: Sequence[str]) -> list[str]:
    """Those of a study's own: its parameters and outcomes."""
    params = [column(name, outcomes) for name in space.parameters]
    return [*params, *_measured_columns(outcomes)]


def _row(file: IO[Any], cells: Sequence[Any]) -> None:
    """The module quotes a line feed by itself, but no carriage return."""
    odd = any(isinstance(cell, str) and "\r" in cell for cell in cells)
    if odd:
        csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(cells)
    else:
        csv.writer(file, lineterminator="\n").writerow(cells)


def frame(space: Space | Candidates, trials: Sequence[Trial], outcomes: Iterable[str] = ()) -> Any:
    outcomes = list(outcomes)
    try:
        import pandas
    except ImportError:
        raise MissingExtraError(
            "a data frame needs pandas: install it with `pip install noregret[frame]`"
        ) from None
    made = pandas.DataFrame(
        records(space, trials, outcomes),
        columns=[*BEFORE, *_columns(space, outcomes), *AFTER],
    )
    kinds = {
        "value": "float64",
        "noise_std": "float64",
        "corrects": "Int64",
        "duration": "float64",
    }
    measured = [name for pair in outcome_columns(outcomes).values() for name in pair]
    kinds |= dict.fromkeys(measured, "float64") | ({"feasible": "boolean"} if measured else {})
    made = made.astype(kinds)
    for name in ("created", "finished", "started"):
        made[name] = pandas.to_datetime(made[name], utc=True, format="ISO8601")
    return made


def _parquet(
    target: Target, space: Space | Candidates, trials: Sequence[Trial], outcomes: Sequence[str]
) -> None:
    made = frame(space, trials, outcomes)
    for name, parameter in space.parameters.items():
        if (
            isinstance(parameter, Choice)
            and len({type(option) for option in parameter.options}) > 1
        ):
            there = column(name, outcomes)
            made[there] = made[there].map(json.dumps)  # a column has one type
    try:
        made.to_parquet(target)
    except ImportError:
        raise MissingExtraError(
            "Parquet needs pyarrow: install it with `pip install noregret[frame]`"
        ) from None


# -- cells --


def guarded(text: str) -> str:
    """Text with an apostrophe in front where a spreadsheet would take it for a formula; and where
    it has one already, so that the way back is clear.
    """
    return f"'{text}" if text.startswith((*FORMULA, "'")) else text


def unguarded(cell: str) -> str:
    """The text that ``guarded`` was given; an apostrophe that a person typed stays."""
    return cell[1:] if cell.startswith(tuple(f"'{each}" for each in (*FORMULA, "'"))) else cell


def option_cells(parameter: Parameter) -> dict[tuple[type, Any], str] | None:
    """What is written for each option: its text, and in quotes (as JSON) where another option, or
    nothing at all, would be written the same.
    """
    if not isinstance(parameter, Choice):
        return None
    plain = Counter("" if option is None else str(option).strip() for option in parameter.options)
    return {
        (type(option), option): (
            ("" if option is None else str(option))
            if not isinstance(option, str)
            else json.dumps(option)
            if plain[option.strip()] > 1 or not option.strip() or option.startswith('"')
            else guarded(option)
        )
        for option in parameter.options
    }


def _written(cells: dict[tuple[type, Any], str] | None, value: Any) -> Any:
    return value if cells is None else cells.get((type(value), value), value)


# -- reading --


def read_csv(
    source: Source,
    space: Space | Candidates,
    limits: Mapping[str, Limit] | None = None,
    units: Units | None = None,
) -> list[Trial]:
    """Trials of a file, not yet numbered; TrialError if any row cannot be read.

    Args:
        source: The file, or its name. Without a column ``state`` every row needs a value; with one,
            rows may have failed or wait to be tried.
        space: The space of the study.
        limits: Its limits; each outcome has a column, and optionally one for its noise.
        units: Of each input and outcome, and of the values under None; see ``units_of``. Where one
            is missing, the first unit in a column is that of all its cells.
    """
    try:
        names, rows, decimal = table(source)
    except UnicodeDecodeError:
        raise TrialError(
            "the CSV file is not text in UTF-8: save it as such; nothing was imported"
        ) from None
    except csv.Error as error:
        raise TrialError(f"the CSV file cannot be read ({error}); nothing was imported") from None
    ours = {name: guarded(column(name, limits or ())) for name in space.parameters}
    taken = {*BEFORE, *AFTER}
    place = {
        name: there if there in names or name in taken else name for name, there in ours.items()
    }
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
    read_row = _RowReader(space, limits or {}, place, decimal, dict(units or {})).trial
    corrected = {row.get("corrects") for row in rows} - {None, ""}
    trials = []
    for index, row in enumerate(rows):
        if row.get("number") in corrected:
            continue
        try:
            trials.append(read_row(row))
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


@dataclass(slots=True)
class _RowReader:
    """Reads the rows of one file. place: the column of each parameter."""

    space: Space | Candidates
    limits: Mapping[str, Limit]
    place: Mapping[str, str]
    decimal: Decimal
    units: Units

    def trial(self, row: dict[str, Any]) -> Trial:
        if "" in row:
            raise TrialError(f"more cells than columns: {row['']!r}")
        text = (row.get("state") or "complete").strip()
        state = next((each for each in STATES if each == text), None)
        if state is None:
            raise TrialError(f"state is one of {list(STATES)}, got {text!r}")
        cells = {name: row[place] for name, place in self.place.items()}
        params = self.space.canonical(
            {
                name: parsed(cells[name], name, parameter, self.units, decimal=self.decimal)
                for name, parameter in self.space.parameters.items()
            }
        )
        error, note, attributes = (unguarded(row.get(name) or "") or None for name in SAID)
        waits = state in ("waiting", "running")
        flag = (row.get("transient") or "").strip().lower()
        if flag not in ("", "true", "false", "1", "0", "yes", "no"):
            raise TrialError(f"transient is true or false, got {flag!r}")
        value, noise, about = None, None, About()
        if not waits:
            value, noise = self._value(None, "value", row.get("value"), row.get("noise_std"))
            outcomes = self._outcomes(row)
            if state == "complete" and value is None and not outcomes:
                raise TrialError(
                    'it has no value: give one, or a column "state" that says "failed" or "waiting"'
                )
            value, noise, about = check_outcome(value, noise, state, outcomes, self.limits)
        about = replace(
            about,
            error=check_note(error, "an error"),
            note=check_note(note),
            attributes=_attributes(attributes),
            transient=not waits and check_transient(flag in ("true", "1", "yes"), state),
        )
        trial = Trial(0, params, decision=Decision("enqueued" if waits else "added"))
        return finished(trial, "waiting" if waits else state, value, noise, about)

    def _outcomes(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """Each outcome in the row with its noise; None if there is none."""
        outcomes: dict[str, Any] = {}
        for name, (place, noise) in outcome_columns(self.limits).items():
            pair = self._value(name, place, row.get(guarded(place)), row.get(noise))
            if pair[0] is not None:
                outcomes[name] = pair
        return outcomes or None

    def _value(
        self, name: str | None, label: str, cell: str | None, noise: str | None
    ) -> tuple[float | None, float | None]:
        """A measured value and its noise; name: the outcome's, None for the value itself."""
        unit = self.units.get(name, "")
        value, std, its_unit = read_value(cell, label, unit, decimal=self.decimal, noise=noise)
        self.units[name] = unit or its_unit
        return value, std


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
