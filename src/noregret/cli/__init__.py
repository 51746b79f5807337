"""The command line. Errors go to stderr with exit code 2; ``--json`` is for programs."""

from __future__ import annotations

from noregret.cli.entry import cli, run

__all__ = ["cli", "run"]
