"""Trials in and out of files: CSV in; CSV, JSON, Parquet and data frames out."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, Any, Literal, get_args

from noregret.errors import ConfigurationError, MissingExtraError, NoRegretError, TrialError
from noregret.space import Candidates, Choice, Int, Parameter, Space, named_params
from noregret.study.numerals import read_number, split
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
    "transient",
)


SAID = ("error", "note", "attributes")
OLD = (*BEFORE, *AFTER[:5])  # columns that every version wrote


def column(name: str) -> str:
    """The column of a parameter: its name, unless a trial's own columns have it."""
    return f"params.{name}" if name in (*BEFORE, *AFTER) else name


# -- out --


def outcome_columns(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """For each outcome the columns of its value and of its noise."""
    taken = (*BEFORE, *AFTER, "feasible")
    places = {name: f"outcomes.{name}" if name in taken else name for name in names}
    return {name: (place, f"{place}.noise_std") for name, place in places.items()}


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
            **{column(name): params[name] for name in space.parameters},
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
            cells = {column(name): _cells(p) for name, p in space.parameters.items()}
            for row in records(space, trials, outcomes):
                _row(file, [_written(cells.get(name), value) for name, value in row.items()])


def _columns(space: Space | Candidates, outcomes: Sequence[str]) -> list[str]:
    """Those of a study's own: its parameters and outcomes."""
    measured = [name for pair in outcome_columns(outcomes).values() for name in pair]
    return [*map(column, space.parameters), *measured, *(["feasible"] if measured else [])]


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
            made[column(name)] = made[column(name)].map(json.dumps)  # a column has one type
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


def _cells(parameter: Parameter) -> dict[tuple[type, Any], str] | None:
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


# -- in --


def read_csv(
    source: Source, space: Space | Candidates, limits: Mapping[str, Limit] | None = None
) -> list[Trial]:
    """Trials not yet numbered. Without a column ``state`` every row needs a value; with one, rows
    may have failed or be still to try. limits: each outcome has a column of its own, and if you
    like one for its noise.
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
    ours = {name: guarded(column(name)) for name in space.parameters}
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
    trials = []
    corrected = {row.get("corrects") for row in rows} - {None, ""}
    for index, row in enumerate(rows):
        if row.get("number") in corrected:
            continue
        try:
            trials.append(_trial(row, space, place, comma, limits or {}))
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
    return names, listed, mark == ";"


def _outcomes(row: dict[str, Any], limits: Mapping[str, Limit], comma: bool) -> dict[str, Any]:
    """Each outcome with its noise, as far as the row has them."""
    told: dict[str, Any] = {}
    for name, (place, noise) in outcome_columns(limits).items():
        pair = [read_number(row.get(at) or "", at, comma=comma) for at in (guarded(place), noise)]
        if pair[0] is not None:
            told[name] = tuple(pair)
    return told


def _trial(
    row: dict[str, Any],
    space: Space | Candidates,
    place: Mapping[str, str],
    comma: bool,
    limits: Mapping[str, Limit],
) -> Trial:
    if "" in row:
        raise TrialError(f"more cells than columns: {row['']!r}")
    said_state = (row.get("state") or "complete").strip()
    state = next((each for each in STATES if each == said_state), None)
    if state is None:
        raise TrialError(f"state is one of {list(STATES)}, got {said_state!r}")
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
    told = check_measured(_outcomes(row, limits, comma) or None, limits, state)
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


def parsed(text: str | None, name: str, parameter: Parameter, *, comma: bool = False) -> Any:
    """A cell as the parameter's value."""
    if isinstance(parameter, Choice):
        for (_, option), written in (_cells(parameter) or {}).items():
            if written == (text or ""):
                return option
    cell = (text or "").strip()
    if isinstance(parameter, Choice):
        fitting = [option for option in parameter.options if _same(option, cell)]
        if len(fitting) != 1:
            raise TrialError(
                f"parameter {name!r}: {cell!r} is {'none' if not fitting else 'more than one'} of"
                f" the options {list(parameter.options)!r}"
            )
        return fitting[0]
    if isinstance(parameter, Int):
        with suppress(ValueError):
            return int(cell)
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
