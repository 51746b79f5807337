"""The definition of a study: typed as flags or written in a file (TOML, JSON, CSV), and tried out
before the study is made.
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from noregret.cli.options import pairs, typed
from noregret.errors import (
    ConfigurationError,
    NoRegretError,
    SpaceError,
    StorageError,
    TrialError,
)
from noregret.space import (
    ONLY_FOR,
    ActiveWhen,
    Candidates,
    Choice,
    Constraint,
    Float,
    Int,
    Parameter,
    Satisfies,
    Space,
    read_forbidden,
    read_linear,
    read_only,
)
from noregret.storage import codec
from noregret.strategies import Strategy, display_name, named, random_points
from noregret.study import designs, numbers, read_limits, read_number
from noregret.trials import AtLeast, AtMost, History, Limit

CONSTRAINTS = ("linear", "forbidden", "satisfies", "only")


@dataclass(frozen=True, slots=True)
class Flag:
    """A parameter as typed, and its place among the words."""

    place: int
    name: str
    parameter: Parameter


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
) -> dict[str, Any]:
    """The arguments of ``Study.create``; what is typed has precedence over the file."""
    written = {} if file is None else read_study(file)
    goal = goal or written.get("goal")
    if goal not in ("maximize", "minimize"):
        got = "" if goal is None else f", got {goal!r}"
        raise ConfigurationError(f"the goal is missing: --goal maximize or --goal minimize{got}")
    space = _constrained(_space(written, file, flags, candidates), written, constraints)
    chosen = typed_strategy(strategy, options) or _strategy(written.get("strategy", "insured"))
    rehearse(chosen, space)
    return {
        "space": space,
        "goal": goal,
        "strategy": chosen,
        "seed": seed if seed is not None else written.get("seed", 0),
        "outcomes": limits(outcomes, written.get("outcomes")),
        "context": tuple(context) or tuple(written.get("context", ())),
    }


def _space(
    written: Mapping[str, Any], file: Path | None, flags: Sequence[Flag], candidates: Path | None
) -> Space | Candidates:
    sources = [flags, candidates, "parameters" in written, "candidates" in written]
    if not any(sources):
        raise ConfigurationError(
            "a study needs parameters: --float, --int, --choice,"
            " a list with --candidates, or a file with --file"
        )
    if sum(map(bool, sources)) > 1:
        raise ConfigurationError(
            "the parameters are given twice: use flags, --candidates or the file, only one of them"
        )
    space: Space | Candidates
    if flags:
        space = Space([(flag.name, flag.parameter) for flag in flags])
    elif candidates is not None:
        space = read_candidates(candidates)
    else:
        assert file is not None
        space = _written_space(written, file.parent)
    for name in space.parameters:
        _check_typable("a parameter", name)
    return space


def _check_typable(kind: str, name: str) -> None:
    if "=" in name or not name.isprintable():
        raise SpaceError(
            f"{kind} called {name!r} cannot be typed as NAME=VALUE: choose a name without = and"
            " control characters"
        )


# -- strategies --


def typed_strategy(name: str | None, options: Sequence[str]) -> Strategy | None:
    """The strategy of ``--strategy`` and ``--with``; None if none is named."""
    if name is None:
        if options:
            raise ConfigurationError("--with sets an option of a strategy: add --strategy NAME")
        return None
    return _strategy({"name": name, **typed(pairs(options))})


def _strategy(written: Any) -> Strategy:
    """By name; by name with options; or in full, as the database stores it."""
    if isinstance(written, str):
        return named(written, {})
    if not isinstance(written, Mapping) or ("name" in written) == ("type" in written):
        raise ConfigurationError(
            f"a strategy is a name, or a table with its name and options, got {written!r}"
        )
    try:
        if "name" in written:
            options = {key: codec.from_json(v) for key, v in written.items() if key != "name"}
            return named(written["name"], options)
        whole = codec.from_json(written)
    except (TypeError, StorageError) as error:
        raise ConfigurationError(f"the strategy cannot be read: {error}") from None
    if not isinstance(whole, Strategy):
        raise ConfigurationError(f"{written['type']} is not a strategy")
    return whole


def rehearse(strategy: Strategy, space: Space | Candidates) -> None:
    """Makes one decision after three values, so that wrong options are found at once."""
    rng, none = np.random.default_rng(0), np.empty((0, space.dimension))
    history = History(
        random_points(space, rng, 3), np.array([0.0, 0.1, 0.3]), np.full(3, np.nan), none, none
    )
    value: Any = strategy
    try:
        if "initial_points" in {field.name for field in fields(value)}:
            value = replace(value, initial_points=1)  # the decision is the model's
        value.propose(space, history, rng)
    except NoRegretError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"the strategy {display_name(strategy)} does not work with these options:"
            f" {type(error).__name__}: {error}"
        ) from None


# -- parameters as flags --


class ParameterType(click.ParamType[Flag]):
    """The words behind ``--float``, ``--int``, ``--choice`` or ``--levels``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Flag:
        if isinstance(value, Flag):
            return value
        place, *words = json.loads(value)
        try:
            return Flag(place, words[0] if words else "", self._parameter(words))
        except (SpaceError, TrialError) as error:
            return self.fail(str(error), param, ctx)

    def _parameter(self, words: list[str]) -> Parameter:
        if self.name in ("choice", "levels"):
            if len(words) < 2:
                example = "solvent water dmf" if self.name == "choice" else "stirring low high"
                raise SpaceError(
                    f"write --{self.name} NAME OPTION OPTION …, such as --{self.name} {example}"
                )
            return Choice(numbers(words[1:]), ordered=self.name == "levels")
        extra = self._extra(words[3:])
        if len(words) < 3 or extra is None:
            example = "lr 1e-5 1e-1 log" if self.name == "float" else "layers 1 8"
            steps = "step=5 or digits=2" if self.name == "float" else "step=5"
            raise SpaceError(
                f"write --{self.name} NAME LOW HIGH, with log for a log scale and {steps} for a"
                f" resolution, such as --{self.name} {example}; got {' '.join(words)!r}. The"
                " study's name comes first"
            )
        low, high = map(self._bound, words[1:3])
        if self.name == "float":
            return Float(low, high, **extra)
        if "digits" in extra:
            raise SpaceError("--int has no digits: it has log and step")
        return Int(low, high, **extra)  # type: ignore[arg-type]  # whole bounds are checked there

    def _extra(self, words: Sequence[str]) -> dict[str, Any] | None:
        """log, step=5 and digits=2 behind the bounds; None for anything else."""
        extra: dict[str, Any] = {}
        for word in words:
            name, equals, text = word.partition("=")
            if word == "log":
                extra["log"] = True
            elif name in ("step", "digits") and equals and name not in extra:
                value = self._bound(text)
                extra[name] = int(value) if value == int(value) else value
            else:
                return None
        return extra

    def _bound(self, word: str) -> float:
        value = read_number(word, f"--{self.name}")
        if value is None or not np.isfinite(value):
            raise SpaceError(f"--{self.name} needs finite numbers, got {word!r}")
        return int(value) if word.strip().lstrip("+-").isdigit() else value


# -- constraints and limits --


def _constrained(
    space: Space | Candidates, written: Mapping[str, Any], flags: Sequence[tuple[str, str]]
) -> Space | Candidates:
    """The space with the constraints and branches of the file and the flags."""
    tables = written.get("constraints", {})
    if not isinstance(tables, Mapping) or any(key not in CONSTRAINTS for key in tables):
        raise ConfigurationError(
            "constraints must be a table of linear, forbidden, satisfies and only, each a list of"
            f" texts such as linear = ['a + b <= 1'], got {tables!r}"
        )
    for kind, texts in tables.items():
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ConfigurationError(f"constraints.{kind} must be a list of texts, got {texts!r}")
    rules = [(kind, text) for kind, texts in tables.items() for text in texts] + list(flags)
    if not rules:
        return space
    if isinstance(space, Candidates):
        raise ConfigurationError(
            "a list of candidates needs no constraints: leave out the rows that cannot be run"
        )
    return Space(
        space.parameters,
        space.vector,
        read_constraints([rule for rule in rules if rule[0] != "only"], space.parameters),
        [_read_branch(text, space.parameters) for kind, text in rules if kind == "only"],
    )


def _read_branch(text: str, parameters: Mapping[str, Parameter]) -> ActiveWhen:
    """``C model=svm, forest``, or as ``show`` prints it."""
    name, _, rest = text.strip().partition(" ")
    printed = f" {ONLY_FOR} " in text
    return read_only(text if printed else f"{name} {ONLY_FOR} {rest.strip()}", parameters)


def read_constraints(
    rules: Sequence[tuple[str, str]], parameters: Mapping[str, Parameter]
) -> list[Constraint]:
    """Constraints from pairs of kind and text."""
    constraints: list[Constraint] = []
    for kind, text in rules:
        if kind == "only":
            raise ConfigurationError(
                "branches are defined when a study is made: create one with --only, and import"
                " the old trials"
            )
        if kind == "satisfies":
            constraints.append(Satisfies(text))
        else:
            read = read_linear if kind == "linear" else read_forbidden
            constraints.append(read(text, parameters))
    return constraints


def limits(words: Iterable[str], written: Any = None) -> dict[str, Limit]:
    """Outcome limits as typed, ``toxicity<=0.3``, and as a file has them,
    ``{"toxicity": {"at_most": 0.3}}``.
    """
    kinds: dict[str, type[AtMost] | type[AtLeast]] = {"at_most": AtMost, "at_least": AtLeast}
    if written is not None and not isinstance(written, Mapping):
        raise ConfigurationError(
            f"outcomes must be a table such as toxicity = {{at_most = 0.3}}, got {written!r}"
        )
    known: list[tuple[str, Limit]] = []
    for name, table in (written or {}).items():
        if not isinstance(table, Mapping) or len(table) != 1 or next(iter(table)) not in kinds:
            raise ConfigurationError(
                f"the outcome {name!r} needs {{at_most = …}} or {{at_least = …}}, got {table!r}"
            )
        ((kind, value),) = table.items()
        known.append((name, kinds[kind](value)))
    result = read_limits(words, known)
    for name in result:
        _check_typable("an outcome", name)
    return result


# -- files --


KINDS: dict[str, type[Float] | type[Int] | type[Choice]] = {
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
    """The keys of a study's file, TOML or JSON by its ending; values are not checked yet."""
    text = _text(path)
    try:
        if path.suffix == ".toml":
            document: Any = tomllib.loads(text)
        elif path.suffix == ".json":
            document = json.loads(text)
        else:
            raise ConfigurationError(f"{path} must end in .toml or .json")
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ConfigurationError(
            f"{path} is not valid {path.suffix[1:].upper()}: {error}"
        ) from None
    if not isinstance(document, dict):
        raise ConfigurationError(f"{path} must hold a JSON object")
    unknown = [key for key in document if key not in KEYS]
    if unknown:
        raise ConfigurationError(
            f"{path}: unknown key {unknown[0]!r}; a study has {', '.join(KEYS)}"
        )
    return document


def read_candidates(path: Path) -> Candidates:
    """A list of designs from CSV or Parquet. In a spreadsheet's export, with semicolons or tabs,
    decimal commas and units are read too.
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


def _written_space(written: Mapping[str, Any], folder: Path) -> Space | Candidates:
    """The space of a study's file in that folder."""
    rows = written.get("candidates")
    if isinstance(rows, str):
        return read_candidates(folder / rows)
    if isinstance(rows, list):
        return Candidates(rows)
    if rows is not None:
        raise ConfigurationError(
            "candidates must be a list of designs, or the name of a CSV or Parquet file,"
            f" got {rows!r}"
        )
    tables = written["parameters"]
    if not isinstance(tables, Mapping):
        raise ConfigurationError(
            f"parameters must be a table of name = {{ type = …, … }}, got {tables!r}"
        )
    return Space([(name, _written_parameter(name, table)) for name, table in tables.items()])


def _written_parameter(name: str, table: Any) -> Parameter:
    kind = table.get("type") if isinstance(table, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigurationError(
            f'parameter {name!r} needs a type, "float", "int" or "choice",'
            f' such as {{ type = "float", low = 0, high = 1 }}; got {table!r}'
        )
    values = {key: value for key, value in table.items() if key != "type"}
    for key in values:
        if key not in FIELDS[kind]:
            raise ConfigurationError(
                f"parameter {name!r}: unknown {key}; a {kind} has {', '.join(FIELDS[kind])}"
            )
    for key in FIELDS[kind]:
        if key not in values and key not in OPTIONAL:
            raise ConfigurationError(f"parameter {name!r}: {key} is missing")
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
