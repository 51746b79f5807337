"""Trials in files: CSV, JSON, Parquet and data frames. Back from CSV: ``importing``."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any, Literal, get_args

from noregret.errors import ConfigurationError, MissingExtraError
from noregret.space import Candidates, Choice, Parameter, Space, named_params
from noregret.trials import (
    Trial,
)

Format = Literal["csv", "json", "parquet"]
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
    "transient",
)


# files that a program would open by their name, and find text in
BINARY = (
    "xls",
    "xlsx",
    "ods",
    "feather",
    "arrow",
    "pkl",
    "pickle",
    "h5",
    "hdf5",
    "db",
    "zip",
    "gz",
)
SAID = ("error", "note", "attributes")


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

FORMULA = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
)  # what a spreadsheet runs, or skips to see whether to run


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
