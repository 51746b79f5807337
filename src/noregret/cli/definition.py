"""The definition of a study: typed as flags or written in a file (TOML, JSON, CSV), and tried out
before the study is made.
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import click
import numpy as np

from noregret.cli.options import Names, typed_pairs
from noregret.cli.output import LIMITS
from noregret.diagnostics.presentation import without_python
from noregret.errors import ConfigurationError, NoRegretError, SpaceError, StorageError, TrialError
from noregret.space import (
    ONLY_FOR,
    ActiveWhen,
    Candidates,
    Choice,
    Constraint,
    Float,
    Int,
    Parameter,
    Space,
    read_constraint,
    read_only,
)
from noregret.storage import codec
from noregret.strategies import Strategy, display_name, named, names, random_points
from noregret.study import designs, numbers, read_limits, read_number
from noregret.trials import Goal, History, Limit

# Each kind of constraint, with what a text of it begins with where the kind is not named.
CONSTRAINTS = {"linear": "", "forbidden": "not ", "satisfies": "satisfies ", "only": ""}
KINDS: dict[str, type[Float | Int | Choice]] = {"float": Float, "int": Int, "choice": Choice}
SPACE_KEYS = ("parameters", "candidates", "constraints")
KEYS = ("goal", "seed", "strategy", *SPACE_KEYS, "outcomes", "context")
READERS = {".toml": tomllib.loads, ".json": json.loads}
FORMS = {  # of the flags, each with an example
    "float": ("NAME LOW HIGH [log] [step=…|digits=…]", "lr 1e-5 1e-1 log"),
    "int": ("NAME LOW HIGH [log] [step=…]", "layers 1 8"),
    "choice": ("NAME OPTION OPTION …", "solvent water dmf"),
    "levels": ("NAME LEVEL LEVEL …", "stirring slow middle fast"),
}


def complete_strategy(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


class ParameterWords(click.ParamType[tuple[int, str, Parameter]]):
    """The words behind ``--float``, ``--int``, ``--choice`` or ``--levels``: the place of the flag
    on the line, the name and the parameter.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, str, Parameter]:
        place, *words = json.loads(value)
        try:
            return place, words[0] if words else "", _typed_parameter(self.name, words)
        except (SpaceError, TrialError) as error:
            return self.fail(without_python(str(error)), param, ctx)


Flags = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What defines a study on the command line.

    Args:
        float_: A real parameter. With a step or digits, only such values are proposed.
        int_: A whole number, both ends included.
        choice: One of several options without order.
        levels: Levels of a scale, in their order.
        linear: A constraint on a sum: 'a + 2 b <= 1' or 'a + b + c = 1'.
        forbidden: A combination that must not be run.
        satisfies: A Python function that returns whether a point may be run.
        only: A parameter that exists only for some options of a choice.
        goal: The goal.
        strategy: How points are chosen: insured, rigorous, paper, gp-ucb, log-ei, random, an
            extension such as thompson, or one of another package. [default: insured]
        with_: An option of the strategy, such as noise_bound=0.1 for rigorous.
        exact: Values have no noise, as those of a simulation: short for --with noise_std=0.
        seed: Seed of the random numbers. [default: 0]
        outcome: A measurement beside the value, with its limit: 'toxicity<=0.3', 'purity>=50'.
        context: A parameter that you cannot choose; its current value is given at each ask.
    """

    float_: Annotated[Flags, ParameterWords("float"), FORMS["float"][0]] = ()
    int_: Annotated[Flags, ParameterWords("int"), FORMS["int"][0]] = ()
    choice: Annotated[Flags, ParameterWords("choice"), FORMS["choice"][0]] = ()
    levels: Annotated[Flags, ParameterWords("levels"), FORMS["levels"][0]] = ()
    linear: Annotated[tuple[str, ...], "SUM"] = ()
    forbidden: Annotated[tuple[str, ...], "NAME=VALUE, …"] = ()
    satisfies: Annotated[tuple[str, ...], "MODULE:FUNCTION"] = ()
    only: Annotated[tuple[str, ...], "NAME CHOICE=OPTION, …"] = ()
    goal: Goal | None = None
    strategy: Annotated[str | None, "NAME", complete_strategy] = None
    with_: Annotated[tuple[str, ...], "OPTION=VALUE"] = ()
    exact: bool = False
    seed: Annotated[int | None, click.IntRange(min=0)] = None
    outcome: Annotated[tuple[str, ...], "NAME<=LIMIT"] = ()
    context: Names = ()

    def parameters(self) -> list[tuple[str, Parameter]]:
        """Names and parameters in the order in which they were typed."""
        flags = sorted((*self.float_, *self.int_, *self.choice, *self.levels), key=itemgetter(0))
        return [(name, parameter) for _, name, parameter in flags]

    def rules(self) -> list[tuple[str, str]]:
        """Constraints and branches, as pairs of kind and text."""
        return [(kind, text) for kind in CONSTRAINTS for text in getattr(self, kind)]

    def chosen_strategy(self) -> Strategy | None:
        """The strategy of ``--strategy``, ``--with`` and ``--exact``; None if none is named."""
        exact: dict[str, Any] = {"noise_std": 0.0} if self.exact else {}
        if self.strategy is not None or (exact and not self.with_):
            settings = {**exact, **typed_pairs(self.with_)}
            return _strategy({"name": self.strategy or "insured", **settings})
        if self.with_:
            raise ConfigurationError("--with sets an option of a strategy: add --strategy NAME")
        return None


def study_arguments(
    definition: Definition, file: Path | None = None, candidates: Path | None = None
) -> dict[str, Any]:
    """The arguments of ``Study.create``; what is typed has precedence over the file."""
    written = {} if file is None else read_study(file)
    goal = definition.goal or written.get("goal")
    if goal not in ("maximize", "minimize"):
        got = "" if goal is None else f", got {goal!r}"
        raise ConfigurationError(f"the goal is missing: --goal maximize or --goal minimize{got}")
    space = _space(written, file, definition.parameters(), candidates)
    space = _constrained(space, written, definition.rules())
    strategy = definition.chosen_strategy() or _strategy(written.get("strategy", "insured"))
    rehearse(strategy, space)
    return {
        "space": space,
        "goal": goal,
        "strategy": strategy,
        "seed": definition.seed if definition.seed is not None else written.get("seed", 0),
        "outcomes": limits_of(definition.outcome, written.get("outcomes")),
        "context": definition.context or tuple(written.get("context", ())),
    }


def _space(
    written: Mapping[str, Any],
    file: Path | None,
    flags: Sequence[tuple[str, Parameter]],
    candidates: Path | None,
) -> Space | Candidates:
    sources = [flags, candidates, "parameters" in written, "candidates" in written]
    if not any(sources):
        raise ConfigurationError(
            "a study needs parameters: --float, --int, --choice, --candidates or --file"
        )
    if sum(map(bool, sources)) > 1:
        raise ConfigurationError(
            "the parameters are given twice: use either flags, --candidates or --file"
        )
    if flags:
        space: Space | Candidates = Space(flags)
    elif candidates is not None:
        space = read_candidates(candidates)
    else:
        space = _written_space(written, Path() if file is None else file.parent)
    for name in space.parameters:
        _check_typable("a parameter", name)
    return space


def _check_typable(kind: str, name: str) -> None:
    if "=" in name or not name.isprintable():
        raise SpaceError(
            f"{kind} called {name!r} cannot be typed in NAME=VALUE: use printable text without ="
        )


# -- strategies --


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
        what = f"{type(error).__name__}: {error}"
        raise ConfigurationError(
            f"the strategy {display_name(strategy)} does not work with these options: {what}"
        ) from None


# -- parameters as flags --


def _typed_parameter(kind: str, words: Sequence[str]) -> Parameter:
    """The words behind ``--float``, ``--int``, ``--choice`` or ``--levels``."""
    form, example = FORMS[kind]
    wrong = SpaceError(
        f"write --{kind} {form}, such as --{kind} {example}; got {' '.join(words)!r}. The study's"
        " name comes first"
    )
    is_choice = kind in ("choice", "levels")
    if len(words) < (2 if is_choice else 3):
        raise wrong
    if is_choice:
        return Choice(numbers(words[1:]), ordered=kind == "levels")
    scale: dict[str, Any] = {}
    for word in words[3:]:
        name, equals, text = word.partition("=")
        if name in scale or (word != "log" and f"{name}=…" not in form):
            raise wrong
        scale[name] = _bound(kind, text) if equals else True
    low, high = (_bound(kind, word) for word in words[1:3])
    make: Any = KINDS[kind]
    return make(low, high, **scale)


def _bound(kind: str, word: str) -> float:
    value = read_number(word, f"--{kind}")
    if value is None or not np.isfinite(value):
        raise SpaceError(f"--{kind} needs finite numbers, got {word!r}")
    return int(value) if word.strip().lstrip("+-").isdigit() else value


# -- constraints and limits --


def _constrained(
    space: Space | Candidates, written: Mapping[str, Any], flags: Sequence[tuple[str, str]]
) -> Space | Candidates:
    """The space with the constraints and branches of the file and the flags."""
    tables = written.get("constraints", {})
    if not isinstance(tables, Mapping) or not tables.keys() <= CONSTRAINTS.keys():
        raise ConfigurationError(
            f"constraints must be a table with the keys {', '.join(CONSTRAINTS)}, got {tables!r}"
        )
    for kind, texts in tables.items():
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ConfigurationError(
                f"constraints.{kind} must be a list of texts such as 'a + b <= 1', got {texts!r}"
            )
    rules = [*((kind, text) for kind, texts in tables.items() for text in texts), *flags]
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
    if any(kind == "only" for kind, _ in rules):
        raise ConfigurationError(
            "--only is read when a study is made: `noregret create` one, and import the old trials"
        )
    return [read_constraint(CONSTRAINTS[kind] + text, parameters) for kind, text in rules]


def limits_of(words: Iterable[str], written: Any = None) -> dict[str, Limit]:
    """Outcome limits as typed, ``toxicity<=0.3``, and as a file has them,
    ``{"toxicity": {"at_most": 0.3}}``.
    """
    if written is not None and not isinstance(written, Mapping):
        raise ConfigurationError(
            f"outcomes must be a table such as toxicity = {{at_most = 0.3}}, got {written!r}"
        )
    known: list[tuple[str, Limit]] = []
    for name, table in (written or {}).items():
        if not isinstance(table, Mapping) or len(table) != 1 or next(iter(table)) not in LIMITS:
            raise ConfigurationError(
                f"the outcome {name!r} needs {{at_most = …}} or {{at_least = …}}, got {table!r}"
            )
        ((kind, value),) = table.items()
        known.append((name, LIMITS[kind](value)))
    result = read_limits(words, known)
    for name in result:
        _check_typable("an outcome", name)
    return result


# -- files --


def read_study(path: Path) -> dict[str, Any]:
    """The keys of a study's file, TOML or JSON by its ending; values are not checked yet."""
    text, kind = _text(path), path.suffix[1:].upper()
    if path.suffix not in READERS:
        raise ConfigurationError(f"{path} must end in .toml or .json")
    try:
        document: Any = READERS[path.suffix](text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not valid {kind}: {error}") from None
    if not isinstance(document, dict):
        raise ConfigurationError(f"{path} must hold a JSON object")
    for key in document:
        if key not in KEYS:
            raise ConfigurationError(f"{path}: unknown key {key!r}; a study has {', '.join(KEYS)}")
    return document


def read_candidates(path: Path) -> Candidates:
    """A list of designs from CSV or Parquet. In a spreadsheet's export, with semicolons or tabs,
    decimal commas and units are read too.
    """
    header = ""
    if path.suffix.lower() != ".parquet" and path.is_file():
        with path.open(encoding="utf-8", errors="replace") as file:
            header = file.readline()
    if max(header.count(";"), header.count("\t")) <= header.count(","):
        return Candidates(path)
    try:
        return Candidates(designs(io.StringIO(_text(path))))
    except (csv.Error, SpaceError, TrialError) as error:
        raise SpaceError(f"{path} cannot be read as CSV: {error}") from None


def _written_space(written: Mapping[str, Any], folder: Path) -> Space | Candidates:
    """The space of a study's file in that folder."""
    rows = written.get("candidates")
    if isinstance(rows, (str, list)):
        return read_candidates(folder / rows) if isinstance(rows, str) else Candidates(rows)
    if rows is not None:
        raise ConfigurationError(
            f"candidates must be a list of designs, or a CSV or Parquet file, got {rows!r}"
        )
    tables = written["parameters"]
    if not isinstance(tables, Mapping):
        raise ConfigurationError(f"parameters must be a table of tables, got {tables!r}")
    return Space([(name, _written_parameter(name, table)) for name, table in tables.items()])


def _written_parameter(name: str, table: Any) -> Parameter:
    kind = table.get("type") if isinstance(table, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        example = '{ type = "float", low = 0, high = 1 }'
        raise ConfigurationError(
            f"parameter {name!r} needs a type, as {example} has; got {table!r}"
        )
    values = {key: value for key, value in table.items() if key != "type"}
    known = {field.name: field.default for field in fields(KINDS[kind]) if field.init}
    unknown = [f"unknown {key}; a {kind} has {', '.join(known)}" for key in values.keys() - known]
    required = [key for key, default in known.items() if default is MISSING]
    wrong = [*unknown, *(f"{key} is missing" for key in required if key not in values)]
    if wrong:
        raise ConfigurationError(f"parameter {name!r}: {wrong[0]}")
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
