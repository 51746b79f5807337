"""What defines a study: typed as flags, written in a file (TOML, JSON, CSV), or by default; and
tried out before it is made.
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from noregret.cli.limits import constrained
from noregret.cli.options import NEGATIVE, pairs
from noregret.cli.options import typed as as_json
from noregret.cli.outcomes import read_limits
from noregret.errors import (
    ConfigurationError,
    NoRegretError,
    SpaceError,
    StorageError,
    TrialError,
)
from noregret.space import Candidates, Choice, Float, Int, Parameter, Space
from noregret.storage import codec
from noregret.strategies import Strategy, named, random_points
from noregret.study import designs, numbers, read_number
from noregret.trials import History, Limit

# -- all of it --


@dataclass(frozen=True, slots=True)
class Settings:
    """What ``Study.create`` needs; goal and seed are checked there."""

    space: Space | Candidates
    goal: Any
    strategy: Strategy
    seed: Any
    outcomes: Mapping[str, Limit]
    context: Sequence[str]


def settings(
    file: Path | None,
    flags: Sequence[Flag],
    candidates: Path | None,
    *,
    goal: str | None,
    strategy: str | None,
    options: Sequence[str],
    seed: int | None,
    constraints: Sequence[tuple[str, str]] = (),
    outcomes: Sequence[str] = (),
    context: Sequence[str] = (),
) -> Settings:
    written = {} if file is None else read_study(file)
    chosen = goal or written.get("goal")
    if chosen not in ("maximize", "minimize"):
        raise ConfigurationError(
            "say what is wanted: --goal maximize or --goal minimize"
            f"{'' if chosen is None else f', got {chosen!r}'}"
        )
    if options and strategy is None:
        raise ConfigurationError(
            "--with sets an option of the strategy named by --strategy: name it"
        )
    space = constrained(_space(written, file, flags, candidates), written, constraints)
    typed = None if strategy is None else {"name": strategy, **as_json(pairs(options))}
    made = _strategy(typed or written.get("strategy", "insured"))
    rehearse(made, space)
    limits = read_limits(outcomes, written.get("outcomes"))
    given = tuple(context) or tuple(written.get("context", ()))
    return Settings(
        space, chosen, made, seed if seed is not None else written.get("seed", 0), limits, given
    )


def _space(
    written: Mapping[str, Any], file: Path | None, flags: Sequence[Flag], candidates: Path | None
) -> Space | Candidates:
    """From one place only."""
    sources = [
        bool(flags),
        candidates is not None,
        "parameters" in written,
        "candidates" in written,
    ]
    if not any(sources):
        raise ConfigurationError(
            "a study needs parameters: --float, --int, --choice,"
            " a list with --candidates, or a file with --file"
        )
    if sum(sources) > 1:
        raise ConfigurationError(
            "the parameters are given twice:"
            " as flags, with --candidates or in the file, but not in two of these"
        )
    if flags:
        space: Space | Candidates = Space(
            [(flag.name, flag.parameter) for flag in sorted(flags, key=lambda flag: flag.place)]
        )
    elif candidates is not None:
        space = read_candidates(Path(candidates))
    else:
        assert file is not None
        space = written_space(written, file.parent)
    for name in space.parameters:
        if "=" in name or not name.isprintable():
            raise SpaceError(
                f"a parameter called {name!r} cannot be typed as NAME=VALUE: call it something"
                " without = and control characters"
            )
    return space


def _strategy(wanted: Any) -> Strategy:
    """By name; by name with options; or in full, as a study's row holds it."""
    if isinstance(wanted, str):
        return named(wanted, {})
    if not isinstance(wanted, Mapping) or ("name" in wanted) == ("type" in wanted):
        raise ConfigurationError(
            f"a strategy is a name, or a table with its name and options, got {wanted!r}"
        )
    try:
        if "name" in wanted:
            return named(
                wanted["name"],
                {key: codec.from_json(value) for key, value in wanted.items() if key != "name"},
            )
        whole = codec.from_json(wanted)
    except (TypeError, StorageError) as error:
        raise ConfigurationError(f"the strategy cannot be read: {error}") from None
    if not isinstance(whole, Strategy):
        raise ConfigurationError(f"{wanted['type']} is not a strategy")
    return whole


# -- typed as flags --


FLAGS = ("--float", "--int", "--choice", "--levels")


class CreateCommand(click.Command):
    """A command whose parameter flags take all words up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        gathered, place = list[str](), 0
        while place < len(args):
            word, place = args[place], place + 1
            gathered.append(word)
            if word in FLAGS:
                end = next(
                    (
                        i
                        for i in range(place, len(args))
                        if args[i].startswith("-") and not NEGATIVE.match(args[i])
                    ),
                    len(args),
                )
                # the place keeps the order in which they were typed
                gathered.append(json.dumps([place, *args[place:end]]))
                place = end
        return super().parse_args(ctx, gathered)


@dataclass(frozen=True, slots=True)
class Flag:
    """A parameter as typed, and where."""

    place: int
    name: str
    parameter: Parameter


class ParameterType(click.ParamType[Flag]):
    """The words behind a flag."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Flag:
        if isinstance(value, Flag):
            return value
        place, *words = json.loads(value)
        try:
            return Flag(place, words[0] if words else "", self._parameter(words))
        except SpaceError as error:
            return self.fail(str(error), param, ctx)

    def _parameter(self, words: list[str]) -> Parameter:
        if self.name in ("choice", "levels"):
            if len(words) < 2:
                example = "solvent water dmf" if self.name == "choice" else "stirring low high"
                raise SpaceError(
                    f"write --{self.name} NAME OPTION OPTION …, such as --{self.name} {example}"
                )
            try:
                return Choice(numbers(words[1:]), ordered=self.name == "levels")
            except TrialError as error:
                raise SpaceError(str(error)) from None
        extra = _extra(words[3:])
        if len(words) < 3 or extra is None:
            example = "lr 1e-5 1e-1 log" if self.name == "float" else "layers 1 8"
            steps = "step=5 or digits=2" if self.name == "float" else "step=5"
            raise SpaceError(
                f"write --{self.name} NAME LOW HIGH, with log for a log scale and {steps} for a"
                f" resolution, such as --{self.name} {example}; got {' '.join(words)!r}. The"
                " study's name comes first"
            )
        kind: Any = Float if self.name == "float" else Int
        low, high = (_bound(word, self.name) for word in words[1:3])
        try:
            return kind(low, high, **extra)
        except TypeError:
            raise SpaceError(
                f"--{self.name} has no {list(extra)[-1]}: it has log and step"
            ) from None


def _extra(words: Sequence[str]) -> dict[str, Any] | None:
    """What stands behind the bounds: log, step=5, digits=2; None for anything else."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if word == "log":
            found["log"] = True
        elif name in ("step", "digits") and equals and name not in found:
            number = _bound(text, name)
            found[name] = int(number) if number == int(number) else number
        else:
            return None
    return found


def _bound(word: str, name: str) -> float:
    try:
        number = read_number(word, f"--{name}")
    except TrialError as error:
        raise SpaceError(str(error)) from None
    if number is None or not np.isfinite(number):
        raise SpaceError(f"--{name} needs finite numbers, got {word!r}")
    return int(number) if word.strip().lstrip("+-").isdigit() else number


# -- written in files --


KINDS: dict[Any, type[Float] | type[Int] | type[Choice]] = {
    "float": Float,
    "int": Int,
    "choice": Choice,
}
FIELDS = {
    "float": ("low", "high", "log", "step", "digits"),
    "int": ("low", "high", "log", "step"),
    "choice": ("options", "ordered"),
}
OPTIONAL = ("log", "step", "digits", "ordered")
KEYS = (
    *("goal", "seed", "strategy", "parameters", "candidates", "constraints"),
    *("outcomes", "context"),
)


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
    """A CSV or Parquet file. One with semicolons or tabs is a spreadsheet's: decimal commas and
    units are read as people write them.
    """
    if path.suffix.lower() == ".parquet" or not path.is_file():
        return Candidates(path)
    with path.open(encoding="utf-8", errors="replace") as file:
        header = file.readline()
    if max(header.count(";"), header.count("\t")) <= header.count(","):
        return Candidates(path)
    try:
        return Candidates(designs(io.StringIO(_text(path))))
    except csv.Error as error:
        raise SpaceError(f"{path} cannot be read as CSV: {error}") from None
    except (SpaceError, TrialError) as error:
        raise SpaceError(f"{path}: {error}") from None


def written_space(written: Mapping[str, Any], folder: Path) -> Space | Candidates:
    """The space of a study's file in that folder."""
    listed = written.get("candidates")
    if isinstance(listed, str):
        return read_candidates(folder / listed)
    if listed is not None:
        if not isinstance(listed, list):
            raise ConfigurationError(
                f"candidates must be a list of designs, or the name of a CSV or Parquet"
                f" file, got {listed!r}"
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
            f'parameter {name!r} needs a type, "float", "int" or "choice",'
            f' such as {{ type = "float", low = 0, high = 1 }}; got {fields!r}'
        )
    values = {key: value for key, value in fields.items() if key != "type"}
    unknown = [key for key in values if key not in FIELDS[kind]]
    missing = [key for key in FIELDS[kind] if key not in values and key not in OPTIONAL]
    if unknown or missing:
        raise ConfigurationError(
            f"parameter {name!r}: a {kind} has {', '.join(FIELDS[kind])};"
            f" unknown {unknown!r}, missing {missing!r}"
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


# -- tried out --


def rehearse(strategy: Strategy, space: Space | Candidates) -> None:
    """One decision after three values, past the initial design."""
    rng, none = np.random.default_rng(0), np.empty((0, space.dimension))
    history = History(
        random_points(space, rng, 3), np.array([0.0, 0.1, 0.3]), np.full(3, np.nan), none, none
    )
    value: Any = strategy
    try:
        if "initial_points" in {field.name for field in fields(value)}:
            value = replace(value, initial_points=1)
        value.propose(space, history, rng)
    except NoRegretError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"the strategy cannot work with these options ({type(error).__name__}: {error}):"
            f" {strategy!r}"
        ) from None
