"""Reads what can still be read of a damaged database, row by row, and names what cannot."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from noregret.errors import MissingExtraError, StorageError
from noregret.storage import codec
from noregret.storage.database import storage_file, storage_url
from noregret.storage.schema import trial_of

NEEDED = ("number", "state", "params", "value", "noise_std")  # without these there is no trial
INTERNAL = ("study", "worker", "heartbeat", "attempts", "revision")  # mean nothing elsewhere
STUDY = (
    *("name", "space", "goal", "strategy", "seed", "created", "library", "version", "note"),
    *("attributes", "origin", "outcomes", "context"),
)
DOCUMENTS = ("space", "strategy", "attributes", "origin", "outcomes", "context")  # JSON texts
UNREADABLE = (*codec.MALFORMED, StorageError)


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
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
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
        lists = {row["digest"]: row["content"] for row in self._rows("noregret_lists")}
        rows = {row["id"]: row for row in self._rows("noregret_studies")}
        owners: dict[Any, list[dict[str, Any]]] = {}
        for row in self._rows("noregret_trials"):
            owners.setdefault(row["study"], []).append(row)
        for number in sorted({*rows, *owners}, key=lambda key: (str(type(key)), key)):
            if not isinstance(number, int):
                self.lost.append(f"trials of a study without a number ({number!r})")
                continue
            if number not in rows:
                self.lost.append(f"all that was kept of study {number} besides its trials")
            study = {"study": number, **self._study(rows.get(number, {}), number, lists)}
            trials = self._trials(owners.get(number, []), study["name"] or number)
            self.result.studies.append({**study, "trials": trials})
        return self.result

    def _rows(self, table: str) -> list[dict[str, Any]]:
        import sqlite3

        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        for order in ("ASC", "DESC"):
            query = f"SELECT * FROM {table} NOT INDEXED ORDER BY rowid {order}"
            try:
                cursor = self.connection.execute(query)
                names = [column[0] for column in cursor.description]
                while (row := cursor.fetchone()) is not None:
                    rows[row] = dict(zip(names, row, strict=True))
            except sqlite3.DatabaseError as error:
                if "no such table" in str(error) or "not a database" in str(error):
                    raise
                self.lost.append(f"rows of {table} ({error})")
            else:
                break
        return list(rows.values())

    def _study(self, row: dict[str, Any], number: int, lists: dict[str, bytes]) -> dict[str, Any]:
        """What a study's row says; each column is read alone."""
        name, study = row.get("name"), dict[str, Any]()
        of = f"study {name!r}" if isinstance(name, str) else f"study {number}"
        for column in STUDY:
            stored = study[column] = row.get(column)
            try:
                if isinstance(stored, bytes):
                    raise ValueError("a text in it cannot be read")
                if column in DOCUMENTS and stored is not None:
                    study[column] = codec.load_json(stored)
                if column == "seed" and stored is not None:
                    study[column] = int(stored)
                if column == "space":
                    study[column] = _space(study[column], lists)
            except UNREADABLE as error:
                study[column] = stored if isinstance(stored, str) else None
                self.lost.append(f"the {column} of {of}: {error}")
        return study

    def _trials(self, rows: list[dict[str, Any]], study: Any) -> list[dict[str, Any]]:
        trials, numbers = dict[int, dict[str, Any]](), set[int]()
        for row in rows:
            number = row["number"]
            if isinstance(number, int) and number >= 0:
                numbers.add(number)
            try:
                trials[number] = self._trial(row, f"trial {number} of study {study!r}")
            except UNREADABLE as error:
                self.lost.append(f"trial {number} of study {study!r}: {error}")
        gaps = _gaps(sorted(numbers))
        if gaps:
            self.lost.append(f"the rows of trials {', '.join(gaps)} of study {study!r}")
        return [trials[number] for number in sorted(trials)]

    def _trial(self, row: dict[str, Any], of: str) -> dict[str, Any]:
        """A trial as JSON values, without the optional columns that cannot be read."""
        columns = {name: value for name, value in row.items() if name not in INTERNAL}
        try:
            return trial_of(columns).to_json()
        except UNREADABLE:
            readable = {name: row[name] if name in NEEDED else None for name in columns}
            trial_of(readable)  # raises if the trial itself cannot be read
        for name in columns:
            try:
                trial_of({**readable, name: row[name]})
            except UNREADABLE as error:
                self.lost.append(f"the {name} of {of}: {error}")
            else:
                readable[name] = row[name]
        return trial_of(readable).to_json()


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
