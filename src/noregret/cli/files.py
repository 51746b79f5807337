"""Studies written in files: TOML or JSON, and candidates as CSV."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noregret.cli.flags import numbers
from noregret.errors import ConfigurationError, SpaceError
from noregret.space import Candidates, Choice, Float, Int, Parameter, Space

KINDS: dict[Any, type[Float] | type[Int] | type[Choice]] = {
    "float": Float,
    "int": Int,
    "choice": Choice,
}
FIELDS = {"float": ("low", "high", "log"), "int": ("low", "high", "log"), "choice": ("options",)}
KEYS = ("goal", "seed", "strategy", "parameters", "candidates")


def read_study(path: Path) -> dict[str, Any]:
    """The keys of a study's file, by its ending TOML or JSON; what they mean is not looked
    at yet.
    """
    text = _text(path)
    try:
        if path.suffix == ".toml":
            found: Any = tomllib.loads(text)
        elif path.suffix == ".json":
            found = json.loads(text)
        else:
            raise ConfigurationError(f"{path} must end in .toml or .json: that says how to read it")
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ConfigurationError(
            f"{path} is not valid {path.suffix[1:].upper()}: {error}"
        ) from None
    if not isinstance(found, dict):
        raise ConfigurationError(f"{path} must hold a JSON object, got {type(found).__name__}")
    unknown = [key for key in found if key not in KEYS]
    if unknown:
        raise ConfigurationError(
            f"{path}: unknown key {unknown[0]!r}; a study has {', '.join(KEYS)}"
        )
    return found


def read_candidates(path: Path) -> Candidates:
    """A CSV file, names first; a column of numbers becomes numbers."""
    rows = [row for row in csv.reader(_text(path).splitlines()) if row]
    if len(rows) < 2:
        raise SpaceError(f"{path} needs a line of names and at least one line of values")
    header, *body = rows
    for row in body:
        if len(row) != len(header):
            raise SpaceError(
                f"{path}: the line {','.join(row)!r} has {len(row)} values, the first line names"
                f" {len(header)}"
            )
    columns = [numbers([row[index].strip() for row in body]) for index in range(len(header))]
    return Candidates(
        [
            dict(zip((name.strip() for name in header), values, strict=True))
            for values in zip(*columns, strict=True)
        ]
    )


def written_space(written: Mapping[str, Any], folder: Path) -> Space | Candidates:
    """The space of a study's file in that folder."""
    listed = written.get("candidates")
    if isinstance(listed, str):
        return read_candidates(folder / listed)
    if listed is not None:
        if not isinstance(listed, list):
            raise ConfigurationError(
                f"candidates must be a list of designs, or the name of a CSV file, got {listed!r}"
            )
        return Candidates(listed)
    tables = written["parameters"]
    if not isinstance(tables, Mapping):
        raise ConfigurationError(
            f"parameters must be a table of name = {{ type = …, … }}, got {tables!r}"
        )
    return Space([(name, _parameter(name, fields)) for name, fields in tables.items()])


def _parameter(name: str, fields: Any) -> Parameter:
    kind = fields.get("type") if isinstance(fields, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigurationError(
            f'parameter {name!r} needs a type, "float", "int" or "choice", such as {{ type ='
            f' "float", low = 0, high = 1 }}; got {fields!r}'
        )
    values = {key: value for key, value in fields.items() if key != "type"}
    unknown = [key for key in values if key not in FIELDS[kind]]
    missing = [key for key in FIELDS[kind] if key not in values and key != "log"]
    if unknown or missing:
        raise ConfigurationError(
            f"parameter {name!r}: a {kind} has {', '.join(FIELDS[kind])}; unknown {unknown!r},"
            f" missing {missing!r}"
        )
    try:
        return KINDS[kind](**values)
    except SpaceError as error:
        raise SpaceError(f"parameter {name!r}: {error}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not a text file (UTF-8)") from None
