"""What defines a study, from flags and from a TOML or JSON file."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from noregret import codec
from noregret.cli.options import NEGATIVE
from noregret.cli.points import pairs
from noregret.errors import ConfigurationError, SpaceError, StorageError
from noregret.parameters import Choice, Float, Int, Parameter
from noregret.space import Candidates, Space
from noregret.strategies import Strategy
from noregret.strategies.named import named

KINDS: dict[str, type[Float] | type[Int] | type[Choice]] = {"float": Float, "int": Int, "choice": Choice}
FIELDS = {"float": ("low", "high", "log"), "int": ("low", "high", "log"), "choice": ("options",)}
KEYS = ("goal", "seed", "strategy", "parameters", "candidates")


class CreateCommand(click.Command):
    """``--float NAME LOW HIGH [log]``, ``--int …`` and ``--choice NAME OPTION …`` take all words up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        flags, gathered, place = {f"--{kind}" for kind in KINDS}, list[str](), 0
        while place < len(args):
            word, place = args[place], place + 1
            gathered.append(word)
            if word in flags:
                end = next((i for i in range(place, len(args)) if args[i].startswith("-") and not NEGATIVE.match(args[i])), len(args))
                gathered.append(json.dumps([place, *args[place:end]]))  # the place keeps the order in which they were typed
                place = end
        return super().parse_args(ctx, gathered)


@dataclass(frozen=True, slots=True)
class Flag:
    """A parameter as typed, and where."""

    place: int
    name: str
    parameter: Parameter


class ParameterType(click.ParamType[Flag]):
    """The words behind --float, --int or --choice."""

    def __init__(self, kind: str) -> None:
        self.name = self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Flag:
        if isinstance(value, Flag):
            return value
        place, *words = json.loads(value)
        try:
            return Flag(place, words[0] if words else "", self._parameter(words))
        except SpaceError as error:
            return self.fail(str(error), param, ctx)

    def _parameter(self, words: list[str]) -> Parameter:
        if self.kind == "choice":
            if len(words) < 2:
                raise SpaceError("write --choice NAME OPTION OPTION …, such as --choice solvent water dmf")
            return Choice(_numbers(words[1:]))
        if len(words) not in (3, 4) or words[3:] not in ([], ["log"]):
            example = "lr 1e-5 1e-1 log" if self.kind == "float" else "layers 1 8"
            raise SpaceError(
                f"write --{self.kind} NAME LOW HIGH, with log for a log scale, such as --{self.kind} {example}; got {' '.join(words)!r}. The study's name comes first"
            )
        low, high = _numbers(words[1:3])
        return KINDS[self.kind](low, high, log=len(words) == 4)  # type: ignore[call-arg]


def _numbers(words: Sequence[str]) -> list[Any]:
    """Numbers if every word is one, else the words."""
    try:
        return [int(word) for word in words]
    except ValueError:
        pass
    try:
        return [float(word) for word in words]
    except ValueError:
        return list(words)


@dataclass(frozen=True, slots=True)
class Settings:
    """What ``create`` needs."""

    space: Any
    goal: str
    strategy: Strategy
    seed: int


def settings(file: Path | None, flags: Sequence[Flag], candidates: Path | None, *, goal: str | None, strategy: str | None, options: Sequence[str],
             seed: int | None) -> Settings:  # fmt: skip
    """Flags first, then the file, then the defaults. Parameters come from one place only."""
    written = {} if file is None else _checked_keys(read_file(file), file)
    sources = [bool(flags), candidates is not None, "parameters" in written, "candidates" in written]
    if sum(sources) != 1:
        raise ConfigurationError(
            "a study needs parameters: --float, --int, --choice, a list with --candidates, or a file with --file" if sum(sources) == 0 else
            "the parameters are given twice: as flags, with --candidates or in the file, but not in two of these")  # fmt: skip
    chosen = goal or written.get("goal")
    if chosen not in ("maximize", "minimize"):
        raise ConfigurationError(f"say what is wanted: --goal maximize or --goal minimize{'' if chosen is None else f', got {chosen!r}'}")
    if options and strategy is None:
        raise ConfigurationError("--with sets an option of the strategy named by --strategy: name it")
    if flags:
        space: Any = Space([(flag.name, flag.parameter) for flag in sorted(flags, key=lambda flag: flag.place)])
    elif candidates is not None:
        space = Candidates(read_rows(candidates))
    elif "candidates" in written:
        listed = written["candidates"]
        space = Candidates(read_rows(file.parent / listed) if file is not None and isinstance(listed, str) else listed)
    else:
        space = Space(_parameters(written["parameters"]))
    unusable = [name for name in space.parameters if "=" in name or not name.isprintable()]
    if unusable:
        raise SpaceError(
            f"a parameter called {unusable[0]!r} cannot be typed as NAME=VALUE: call it something without = and control characters"
        )
    return Settings(
        space, chosen, _strategy({"name": strategy, **_typed(pairs(options))} if strategy is not None else written.get("strategy", "practical")),
        seed if seed is not None else written.get("seed", 0))  # fmt: skip


# -- the file --


def read_file(path: Path) -> dict[str, Any]:
    """A TOML or JSON file, by its ending."""
    text = _text(path)
    try:
        if path.suffix == ".toml":
            return tomllib.loads(text)
        if path.suffix == ".json":
            found = json.loads(text)
            if isinstance(found, dict):
                return found
            raise ConfigurationError(f"{path} must hold a JSON object, got {type(found).__name__}")
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not valid {path.suffix[1:].upper()}: {error}") from None
    raise ConfigurationError(f"{path} must end in .toml or .json: that says how to read it")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """A CSV file as candidates; a column of numbers becomes numbers."""
    rows = list(csv.reader(_text(path).splitlines()))
    header, body = (rows[0], [row for row in rows[1:] if row]) if rows else ([], [])
    if not body:
        raise SpaceError(f"{path} needs a line of names and at least one line of values")
    for line, row in enumerate(body, 2):
        if len(row) != len(header):
            raise SpaceError(f"{path}: line {line} has {len(row)} values, the first line names {len(header)}")
    columns = [_numbers([row[i].strip() for row in body]) for i in range(len(header))]
    return [dict(zip((name.strip() for name in header), values, strict=True)) for values in zip(*columns, strict=True)]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not a text file (UTF-8)") from None


def _checked_keys(written: dict[str, Any], file: Path) -> dict[str, Any]:
    unknown = [key for key in written if key not in KEYS]
    if unknown:
        raise ConfigurationError(f"{file}: unknown key {unknown[0]!r}; a study has {', '.join(KEYS)}")
    return written


def _parameters(tables: Any) -> list[tuple[str, Parameter]]:
    if not isinstance(tables, Mapping):
        raise ConfigurationError(f"parameters must be a table of name = {{ type = …, … }}, got {tables!r}")
    return [(name, _parameter(name, fields)) for name, fields in tables.items()]


def _parameter(name: str, fields: Any) -> Parameter:
    kind = fields.get("type") if isinstance(fields, Mapping) else None
    if kind not in KINDS:
        raise ConfigurationError(
            f'parameter {name!r} needs a type, "float", "int" or "choice", such as {{ type = "float", low = 0, high = 1 }}; got {fields!r}'
        )
    values = {key: value for key, value in fields.items() if key != "type"}
    unknown = [key for key in values if key not in FIELDS[kind]]
    missing = [key for key in FIELDS[kind] if key not in values and key != "log"]
    if unknown or missing:
        raise ConfigurationError(f"parameter {name!r}: a {kind} has {', '.join(FIELDS[kind])}; unknown {unknown!r}, missing {missing!r}")
    try:
        return KINDS[kind](**values)
    except SpaceError as error:
        raise SpaceError(f"parameter {name!r}: {error}") from None


def _strategy(wanted: Any) -> Strategy:
    """By name; by name with options; or in full, as a study's row holds it."""
    if isinstance(wanted, str):
        return named(wanted, {})
    if not isinstance(wanted, Mapping) or ("name" in wanted) == ("type" in wanted):
        raise ConfigurationError(f"a strategy is a name, or a table with its name and options, got {wanted!r}")
    try:
        if "name" in wanted:
            return named(wanted["name"], {key: codec.from_json(value) for key, value in wanted.items() if key != "name"})
        whole = codec.from_json(wanted)
    except (TypeError, StorageError) as error:
        raise ConfigurationError(f"the strategy cannot be read: {error}") from None
    if not isinstance(whole, Strategy):
        raise ConfigurationError(f"{wanted['type']} is not a strategy")
    return whole


def _typed(texts: Mapping[str, str]) -> dict[str, Any]:
    """JSON where it is JSON, text otherwise."""
    found: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    return found
