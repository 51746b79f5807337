"""Commands that show a study: show, best, plot, export, replay."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from noregret.cli.options import (
    TRIAL,
    Target,
    command,
    complete_study,
    pairs,
    parse_point,
    typed,
    unless,
)
from noregret.cli.output import (
    STATE_WORDS,
    attributes_text,
    counts,
    counts_text,
    parameter_range,
    point_text,
    results,
    results_text,
    study_document,
    trial_document,
    trial_table,
    trial_text,
)
from noregret.diagnostics.presentation import table
from noregret.errors import ConfigurationError, MissingExtraError, UnknownTrialError
from noregret.space import Space, named_params
from noregret.strategies import algorithm_of, display_name
from noregret.study import Study, algorithms
from noregret.trials import State, Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECTION = "Results"
SHOWN = 20  # trials in a table without --all
PROBABILITY = click.FloatRange(0, 1, min_open=True, max_open=True)


@command(SECTION, "noregret show lab, or noregret show lab 7 for one trial", study=TRIAL)
@click.argument("trial", type=click.INT, required=False)
@click.option("--all", "everything", is_flag=True, help=f"All trials, not only the last {SHOWN}.")
@click.option("--state", type=click.Choice(list(STATE_WORDS)), help="Only trials in this state.")
@click.option("--where", multiple=True, metavar="NAME=VALUE", help="Only with this attribute.")
@click.option("--about", metavar="TEXT", help="Only with this text in the note or the reason.")
def show(
    target: Target,
    trial: int | None,
    everything: bool,
    state: State | None,
    where: tuple[str, ...],
    about: str | None,
) -> None:
    """Show a study: its parameters, its trials and the best point.

    With the number of a TRIAL, show that trial and why its point was chosen.
    """
    study = target.read()
    if trial is not None:
        trials = study.trials
        if not 0 <= trial < len(trials):
            raise UnknownTrialError(
                f"there is no trial {trial}: this study has {len(trials)} (numbers from 0)"
            )
        target.emit(
            {"study": study.name, "trial": trial_document(study, trials[trial])},
            trial_text(study, trials[trial]),
        )
        return
    selected = _matching(study.trials, state, about, typed(pairs(where)))
    found = results(study)
    document = {
        **study_document(study),
        **counts(study),
        **found,
        "trials": [trial_document(study, each) for each in selected],
    }
    target.emit(document, _study_text(target, study, found, selected, everything))


def _matching(
    trials: list[Trial], state: State | None, text: str | None, attributes: dict[str, Any]
) -> list[Trial]:
    """The trials in this state, with this text in their note or error, with these attributes."""
    return [
        trial
        for trial in trials
        if (state is None or trial.state == state)
        and (
            text is None or text.casefold() in f"{trial.note or ''}\n{trial.error or ''}".casefold()
        )
        and all(
            name in trial.attributes and trial.attributes[name] == value
            for name, value in attributes.items()
        )
    ]


def _study_text(
    target: Target, study: Study, found: dict[str, Any], selected: list[Trial], everything: bool
) -> str:
    space, record = study.space, study.record()
    note, origin = record.note, record.origin
    attributes = attributes_text(record.attributes)
    rules = [f"{name} {limit}" for name, limit in study.outcomes.items()]
    ranges = [[name, parameter_range(each)] for name, each in space.parameters.items()]
    lines = [
        f"study {study.name}: {study.goal}, {counts_text(counts(study))}",
        "",
        table(["parameter", "range"], ranges),
        "",
    ]
    if isinstance(space, Space):
        for label, each in (
            ("constraint   ", space.constraints),
            ("exists       ", space.branches),
        ):
            lines += [*(f"{label}{rule}" for rule in each), ""] if each else []
    facts = {
        "limits": "; ".join(rules),
        "context": ", ".join(study.context),
        "strategy": f"{display_name(study.strategy)}, seed {record.seed}",
        "algorithm": _algorithms(study),
        "guarantee": study.strategy.theorem,
    }
    lines += [f"{label:<13}{text}" for label, text in facts.items() if text]
    lines.append(results_text(study, found))
    remarks = {"note": note, "made from": origin and origin["study"], "attributes": attributes}
    lines += [*(f"{label:<13}{text}" for label, text in remarks.items() if text), ""]
    shown = selected if everything else selected[-SHOWN:]
    if len(shown) < len(selected):
        lines.append(f"({len(selected) - len(shown)} earlier trials: --all shows them)")
    if shown:
        lines += [trial_table(study, shown), ""]
    running = next((each for each in study.trials if each.state == "running"), None)
    if running is None:
        lines.append(f"next: {target.again('ask')}")
    else:
        lines.append(f"next: {target.again(f'tell {running.number} VALUE')}, once it is measured")
    return "\n".join(lines)


def _algorithms(study: Study) -> str:
    """The versions of the strategy that proposed the trials; empty if it is today's alone."""
    versions, today = algorithms(study.trials), algorithm_of(study.strategy)
    if all(algorithm == today for _, algorithm in versions):
        return ""
    text = ", ".join(f"{algorithm} from trial {first} on" for first, algorithm in versions)
    return text + ("" if versions[-1][1] == today else f", {today} from the next one on")


@command(SECTION, "noregret best lab")
@click.option("--delta", type=PROBABILITY, help="Failure probability of the certificate.")
def best(target: Target, delta: float | None) -> None:
    """Show the best value and the recommended point.

    With noise the best value is partly luck: the recommended point is the best by the model.
    """
    study = target.read()
    study.best  # noqa: B018 — raises without a value
    resolution = study.resolution()
    found = {
        **results(study, delta),
        "resolution": {
            "radius": resolution.radius,
            "exact": resolution.exact,
            "text": str(resolution),
        },
    }
    target.emit({"study": study.name, "goal": study.goal, **found}, results_text(study, found))


# -- pictures --


KINDS = (
    *("convergence", "slice", "slices", "contour", "importance", "parallel", "timeline"),
    *("studies", "lengthscales", "certificate", "calibration", "policy", "outcomes"),
)
SLICED = ("slice", "slices", "contour", "policy", "outcomes")
ENDINGS = ("png", "svg", "pdf")


@command(
    SECTION,
    "noregret plot lab slice --along temperature --at solvent=water --out slice.png",
    study=unless("|".join(KINDS)),
)
@click.argument("kind", type=click.Choice(KINDS), default="convergence")
@click.option(
    "--along",
    multiple=True,
    metavar="NAME",
    help="The parameter of a slice; twice for a map over two.  [default: the first, or two]",
)
@click.option(
    "--at",
    multiple=True,
    metavar="NAME=VALUE",
    help="The value of another parameter on the slice.  [default: the recommended point's]",
)
@click.option("--delta", type=PROBABILITY, help="Failure probability of the certificate.")
@click.option(
    "--also",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_study,
    help="Another study beside it, for `plot studies`.  [default: all of the same goal]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.png|svg|pdf",
    help="The file to write.  [default: STUDY-KIND.png]",
)
def plot(
    target: Target,
    kind: str,
    along: tuple[str, ...],
    at: tuple[str, ...],
    delta: float | None,
    also: tuple[str, ...],
    out: Path | None,
) -> None:
    """Draw a study into a file.

    convergence: values and the best so far. slice, slices: the model's mean and band along one
    parameter, or along each. contour: its mean over two. importance: which parameters matter.
    parallel: all trials at once. timeline: when they ran. studies: the best so far of several.
    lengthscales: those of the model, and its widening h. certificate: the bound on the regret.
    calibration: predictions against values. policy: the best action as a function of the context.
    outcomes: an outcome and its limit.
    """
    if ((along or at) and kind not in SLICED) or (along and kind == "slices"):
        raise ConfigurationError(
            f"--along is for `noregret plot slice`, contour, policy and outcomes, --at for these"
            f" and slices, not for {kind}"
        )
    if also and kind != "studies":
        raise ConfigurationError(f"--also is for `noregret plot studies`, not for {kind}")
    if delta is not None and kind != "certificate":
        raise ConfigurationError(f"--delta is for `noregret plot certificate`, not for {kind}")
    check_picture(out)
    if kind == "studies":
        study, *others = _studies(target, also)
    else:
        study, others = target.read(), []
    path = out or Path(f"{_file_name(study.name)}-{kind}.png")
    figure = _draw(study, kind, list(along), parse_point(study, at), delta, others)
    figure.savefig(path, dpi=150)
    target.emit(
        {"study": study.name, "kind": kind, "file": str(path)}, f"{kind} of {study.name} in {path}"
    )


def check_picture(path: Path | None) -> None:
    """Raises if the ending names no format of a picture."""
    if path is not None and path.suffix[1:].lower() not in ENDINGS:
        raise ConfigurationError(f"{path} must end in .png, .svg or .pdf")


def new_figure(width: float = 7.2, height: float = 4.2) -> Figure:
    """An empty figure, in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib: install it with `pip install noregret[plot]`"
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def _draw(
    study: Study,
    kind: str,
    along: list[str],
    at: dict[str, Any],
    delta: float | None,
    others: Sequence[Study],
) -> Figure:
    inputs = [name for name, each in study.space.parameters.items() if each.width > 0]
    count = len(inputs)
    sizes = {
        "lengthscales": (7.2, 6.4),
        "slices": (4.6 * min(count, 3), 3.4 * -(-count // 3) + 0.6),
        "parallel": (max(7.2, 1.3 * count + 3), 4.2),
        "importance": (7.2, max(2.4, 0.4 * count + 1.4)),
        "timeline": (7.2, min(max(3.0, 0.16 * len(study.trials) + 1.2), 14)),
    }
    figure = new_figure(*sizes.get(kind, ()))
    from noregret import plot as pictures

    if kind == "lengthscales":
        above, below = figure.subplots(2, 1, sharex=True)
        pictures.lengthscales(study, ax=above).set_xlabel("")
        pictures.scaling(study, ax=below).set_title("")
    elif kind == "slices":
        pictures.slices(study, at=at, figure=figure)
    else:
        ax, first = figure.subplots(), along[0] if along else None
        if kind == "contour":
            pictures.slice(study, along or inputs[:2], at=at, ax=ax)
        elif kind == "slice":
            pictures.slice(study, along or None, at=at, ax=ax)
        elif kind == "studies":
            pictures.studies([study, *others], ax=ax)
        elif kind == "policy":
            pictures.policy(study, first, at=at, ax=ax)
        elif kind == "outcomes":
            pictures.outcomes(study, first, ax=ax)
        elif kind == "certificate":
            pictures.certificate(study, delta=delta, ax=ax)
        else:
            getattr(pictures, kind)(study, ax=ax)
    return figure


def _studies(target: Target, also: Sequence[str]) -> list[Study]:
    """The study and those named ``also``; without any, all of the same goal in the storage."""
    storage = target.connect()
    if target.study is None and not also:
        target = replace(target, study=min(storage.names(), default=""))
    study = target.open(storage)
    same = [each.name for each in storage.summaries() if each.goal == study.goal]
    names = also or [name for name in same if name != study.name]
    return [study, *(Study.open(name, storage=storage) for name in names)]


def _file_name(name: str) -> str:
    """The study's name with only such characters as any file name may have."""
    letters = (letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return "".join(letters).strip(".-") or "study"


# -- all trials --


FORMATS = ("csv", "json", "parquet")


@command(SECTION, "noregret export lab lab.csv", study=unless(r".*[./].*"))
@click.argument("file", type=click.Path(path_type=Path), required=False, metavar="[FILE]")
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    help="The format.  [default: by the file's ending; csv, or json with --json, without a file]",
)
def export(
    target: Target, file: Path | None, kind: Literal["csv", "json", "parquet"] | None
) -> None:
    """Write all trials as CSV, JSON or Parquet.

    They go to the FILE, or to standard output.
    """
    study = target.open()
    if file is None:
        kind = kind or ("json" if target.as_json else "csv")
        if kind == "parquet" or (target.as_json and kind != "json"):
            raise ConfigurationError(
                f"{kind} cannot go to standard output{' with --json' if target.as_json else ''}:"
                " name a file"
            )
        study.export(sys.stdout, kind)
        return
    ending: Any = file.suffix[1:].lower()
    if kind is None and ending not in FORMATS:
        raise ConfigurationError(
            f"the format of {file} is not known: let it end in .csv, .json or .parquet, or give"
            " --format"
        )
    study.export(file, kind or ending)
    count = len(study.trials)
    target.emit(
        {"study": study.name, "file": str(file), "format": kind or ending, "trials": count},
        f"{count} trials in {file}",
    )


@command(SECTION, "noregret replay lab")
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=1e-6,
    help="Largest difference on the unit cube, for other machines' arithmetic.",
)
def replay(target: Target, tolerance: float) -> None:
    """Check every proposal against the history.

    Each is derived again from the trials before it. The exit code is 1 if one differs.
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
        document["differs"] = {
            "number": found.number,
            "recorded": named_params(study.space, found.recorded),
            "derived": named_params(study.space, found.derived),
        }
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
        click.get_current_context().exit(1)
