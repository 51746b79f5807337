"""Commands about all trials of a study at once: import, export, replay."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import click

from noregret.cli.options import Target, on_study
from noregret.cli.output import point_text, trial_document
from noregret.errors import ConfigurationError
from noregret.space import named_params

FORMATS = ("csv", "json", "parquet")


@click.command(
    "import",
    short_help="Measured points from a CSV file",
    epilog="Example: noregret import measured.csv",
)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.csv")
@on_study
def import_(target: Target, file: Path) -> None:
    """Points measured before, from a CSV file: a column per parameter, one called value, and
    noise_std if known.

    All lines are taken or none: a line that cannot be read is named. - reads from standard input.
    """
    study = target.open()
    trials = study.import_csv(sys.stdin if str(file) == "-" else file)
    text = f"added {len(trials)} trials\n\nnext: {target.again('show')}"
    target.emit(
        {"study": study.name, "trials": [trial_document(study, trial) for trial in trials]}, text
    )


@click.command(
    short_help="All trials as CSV, JSON or Parquet", epilog="Example: noregret export lab.csv"
)
@click.argument("file", type=click.Path(path_type=Path), required=False, metavar="[FILE]")
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    help=(
        "Of the file.  [default: by the file's ending;"
        " csv, or json with --json, on standard output]"
    ),
)
@on_study
def export(
    target: Target, file: Path | None, kind: Literal["csv", "json", "parquet"] | None
) -> None:
    """All trials as CSV, JSON or Parquet, to a FILE or to standard output."""
    study = target.open()
    if file is None:
        chosen = kind or ("json" if target.as_json else "csv")
        if chosen == "parquet" or (target.as_json and chosen != "json"):
            raise ConfigurationError(
                f"{chosen} cannot go to standard output{' with --json' if target.as_json else ''}:"
                " name a file"
            )
        study.export(sys.stdout, chosen)
        return
    ending = file.suffix[1:].lower()
    if kind is None and ending not in FORMATS:
        raise ConfigurationError(
            f"{file} does not say which format is wanted:"
            " let it end in .csv, .json or .parquet, or give --format"
        )
    study.export(file, kind or ending)  # type: ignore[arg-type]
    count = len(study.trials)
    target.emit(
        {"study": study.name, "file": str(file), "format": kind or ending, "trials": count},
        f"{count} trials in {file}",
    )


@click.command(
    short_help="Check every proposal against the history",
    epilog="Example: noregret replay --study lab",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=1e-6,
    show_default=True,
    help="On the unit cube, for other machines' arithmetic.",
)
@on_study
@click.pass_context
def replay(ctx: click.Context, target: Target, tolerance: float) -> None:
    """Derive every proposal again from the history; exit code 1 if one differs.

    A study is its rows: what the strategy proposed can be checked by anyone, at any time.
    """
    study = target.open()
    found = study.replay(tolerance)
    document: dict[str, Any] = {
        "study": study.name,
        "agrees": found.number is None,
        "agreed": found.agreed,
        "differs": None,
        "skipped": found.skipped,
        "since": found.since,
    }
    text = f"{found.agreed} proposals derived again, all as they are recorded"
    if found.number is not None:
        recorded, derived = (
            named_params(study.space, found.recorded),
            named_params(study.space, found.derived),
        )
        document["differs"] = {"number": found.number, "recorded": recorded, "derived": derived}
        text = (
            f"{found.agreed} proposals agree; trial {found.number} is the first that differs\n"
            f"  recorded  {point_text(study, found.recorded)}\n"
            f"  derived   {point_text(study, found.derived)}"
        )
    if found.skipped:
        text += (
            f"\n{found.skipped} were made by another version of the strategy and cannot be"
            f" derived: from trial {found.since} on, all can"
        )
    target.emit(document, text)
    if found.number is not None:
        ctx.exit(1)
