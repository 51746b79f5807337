"""What commands are typed with: which study in which storage, for people or machines, and points as
``name=value``.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from noregret.errors import NoRegretError, SpaceError, StorageError
from noregret.storage import SQLStorage, storage_file, storage_url
from noregret.study import Study, parsed, units_of

PASSWORD = re.compile(r"(://[^:/@]*:)[^@/]*@")
NEGATIVE = re.compile(r"-([.,]?\d|inf|nan)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """What a command works on, as it was typed."""

    storage: str | None
    as_json: bool
    study: str | None = None

    def existing(self) -> str | None:
        """The storage, which must be there already: only ``create`` makes a new file."""
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

    def open(self) -> Study:
        """The study named, or the only one there is."""
        storage = self.connect()
        name = self.study or os.environ.get("NOREGRET_STUDY")
        if name is None:
            names = storage.names()
            if not names:
                raise StorageError("there is no study yet: make one with `noregret create`")
            if len(names) > 1:
                raise StorageError(
                    f"there are {len(names)} studies ({', '.join(names)}):"
                    " say which one with --study NAME"
                )
            name = names[0]
        return Study.open(name, storage=storage)

    def again(self, command: str) -> str:
        """Another command on the same study, as it must be typed; a password is left out."""
        typed = [
            ("--study", self.study),
            ("--storage", PASSWORD.sub(r"\1***@", self.storage) if self.storage else None),
        ]
        return " ".join(
            [
                f"noregret {command}",
                *(f"{option} {shlex.quote(value)}" for option, value in typed if value is not None),
            ]
        )

    def emit(self, document: Any, text: str) -> None:
        click.echo(
            json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
            if self.as_json
            else text
        )


def complete_study(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names for the shell's completion; a storage that cannot be read completes nothing."""
    try:
        return [
            name
            for name in Target(ctx.params.get("storage"), False).connect().names()
            if name.startswith(incomplete)
        ]
    except NoRegretError:
        return []


_STORAGE = click.option(
    "--storage",
    metavar="FILE|URL",
    help=(
        "The database: a file, or a URL such as postgresql://host/db."
        "  [default: NOREGRET_STORAGE, or noregret.db]"
    ),
)
_STUDY = click.option(
    "--study",
    "-s",
    metavar="NAME",
    shell_complete=complete_study,
    help="The study.  [default: NOREGRET_STUDY, or the only one there is]",
)
_JSON = click.option(
    "--json", "as_json", is_flag=True, help="One JSON document on stdout; errors as JSON on stderr."
)


def on_storage(function: Callable[..., None]) -> Callable[..., None]:
    """Gives the command --storage and --json, together as its first argument."""

    @_STORAGE
    @_JSON
    @functools.wraps(function)
    def command(*arguments: Any, storage: str | None, as_json: bool, **options: Any) -> None:
        function(Target(storage, as_json), *arguments, **options)

    return command


def on_study(function: Callable[..., None]) -> Callable[..., None]:
    """Gives the command --study, --storage and --json, together as its first argument."""

    @_STUDY
    @_STORAGE
    @_JSON
    @functools.wraps(function)
    def command(
        *arguments: Any, study: str | None, storage: str | None, as_json: bool, **options: Any
    ) -> None:
        function(Target(storage, as_json, study), *arguments, **options)

    return command


class NumbersCommand(click.Command):
    """A command whose arguments may be negative numbers, which would otherwise read as options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(
            ctx, [f" {word}" if NEGATIVE.match(word) else word for word in args]
        )


# -- points --


def pairs(words: Iterable[str]) -> dict[str, str]:
    """``["a=1", "b=x"]`` as a dict of texts."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise SpaceError(f"write NAME=VALUE, such as temperature=40; got {word!r}")
        if name in found:
            raise SpaceError(f"{name} is given twice")
        found[name] = text
    return found


def typed(texts: Mapping[str, str]) -> dict[str, Any]:
    """JSON where it is JSON, text otherwise."""
    found: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    return found


def parse_point(study: Study, words: Iterable[str]) -> dict[str, Any]:
    """The values named, read by the study's space; which names must be there is the
    study's to say.
    """
    parameters, units = study.space.parameters, units_of(study.record().attributes)
    point = {}
    for name, text in pairs(words).items():
        if name not in parameters:
            raise SpaceError(
                f"there is no parameter {name!r}: this study has {', '.join(parameters)}"
            )
        point[name] = parsed(text, name, parameters[name], units)
    return point
