"""The command line. Errors go to stderr with exit code 2; ``--json`` makes output for machines."""

from __future__ import annotations

import sys

import click

from noregret import __version__
from noregret.cli.reproduce import reproduce
from noregret.cli.serve import serve
from noregret.cli.theory import theory
from noregret.errors import NoRegretError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="noregret")
def cli() -> None:
    """Bayesian optimization that keeps its promise when the hyperparameters are unknown."""


cli.add_command(reproduce)
cli.add_command(serve)
cli.add_command(theory)


def run() -> None:
    """Entry point: our errors as one line on stderr, exit code 2."""
    try:
        cli()
    except NoRegretError as error:
        click.echo(f"noregret: {error}", err=True)
        sys.exit(2)
