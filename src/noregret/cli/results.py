"""Commands that show a study: show, plot, export, replay."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import click

from noregret import plot as pictures
from noregret.cli import options, output
from noregret.diagnostics.presentation import format_table
from noregret.errors import ConfigurationError, UnknownTrialError
from noregret.plot import canvas
from noregret.space import Space, named_params
from noregret.strategies import algorithm_of, display_name
from noregret.study import CHANCE, Study, algorithms
from noregret.trials import State, Trial

SHOWN = 20  # trials in a table without --all


@options.command
def show_command(
    target: options.Target,
    trial: int | None = None,
    *,
    all_: bool = False,
    state: State | None = None,
    where: options.Assignments = (),
    about: options.Text = None,
    delta: options.Probability | None = None,
    chance: options.Probability = CHANCE,
) -> None:
    """Show a study: its parameters, trials and best point.

    With the number of a TRIAL, show that trial and why its point was chosen.

    Args:
        all_: All trials, not only the last 20.
        state: Only trials in this state.
        where: Only with this attribute.
        about: Only with this text in the note or the reason.
        delta: Failure probability of the certificate.
        chance: How sure it must be that the recommended point keeps all limits.

    Example:
        noregret show lab, or noregret show lab 7 for one trial
    """
    study = target.read()
    if trial is not None:
        trials = study.trials
        if not 0 <= trial < len(trials):
            raise UnknownTrialError(
                f"there is no trial {trial}: this study has {len(trials)} (numbers from 0)"
            )
        one = {"study": study.name, "trial": output.trial_document(study, trials[trial])}
        target.emit(one, output.trial_text(study, trials[trial]))
        return
    attributes, text = options.typed_pairs(where), (about or "").casefold()
    selected = [
        trial
        for trial in study.trials
        if state in (None, trial.state)
        and text in f"{trial.note or ''}\n{trial.error or ''}".casefold()
        and attributes.items() <= dict(trial.attributes).items()
    ]
    found = output.results(study, delta, chance)
    if any(each.value is not None for each in study.trials):
        resolution = study.resolution()
        radius, exact = resolution.radius, resolution.exact
        found["resolution"] = {"radius": radius, "exact": exact, "text": str(resolution)}
    document = output.study_document(study) | output.counts(study) | found
    document["trials"] = [output.trial_document(study, each) for each in selected]
    target.emit(document, _study_text(target, study, found, selected, all_))


def _study_text(
    target: options.Target,
    study: Study,
    found: dict[str, Any],
    selected: list[Trial],
    everything: bool,
) -> str:
    space, record = study.space, study.record()
    attributes = output.attributes_text(record.attributes)
    limits = [f"{name} {limit}" for name, limit in study.outcomes.items()]
    ranges = [[name, output.parameter_range(each)] for name, each in space.parameters.items()]
    lines = [
        f"study {study.name}: {study.goal}, {output.counts_text(study)}",
        "",
        format_table(["parameter", "range"], ranges),
        "",
    ]
    if isinstance(space, Space):
        for label, rules in (("constraint", space.constraints), ("exists", space.branches)):
            lines += [*(f"{label:<13}{rule}" for rule in rules), ""] if rules else []
    facts = {
        "limits": "; ".join(limits),
        "context": ", ".join(study.context),
        "strategy": f"{display_name(study.strategy)}, seed {record.seed}",
        "algorithm": _algorithms(study),
        "guarantee": study.strategy.theorem if study.strategy.proved else "",
    }
    lines += [*output.labelled(facts), output.results_text(study, found)]
    made_from = None if record.origin is None else str(record.origin["study"])
    remarks = {"note": record.note, "made from": made_from, "attributes": attributes}
    lines += [*output.labelled(remarks), ""]
    shown = selected if everything else selected[-SHOWN:]
    if len(shown) < len(selected):
        lines.append(f"({len(selected) - len(shown)} earlier trials: --all shows them)")
    if shown:
        lines += [output.trial_table(study, shown), ""]
    running = [trial.number for trial in study.trials if trial.state == "running"]
    tell = running and f"{target.again(f'tell {running[0]} VALUE')}, once it is measured"
    lines.append(f"next: {tell or target.again('ask')}")
    return "\n".join(lines)


def _algorithms(study: Study) -> str:
    """The versions of the strategy that proposed the trials; empty if it is today's alone."""
    versions, today = algorithms(study.trials), algorithm_of(study.strategy)
    if all(algorithm == today for _, algorithm in versions):
        return ""
    text = ", ".join(f"{algorithm} from trial {first} on" for first, algorithm in versions)
    return text + ("" if versions[-1][1] == today else f", {today} from the next one on")


# -- pictures --


KINDS = (
    *("convergence", "slice", "slices", "contour", "importance", "parallel", "timeline"),
    *("studies", "lengthscales", "certificate", "calibration", "policy", "outcomes"),
)
TAKEN = {  # by which kinds an option is
    "along": ("slice", "contour", "policy", "outcomes"),
    "at": ("slice", "slices", "contour", "policy"),
    "delta": ("certificate",),
    "also": ("studies",),
}
ENDINGS = ("png", "svg", "pdf")


@options.command
def plot_command(
    target: options.Target,
    kind: Annotated[str, click.Choice(KINDS)] = "convergence",
    *,
    along: options.Names = (),
    at: options.Assignments = (),
    delta: options.Probability | None = None,
    also: Annotated[options.Names, options.complete_study] = (),
    out: options.PictureFile = None,
) -> None:
    """Draw a study into a file.

    convergence: values and the best so far. slice, slices: the model's mean and band along one
    parameter, or along each. contour: its mean over two. importance: which parameters matter.
    parallel: all trials at once. timeline: when they ran. studies: the best so far of several.
    lengthscales: those of the model, and its widening h. certificate: the bound on the regret.
    calibration: predictions against values. policy: the best action as a function of the context.
    outcomes: an outcome and its limit.

    Args:
        along: The parameter of a slice; twice for a map. [default: the first]
        at: The value of another parameter on the slice. [default: the recommended point's]
        delta: Failure probability of the certificate.
        also: Another study beside it, for `plot studies`. [default: all of the same goal]
        out: The file to write. [default: STUDY-KIND.png]

    Example:
        noregret plot lab slice --along temperature --at solvent=water --out slice.png
    """
    for name, value in (("along", along), ("at", at), ("delta", delta), ("also", also)):
        if value and kind not in TAKEN[name]:
            raise ConfigurationError(
                f"--{name} is for `noregret plot {', '.join(TAKEN[name])}`, not for {kind}"
            )
    prepare_picture(out)
    if kind == "studies":
        study, *others = _studies(target, also)
    else:
        study, others = target.read(), []
    letters = (each if each.isalnum() or each in "-_." else "-" for each in study.name)
    path = out or Path(f"{''.join(letters).strip('.-') or 'study'}-{kind}.png")
    point = options.parse_point(study, at)
    canvas.save(_draw(study, kind, list(along), point, delta, others), path)
    document = {"study": study.name, "kind": kind, "file": str(path)}
    target.emit(document, f"{kind} of {study.name} in {path}")


def prepare_picture(path: Path | None) -> None:
    """Raises if the ending names no format of a picture; lets no window open."""
    if path is not None and path.suffix[1:].lower() not in ENDINGS:
        raise ConfigurationError(f"{path} must end in .png, .svg or .pdf")
    os.environ.setdefault("MPLBACKEND", "agg")  # needs no display


def _draw(
    study: Study,
    kind: str,
    along: list[str],
    at: dict[str, Any],
    delta: float | None,
    others: Sequence[Study],
) -> Any:
    """The figure."""
    if kind == "lengthscales":
        above, below = canvas.new_figure(7.2, 6.4).subplots(2, 1, sharex=True)
        pictures.lengthscales(study, ax=above).set_xlabel("")
        pictures.scaling(study, ax=below).set_title("")
        return above.figure
    arguments: list[Any] = [[study, *others] if kind == "studies" else study]
    name = "slice" if kind == "contour" and len(along) > 1 else kind
    if name == "contour":
        arguments += along
    elif name == "slice":
        arguments.append(along)
    elif kind in TAKEN["along"]:
        arguments.append(next(iter(along), None))
    chosen = {name: value for name, value in (("at", at), ("delta", delta)) if kind in TAKEN[name]}
    drawn = getattr(pictures, "comparison" if name == "studies" else name)(*arguments, **chosen)
    return drawn[0].figure if kind == "slices" else drawn.figure


def _studies(target: options.Target, also: Sequence[str]) -> list[Study]:
    """The study and those named ``also``; without any, all of the same goal in the storage."""
    storage = target.connect()
    if target.name is None and not also:
        target = replace(target, study=min(storage.names(), default=""))
    study = target.open(storage)
    same = [each.name for each in storage.summaries() if each.goal == study.goal]
    names = also or [name for name in same if name != study.name]
    return [study, *(Study.open(name, storage=storage) for name in names)]


# -- all trials --


Format = Literal["csv", "json", "parquet", "xlsx"]


@options.command
def export_command(
    target: options.Target,
    name: Annotated[str | None, options.Word(r".*[./].*"), "[FILE]"] = None,
    *,
    format_: Format | None = None,
) -> None:
    """Write all trials as CSV, JSON, Parquet or a spreadsheet.

    They go to the FILE, or to standard output.

    Args:
        format_: The format. [default: by the file's ending; csv, or json with --json, without a
            file]

    Example:
        noregret export lab lab.csv
    """
    study, file = target.open(), None if name is None else Path(name)
    ending = ("json" if target.as_json else "csv") if file is None else file.suffix[1:].lower()
    kind: Any = format_ or ending
    if file is None and (kind in ("parquet", "xlsx") or (target.as_json and kind != "json")):
        with_json = " with --json" if target.as_json else ""
        raise ConfigurationError(f"{kind} cannot go to standard output{with_json}: name a file")
    if kind not in get_args(Format):
        raise ConfigurationError(
            f"{file} must end in .csv, .json, .parquet or .xlsx; other endings need --format"
        )
    study.export(file or sys.stdout, kind)
    if file is not None:
        count = len(study.trials)
        document = {"study": study.name, "file": str(file), "format": kind, "trials": count}
        target.emit(document, f"{count} trials in {file}")


@options.command
def replay_command(target: options.Target, *, tolerance: options.NotNegative = 1e-6) -> None:
    """Check every proposal against the history.

    Each is derived again from the trials before it. The exit code is 1 if one differs.

    Args:
        tolerance: Largest difference on the unit cube, for other machines' arithmetic.

    Example:
        noregret research replay lab
    """
    study = target.open()
    found = study.replay(tolerance)
    differs: dict[str, Any] = {}
    text = f"{found.agreed} proposals derived again, all as they are recorded"
    if found.number is not None:
        points = {"recorded": found.recorded, "derived": found.derived}
        differs = {name: named_params(study.space, point) for name, point in points.items()}
        differs["number"] = found.number
        text = f"{found.agreed} proposals agree; trial {found.number} is the first that differs"
        for name, point in points.items():
            text += f"\n  {name:<10}{output.point_text(study, point)}"
    if found.skipped:
        text += f"\n{found.skipped} were made by another version of the strategy and cannot be"
        text += f" derived: from trial {found.since} on, all can"
    document = {
        "study": study.name,
        "agrees": found.number is None,
        "agreed": found.agreed,
        "differs": differs or None,
        "skipped": found.skipped,
        "since": found.since,
    }
    target.emit(document, text)
    if differs:
        click.get_current_context().exit(1)
