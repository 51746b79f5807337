"""How commands are declared and typed. A command is a function: its signature has the arguments and
options, its docstring the help. Here are also the study that it works on, and points as
``name=value``.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click

from noregret.errors import NoRegretError, SpaceError, StorageError, TrialError
from noregret.storage import SQLStorage, storage_file, storage_url
from noregret.study import Study, parsed, read_measured, snapshot_of, units_of

PLAIN = re.compile(r"[^\W\d][\w -]*")  # a study's name that is read as nothing else
PASSWORD = re.compile(r"(://[^:/@]*:)[^@/]*@")
NEGATIVE = re.compile(r"-([.,]?\d|inf|nan)", re.IGNORECASE)
FLAGS = ("--float", "--int", "--choice", "--levels")  # each takes all words up to the next option
SHARED = ("study", "storage", "as_json")  # options that the help lists last
ENTRY = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)  # of a docstring's Args


def complete_study(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names for the shell's completion; a storage that cannot be read completes nothing."""
    try:
        names = DatabaseTarget(storage=ctx.params.get("storage")).connect().names()
    except NoRegretError:
        return []
    return [name for name in names if name.startswith(incomplete)]


class Word(click.ParamType[str]):
    """A word of a form that tells it from a study's name."""

    name = "text"

    def __init__(self, pattern: str) -> None:
        self.pattern = re.compile(pattern)

    def convert(self, value: Any, *_: Any) -> str:
        return str(value)


# Types of arguments and options. Beside the type stand a metavar, or the names if they begin with a
# dash; a click type; a function that completes.
Text = Annotated[str | None, "TEXT"]
StudyName = Annotated[str, complete_study]
Names = Annotated[tuple[str, ...], "NAME"]
Assignments = Annotated[tuple[str, ...], "NAME=VALUE"]
Point = Annotated[tuple[str, ...], "NAME=VALUE...", Word(r".*=.*")]
FunctionName = Annotated[str | None, "[MODULE:FUNCTION|SCRIPT.py:FUNCTION]", Word(r".*:.*|.*\.py")]
PictureFile = Annotated[Path | None, "FILE.png|svg|pdf"]
Count = Annotated[int, click.IntRange(min=1)]
NotNegative = Annotated[float, click.FloatRange(min=0)]
Positive = Annotated[float, click.FloatRange(min=0, min_open=True)]
Seconds = Annotated[Positive, "SECONDS"]
Probability = Annotated[float, click.FloatRange(0, 1, min_open=True, max_open=True)]


# -- what a command works on --


@dataclass(frozen=True, kw_only=True)
class Printer:
    """Prints the answer of a command.

    Args:
        as_json: Print one JSON document to stdout, and errors as JSON to stderr.
    """

    as_json: Annotated[bool, "--json"] = False

    def emit(self, document: Any, text: str) -> None:
        """Prints the document with --json, otherwise the text."""
        if self.as_json:
            text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        click.echo(text)


@dataclass(frozen=True, kw_only=True)
class DatabaseTarget(Printer):
    """The database of a command that needs no study.

    Args:
        storage: The database: a file, or a URL such as postgresql://host/db. [default:
            NOREGRET_STORAGE, or noregret.db]
    """

    storage: Annotated[str | None, "FILE|URL"] = None

    def existing(self) -> str | None:
        """The storage, which must exist: only ``create`` makes a new file."""
        path = storage_file(storage_url(self.storage))
        if path is not None and not Path(path).exists():
            raise StorageError(
                f"there is no database {path}: name it by --storage, or `noregret create` a study"
            )
        return self.storage

    def connect(self) -> SQLStorage:
        """That storage, opened: once per command."""
        return SQLStorage(self.existing(), must_exist=True)

    def again(self, command: str, study: str | None = None) -> str:
        """Another command, as it must be typed; a password is left out."""
        name, *rest = command.split(" ", 1)
        plain = name != "plot" and PLAIN.fullmatch(study or "")  # else it may be an argument
        where = self.storage and PASSWORD.sub(r"\1***@", self.storage)
        named = {"--study": None if plain else study, "--storage": where}
        words = [f"{each} {shlex.quote(value)}" for each, value in named.items() if value]
        return " ".join(
            ["noregret", name, *([shlex.quote(study)] if study and plain else []), *rest, *words]
        )


@dataclass(frozen=True, kw_only=True)
class Target(DatabaseTarget):
    """The study of a command, named by its first word or by an option.

    Args:
        word: The study.
        study: The study. [default: NOREGRET_STUDY, or the only one in the database]
    """

    word: Annotated[StudyName | None, "[STUDY]"] = field(default=None, kw_only=False)
    study: Annotated[StudyName | None, "--study", "-s", "NAME"] = None

    def __post_init__(self) -> None:
        if self.word and self.study:
            raise click.UsageError(
                f"the study is named twice: {self.word} and --study {self.study}"
            )

    @property
    def name(self) -> str | None:
        """The study's name as it was typed."""
        return self.word or self.study

    def open(self, storage: SQLStorage | None = None) -> Study:
        """The study named, or the only one in the storage."""
        storage = storage or self.connect()
        name = self.name or os.environ.get("NOREGRET_STUDY")
        if name is None:
            names = storage.names()
            if not names:
                raise StorageError("there is no study yet: make one with `noregret create`")
            if len(names) > 1:
                listed = f"there are {len(names)} studies ({', '.join(names)})"
                raise StorageError(f"{listed}: name one after the command, or with --study")
            name = names[0]
        try:
            return Study.open(name, storage=storage)
        except StorageError as error:
            if self.word:
                error.add_note(_about_first_word(click.get_current_context()))
            raise

    def read(self) -> Study:
        """A copy of that study in memory, read once, for commands that show it."""
        return snapshot_of(self.open())

    def again(self, command: str, study: str | None = None) -> str:
        """Another command on this study, or on the one named."""
        return super().again(command, study or self.name)


def _about_first_word(context: click.Context) -> str:
    """What the first word of a command is."""
    arguments = [each for each in context.command.params if isinstance(each, click.Argument)]
    metavars = [each.make_metavar(context).strip("[]") for each in arguments[1:2]]
    return (
        ", or it is ".join([f"The first word of {context.command.name} names the study", *metavars])
        + "."
    )


# -- commands --


class Command(click.Command):
    """A command of the shell.

    A negative number is a value, not an option. ``--float`` and its like take all words up to the
    next option. Where a command works on a study, the first word may be the study's name.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = _gather_flags(args)
        places = self._arguments(words)
        for place in places:
            if NEGATIVE.match(words[place]):
                words[place] = f" {words[place]}"
        if places and self._begins_itself([words[place].strip() for place in places]):
            words.insert(places[0], "")  # the study is not named here
        return super().parse_args(ctx, words)

    def _begins_itself(self, words: Sequence[str]) -> bool:
        """Whether the first word is an argument of the command, not the study's name."""
        arguments = [each for each in self.params if isinstance(each, click.Argument)]
        if len(arguments) < 2 or arguments[0].name != "word":
            return False
        kind = arguments[1].type
        if isinstance(kind, Word):
            return kind.pattern.fullmatch(words[0]) is not None
        if isinstance(kind, click.Choice):
            return words[0] in kind.choices
        if kind is click.INT:
            return re.fullmatch(r"-?\d+", words[0]) is not None
        return len(words) < len(arguments)

    def _arguments(self, words: Sequence[str]) -> list[int]:
        """The places of words that are neither options nor their values."""
        options = [each for each in self.params if isinstance(each, click.Option)]
        taken = {name: o.nargs for o in options if not o.is_flag for name in o.opts}
        places, place = list[int](), 0
        while place < len(words):
            word = words[place]
            if word == "--":
                return [*places, *range(place + 1, len(words))]
            if word.startswith("-") and word != "-" and not NEGATIVE.match(word):
                place += taken.get(word, 0)
            else:
                places.append(place)
            place += 1
        return places


def _gather_flags(args: Sequence[str]) -> list[str]:
    """The words behind each parameter flag as one JSON text, with the place of the flag."""
    gathered, place = list[str](), 0
    while place < len(args):
        word, place = args[place], place + 1
        gathered.append(word)
        if word in FLAGS:
            rest = range(place, len(args))
            options = (i for i in rest if args[i][0:1] == "-" and not NEGATIVE.match(args[i]))
            end = next(options, len(args))
            gathered.append(json.dumps([place, *args[place:end]]))
            place = end
    return gathered


def command(function: Callable[..., None]) -> Command:
    """Makes a function ``NAME_command`` the command NAME.

    Its first argument is what it works on: a ``Target``, a ``DatabaseTarget``, or only a
    ``Printer``. Its other positional arguments are arguments of the command, its keywords are
    options, and a dataclass stands for its fields. The docstring is the help: it describes each
    under ``Args:``, and ends with an ``Example:``.
    """
    groups: dict[str, Any] = {
        name: hint for name, hint in get_type_hints(function).items() if is_dataclass(hint)
    }

    @functools.wraps(function)
    def callback(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{each.name: values.pop(each.name) for each in fields(kind)})
        function(**values)

    text, _, example = inspect.cleandoc(function.__doc__ or "").partition("\n\nExample:\n")
    return Command(
        function.__name__.removesuffix("_command"),
        callback=callback,
        params=sorted(
            _parameters(function),
            key=lambda each: (isinstance(each, click.Option), each.name in SHARED),
        ),
        help=text.partition("\n\nArgs:\n")[0],
        epilog=f"Example: {' '.join(example.split())}",
    )


def _parameters(owner: Any) -> Iterator[click.Parameter]:
    """The arguments and options that a function or a dataclass declares."""
    documented = inspect.getmro(owner) if inspect.isclass(owner) else [owner]
    texts = "\n".join(inspect.cleandoc(each.__doc__ or "") for each in documented)
    helps = {name: " ".join(text.split()) for name, text in ENTRY.findall(texts)}
    hints = get_type_hints(owner, include_extras=True)
    for name, parameter in inspect.signature(owner).parameters.items():
        hint, default = hints[name], parameter.default
        if is_dataclass(hint):
            yield from _parameters(hint)
            continue
        kind, several, extras = _unwrapped(hint)
        names = [each for each in extras if isinstance(each, str)]
        settings: dict[str, Any] = {
            "type": next((e for e in extras if isinstance(e, click.ParamType)), _click_type(kind)),
            "required": default is parameter.empty,
            "metavar": next((text for text in names if text[0] != "-"), None),
            "shell_complete": next((each for each in extras if inspect.isfunction(each)), None),
        }
        if default not in (parameter.empty, None, ()):
            settings["default"] = default
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            yield click.Argument([name], nargs=-1 if several else 1, **settings)
            continue
        flags = [text for text in names if text[0] == "-"]
        flags = flags or [f"--{name.rstrip('_').replace('_', '-')}"]
        settings |= {"is_flag": kind is bool or None, "help": helps.get(name)}
        yield click.Option([*flags, name], multiple=several, **settings)


def _unwrapped(hint: Any) -> tuple[Any, bool, list[Any]]:
    """The type of one value, whether there may be several, and what is annotated."""
    several, extras = False, list[Any]()
    while get_args(hint) and get_origin(hint) is not Literal:
        origin, (hint, *more) = get_origin(hint), get_args(hint)
        several = several or origin is tuple
        extras += more if origin is Annotated else []
    return hint, several, extras


def _click_type(kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    return click.Path(path_type=Path) if kind is Path else kind


# -- what is typed --


def read_pairs(words: Iterable[str]) -> dict[str, str]:
    """``["a=1", "b=x"]`` as a dict of texts."""
    texts: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise SpaceError(f"write NAME=VALUE, such as temperature=40; got {word!r}")
        if name in texts:
            raise SpaceError(f"{name} is given twice")
        texts[name] = text
    return texts


def typed_pairs(words: Iterable[str]) -> dict[str, Any]:
    """Like ``read_pairs``, with each text as JSON where it is JSON."""
    values: dict[str, Any] = dict(read_pairs(words))
    for name, text in values.items():
        with suppress(ValueError):
            values[name] = json.loads(text)
    return values


def parse_point(study: Study, words: Iterable[str]) -> dict[str, Any]:
    """Parameter values, read by the study's space; some may be missing."""
    parameters, units = study.space.parameters, units_of(study.record().attributes)
    texts = _known(words, "parameter", parameters, SpaceError)
    return {name: parsed(text, name, parameters[name], units) for name, text in texts.items()}


def _known(
    words: Iterable[str], kind: str, names: Iterable[str], error: type[NoRegretError]
) -> dict[str, str]:
    """Texts by name; raises if a name is not one of these."""
    texts, listed = read_pairs(words), ", ".join(names) or "none"
    for name in texts:
        if name not in names:
            raise error(f"there is no {kind} {name!r}: this study has {listed}")
    return texts


def check_given(names: Iterable[str], values: Mapping[str, Any], option: str = "") -> None:
    """SpaceError unless each name has a value; it says what to add to the command."""
    missing = [name for name in names if name not in values]
    if missing:
        words = " ".join(f"{option}{name}=VALUE" for name in missing)
        raise SpaceError(f"missing {' and '.join(missing)}: add {words}")


def parse_context(study: Study, words: Sequence[str]) -> dict[str, Any] | None:
    """The current values of the context parameters, all of them; None for a study without any."""
    values = parse_point(study, words)
    check_given(study.context, values, "--context ")
    others = [name for name in values if name not in study.context]
    if others:
        raise SpaceError(f"{others[0]} is not a context parameter: use --fix {others[0]}=VALUE")
    return values or None


def parse_outcomes(study: Study, words: Iterable[str]) -> dict[str, Any] | None:
    """The outcomes of a trial by name, with their noise where it was typed; None for none."""
    units, values = units_of(study.record().attributes), dict[str, Any]()
    for name, text in _known(words, "outcome", study.outcomes, TrialError).items():
        value, noise, _ = read_measured(text, f"outcome {name!r}", units.get(name, ""))
        values[name] = value if noise is None else (value, noise)
    return values or None
