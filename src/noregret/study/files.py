"""Trials in files: CSV, JSON, Parquet, spreadsheets and data frames; back from our CSV, a
spreadsheet, or a laboratory's table.
"""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, get_args

from noregret.errors import ConfigurationError, MissingExtraError, SpaceError, TrialError
from noregret.space import Candidates, Choice, Int, Parameter, Space, named_params
from noregret.study.numerals import Decimal, Units, decimal_of, numbers, read_exact, read_measured
from noregret.trials import (
    STATES,
    Decision,
    Ending,
    Limit,
    Trial,
    check_attributes,
    check_ending,
    check_note,
    standing,
    utc_now,
)

if TYPE_CHECKING:
    from noregret.study.study import Study

Format = Literal["csv", "json", "parquet", "xlsx"]
Known = Literal["refuse", "skip", "add"]  # what becomes of rows that a study has already
Target = str | os.PathLike[str] | IO[Any]
Source = str | os.PathLike[str] | IO[str] | IO[bytes]
# columns before and after those of the parameters and outcomes
BEFORE = ("number", "state")
AFTER = (
    *("value", "noise_std", "corrects", "created", "finished", "started", "duration"),
    *("error", "note", "attributes", "transient"),
)
TEXTS = ("error", "note", "attributes")
IMPORT = "import"  # the attribute with the label of the import that recorded a trial
# suffixes by which a program would expect another format than text
BINARY = {"xls", "ods", "feather", "arrow", "pkl", "pickle", "h5", "hdf5", "db", "zip"}
LARGEST_SHEET = 100 * 2**20  # bytes of an unpacked spreadsheet that is read
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters that make a spreadsheet run a cell


def _place_of(target: Any, mode: str) -> Any:
    """A file by its name, as text and unchanged line by line; or the open file that was given."""
    if isinstance(target, (str, os.PathLike)):
        return open(target, mode, encoding="utf-8", errors="surrogatepass", newline="")
    return nullcontext(target)


@dataclass(frozen=True, slots=True)
class TrialTable:
    """A study's trials as a table: columns for parameters and outcomes between those of a trial."""

    space: Space | Candidates
    limits: Mapping[str, Limit]

    @property
    def outcome_columns(self) -> dict[str, tuple[str, str]]:
        """For each outcome the columns of its value and of its noise."""
        taken = (*BEFORE, *AFTER, "feasible")
        places = {name: f"outcomes.{name}" if name in taken else name for name in self.limits}
        return {name: (place, f"{place}.noise_std") for name, place in places.items()}

    @property
    def measured_columns(self) -> list[str]:
        pairs = self.outcome_columns.values()
        return [*(name for pair in pairs for name in pair), *(["feasible"] if pairs else [])]

    @property
    def param_columns(self) -> dict[str, str]:
        """For each parameter its column: its name, unless another column has it."""
        taken = {*BEFORE, *AFTER, *self.measured_columns}
        names = self.space.parameters
        return {name: f"params.{name}" if name in taken else name for name in names}

    # -- writing --

    def rows(self, trials: Sequence[Trial]) -> list[dict[str, Any]]:
        """A flat row per trial."""
        places, measured, rows = self.param_columns, self.outcome_columns, []
        for trial in trials:
            params = named_params(self.space, trial.params)
            row: dict[str, Any] = {"number": trial.number, "state": trial.state}
            row |= {place: params[name] for name, place in places.items()}
            for name, (value, noise) in measured.items():
                row |= {value: trial.outcomes.get(name), noise: trial.outcome_noise.get(name)}
            if measured:
                row["feasible"] = trial.feasible
            row |= {name: getattr(trial, name) for name in AFTER}
            row["attributes"] = json.dumps(dict(trial.attributes)) if trial.attributes else None
            rows.append(row)
        return rows

    def write(self, target: Target, kind: Format | None, trials: Sequence[Trial]) -> None:
        is_path = isinstance(target, (str, os.PathLike))
        suffix = Path(str(target)).suffix.lstrip(".").lower() if is_path else ""
        if kind is None and suffix in BINARY:
            raise ConfigurationError(
                f"{Path(str(target)).name!r}: end it in .csv, .json, .parquet or .xlsx, or give the"
                " format"
            )
        form = kind or (suffix if suffix in get_args(Format) else "csv")
        if form not in get_args(Format):
            raise ConfigurationError(f'format is "csv", "json", "parquet" or "xlsx", got {kind!r}')
        if form in ("parquet", "xlsx"):
            if isinstance(target, io.TextIOBase):
                raise ConfigurationError(
                    f"{form} is not text, got {type(target).__name__}: give a file name or a"
                    " binary stream"
                )
            (self._write_parquet if form == "parquet" else self._write_sheet)(target, trials)
            return
        with _place_of(target, "w") as file:
            if form == "csv":
                self._write_csv(file, trials)
            else:
                json.dump([trial.to_json() for trial in trials], file, allow_nan=False, indent=1)
                file.write("\n")

    def _lines(self, trials: Sequence[Trial]) -> list[list[Any]]:
        """The names of the columns, and the cells of each trial."""
        names = [guarded(name) for name in (*self.param_columns.values(), *self.measured_columns)]
        lines: list[list[Any]] = [[*BEFORE, *names, *AFTER]]
        parameters, places = self.space.parameters, self.param_columns.items()
        cells = {place: option_cells(parameters[name]) for name, place in places}
        for row in self.rows(trials):
            for name, texts in cells.items():
                if texts:
                    row[name] = texts.get((type(row[name]), row[name]), row[name])
            row |= {name: guarded(row[name]) for name in TEXTS if row[name]}
            lines.append(list(row.values()))
        return lines

    def _write_sheet(self, target: Any, trials: Sequence[Trial]) -> None:
        sheet = (book := _openpyxl().Workbook(write_only=True)).create_sheet("trials")
        for line in self._lines(trials):
            sheet.append(line)
        book.save(target)

    def _write_csv(self, file: IO[Any], trials: Sequence[Trial]) -> None:
        for line in self._lines(trials):
            # the module quotes a line feed by itself, but no carriage return
            odd = any(isinstance(cell, str) and "\r" in cell for cell in line)
            quoting: Literal[0, 1] = csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
            csv.writer(file, lineterminator="\n", quoting=quoting).writerow(line)

    def frame(self, trials: Sequence[Trial]) -> Any:
        """A pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError(
                "a data frame needs pandas: install it with `pip install noregret[frame]`"
            ) from None
        kinds = dict.fromkeys(("value", "noise_std", "duration"), "float64") | {"corrects": "Int64"}
        kinds |= dict.fromkeys(self.measured_columns, "float64")
        if self.limits:
            kinds["feasible"] = "boolean"
        columns = [*BEFORE, *self.param_columns.values(), *self.measured_columns, *AFTER]
        frame = pandas.DataFrame(self.rows(trials), columns=columns).astype(kinds)
        for name in ("created", "finished", "started"):
            frame[name] = pandas.to_datetime(frame[name], utc=True, format="ISO8601")
        return frame

    def _write_parquet(self, target: Target, trials: Sequence[Trial]) -> None:
        frame = self.frame(trials)
        for name, parameter in self.space.parameters.items():
            options = parameter.options if isinstance(parameter, Choice) else ()
            if len({type(option) for option in options}) > 1:
                place = self.param_columns[name]
                frame[place] = frame[place].map(json.dumps)  # a column has one type
        try:
            frame.to_parquet(target)
        except ImportError:
            raise MissingExtraError(
                "Parquet needs pyarrow: install it with `pip install noregret[frame]`"
            ) from None

    # -- reading --

    def read(self, source: Source, units: Units, value_name: str = "") -> list[Trial]:
        """Trials of a file, not yet numbered; TrialError if any row cannot be read.

        Args:
            source: The file, or its name. Without a column ``state`` every row needs a value; with
                one, rows may have failed or wait to be tried. Columns of other names are attributes
                of the trials.
            units: Of each input and outcome, and of the values under None; see ``units_of``. Where
                one is missing, the first unit in a column is that of all its cells.
            value_name: What else the column of the values may be called.
        """
        try:
            names, rows, decimal = read_table(source)
        except (UnicodeDecodeError, csv.Error) as error:
            raise TrialError(
                f"the file cannot be read, or is not text in UTF-8 ({error}); nothing was imported"
            ) from None
        place = {name: guarded(there) for name, there in self.param_columns.items()}
        ours = self._columns_of(names, value_name)
        needed = ["value", *place.values()]
        missing = [name for name in needed if name not in ours.values()]
        if missing:
            raise TrialError(f"the file lacks the columns {missing!r}, it needs {needed!r}")
        rows = [{ours.get(name, name): cell for name, cell in row.items()} for row in rows]
        others = {name: unguarded(name.strip()) for name in names if name not in ours and name}
        reader, trials = _RowReader(self, place, others, decimal, dict(units)), []
        corrected = {row.get("corrects") for row in rows} - {None, ""}
        for index, row in enumerate(rows):
            if row.get("number") in corrected:
                continue
            try:
                trials.append(reader.trial(row))
            except (SpaceError, TrialError) as error:
                raise TrialError(
                    f"row {index + 1} of the file: {error}; nothing imported"
                ) from None
        return trials

    def _columns_of(self, names: Sequence[str], value_name: str) -> dict[str, str]:
        """Our name of each column that a file has. Spaces around a name and its case do not matter
        where that leaves no doubt. A parameter's plain name will do, unless a column of the trial
        has it.
        """
        taken = {*BEFORE, *AFTER}
        aliases: dict[str, list[str]] = {"value": ["value"]}
        for name, there in self.param_columns.items():
            aliases[guarded(there)] = [guarded(there), *([] if name in taken else [name])]
        for there, noise in self.outcome_columns.values():
            aliases |= {guarded(there): [guarded(there)], noise: [noise]}
        aliases = {name: [name] for name in (*BEFORE, *AFTER, "feasible")} | aliases
        aliases["value"].append(value_name)
        found: dict[str, str] = {}
        plain: tuple[Callable[[str], str], ...] = (str, str.strip, lambda n: n.strip().casefold())
        for form in plain:
            for ours, alias in ((ours, alias) for ours, each in aliases.items() for alias in each):
                free = [name for name in names if name not in found and form(name) == form(alias)]
                if alias and len(free) == 1 and ours not in found.values():
                    found[free[0]] = ours
        return found


# -- imports --


def import_label(file: str) -> str:
    """Returns the label of an import that begins now: the file's name and the time.

    Args:
        file: The file's name.
    """
    return f"{file}, {utc_now()[:-6].replace('T', ' ')} UTC"


def imports_of(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Returns the trials of each import that still count or wait, by the import's label.

    Args:
        trials: All trials of a study.
    """
    found: dict[str, list[Trial]] = {}
    for trial in standing(trials):
        label = trial.attributes.get(IMPORT)
        if label and trial.state != "withdrawn":
            found.setdefault(str(label), []).append(trial)
    return found


def take_back(study: Study, label: str) -> list[Trial]:
    """Withdraws everything that an import recorded, except what is under way. The entries stay on
    record and no longer count.

    Args:
        study: The study.
        label: Which import, as ``imports_of`` names it.

    Returns:
        The trials that were withdrawn.

    Raises:
        TrialError: There is no such import, or nothing of it is left.
    """
    storage, key = study._storage, study._key
    while True:
        trials = study.trials
        listed = imports_of(trials)
        if label not in listed:
            known = ", ".join(map(repr, listed)) or "none"
            raise TrialError(f"there is no import {label!r} to take back: the study has {known}")
        gone = [trial for trial in listed[label] if trial.state != "running"]
        for trial in gone:
            if trial.state == "waiting" and storage.claim(key, trial.number, None) is not None:
                storage.finish(key, trial.number, Ending("withdrawn"))
        struck = [trial for trial in gone if trial.is_finished]
        new = [
            replace(
                trial.ended(Ending("withdrawn")),
                number=len(trials) + index,
                decision=Decision("correction"),
                corrects=trial.number,
                created=None,
                started=None,
                finished=None,
            )
            for index, trial in enumerate(struck)
        ]
        if not new or storage.append(key, new, unless=bool) is not None:
            return gone


# -- cells --


def guarded(text: str) -> str:
    """Text with an apostrophe in front where a spreadsheet would take it for a formula; and where
    it has one already, so that the way back is clear.
    """
    return f"'{text}" if text.startswith((*FORMULA, "'")) else text


def unguarded(cell: str) -> str:
    """The text that ``guarded`` was given; an apostrophe that a person typed stays."""
    return cell[1:] if cell.startswith(tuple(f"'{first}" for first in (*FORMULA, "'"))) else cell


def option_cells(parameter: Parameter) -> dict[tuple[type, Any], str]:
    """What is written for each option: its text, and in quotes (as JSON) where another option, or
    nothing at all, would be written the same.
    """
    if not isinstance(parameter, Choice):
        return {}
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


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError(
            "a spreadsheet needs openpyxl: install it with `pip install noregret[frame]`"
        ) from None
    return openpyxl


def _sheet_text(source: Any) -> str:
    """The first sheet of an .xlsx file as CSV; empty rows and columns without a name are left
    out.
    """
    openpyxl = _openpyxl()
    try:
        with zipfile.ZipFile(source) as packed:
            if sum(part.file_size for part in packed.infolist()) > LARGEST_SHEET:
                raise TrialError("the spreadsheet is too large: save it as CSV")
        book = openpyxl.load_workbook(source, read_only=True, data_only=True)
        rows = [row for row in book.worksheets[0].values if any(cell is not None for cell in row)]
        book.close()
    except (zipfile.BadZipFile, KeyError, ValueError, IndexError) as error:
        if isinstance(error, TrialError):
            raise
        raise TrialError(f"the spreadsheet cannot be read ({error}): save it as CSV") from None
    columns = [index for index, name in enumerate(rows[0]) if name is not None] if rows else []
    text = io.StringIO(newline="")
    csv.writer(text).writerows([row[index] for index in columns] for row in rows)
    return text.getvalue()


def read_table(source: Source) -> tuple[list[str], list[dict[str, Any]], Decimal]:
    """Names and rows of a spreadsheet, or of a file with commas, semicolons or tabs, and the
    decimal sign in it.
    """
    is_name = isinstance(source, (str, os.PathLike))
    if (is_name and Path(str(source)).suffix.lower() == ".xlsx") or isinstance(source, io.BytesIO):
        text = _sheet_text(source)
    else:
        with _place_of(source, "r") as file:
            text = file.read().removeprefix("\ufeff")
    header = text.splitlines()[0] if text.strip() else ""
    ours = header.replace('"', "").startswith(",".join(BEFORE))
    mark = "," if ours else max(",;\t", key=header.count)
    lines = csv.DictReader(io.StringIO(text, newline=""), restkey="", delimiter=mark, strict=True)
    names = list(lines.fieldnames or [])
    if len(set(names)) < len(names):
        raise TrialError(f"the file has a column twice: {names!r}; nothing was imported")

    def is_blank(row: dict[str, Any]) -> bool:
        return len(names) > 1 and row[names[1]] is None and not row[names[0]].strip()

    rows = [row for row in lines if not is_blank(row)]
    cells = (cell for row in rows for cell in row.values())
    return names, rows, "." if ours else decimal_of(cells, mark)


def designs(source: Source) -> list[dict[str, Any]]:
    """Returns a file's rows as designs by name; a column of numbers is read as such.

    Args:
        source: A CSV file, or its name.

    Raises:
        SpaceError: There are no rows, or they differ in length.
    """
    names, rows, decimal = read_table(source)
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
    """Reads the rows of one file. place: the column of each parameter; others: of each column that
    is kept as an attribute, its name.
    """

    table: TrialTable
    place: Mapping[str, str]
    others: Mapping[str, str]
    decimal: Decimal
    units: Units

    def trial(self, row: dict[str, Any]) -> Trial:
        if "" in row:
            raise TrialError(f"more cells than columns: {row['']!r}")
        state: Any = (row.get("state") or "complete").strip()
        if state not in STATES:
            raise TrialError(f"state is one of {list(STATES)}, got {state!r}")
        space = self.table.space
        values = {
            name: parsed(row[self.place[name]], name, parameter, self.units, decimal=self.decimal)
            for name, parameter in space.parameters.items()
        }
        params = space.canonical(values)
        error, note, text = (unguarded(row.get(name) or "") or None for name in TEXTS)
        try:
            attributes = json.loads(text) if text and text.strip() else None
        except ValueError:
            raise TrialError(f"attributes must be a JSON object, got {text!r}") from None
        attributes = self._others(row) | check_attributes(attributes)
        flag = (row.get("transient") or "").strip().lower()
        if flag not in ("", "true", "false", "1", "0", "yes", "no"):
            raise TrialError(f"transient is true or false, got {flag!r}")
        decision, limits = Decision(), self.table.limits
        if state in ("waiting", "running"):
            decision = Decision("enqueued")
            ending = Ending("waiting", note=check_note(note), attributes=attributes)
        else:
            value, noise = self._value(None, "value", row.get("value"), row.get("noise_std"))
            extras = {"outcomes": self._outcomes(row), "note": note, "attributes": attributes}
            if state == "complete" and value is None and not extras["outcomes"]:
                raise TrialError('it has no value: give one, or a state "failed" or "waiting"')
            transient = flag in ("true", "1", "yes")
            ending = check_ending(limits, value, noise, state, **extras, transient=transient)
        ending = replace(ending, error=check_note(error, "an error"))
        return Trial(0, params, decision=decision).ended(ending)

    def _others(self, row: dict[str, Any]) -> dict[str, Any]:
        """What the other columns hold: numbers where they are numbers."""
        cells = {name: (row.get(column) or "").strip() for column, name in self.others.items()}
        return {
            name: unguarded(cell)
            if isinstance(value := numbers([cell], decimal=self.decimal or ".")[0], str)
            else value
            for name, cell in cells.items()
            if cell
        }

    def _outcomes(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """Each outcome in the row with its noise; None if there is none."""
        outcomes: dict[str, Any] = {}
        for name, (place, noise) in self.table.outcome_columns.items():
            pair = self._value(name, place, row.get(guarded(place)), row.get(noise))
            if pair[0] is not None:
                outcomes[name] = pair
        return outcomes or None

    def _value(
        self, name: str | None, label: str, cell: str | None, noise: str | None
    ) -> tuple[float | None, float | None]:
        """A measured value and its noise; name: the outcome's, None for the value itself."""
        unit = self.units.get(name, "")
        value, std, its_unit = read_measured(cell, label, unit, decimal=self.decimal, noise=noise)
        self.units[name] = unit or its_unit
        return value, std


def parsed(
    text: str | None,
    name: str,
    parameter: Parameter,
    units: Units | None = None,
    *,
    decimal: Decimal = ".",
) -> Any:
    """Returns the parameter's value that a cell holds.

    Args:
        text: The cell.
        name: The parameter's name, for messages and units.
        parameter: The parameter.
        units: Units by name. Where the parameter has none, the unit in the cell is added.
        decimal: The decimal sign.

    Raises:
        TrialError: The cell is empty or none of the parameter's values.
    """
    if isinstance(parameter, Choice):
        for (_, option), written in option_cells(parameter).items():
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
    own_units = {} if units is None else units
    reading = read_exact(cell, f"parameter {name!r}", own_units.get(name, ""), decimal=decimal)
    if reading is None:
        raise TrialError(f"parameter {name!r} is empty")
    own_units[name] = own_units.get(name) or reading.unit
    whole = isinstance(parameter, Int) and float(reading.value).is_integer()
    return int(reading.value) if whole else float(reading.value)


def _same(option: Any, cell: str, decimal: Decimal) -> bool:
    if option is None or isinstance(option, (bool, str)):
        return cell == ("" if option is None else str(option)) or (
            isinstance(option, bool) and cell.lower() == str(option).lower()
        )
    try:
        reading = read_exact(cell, "an option", decimal=decimal)
    except TrialError:
        return False
    return reading is not None and reading.value == option
