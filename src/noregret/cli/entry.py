"""All commands under one name, and what becomes of every error."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from noregret import __version__
from noregret.cli.completion import completion
from noregret.cli.data import export, import_, replay
from noregret.cli.pictures import plot
from noregret.cli.reproduce import reproduce
from noregret.cli.running import run as run_
from noregret.cli.serve import serve
from noregret.cli.studies import best, create, delete, list_, show, upgrade
from noregret.cli.theory import theory
from noregret.cli.trials import add, ask, correct, enqueue, reclaim, tell
from noregret.errors import GuaranteeWarning, NoRegretError

INTERRUPTED = 130


class Commands(click.Group):
    """A group whose users see no traceback: an error is a line on stderr, or a JSON document with
    ``--json``.
    """

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> NoReturn:
        arguments = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in arguments
        extra.update(standalone_mode=False, prog_name="noregret")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GuaranteeWarning)  # said once, by create
                code = super().main(arguments, *others, **extra)
        except click.Abort as error:
            notes = getattr(
                error.__cause__,
                "__notes__",
                ["Everything told is kept: type the same command again to go on."],
            )
            _fail("Interrupted", " ".join(["stopped.", *notes]), as_json, INTERRUPTED)
        except click.UsageError as error:
            if not as_json:
                error.show()
                sys.exit(error.exit_code)
            _fail(type(error).__name__, error.format_message(), as_json)
        except OSError as error:
            _fail(
                type(error).__name__,
                f"{error.filename}: {error.strerror}" if error.filename else str(error),
                as_json,
            )
        except NoRegretError as error:
            _fail(
                type(error).__name__,
                " ".join([str(error), *getattr(error, "__notes__", [])]),
                as_json,
            )
        sys.exit(code if isinstance(code, int) else 0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of a day's work, not of the alphabet


def _fail(kind: str, message: str, as_json: bool, code: int = 2) -> NoReturn:
    click.echo(
        (
            json.dumps({"error": kind, "message": message}, ensure_ascii=False)
            if as_json
            else f"noregret: {message}"
        ),
        err=True,
    )
    sys.exit(code)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=(
        "Start with: noregret create lab --float temperature 20 90 --goal maximize, then noregret"
        " ask."
    ),
)
@click.version_option(__version__, prog_name="noregret")
def cli() -> None:
    """Bayesian optimization that keeps its promise when the hyperparameters are unknown.

    A study lives in a database (noregret.db in the working folder, or --storage, or
    NOREGRET_STORAGE): ask it for a point, measure, tell it the value, from any number of shells.
    """


for command in (
    create,
    list_,
    ask,
    tell,
    add,
    enqueue,
    import_,
    run_,
    correct,
    show,
    best,
    plot,
    serve,
    export,
    replay,
    reclaim,
    delete,
    upgrade,
    completion,
    theory,
    reproduce,
):
    cli.add_command(command)


def run() -> None:
    """Entry point."""
    try:
        cli()
    except SystemExit as stop:
        if stop.code != INTERRUPTED:
            raise
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(
            INTERRUPTED
        )  # a thread in the user's function cannot be ended, and would be waited for
