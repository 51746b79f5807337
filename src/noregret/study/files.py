"""Trials in and out of files: CSV in; CSV, JSON, Parquet and data frames out."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any, Literal, get_args

from noregret.errors import ConfigurationError, MissingExtraError, NoRegretError, TrialError
from noregret.space import Candidates, Choice, Int, Parameter, Space, named_params
from noregret.study.numerals import read_number, split
from noregret.trials import (
    STATES,
    Decision,
    Trial,
    check_attributes,
    check_note,
    check_outcome,
)

Format = Literal["csv", "json", "parquet"]
Source = str | os.PathLike[str] | IO[str]
Target = str | os.PathLike[str] | IO[Any]
BEFORE = ("number", "state")
AFTER = (
    "value",
    "noise_std",
    "corrects",
    "created",
    "finished",
    "started",
    "duration",
    "error",
    "note",
    "attributes",
)


SAID = ("error", "note", "attributes")
OLD = (*BEFORE, *AFTER[:5])  # columns that every version wrote


def column(name: str) -> str:
    """The column of a parameter: its name, unless a trial's own columns have it."""
    return f"params.{name}" if name in (*BEFORE, *AFTER) else name


# -- out --


def records(space: Space | Candidates, trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """A flat row per trial."""
    rows = []
    for trial in trials:
        params = named_params(space, trial.params)
        row = {
            "number": trial.number,
            "state": trial.state,
            **{column(name): params[name] for name in space.parameters},
        }
        said = json.dumps(dict(trial.attributes)) if trial.attributes else None
        after = {name: getattr(trial, name) for name in AFTER}
        rows.append(row | after | {"attributes": said})
    return rows


def write(
    target: Target, kind: Format | None, space: Space | Candidates, trials: Sequence[Trial]
) -> None:
    suffix = (
        Path(target).suffix.lstrip(".").lower() if isinstance(target, (str, os.PathLike)) else ""
    )
    chosen = kind or (suffix if suffix in get_args(Format) else "csv")
    if chosen not in get_args(Format):
        raise ConfigurationError(f'format is "csv", "json" or "parquet", got {kind!r}')
    if chosen == "parquet":
        _parquet(target, space, trials)
        return
    with (
        open(target, "w", encoding="utf-8", newline="")
        if isinstance(target, (str, os.PathLike))
        else nullcontext(target)
    ) as file:
        if chosen == "json":
            json.dump([trial.to_json() for trial in trials], file, allow_nan=False, indent=1)
            file.write("\n")
        else:
            writer = csv.DictWriter(
                file, [*BEFORE, *map(column, space.parameters), *AFTER], lineterminator="\n"
            )
            writer.writeheader()
            writer.writerows(records(space, trials))


def frame(space: Space | Candidates, trials: Sequence[Trial]) -> Any:
    try:
        import pandas
    except ImportError:
        raise MissingExtraError(
            "a data frame needs pandas: install it with `pip install noregret[frame]`"
        ) from None
    made = pandas.DataFrame(
        records(space, trials), columns=[*BEFORE, *map(column, space.parameters), *AFTER]
    )
    kinds = {
        "value": "float64",
        "noise_std": "float64",
        "corrects": "Int64",
        "duration": "float64",
    }
    made = made.astype(kinds)
    for name in ("created", "finished", "started"):
        made[name] = pandas.to_datetime(made[name], utc=True, format="ISO8601")
    return made


def _parquet(target: Target, space: Space | Candidates, trials: Sequence[Trial]) -> None:
    made = frame(space, trials)
    for name, parameter in space.parameters.items():
        if (
            isinstance(parameter, Choice)
            and len({type(option) for option in parameter.options}) > 1
        ):
            made[column(name)] = made[column(name)].map(json.dumps)  # a column has one type
    try:
        made.to_parquet(target)
    except ImportError:
        raise MissingExtraError(
            "Parquet needs pyarrow: install it with `pip install noregret[frame]`"
        ) from None


# -- in --


def read_csv(source: Source, space: Space | Candidates) -> list[Trial]:
    """Trials not yet numbered. Without a column ``state`` every row needs a value; with one, rows
    may have failed or be still to try.
    """
    try:
        names, rows, comma = table(source)
    except UnicodeDecodeError:
        raise TrialError(
            "the CSV file is not text in UTF-8: save it as such; nothing was imported"
        ) from None
    except csv.Error as error:
        raise TrialError(f"the CSV file cannot be read ({error}); nothing was imported") from None
    # a parameter may be called as a column that only newer versions write
    place = {name: column(name) if column(name) in names else name for name in space.parameters}
    place |= {name: column(name) for name in space.parameters if name in OLD}
    needed = {"value": "value"} | {column(name): place[name] for name in place}
    missing = [name for name, there in needed.items() if there not in names]
    if missing:
        raise TrialError(
            f"the CSV file lacks the columns {missing!r}: it needs {list(needed)!r}, and has"
            f" {names!r}"
        )
    trials = []
    corrected = {row.get("corrects") for row in rows} - {None, ""}
    for index, row in enumerate(rows):
        if row.get("number") in corrected:
            continue
        try:
            trials.append(_trial(row, space, place, comma))
        except NoRegretError as error:
            raise TrialError(
                f"row {index + 1} of the CSV file: {error}; nothing was imported"
            ) from None
    return trials


def table(source: Source) -> tuple[list[str], list[dict[str, Any]], bool]:
    """Names and rows of a file with commas, semicolons or tabs, and whether a comma in it stands
    before decimals.
    """
    with (
        open(source, encoding="utf-8-sig", newline="")
        if isinstance(source, (str, os.PathLike))
        else nullcontext(source)
    ) as file:
        lines = file.read().splitlines()
    header = lines[0] if lines else ""
    separator = max(",;\t", key=header.count)
    reader = csv.DictReader(
        lines,
        delimiter=separator,
        skipinitialspace=True,
        restkey="",
        strict=True,
    )
    return list(reader.fieldnames or ()), list(reader), separator == ";"


def _trial(
    row: dict[str, Any], space: Space | Candidates, place: Mapping[str, str], comma: bool
) -> Trial:
    if "" in row:
        raise TrialError(f"more cells than columns: {row['']!r}")
    state = (row.get("state") or "complete").strip()
    if state not in STATES:
        raise TrialError(f"state is one of {list(STATES)}, got {state!r}")
    values = {
        name: parsed(row[place[name]], name, parameter, comma=comma)
        for name, parameter in space.parameters.items()
    }
    params = space.normal(values)
    texts = {name: row.get(name) or None for name in SAID if name not in place.values()}
    said: dict[str, Any] = {
        "error": check_note(texts.get("error"), "an error"),
        "note": check_note(texts.get("note")),
        "attributes": _attributes(texts.get("attributes")),
    }
    if state in ("waiting", "running"):
        return Trial(0, params, "waiting", decision=Decision("enqueued"), **said)
    value, noise = (
        read_number(row.get(name) or "", name, comma=comma) for name in ("value", "noise_std")
    )
    if state == "complete" and value is None:
        raise TrialError(
            'it has no value: give one, or a column "state" that says "failed" or "waiting"'
        )
    return Trial(
        0,
        params,
        "complete" if state == "complete" else "failed",
        *check_outcome(value, noise, "complete" if state == "complete" else "failed"),
        **said,
    )


def _attributes(text: str | None) -> dict[str, Any]:
    try:
        return check_attributes(json.loads(text) if text and text.strip() else None)
    except ValueError:
        raise TrialError(f"attributes must be a JSON object, got {text!r}") from None


def parsed(text: str | None, name: str, parameter: Parameter, *, comma: bool = False) -> Any:
    """A cell as the parameter's value."""
    cell = (text or "").strip()
    if isinstance(parameter, Choice):
        fitting = [option for option in parameter.options if _same(option, cell)]
        if len(fitting) != 1:
            raise TrialError(
                f"parameter {name!r}: {cell!r} is {'none' if not fitting else 'more than one'} of"
                f" the options {list(parameter.options)!r}"
            )
        return fitting[0]
    number = read_number(cell, f"parameter {name!r}", comma=comma)
    if number is None:
        raise TrialError(f"parameter {name!r} is empty")
    return int(number) if isinstance(parameter, Int) and number.is_integer() else number


def _same(option: Any, cell: str) -> bool:
    if option is None or isinstance(option, (bool, str)):
        return cell == ("" if option is None else str(option)) or (
            isinstance(option, bool) and cell.lower() == str(option).lower()
        )
    try:
        return split(cell)[0] == option
    except ValueError:
        return False
