"""Trials in and out of files: CSV in; CSV, JSON, Parquet and data frames out."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any, Literal, get_args

from noregret.errors import ConfigurationError, MissingExtraError, NoRegretError, TrialError
from noregret.space import Candidates, Choice, Int, Parameter, Space, named_params
from noregret.trials import STATES, Decision, Trial, check_outcome

Format = Literal["csv", "json", "parquet"]
Source = str | os.PathLike[str] | IO[str]
Target = str | os.PathLike[str] | IO[Any]
BEFORE, AFTER = ("number", "state"), ("value", "noise_std", "corrects", "created", "finished")


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
        rows.append(row | {name: getattr(trial, name) for name in AFTER})
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
    kinds = {"value": "float64", "noise_std": "float64", "corrects": "Int64"}
    made = made.astype(kinds)
    for name in ("created", "finished"):
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
        names, rows = _rows(source)
    except UnicodeDecodeError:
        raise TrialError(
            "the CSV file is not text in UTF-8: save it as such; nothing was imported"
        ) from None
    except csv.Error as error:
        raise TrialError(f"the CSV file cannot be read ({error}); nothing was imported") from None
    needed = ["value", *map(column, space.parameters)]
    missing = [name for name in needed if name not in names]
    if missing:
        raise TrialError(
            f"the CSV file lacks the columns {missing!r}: it needs {needed!r}, and has {names!r}"
        )
    trials = []
    corrected = {row.get("corrects") for row in rows} - {None, ""}
    for index, row in enumerate(rows):
        if row.get("number") in corrected:
            continue
        try:
            trials.append(_trial(row, space))
        except NoRegretError as error:
            raise TrialError(
                f"row {index + 1} of the CSV file: {error}; nothing was imported"
            ) from None
    return trials


def _rows(source: Source) -> tuple[list[str], list[dict[str, Any]]]:
    with (
        open(source, encoding="utf-8-sig", newline="")
        if isinstance(source, (str, os.PathLike))
        else nullcontext(source)
    ) as file:
        lines = file.read().splitlines()
    header = lines[0] if lines else ""
    reader = csv.DictReader(
        lines,
        delimiter=max(",;\t", key=header.count),
        skipinitialspace=True,
        restkey="",
        strict=True,
    )
    return list(reader.fieldnames or ()), list(reader)


def _trial(row: dict[str, Any], space: Space | Candidates) -> Trial:
    if "" in row:
        raise TrialError(f"more cells than columns: {row['']!r}")
    state = (row.get("state") or "complete").strip()
    if state not in STATES:
        raise TrialError(f"state is one of {list(STATES)}, got {state!r}")
    values = {
        name: parsed(row[column(name)], name, parameter)
        for name, parameter in space.parameters.items()
    }
    params = space.normal(values)
    if state in ("waiting", "running"):
        return Trial(0, params, "waiting", decision=Decision("enqueued"))
    value, noise = (_number(row.get(name) or "", name) for name in ("value", "noise_std"))
    if state == "complete" and value is None:
        raise TrialError(
            'it has no value: give one, or a column "state" that says "failed" or "waiting"'
        )
    return Trial(
        0,
        params,
        "complete" if state == "complete" else "failed",
        *check_outcome(value, noise, "complete" if state == "complete" else "failed"),
    )


def _number(text: str, name: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise TrialError(f"{name} must be a number written with a point, got {text!r}") from None


def parsed(text: str | None, name: str, parameter: Parameter) -> Any:
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
    number = _number(cell, f"parameter {name!r}")
    if number is None:
        raise TrialError(f"parameter {name!r} is empty")
    return int(number) if isinstance(parameter, Int) and number.is_integer() else number


def _same(option: Any, cell: str) -> bool:
    if option is None or isinstance(option, (bool, str)):
        return cell == ("" if option is None else str(option)) or (
            isinstance(option, bool) and cell.lower() == str(option).lower()
        )
    try:
        return float(cell) == option
    except ValueError:
        return False
