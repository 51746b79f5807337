"""Reads what can still be read of a damaged database, row by row, and names what cannot."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

from noregret.errors import MissingExtraError, StorageError
from noregret.storage import codec
from noregret.storage.database import storage_file, storage_url
from noregret.storage.schema import TIMES, check_corrects, check_row, check_time, read_outcomes
from noregret.trials import Decision, Trial

NEEDED = ("number", "state", "params", "value", "noise_std")  # without these there is no trial
OPTIONAL = (  # each is lost alone
    *("decision", "corrects", "created", "finished", "started", "asked"),
    *("error", "note", "attributes", "transient", "outcomes", "feasible"),
)
STUDY = (
    *("name", "space", "goal", "strategy", "seed", "created", "library", "version", "note"),
    *("attributes", "origin", "outcomes", "context"),
)
STUDY_DOCUMENTS = ("space", "strategy", "attributes", "origin", "outcomes", "context")  # JSON texts
TRIAL_DOCUMENTS = ("decision", "asked", "attributes")
EMPTY = Trial(0, {}, "waiting").to_json()
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, StorageError)


@dataclass(slots=True)
class Recovered:
    """What was read from a damaged file.

    Args:
        studies: The studies as JSON values. ``noregret.storage.codec.from_json`` reads space,
            strategy and limits, a list of designs with its rows; ``Trial.from_json`` the trials.
        lost: What could not be read, one sentence each.
    """

    studies: list[dict[str, Any]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def recover(storage: str | os.PathLike[str] | None = None) -> Recovered:
    """Reads a SQLite file without changing it.

    The tables are read in both directions, so that a damaged page costs its own rows alone.

    Args:
        storage: The file. Default: NOREGRET_STORAGE, or noregret.db.

    Returns:
        The studies with their trials, and what could not be read.

    Raises:
        StorageError: There is no such file, or nothing in it can be read.
    """
    try:
        import sqlite3
    except ImportError:
        raise MissingExtraError("this Python was built without SQLite") from None
    name = storage_file(storage_url(storage))
    if name is None:
        raise StorageError("recover reads SQLite files: a PostgreSQL server repairs its own tables")
    file = Path(name)
    if not file.exists():
        raise StorageError(f"there is no file {str(file)!r}")
    connection = sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=ro", uri=True)
    connection.text_factory = _decoded
    try:
        return _Reader(connection).read()
    except sqlite3.DatabaseError as error:
        raise StorageError(f"nothing can be read from {str(file)!r} ({error})") from None
    finally:
        connection.close()


def _decoded(value: bytes) -> str | bytes:
    """Bytes that are no text cost their own row, not those after it."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value


class _Reader:
    """Reads the tables through a connection of sqlite3."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.result = Recovered()
        self.lost = self.result.lost

    def read(self) -> Recovered:
        lists = dict(self._rows("noregret_lists", ("digest", "content")))
        rows = self._rows("noregret_studies", ("id", *STUDY))
        studies = {row[0]: self._study(row, lists) for row in rows if isinstance(row[0], int)}
        owners = [row[0] for row in self._rows("noregret_trials", ("study",))]
        self.lost += [
            f"trials of a study without a number ({owner!r})"
            for owner in owners
            if not isinstance(owner, int)
        ]
        for number in sorted({*studies, *(owner for owner in owners if isinstance(owner, int))}):
            if number not in studies:
                self.lost.append(f"all that was kept of study {number} besides its trials")
            study = studies.get(number) or {"study": number, **dict.fromkeys(STUDY)}
            self.result.studies.append({**study, "trials": self._trials(study)})
        return self.result

    def _rows(
        self, table: str, columns: tuple[str, ...], where: str = "TRUE"
    ) -> list[tuple[Any, ...]]:
        import sqlite3

        rows: dict[tuple[Any, ...], None] = {}
        for order in ("ASC", "DESC"):
            query = f"SELECT {', '.join(columns)} FROM {table} NOT INDEXED WHERE {where}"
            try:
                cursor = self.connection.execute(f"{query} ORDER BY rowid {order}")
                while (row := cursor.fetchone()) is not None:
                    rows[row] = None
            except sqlite3.DatabaseError as error:
                if "no such table" in str(error) or "not a database" in str(error):
                    raise
                self.lost.append(f"rows of {table} ({error})")
            else:
                break
        return sorted(rows, key=lambda row: (str(type(row[0])), row[0]))

    def _study(self, row: tuple[Any, ...], lists: dict[str, bytes]) -> dict[str, Any]:
        """What a study's row says; each column is read alone."""
        columns = dict(zip(("study", *STUDY), row, strict=True))
        name = columns["name"]
        of = f"study {name!r}" if isinstance(name, str) else f"study {columns['study']}"
        study = columns.copy()
        for column in STUDY:
            value = columns[column]
            try:
                study[column] = _read(column, value, STUDY_DOCUMENTS)
                if column == "seed" and value is not None:
                    study[column] = int(value)
                elif column == "space":
                    study[column] = _space(study[column], lists)
            except UNREADABLE as error:
                study[column] = value if isinstance(value, str) else None
                self.lost.append(f"the {column} of {of}: {error}")
        return study

    def _trials(self, study: dict[str, Any]) -> list[dict[str, Any]]:
        columns, trials, numbers = (*NEEDED, *OPTIONAL), [], set()
        of = f"of study {study['name'] or study['study']!r}"
        for row in self._rows("noregret_trials", columns, f"study = {study['study']}"):
            errors: dict[str, Exception] = {}
            try:
                trials.append(_trial(dict(zip(columns, row, strict=True)), errors))
            except UNREADABLE as error:
                self.lost.append(f"trial {row[0]} {of}: {error}")
            else:
                self.lost += [
                    f"the {name} of trial {row[0]} {of}: {error}" for name, error in errors.items()
                ]
            numbers.add(row[0])
        gaps = _gaps(sorted(each for each in numbers if isinstance(each, int) and each >= 0))
        if gaps:
            self.lost.append(f"the rows of trials {', '.join(gaps)} {of}")
        return trials


def _space(space: Any, lists: dict[str, bytes]) -> Any:
    if not isinstance(space, dict) or "list" not in space:
        return space
    key = space["list"]
    if key not in lists:
        raise ValueError(f"the list of designs {key} is not there")
    return codec.to_json(codec.unpack(key, lists[key]))


def _gaps(numbers: list[int]) -> list[str]:
    """The missing numbers as ranges: a damaged row can leave 2⁶² of them."""
    gaps = [(low + 1, high - 1) for low, high in pairwise([-1, *numbers]) if high > low + 1]
    return [str(low) if low == high else f"{low} to {high}" for low, high in gaps]


def _read(name: str, value: Any, documents: tuple[str, ...]) -> Any:
    if isinstance(value, bytes):
        raise ValueError("a text in it cannot be read")
    return codec.load(value) if name in documents and value is not None else value


def _trial(row: dict[str, Any], errors: dict[str, Exception]) -> dict[str, Any]:
    """A trial as JSON values. Optional columns that cannot be read are left out, with the error."""
    if any(isinstance(row[name], bytes) for name in NEEDED):
        raise ValueError("a text in it cannot be read")
    trial: dict[str, Any] = {name: row[name] for name in NEEDED}
    check_row(trial)
    trial["params"] = codec.load(trial["params"])
    if not isinstance(trial["params"], dict | list):
        raise ValueError(f"its point is {trial['params']!r}")
    for name in OPTIONAL:
        try:
            trial |= _optional(name, row[name], trial["number"])
        except UNREADABLE as error:
            errors[name] = error
    return Trial.from_json({"decision": {}, **trial}).to_json()


def _optional(name: str, stored: Any, number: int) -> dict[str, Any]:
    value = _read(name, stored, TRIAL_DOCUMENTS)
    match name:
        case "decision":
            value = Decision.from_json(value).to_json()
        case "outcomes":
            return read_outcomes(value)
        case "feasible" | "transient":
            value = None if value is None else bool(value)
        case "corrects":
            check_corrects(number, value)
        case "attributes" | "asked":
            Trial.from_json({**EMPTY, name: value}).to_json()
        case _ if name in TIMES:
            check_time(name, value)
        case _ if not isinstance(value, str | None):
            raise ValueError(f"it is {value!r}")
    return {name: value}
