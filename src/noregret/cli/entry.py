"""All commands under one name, their completion in the shell, and what becomes of every error."""

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
from click.shell_completion import get_completion_class

from noregret import __version__
from noregret.cli.comparing import compare_
from noregret.cli.exchange import export, import_, replay
from noregret.cli.making import create, derive
from noregret.cli.running import run as run_
from noregret.cli.second_tries import reclaim, retry
from noregret.cli.studies import backup, best, delete, list_, recover, show, upgrade
from noregret.cli.theory import theory
from noregret.cli.trials import add, annotate, ask, correct, enqueue, tell
from noregret.cli.views import plot, serve
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
        except UnicodeError as error:
            said = f"a text here cannot be read or written ({error}): is this terminal's in UTF-8?"
            _fail(type(error).__name__, said, as_json)
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
        "Start with: noregret create lab --float temperature 20 90 --goal maximize,"
        " then noregret ask."
    ),
)
@click.version_option(__version__, prog_name="noregret")
def cli() -> None:
    """Bayesian optimization that keeps its promise when the hyperparameters are unknown.

    A study lives in a database (noregret.db in the working folder, or --storage, or
    NOREGRET_STORAGE): ask it for a point, measure, tell it the value, from any number of shells.
    """


@click.command(
    short_help="Completion for your shell",
    epilog='Example: eval "$(noregret completion bash)", in your ~/.bashrc to keep it',
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """The script that completes commands, options and study names in your SHELL.

    zsh: eval "$(noregret completion zsh)" in ~/.zshrc. fish: noregret completion fish >
    ~/.config/fish/completions/noregret.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "noregret", "_NOREGRET_COMPLETE").source()
    click.echo(json.dumps({"shell": shell, "script": script}) if as_json else script)


def of_the_checkout() -> list[click.Command]:
    """``reproduce``, if this package runs from the repository, where the experiments are: a package
    called ``research`` anywhere else is a stranger's and is not touched.
    """
    beside = Path(__file__).parents[3] / "research" / "__init__.py"
    found = find_spec("research")
    if found is None or found.origin is None or Path(found.origin) != beside:
        return []
    return [import_module("research.paper.command").reproduce]


for command in (
    create,
    derive,
    list_,
    ask,
    tell,
    add,
    enqueue,
    import_,
    run_,
    correct,
    annotate,
    show,
    best,
    plot,
    serve,
    export,
    replay,
    reclaim,
    retry,
    delete,
    backup,
    recover,
    upgrade,
    completion,
    compare_,
    theory,
    *of_the_checkout(),
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
        # a thread in the user's function cannot be ended, and would be waited for
        os._exit(INTERRUPTED)
