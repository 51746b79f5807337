"""Commands about single trials: ask, tell, correct, add, import, annotate, retry."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from noregret.cli import options, output
from noregret.diagnostics.presentation import format_number
from noregret.errors import KnownRowsError, TrialError
from noregret.space import Space
from noregret.storage.database import storage_url
from noregret.study import (
    IMPORT,
    Study,
    import_label,
    imports_of,
    read_measured,
    take_back,
    understood,
    units_of,
)
from noregret.trials import State, Trial, corrections, latest, standing
from noregret.web import artifacts


@dataclass(frozen=True, kw_only=True)
class Remarks:
    """What is stored beside a trial or a study.

    Args:
        note: A note to store with it.
        attribute: A named value to store with it: JSON, or text.
    """

    note: options.Text = None
    attribute: options.Assignments = ()

    def as_arguments(self) -> dict[str, Any]:
        """Note and attributes, as the study takes them."""
        return {"note": self.note, "attributes": options.typed_pairs(self.attribute) or None}


@dataclass(frozen=True, kw_only=True)
class Measurement(Remarks):
    """What was measured beside the value.

    Args:
        noise: Standard deviation of this value's noise, if known.
        outcome: An outcome that has a limit: toxicity=0.21, or with its noise toxicity=0.21±0.02.
    """

    noise: Annotated[str | None, "STD"] = None
    outcome: options.Assignments = ()

    def value_of(self, study: Study, text: str | None) -> tuple[float | None, float | None]:
        """The value and its noise, typed as ``41.5±0.2`` or with ``--noise``."""
        unit = units_of(study.record().attributes)[None]
        value, std, _ = read_measured(text, "the value", unit, noise=self.noise)
        if text is not None and value is None:
            raise TrialError("the value is empty: write a number")
        return value, std


@dataclass(frozen=True, kw_only=True)
class TrialResult(Measurement):
    """The result of a trial, as ``tell`` and ``correct`` record it.

    Args:
        param: A parameter's value as it was run, if it differs from what was asked for.
        failed: There is no valid measurement: the model avoids the point and its surroundings.
        reason: Why it failed.
        transient: With --failed: the point is not to blame (power cut, spill), and the model
            ignores it. See `retry`.
        withdrawn: The point will not be run: neither a value nor a failure.
    """

    param: options.Assignments = ()
    failed: bool = False
    reason: options.Text = None
    transient: bool = False
    withdrawn: bool = False

    def check(self, value: str | None) -> None:
        """UsageError unless there is one result."""
        given = (value is not None) + self.failed + self.withdrawn
        if given != 1 and not (self.outcome and value is None):
            raise click.UsageError("give a VALUE, or --failed, or --withdrawn")

    def of(self, study: Study) -> dict[str, Any]:
        """The arguments of ``Study.tell`` and ``Study.correct`` beside the value."""
        state: State = "failed" if self.failed else "withdrawn" if self.withdrawn else "complete"
        return {
            "state": state,
            "params": options.parse_point(study, self.param) or None,
            "outcomes": options.parse_outcomes(study, self.outcome),
            "reason": self.reason,
            "transient": self.transient,
            **self.as_arguments(),
        }


@options.command
def ask_command(
    target: options.Target,
    *,
    count: options.Count = 1,
    fix: options.Assignments = (),
    context: options.Assignments = (),
) -> None:
    """Propose the next point to measure.

    Points under way are taken into account, so you can ask again before you tell.

    Args:
        count: How many points at once.
        fix: Fix a parameter's value for this ask only.
        context: Current value of a context parameter, such as humidity=45.

    Example:
        noregret ask lab --count 3 --fix solvent=water
    """
    study = target.open()
    fixed = options.parse_point(study, fix) or None
    trials = study.ask(count, fixed=fixed, context=options.parse_context(study, context))
    first = trials[0].number
    outcomes = "".join(f" --outcome {name}=…" for name in study.outcomes)
    lines = [output.trial_table(study, trials, results=False), ""]
    lines += [f"measured:  {target.again(f'tell {first} VALUE')}{outcomes}"]
    lines += [f"failed:    {target.again(f'tell {first} --failed')}"]
    target.emit(output.trials_document(study, trials), "\n".join(lines))


@options.command
def tell_command(
    target: options.Target, trial: int, value: str | None = None, *, result: TrialResult
) -> None:
    """Record the VALUE of a TRIAL.

    It is stored when the command returns. Use `correct` to change it.

    Example:
        noregret tell lab 3 61.2 --noise 0.5 --param temperature=65, or
        noregret tell lab 3 --failed --reason "no gas"
    """
    result.check(value)
    study = target.open()
    measured, noise = result.value_of(study, value)
    rest = result.of(study)
    if measured is not None:
        options.check_given(study.outcomes, rest["outcomes"] or {}, "--outcome ")
    _report(target, study, study.tell(trial, measured, noise, **rest))


@options.command
def correct_command(
    target: options.Target, trial: int, value: str | None = None, *, result: TrialResult
) -> None:
    """Replace the result of a TRIAL.

    The old entry stays readable and no longer counts. Its noise stays where --noise is not given.

    Example:
        noregret correct lab 3 16.2, or noregret correct lab 3 --failed
    """
    result.check(value)
    study = target.open()
    measured, noise = result.value_of(study, value)
    trials = study.trials
    if measured is not None and noise is None and 0 <= trial < len(trials):
        noise = trials[latest(trial, corrections(trials))].noise_std
    corrected = study.correct(trial, measured, noise, **result.of(study))
    _report(target, study, corrected)


@options.command
def add_command(
    target: options.Target,
    point: options.Point = (),
    value: str | None = None,
    *,
    measurement: Measurement,
) -> None:
    """Add a point: with its VALUE, or for the next ask.

    Example:
        noregret add lab temperature=40 solvent=dmf 61.2 --noise 0.5, or
        noregret add lab temperature=40 solvent=dmf
    """
    study = target.open()
    if value is not None and "=" in value:  # the last word of the point
        point, value = (*point, value), None
    measured, noise = measurement.value_of(study, value)
    outcomes = options.parse_outcomes(study, measurement.outcome)
    if measured is None and not outcomes:
        trial = study.enqueue(_whole_point(study, point), **measurement.as_arguments())
        document = {"study": study.name, "trial": output.trial_document(study, trial)}
        text = f"trial {trial.number} waits: {output.point_text(study, trial.params)}"
        target.emit(document, f"{text}\n\nnext: {target.again('ask')}")
        return
    options.check_given(study.outcomes, outcomes or {}, "--outcome ")
    params = _whole_point(study, point)
    trial = study.add(params, measured, noise, outcomes=outcomes, **measurement.as_arguments())
    _report(target, study, trial)


@options.command
def import_command(
    target: options.Target,
    file: Annotated[Path, "FILE.csv|xlsx"],
    *,
    known: Literal["refuse", "skip", "add"] = "refuse",
    undo: bool = False,
) -> None:
    """Record points measured before, from a file.

    A CSV file or a spreadsheet has a column per parameter, one called value (or as your value is
    called), and noise_std if known. Other columns are stored as attributes. All lines are recorded
    or none: the first wrong line is named. - reads standard input.

    Args:
        known: What happens to lines that the study has already: nothing is imported (refuse), only
            the other lines are (skip), or all (add).
        undo: Take back the latest import of this file.

    Example:
        noregret import lab measured.csv, or noregret import lab measured.csv --undo
    """
    study = target.open()
    if undo:
        _take_back(target, study, file.name)
        return
    try:
        source = sys.stdin if str(file) == "-" else file
        trials = study.import_csv(source, known=known, label=import_label(file.name))
    except KnownRowsError as error:
        advice = "--known skip imports the others, --known add all; nothing was imported"
        raise KnownRowsError(error.known, error.rows, advice) from None
    others = sorted({name for trial in trials for name in trial.attributes} - {IMPORT})
    lines = [f"added {len(trials)} trials"]
    if others:
        lines.append(f"stored as attributes: {', '.join(others)}")
    if trials:
        again = f"import {shlex.quote(str(file))} --undo"
        lines += ["", f"take it back: {target.again(again)}"]
    lines += ["" if not trials else f"next: {target.again('show')}"]
    target.emit(output.trials_document(study, trials), "\n".join(lines).rstrip())


def _take_back(target: options.Target, study: Study, file: str) -> None:
    """Withdraws the trials of the latest import of a file."""
    labels = list(imports_of(study.trials))
    of_file = [label for label in labels if label.rpartition(", ")[0] == file]
    if not of_file:
        listed = "; ".join(labels) or "none"
        raise TrialError(f"no import of {file} is left to take back: the study has {listed}")
    gone = take_back(study, of_file[-1])
    text = f"took back {len(gone)} trials of {of_file[-1]}\n\nnext: {target.again('show')}"
    target.emit(output.trials_document(study, gone), text)


@options.command
def annotate_command(
    target: options.Target,
    trial: int | None = None,
    *,
    file: Annotated[Path | None, "FILE"] = None,
    remarks: Remarks,
) -> None:
    """Write a note, attributes or a file to a TRIAL or the study.

    Other attributes stay. Delete a note by an empty text, an attribute by the value null.

    Args:
        file: A file to keep beside the TRIAL, such as a spectrum, a photo or a log.

    Example:
        noregret annotate lab 3 --note "second batch of enzyme" --attribute operator=anna
    """
    if remarks.note is None and not remarks.attribute and not (file and trial is not None):
        raise click.UsageError("give --note TEXT, --attribute NAME=VALUE, or a TRIAL and --file")
    study, url = target.open(), storage_url(target.storage)
    study.annotate(trial, **remarks.as_arguments())
    if file is not None and trial is not None:
        artifacts.attach(url, study.record(), trial, file.name, file.read_bytes())
    now = study.record() if trial is None else study.trials[trial]
    note, values = now.note, dict(now.attributes)
    subject = f"study {study.name}" if trial is None else f"trial {trial}"
    parts = [part for part in (note, output.attributes_text(values)) if part]
    files = [] if trial is None else artifacts.files_of(url, study.record(), trial)
    parts += [f"files: {', '.join(files)}"] if files else []
    document: Any = {"study": study.name, "trial": trial, "note": note, "attributes": values}
    document["files"] = files
    target.emit(document, f"{subject}: {'; '.join(parts) or 'nothing noted'}")


@options.command
def retry_command(
    target: options.Target,
    trials: tuple[int, ...] = (),
    *,
    grace: Annotated[options.NotNegative, "SECONDS"] = 60.0,
    then: Literal["retry", "fail"] = "retry",
) -> None:
    """Return failed or abandoned TRIALS to the queue.

    In the place of a failed trial a new one waits, and the failure no longer counts. Without TRIALS
    those of dead workers are returned.

    Args:
        grace: Seconds without a heartbeat before a worker is considered dead.
        then: Propose the points again, or mark the trials failed.

    Example:
        noregret retry lab 3, or noregret retry lab --grace 600
    """
    study = target.open()
    rows = study.trials
    failed = [n for n in trials if 0 <= n < len(rows) and rows[n].state == "failed"]
    others = [number for number in trials if number not in failed]
    back = study.reclaim(grace, then=then, numbers=others or None) if others or not failed else []
    back += [study.retry(number) for number in failed]
    text = "no trial to take back: no worker is considered dead"
    if back:
        became = "are marked failed" if then == "fail" else "wait to be given out again"
        text = f"{output.trial_table(study, back)}\n\nthese {became}\nnext: {target.again('ask')}"
    target.emit(output.trials_document(study, back), text)


def _whole_point(study: Study, words: options.Point) -> dict[str, Any]:
    """A point with a value for every parameter that exists for its choices."""
    point = options.parse_point(study, words)
    branching = study.space.branching if isinstance(study.space, Space) else None
    options.check_given(study.space.parameters, branching.filled(point) if branching else point)
    return point


def _report(target: options.Target, study: Study, trial: Trial) -> None:
    """Prints what was recorded, the best so far, and the next command."""
    ended = "failed, not the point's fault," if trial.transient else trial.state
    unit = units_of(study.record().attributes)[None]
    value = ended if trial.value is None else understood(trial.value, trial.noise_std, unit)
    result = "; ".join(part for part in (value, output.outcomes_text(study, trial)) if part)
    lines = [f"trial {trial.number}: {result} at {output.point_text(study, trial.params)}"]
    if trial.asked is not None:
        lines.append(f"asked for: {output.point_text(study, trial.asked)}")
    trials = standing(study.trials)
    best = study.best if any(each.state == "complete" for each in trials) else None
    if best is not None and best.feasible is False:
        lines.append(f"nothing feasible yet; closest is trial {best.number}")
    elif best is not None and best.number == trial.number:
        lines.append("the best so far")
    elif best is not None:
        where = output.point_text(study, best.params)
        lines.append(f"best so far: {format_number(best.value)} at trial {best.number}, {where}")
    running = [str(each.number) for each in trials if each.state == "running"]
    if running:
        lines.append(f"still under way: trial {', '.join(running)}")
    lines.append("")
    if trial.transient:
        lines.append(f"again: {target.again(f'retry {trial.number}')}")
    lines.append(f"next: {target.again('ask')}")
    document = {"study": study.name, "trial": output.trial_document(study, trial), "best": None}
    if best is not None:
        document["best"] = output.trial_document(study, best)
    target.emit(document, "\n".join(lines))
