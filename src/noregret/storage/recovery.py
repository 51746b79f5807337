"""What can still be read of a damaged database: row by row, each that fails named."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from noregret.errors import MissingExtraError, StorageError
from noregret.storage.database import storage_url
from noregret.storage.rows import check_row, read_outcomes
from noregret.trials import Trial

COLUMNS = (
    "number",
    "state",
    "params",
    "value",
    "noise_std",
    "decision",
    "corrects",
    "created",
    "finished",
)
NEWER = ("error", "note", "transient", "outcomes", "feasible")  # an older file lacks some


@dataclass(slots=True)
class Recovered:
    """The studies of a file as far as they can be read, as JSON values, and what could not be."""

    studies: list[dict[str, Any]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def recover(storage: str | os.PathLike[str] | None = None) -> Recovered:
    """Reads a SQLite file without changing it. Trials come in both directions of the table, so that
    a page that cannot be read costs its own rows alone.
    """
    try:
        import sqlite3
    except ImportError:
        raise MissingExtraError("this Python was built without SQLite") from None
    url = storage_url(storage)
    if not url.startswith("sqlite"):
        raise StorageError("recover reads SQLite files: a PostgreSQL server repairs its own tables")
    file = Path(url.partition(":///")[2].partition("?")[0])
    if not file.exists():
        raise StorageError(f"there is no file {str(file)!r}")
    connection = sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=ro", uri=True)
    connection.text_factory = _text
    found = Recovered()
    try:
        studies = _rows(connection, "noregret_studies", ("id", "name", "space", "goal"), "", found)
        ids = {}
        for row in studies:
            if isinstance(row[0], int):
                ids[row[0]] = [None if isinstance(each, bytes) else each for each in row]
        columns = (*COLUMNS, *_present(connection, NEWER))
        for study in sorted({*ids, *_orphans(connection, found)}):
            _, name, space, goal = ids.get(study, (study, None, None, None))
            trials = []
            for row in _rows(connection, "noregret_trials", columns, f"study = {study}", found):
                try:
                    trials.append(_trial(columns, row))
                except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
                    found.lost.append(f"trial {row[0]} of study {name or study!r}: {error}")
            found.studies.append(
                {"study": study, "name": name, "space": space, "goal": goal, "trials": trials}
            )
    except sqlite3.DatabaseError as error:
        raise StorageError(f"nothing can be read from {str(file)!r} ({error})") from None
    finally:
        connection.close()
    return found


def _text(value: bytes) -> str | bytes:
    """A text that is none any more costs its own row, not those behind it."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value


def _present(connection: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    import sqlite3

    try:
        there = {row[1] for row in connection.execute("PRAGMA table_info(noregret_trials)")}
    except sqlite3.DatabaseError:
        return ()
    return tuple([name for name in names if name in there])


def _trial(columns: tuple[str, ...], row: tuple[Any, ...]) -> dict[str, Any]:
    if any(isinstance(each, bytes) for each in row):
        raise ValueError("a text in it cannot be read")
    data = dict(zip(columns, row, strict=True))
    check_row(data)
    data |= read_outcomes(data.get("outcomes"), data.get("feasible"))
    data |= {name: json.loads(data[name]) for name in ("params", "decision")}
    return Trial.from_json(data).to_json()


def _orphans(connection: Any, found: Recovered) -> set[int]:
    """Studies by their trials, where their own row cannot be read."""
    rows = _rows(connection, "noregret_trials", ("study",), "", found)
    found.lost += [
        f"trials of a study without a number ({each!r})"
        for (each,) in rows
        if not isinstance(each, int)
    ]
    return {each for (each,) in rows if isinstance(each, int)}


def _rows(
    connection: Any, table: str, columns: tuple[str, ...], where: str, found: Recovered
) -> list[tuple[Any, ...]]:
    import sqlite3

    seen: dict[tuple[Any, ...], None] = {}
    for order in ("ASC", "DESC"):
        condition = f"WHERE {where}" if where else ""
        query = f"SELECT {', '.join(columns)} FROM {table} NOT INDEXED {condition}"
        try:
            rows = connection.execute(f"{query} ORDER BY rowid {order}")
            while (row := rows.fetchone()) is not None:
                seen[row] = None
        except sqlite3.DatabaseError as error:
            if "no such table" in str(error) or "not a database" in str(error):
                raise
            found.lost.append(f"rows of {table} ({error})")
        else:
            break
    return sorted(seen, key=lambda row: tuple(str(type(each)) for each in row[:1]) + row[:1])
