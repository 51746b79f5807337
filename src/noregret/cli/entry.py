"""All commands under one name, in the sections of the help, and errors as one line."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import click

from noregret import __version__
from noregret.cli import research, results, running, studies, trials
from noregret.diagnostics.presentation import without_python
from noregret.errors import GuaranteeWarning, NoRegretError

INTERRUPTED = 130


class Commands(click.Group):
    """A group whose errors are one line on stderr, or a JSON document with ``--json``; never a
    traceback.
    """

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> NoReturn:
        arguments = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in arguments
        extra.update(standalone_mode=False, prog_name="noregret")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GuaranteeWarning)  # create prints them
                code = super().main(arguments, *others, **extra)
        except click.Abort as error:
            stored = "All values are stored: type the same command again to go on."
            notes = getattr(error.__cause__, "__notes__", [stored])
            _fail("Interrupted", " ".join(["stopped.", *notes]), as_json, INTERRUPTED)
        except click.UsageError as error:
            if not as_json:
                error.show()
                sys.exit(error.exit_code)
            _fail(type(error).__name__, error.format_message(), as_json)
        except (OSError, UnicodeError, NoRegretError) as error:
            _fail(type(error).__name__, _message(error), as_json)
        sys.exit(code if isinstance(code, int) else 0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of use

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = formatter.width - 6 - max(map(len, self.commands))
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(
                    [(str(each.name), each.get_short_help_str(width)) for each in commands]
                )


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, UnicodeError):
        return f"a text cannot be read or written ({error}): use a terminal in UTF-8"
    text = " ".join([str(error), *getattr(error, "__notes__", [])])
    return without_python(text) if isinstance(error, NoRegretError) else text


def _fail(kind: str, message: str, as_json: bool, code: int = 2) -> NoReturn:
    document = json.dumps({"error": kind, "message": message}, ensure_ascii=False)
    click.echo(document if as_json else f"noregret: {message}", err=True)
    sys.exit(code)


@click.group(
    cls=Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 110,
        "show_default": True,
    },
    epilog=(
        "Start with: noregret create lab --float temperature 20 90 --goal maximize,"
        " then noregret ask lab."
    ),
)
@click.version_option(__version__, prog_name="noregret")
def cli() -> None:
    """Bayesian optimization that keeps its promise when the hyperparameters are unknown.

    A study is stored in a database: noregret.db in the working folder, or --storage, or
    NOREGRET_STORAGE. Ask it for a point, measure, and tell it the value, from any number of shells.
    The study's name is the first word after the command. It may be left out if there is only one.
    """


def of_the_checkout() -> list[click.Command]:
    """``reproduce``, if this package runs from the repository that has the experiments. Any other
    package called ``research`` is not touched.
    """
    beside = Path(__file__).parents[3] / "research" / "__init__.py"
    found = find_spec("research")
    if found is None or found.origin is None or Path(found.origin) != beside:
        return []
    return [import_module("research.paper.command").reproduce]


def group(name: str, text: str, *commands: click.Command) -> click.Group:
    """Commands of one purpose under one name."""
    return click.Group(name, {str(each.name): each for each in commands}, help=text)


SECTIONS: dict[str, list[click.Command]] = {
    "Study": [
        *(studies.create_command, studies.derive_command, studies.list_command),
        *(studies.serve_command, studies.delete_command),
        group(
            "database",
            "Back up, repair or upgrade a database.",
            *(studies.backup_command, studies.recover_command, studies.upgrade_command),
        ),
    ],
    "Experiment": [
        *(trials.ask_command, trials.tell_command, trials.correct_command, trials.add_command),
        *(trials.import_command, running.run_command, trials.annotate_command),
        trials.retry_command,
    ],
    "Results": [results.show_command, results.plot_command, results.export_command],
    "Research": [
        group(
            "research",
            "Compare strategies, compute bounds, replay proposals.",
            *(research.compare_command, research.theory, results.replay_command),
            *of_the_checkout(),
        )
    ],
}
for each in (each for section in SECTIONS.values() for each in section):
    cli.add_command(each)


def run() -> None:
    """Entry point."""
    try:
        cli()
    except SystemExit as stop:
        if stop.code != INTERRUPTED:
            raise
        sys.stdout.flush()
        sys.stderr.flush()
        # a thread of the user's function cannot be ended, and Python would wait for it
        os._exit(INTERRUPTED)
