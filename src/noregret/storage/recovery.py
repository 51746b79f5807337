"""What can still be read of a damaged database: row by row, each that fails named."""

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
from noregret.storage.documents import load
from noregret.storage.lists import unpack
from noregret.storage.rows import TIMES, check_corrects, check_row, check_time, read_outcomes
from noregret.storage.schema import strategy_of_schema_2
from noregret.trials import Decision, Trial, sign_of

NEEDED = ("number", "state", "params", "value", "noise_std")  # without which it is no trial
# what costs itself alone; an older file lacks some, and had "info" for "decision"
REMARKS = (
    *("decision", "info", "corrects", "created", "finished", "started", "asked"),
    *("error", "note", "attributes", "transient", "outcomes", "feasible"),
)
STUDY = (
    *("name", "space", "goal", "strategy", "seed", "created", "library", "version", "note"),
    *("attributes", "origin", "outcomes", "context"),
)
DOCUMENTS = ("space", "strategy", "attributes", "origin", "outcomes", "context")  # JSON texts
EMPTY = Trial(0, {}, "waiting").to_json()
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, StorageError)


@dataclass(slots=True)
class Recovered:
    """The studies of a file as far as they can be read, as JSON values, and what could not be.

    Space, strategy and limits are as ``noregret.storage.codec`` reads them, a list of designs with
    its rows; trials as ``Trial.from_json`` does.
    """

    studies: list[dict[str, Any]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def recover(storage: str | os.PathLike[str] | None = None) -> Recovered:
    """Reads a SQLite file of any version without changing it. Trials come in both directions of the
    table, so that a page that cannot be read costs its own rows alone.
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
    connection.text_factory = _text
    found = Recovered()
    try:
        lists = _lists(connection, found)
        columns = ("id", *_present(connection, "noregret_studies", STUDY))
        rows = _rows(connection, "noregret_studies", columns, "", found)
        known = {
            row[0]: _study(dict(zip(columns, row, strict=True)), lists, found)
            for row in rows
            if isinstance(row[0], int)
        }
        for study in sorted({*known, *_orphans(connection, found)}):
            if study not in known:
                found.lost.append(f"all that was kept of study {study} besides its trials")
            about = known.get(study) or {"study": study, **dict.fromkeys(STUDY)}
            found.studies.append(about | {"trials": _trials(connection, about, found)})
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


def _present(connection: Any, table: str, names: tuple[str, ...]) -> tuple[str, ...]:
    import sqlite3

    try:
        there = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    except sqlite3.DatabaseError:
        return ()
    return tuple([name for name in names if name in there])


def _lists(connection: Any, found: Recovered) -> dict[str, bytes]:
    """Lists of designs by their digest, which the studies name."""
    columns = ("digest", "content")
    if _present(connection, "noregret_lists", columns) != columns:
        return {}
    return dict(_rows(connection, "noregret_lists", columns, "", found))


def _study(row: dict[str, Any], lists: dict[str, bytes], found: Recovered) -> dict[str, Any]:
    """All that a study's row says, each thing for itself."""
    study = row.pop("id")
    about: dict[str, Any] = dict.fromkeys(STUDY)
    of = f"study {row['name']!r}" if isinstance(row.get("name"), str) else f"study {study}"
    for name, value in row.items():
        try:
            about[name] = _read(name, value, DOCUMENTS)
            if name == "seed" and value is not None:
                about[name] = int(value)
            elif name == "space":
                about[name] = _space(about[name], lists)
            elif name == "strategy" and row.get("version") in (1, 2):
                about[name] = strategy_of_schema_2(about[name])
        except UNREADABLE as error:
            about[name] = value if isinstance(value, str) else None
            found.lost.append(f"the {name} of {of}: {error}")
    return {"study": study, **about}


def _space(space: Any, lists: dict[str, bytes]) -> Any:
    if not isinstance(space, dict) or "list" not in space:
        return space
    key = space["list"]
    if key not in lists:
        raise ValueError(f"the list of designs {key} is not there")
    return codec.to_json(unpack(key, lists[key]))


def _trials(connection: Any, about: dict[str, Any], found: Recovered) -> list[dict[str, Any]]:
    columns = (*NEEDED, *_present(connection, "noregret_trials", REMARKS))
    of, trials, seen = f"of study {about['name'] or about['study']!r}", [], set()
    where = f"study = {about['study']}"
    for row in _rows(connection, "noregret_trials", columns, where, found):
        data = dict(zip(columns, row, strict=True))
        remarks: dict[str, Exception] = {}
        try:
            trials.append(_trial(data, about["goal"], remarks))
        except UNREADABLE as error:
            found.lost.append(f"trial {row[0]} {of}: {error}")
        else:
            found.lost += [f"the {x} of trial {row[0]} {of}: {e}" for x, e in remarks.items()]
        seen.add(row[0])
    gone = _gaps(sorted(each for each in seen if isinstance(each, int) and each >= 0))
    if gone:
        found.lost.append(f"the rows of trials {', '.join(gone)} {of}")
    return trials


def _gaps(numbers: list[int]) -> list[str]:
    """The numbers that are missing, in words: of a damaged row there may be 2⁶²."""
    gaps = [(low + 1, high - 1) for low, high in pairwise([-1, *numbers]) if high > low + 1]
    return [str(low) if low == high else f"{low} to {high}" for low, high in gaps]


def _read(name: str, value: Any, documents: tuple[str, ...]) -> Any:
    if isinstance(value, bytes):
        raise ValueError("a text in it cannot be read")
    return load(value) if name in documents and value is not None else value


def _trial(data: dict[str, Any], goal: Any, lost: dict[str, Exception]) -> dict[str, Any]:
    """A trial of any version; what of its remarks cannot be read is named and left out."""
    if any(isinstance(data[name], bytes) for name in NEEDED):
        raise ValueError("a text in it cannot be read")
    plain: dict[str, Any] = {name: data.pop(name) for name in NEEDED}
    check_row(plain)
    plain["params"] = load(plain["params"])
    if not isinstance(plain["params"], dict | list):
        raise ValueError(f"its point is {plain['params']!r}")
    for name, value in data.items():
        try:
            plain |= _remark(name, value, goal, plain["number"])
        except UNREADABLE as error:
            lost[name] = error
    return Trial.from_json({"decision": {}, **plain}).to_json()


def _remark(name: str, value: Any, goal: Any, number: int) -> dict[str, Any]:
    read = _read(name, value, ("decision", "info", "asked", "attributes"))
    match name:
        case "info":  # as the model saw values, which are negative where the goal is to minimize
            old = Decision.from_json(read)
            signed = old if goal not in ("maximize", "minimize") else old.signed(sign_of(goal))
            return {"decision": signed.to_json()}
        case "decision":
            return {"decision": Decision.from_json(read).to_json()}
        case "outcomes":
            told = read_outcomes(read, None)
            return {each: told[each] for each in ("outcomes", "outcome_noise")}
        case "feasible" | "transient":
            return {name: None if read is None else bool(read)}
        case "corrects":
            check_corrects(number, read)
            return {name: read}
        case "attributes" | "asked":
            Trial.from_json({**EMPTY, name: read}).to_json()
            return {name: read}
    if name in TIMES:
        check_time(name, read)
    elif not isinstance(read, str | None):
        raise ValueError(f"it is {read!r}")
    return {name: read}


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
