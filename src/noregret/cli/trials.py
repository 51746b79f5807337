"""Commands about trials: one at a time (ask, tell, correct, add, enqueue) and all at once (import,
export, replay).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import click

from noregret.cli.options import (
    NUMBER,
    NumbersCommand,
    Target,
    on_study,
    pairs,
    parse_point,
    typed,
)
from noregret.cli.output import attributes_text, number, point_text, trial_document, trial_table
from noregret.errors import ConfigurationError
from noregret.space import named_params
from noregret.study import Study
from noregret.trials import State, Trial, standing

NOISE = click.option(
    "--noise",
    "noise_std",
    type=NUMBER,
    metavar="STD",
    help="Standard deviation of this value's noise, if it is known.",
)
REALLY = click.option(
    "--param",
    "really",
    multiple=True,
    metavar="NAME=VALUE",
    help="What was really run, where it was not what was asked for.",
)
REASON = click.option("--reason", metavar="TEXT", help="Why it failed.")
TRANSIENT = click.option(
    "--transient",
    is_flag=True,
    help="With --failed: it was not the point's fault. The model does not see it; see `retry`.",
)
NOTE = click.option("--note", metavar="TEXT", help="Words to keep with it.")
ATTRIBUTE = click.option(
    "--attribute",
    "attributes",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value to keep with it: JSON, or text.",
)
POINT = click.argument("point", nargs=-1, required=True, metavar="NAME=VALUE...")


@click.command(
    short_help="The next point to measure",
    epilog="Example: noregret ask --count 3 --fix solvent=water",
)
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many points at once.",
)
@click.option(
    "--fix",
    multiple=True,
    metavar="NAME=VALUE",
    help="Hold a parameter at a value, this time only.",
)
@on_study
def ask(target: Target, count: int, fix: tuple[str, ...]) -> None:
    """The next point to measure. Points under way are taken into account, so you may ask again
    before you tell.
    """
    study = target.open()
    trials = study.ask(count, fixed=parse_point(study, fix) if fix else None)
    first = trials[0].number
    lines = [
        trial_table(study, trials, outcomes=False),
        "",
        f"measured:  {target.again(f'tell {first} VALUE')}",
        f"failed:    {target.again(f'tell {first} --failed')}",
    ]
    target.emit(
        {"study": study.name, "trials": [trial_document(study, trial) for trial in trials]},
        "\n".join(lines),
    )


@click.command(
    short_help="The value of a trial",
    cls=NumbersCommand,
    epilog=(
        "Example: noregret tell 3 61.2 --noise 0.5 --param temperature=65,"
        ' or noregret tell 3 --failed --reason "no gas"'
    ),
)
@click.argument("trial", type=click.INT)
@click.argument("value", type=NUMBER, required=False)
@NOISE
@REALLY
@REASON
@TRANSIENT
@NOTE
@ATTRIBUTE
@click.option(
    "--failed",
    is_flag=True,
    help=(
        "It could not be measured: the point is not proposed again,"
        " and its surroundings are avoided."
    ),
)
@on_study
def tell(
    target: Target,
    trial: int,
    value: float | None,
    noise_std: float | None,
    failed: bool,
    **said: Any,
) -> None:
    """The VALUE of a TRIAL. It is on the disk when this returns, and it stands: a mistake is put
    right with `correct`.
    """
    _one_of(value, failed)
    study = target.open()
    state: State = "failed" if failed else "complete"
    _told(
        target, study, study.tell(trial, value, noise_std, state=state, **_remarks(study, **said))
    )


@click.command(
    short_help="Replace what was told of a trial",
    cls=NumbersCommand,
    epilog="Example: noregret correct 3 16.2, or noregret correct 3 --failed",
)
@click.argument("trial", type=click.INT)
@click.argument("value", type=NUMBER, required=False)
@NOISE
@REALLY
@REASON
@TRANSIENT
@NOTE
@ATTRIBUTE
@click.option("--failed", is_flag=True, help="It was no valid measurement at all.")
@on_study
def correct(
    target: Target,
    trial: int,
    value: float | None,
    noise_std: float | None,
    failed: bool,
    **said: Any,
) -> None:
    """Replace what was told of a TRIAL. The old entry is kept and no longer counts."""
    _one_of(value, failed)
    study = target.open()
    state: State = "failed" if failed else "complete"
    _told(
        target,
        study,
        study.correct(trial, value, noise_std, state=state, **_remarks(study, **said)),
    )


@click.command(
    short_help="A point measured before, with its value",
    cls=NumbersCommand,
    epilog="Example: noregret add temperature=40 solvent=dmf 61.2 --noise 0.5",
)
@POINT
@click.argument("value", type=NUMBER)
@NOISE
@NOTE
@ATTRIBUTE
@on_study
def add(
    target: Target, point: tuple[str, ...], value: float, noise_std: float | None, **said: Any
) -> None:
    """A point measured before or elsewhere, with its VALUE."""
    study = target.open()
    added = study.add(parse_point(study, point), value, noise_std, **_remarks(study, **said))
    _told(target, study, added)


@click.command(
    short_help="A point you want tried next",
    epilog="Example: noregret enqueue temperature=40 solvent=dmf",
)
@POINT
@NOTE
@ATTRIBUTE
@on_study
def enqueue(target: Target, point: tuple[str, ...], **said: Any) -> None:
    """A point you want tried: the next ask gives it out."""
    study = target.open()
    trial = study.enqueue(parse_point(study, point), **_remarks(study, **said))
    target.emit(
        {"study": study.name, "trial": trial_document(study, trial)},
        f"trial {trial.number} waits: {point_text(study, trial.params)}\n\n"
        f"next: {target.again('ask')}",
    )


@click.command(
    short_help="A note or attributes of a study or a trial",
    epilog='Example: noregret annotate 3 --note "second batch of enzyme" --attribute operator=anna',
)
@click.argument("trial", type=click.INT, required=False)
@NOTE
@ATTRIBUTE
@on_study
def annotate(
    target: Target, trial: int | None, note: str | None, attributes: tuple[str, ...]
) -> None:
    """Write a note or attributes to a TRIAL, or without one to the study. What is not named stays;
    an empty note and an attribute null are taken away.
    """
    if note is None and not attributes:
        raise click.UsageError("give --note TEXT or --attribute NAME=VALUE")
    study = target.open()
    study.annotate(trial, note=note, attributes=typed(pairs(attributes)))
    now: Any = study if trial is None else study.trials[trial]
    document = {"study": study.name, "trial": trial, "note": now.note}
    what = f"study {study.name}" if trial is None else f"trial {trial}"
    said = [each for each in (now.note, attributes_text(now.attributes)) if each]
    target.emit(
        {**document, "attributes": dict(now.attributes)},
        f"{what}: {'; '.join(said) or 'nothing noted'}",
    )


def _remarks(
    study: Study,
    note: str | None,
    attributes: tuple[str, ...],
    really: tuple[str, ...] | None = None,
    reason: str | None = None,
    transient: bool = False,
) -> dict[str, Any]:
    """What was typed besides the value, as the study takes it."""
    said: dict[str, Any] = {"note": note, "attributes": typed(pairs(attributes)) or None}
    if really is not None:
        said |= {"params": parse_point(study, really) or None, "reason": reason}
    if transient:
        said["transient"] = True
    return said


def _one_of(value: float | None, failed: bool) -> None:
    if (value is None) != failed:
        raise click.UsageError("give a VALUE, or --failed")


def _told(target: Target, study: Study, trial: Trial) -> None:
    """What was recorded, and how it compares."""
    document: dict[str, Any] = {
        "study": study.name,
        "trial": trial_document(study, trial),
        "best": None,
    }
    failed = "failed, not the point's fault," if trial.transient else "failed"
    told = failed if trial.value is None else number(trial.value)
    lines = [f"trial {trial.number}: {told} at {point_text(study, trial.params)}"]
    if trial.asked is not None:
        lines.append(f"asked for: {point_text(study, trial.asked)}")
    trials = standing(study.trials)
    if any(each.state == "complete" for each in trials):
        best = study.best
        document["best"] = trial_document(study, best)
        same = best.number == trial.number
        lines.append(
            "the best so far"
            if same
            else (
                f"best so far: {number(best.value)} at trial {best.number},"
                f" {point_text(study, best.params)}"
            )
        )
    running = [str(each.number) for each in trials if each.state == "running"]
    lines += [f"still under way: trial {', '.join(running)}"] if running else []
    again = [f"again: {target.again(f'retry {trial.number}')}"] if trial.transient else []
    target.emit(document, "\n".join([*lines, "", *again, f"next: {target.again('ask')}"]))


# -- all at once --


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
    target.emit(document, text)
    if found.number is not None:
        ctx.exit(1)
