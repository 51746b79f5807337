"""How commands are declared and typed: which study in which storage, and points as
``name=value``.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from noregret.errors import NoRegretError, SpaceError, StorageError, TrialError
from noregret.storage import SQLStorage, storage_file, storage_url
from noregret.study import Study, parsed, read_value, snapshot, units_of

PASSWORD = re.compile(r"(://[^:/@]*:)[^@/]*@")
NEGATIVE = re.compile(r"-([.,]?\d|inf|nan)", re.IGNORECASE)
FLAGS = ("--float", "--int", "--choice", "--levels")  # each takes all words up to the next option

Rule = Callable[[Sequence[str]], bool]  # do a command's arguments begin with a study's name?


def always(words: Sequence[str]) -> bool:
    """The command has no argument of its own."""
    return True


def unless(pattern: str) -> Rule:
    """A first word of this form is the command's own argument."""
    return lambda words: re.fullmatch(pattern, words[0]) is None


def beyond(count: int) -> Rule:
    """The command has that many arguments of its own."""
    return lambda words: len(words) > count


TRIAL = unless(r"-?\d+")
POINT = unless(r".*=.*")
FUNCTION = unless(r".*:.*|.*\.py")


@dataclass(frozen=True, slots=True)
class Target:
    """The study and storage that a command works on, and the form of its answer."""

    storage: str | None
    as_json: bool
    study: str | None = None
    hint: str = ""  # what else the first word could have been, where it names the study

    def existing(self) -> str | None:
        """The storage, which must exist: only ``create`` makes a new file."""
        path = storage_file(storage_url(self.storage))
        if path is not None and not Path(path).exists():
            raise StorageError(
                f"there is no database {path}: make a study with `noregret create`,"
                " or name another database with --storage"
            )
        return self.storage

    def connect(self) -> SQLStorage:
        """That storage, opened: once per command."""
        return SQLStorage(self.existing(), must_exist=True)

    def open(self, storage: SQLStorage | None = None) -> Study:
        """The study named, or the only one in the storage."""
        storage = storage or self.connect()
        name = self.study or os.environ.get("NOREGRET_STUDY")
        if name is None:
            names = storage.names()
            if not names:
                raise StorageError("there is no study yet: make one with `noregret create`")
            if len(names) > 1:
                raise StorageError(
                    f"there are {len(names)} studies ({', '.join(names)}): name one as the first"
                    " word, or with --study"
                )
            name = names[0]
        try:
            return Study.open(name, storage=storage)
        except StorageError as error:
            if self.hint:
                error.add_note(self.hint)
            raise

    def read(self) -> Study:
        """A copy of that study in memory, read once, for commands that show it."""
        return snapshot(self.open())

    def again(self, command: str) -> str:
        """Another command on the same study, as it must be typed; a password is left out."""
        options = {
            "--study": self.study,
            "--storage": self.storage and PASSWORD.sub(r"\1***@", self.storage),
        }
        words = [f"{name} {shlex.quote(value)}" for name, value in options.items() if value]
        return " ".join([f"noregret {command}", *words])

    def emit(self, document: Any, text: str) -> None:
        """Prints the document with --json, otherwise the text."""
        if self.as_json:
            text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        click.echo(text)


class Command(click.Command):
    """A command of the shell.

    A negative number is a value, not an option. ``--float`` and its like take all words up to the
    next option. Where a command works on a study, the first word may be the study's name.
    """

    section = ""
    begins_with_study: Rule | None = None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = _gather_flags(args)
        places = self._arguments(words)
        for place in places:
            if NEGATIVE.match(words[place]):
                words[place] = f" {words[place]}"
        rule = self.begins_with_study
        if rule is not None and places and not rule([words[place].strip() for place in places]):
            words.insert(places[0], "")  # the study is not named here
        return super().parse_args(ctx, words)

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


def complete_study(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names for the shell's completion; a storage that cannot be read completes nothing."""
    try:
        names = Target(ctx.params.get("storage"), False).connect().names()
    except NoRegretError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def _shared_options(study: bool, storage: bool) -> list[click.Parameter]:
    options: list[click.Parameter] = []
    if study:
        options.append(
            click.Option(
                ["--study", "-s"],
                metavar="NAME",
                shell_complete=complete_study,
                help="The study.  [default: NOREGRET_STUDY, or the only one in the database]",
            )
        )
    if storage:
        options.append(
            click.Option(
                ["--storage"],
                metavar="FILE|URL",
                help="The database: a file, or a URL such as postgresql://host/db."
                "  [default: NOREGRET_STORAGE, or noregret.db]",
            )
        )
    as_json = "Print one JSON document to stdout, and errors as JSON to stderr."
    return [*options, click.Option(["--json", "as_json"], is_flag=True, help=as_json)]


def command(
    section: str,
    example: str,
    *,
    name: str | None = None,
    study: Rule | None = always,
    storage: bool = True,
) -> Callable[[Callable[..., None]], Command]:
    """Makes a function a command; its first argument becomes the ``Target``.

    Args:
        section: The heading under which the help lists it.
        example: A call, for the help.
        name: What is typed; by default the function's name.
        study: When its arguments begin with a study's name; None for a command without a study.
        storage: Whether it works on a database at all.
    """

    def declared(function: Callable[..., None]) -> Command:
        own: list[click.Parameter] = list(reversed(getattr(function, "__click_params__", [])))

        def callback(**values: Any) -> None:
            word, option = values.pop("word", None), values.pop("study", None)
            if word and option:
                raise click.UsageError(f"the study is named twice: {word} and --study {option}")
            hint = f"The first word of {example.split()[1]} names the study" if word else ""
            arguments = [each for each in own if isinstance(each, click.Argument)]
            if hint and arguments:
                shown = arguments[0].make_metavar(click.get_current_context())
                hint += f", or it is {shown.strip('[]')}"
            place = values.pop("storage", None)
            target = Target(place, values.pop("as_json"), word or option, hint and f"{hint}.")
            function(target, **values)

        first = [
            click.Argument(
                ["word"], required=False, metavar="[STUDY]", shell_complete=complete_study
            )
        ]
        made = Command(
            name or function.__name__,
            callback=callback,
            params=[*(first if study else []), *own, *_shared_options(study is not None, storage)],
            help=inspect.cleandoc(function.__doc__ or ""),
            epilog=f"Example: {example}",
        )
        made.section, made.begins_with_study = section, study
        return made

    return declared


# -- what is typed --


def pairs(words: Iterable[str]) -> dict[str, str]:
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


def typed(texts: Mapping[str, str]) -> dict[str, Any]:
    """Each text as JSON where it is JSON, otherwise as it is."""
    values: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            values[name] = json.loads(text)
        except ValueError:
            values[name] = text
    return values


def parse_point(study: Study, words: Iterable[str]) -> dict[str, Any]:
    """Parameter values, read by the study's space; some may be missing."""
    parameters, units = study.space.parameters, units_of(study.record().attributes)
    point = {}
    for name, text in pairs(words).items():
        if name not in parameters:
            raise SpaceError(
                f"there is no parameter {name!r}: this study has {', '.join(parameters)}"
            )
        point[name] = parsed(text, name, parameters[name], units)
    return point


def read_context(study: Study, words: Sequence[str]) -> dict[str, Any] | None:
    """The current values of the context parameters, all of them; None for a study without any."""
    values = parse_point(study, words)
    missing = [name for name in study.context if name not in values]
    if missing:
        options = " ".join(f"--context {name}=VALUE" for name in missing)
        raise SpaceError(f"{' and '.join(missing)} must be given here: add {options}")
    others = [name for name in values if name not in study.context]
    if others:
        raise SpaceError(f"{others[0]} is not a context parameter: use --fix {others[0]}=VALUE")
    return values or None


def read_outcomes(study: Study, words: Iterable[str]) -> dict[str, Any] | None:
    """The outcomes of a trial by name, with their noise where it was typed; None for none."""
    values: dict[str, Any] = {}
    units = units_of(study.record().attributes)
    for name, text in pairs(words).items():
        if name not in study.outcomes:
            raise TrialError(
                f"there is no outcome {name!r}: this study has"
                f" {', '.join(study.outcomes) or 'none'}; nothing was recorded"
            )
        value, noise, _ = read_value(text, f"outcome {name!r}", units.get(name, ""))
        values[name] = value if noise is None else (value, noise)
    return values or None
