"""Commands about single trials: ask, tell, correct, add, enqueue, import, annotate, reclaim,
retry.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import click

from noregret.cli.options import (
    POINT,
    TRIAL,
    Target,
    beyond,
    command,
    pairs,
    parse_point,
    read_context,
    read_outcomes,
    typed,
)
from noregret.cli.output import (
    attributes_text,
    outcomes_text,
    point_text,
    trial_document,
    trial_table,
    trials_document,
)
from noregret.diagnostics.presentation import number
from noregret.errors import SpaceError, TrialError
from noregret.space import Space
from noregret.study import Study, read_value, understood, units_of
from noregret.trials import State, Trial, standing

SECTION = "Experiment"


def context_option(function: Callable[..., None]) -> Callable[..., None]:
    """``--context NAME=VALUE``, as ``ask`` and ``run`` have it."""
    return click.option(
        "--context",
        multiple=True,
        metavar="NAME=VALUE",
        help="Current value of a context parameter, such as humidity=45.",
    )(function)


NUMBER = click.argument("trial", type=click.INT)
COORDINATES = click.argument("point", nargs=-1, required=True, metavar="NAME=VALUE...")
NOISE = click.option(
    "--noise",
    "noise_std",
    metavar="STD",
    help="Standard deviation of this value's noise, if known.",
)
NOTE = click.option("--note", metavar="TEXT", help="A note to store with it.")
ATTRIBUTE = click.option(
    "--attribute",
    "attributes",
    multiple=True,
    metavar="NAME=VALUE",
    help="A named value to store with it: JSON, or text.",
)
OUTCOME = click.option(
    "--outcome",
    "outcomes",
    multiple=True,
    metavar="NAME=VALUE",
    help="An outcome that has a limit: toxicity=0.21, or with its noise toxicity=0.21±0.02.",
)


@command(SECTION, "noregret ask lab --count 3 --fix solvent=water")
@click.option("--count", type=click.IntRange(min=1), default=1, help="How many points at once.")
@click.option(
    "--fix", multiple=True, metavar="NAME=VALUE", help="Fix a parameter's value for this ask only."
)
@context_option
def ask(target: Target, count: int, fix: tuple[str, ...], context: tuple[str, ...]) -> None:
    """Propose the next point to measure.

    Points under way are taken into account: you may ask again before you tell.
    """
    study = target.open()
    fixed = parse_point(study, fix) or None
    trials = study.ask(count, fixed=fixed, context=read_context(study, context))
    first = trials[0].number
    outcomes = "".join(f" --outcome {name}=…" for name in study.outcomes)
    target.emit(
        trials_document(study, trials),
        f"{trial_table(study, trials, results=False)}\n\n"
        f"measured:  {target.again(f'tell {first} VALUE')}{outcomes}\n"
        f"failed:    {target.again(f'tell {first} --failed')}",
    )


def result_options(record: Callable[..., Trial]) -> Callable[..., None]:
    """The arguments of a command that records the result of a trial, read and reported alike."""

    @NUMBER
    @click.argument("value", required=False)
    @NOISE
    @click.option(
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter's value as it was run, if it differs from what was asked for.",
    )
    @click.option("--reason", metavar="TEXT", help="Why it failed.")
    @click.option(
        "--transient",
        is_flag=True,
        help="With --failed: the point is not to blame (power cut, spill), and the model ignores"
        " it. See `retry`.",
    )
    @NOTE
    @ATTRIBUTE
    @OUTCOME
    @click.option(
        "--failed",
        is_flag=True,
        help="There is no valid measurement: the model avoids the point and its surroundings.",
    )
    @click.option(
        "--withdrawn",
        is_flag=True,
        help="The point will not be run: neither a value nor a failure.",
    )
    @functools.wraps(record)
    def recorded(
        target: Target,
        trial: int,
        value: str | None,
        noise_std: str | None,
        params: tuple[str, ...],
        failed: bool,
        withdrawn: bool,
        outcomes: tuple[str, ...],
        note: str | None,
        attributes: tuple[str, ...],
        **extra: Any,
    ) -> None:
        if (value is not None) + failed + withdrawn != 1 and not (outcomes and value is None):
            raise click.UsageError("give a VALUE, or --failed, or --withdrawn")
        study = target.open()
        state: State = "failed" if failed else "withdrawn" if withdrawn else "complete"
        measured, noise = _measured(study, value, noise_std)
        told = record(
            study,
            trial,
            measured,
            noise,
            state=state,
            params=parse_point(study, params) or None,
            outcomes=read_outcomes(study, outcomes),
            note=note,
            attributes=typed(pairs(attributes)) or None,
            **extra,
        )
        _report(target, study, told)

    return recorded


@command(
    SECTION,
    "noregret tell lab 3 61.2 --noise 0.5 --param temperature=65,"
    ' or noregret tell lab 3 --failed --reason "no gas"',
    study=TRIAL,
)
@result_options
def tell(study: Study, trial: int, value: float | None, *extra: Any, **options: Any) -> Trial:
    """Record the VALUE of a TRIAL.

    It is stored when the command returns. A mistake is put right with `correct`.
    """
    if value is not None:
        _check_outcomes(study, options["outcomes"])
    return study.tell(trial, value, *extra, **options)


@command(
    SECTION,
    "noregret correct lab 3 16.2, or noregret correct lab 3 --failed",
    study=TRIAL,
)
@result_options
def correct(study: Study, trial: int, value: float | None, *extra: Any, **options: Any) -> Trial:
    """Replace the result of a TRIAL.

    The old entry stays readable and no longer counts.
    """
    return study.correct(trial, value, *extra, **options)


@command(SECTION, "noregret add lab temperature=40 solvent=dmf 61.2 --noise 0.5", study=POINT)
@COORDINATES
@click.argument("value")
@NOISE
@NOTE
@ATTRIBUTE
@OUTCOME
def add(
    target: Target,
    point: tuple[str, ...],
    value: str,
    noise_std: str | None,
    note: str | None,
    attributes: tuple[str, ...],
    outcomes: tuple[str, ...],
) -> None:
    """Record a point measured before or elsewhere, with its VALUE."""
    study = target.open()
    measured, noise = _measured(study, value, noise_std)
    named = read_outcomes(study, outcomes)
    _check_outcomes(study, named)
    trial = study.add(
        _whole_point(study, point),
        measured,
        noise,
        outcomes=named,
        note=note,
        attributes=typed(pairs(attributes)) or None,
    )
    _report(target, study, trial)


@command(SECTION, "noregret enqueue lab temperature=40 solvent=dmf", study=POINT)
@COORDINATES
@NOTE
@ATTRIBUTE
def enqueue(
    target: Target, point: tuple[str, ...], note: str | None, attributes: tuple[str, ...]
) -> None:
    """Choose a point yourself: the next ask proposes it."""
    study = target.open()
    values = typed(pairs(attributes)) or None
    trial = study.enqueue(_whole_point(study, point), note=note, attributes=values)
    target.emit(
        {"study": study.name, "trial": trial_document(study, trial)},
        f"trial {trial.number} waits: {point_text(study, trial.params)}\n\n"
        f"next: {target.again('ask')}",
    )


@command(SECTION, "noregret import lab measured.csv", name="import", study=beyond(1))
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.csv")
def import_(target: Target, file: Path) -> None:
    """Record points measured before, from a CSV file.

    The file has a column per parameter, one called value, and noise_std if known. All lines are
    recorded or none: the first wrong line is named. - reads standard input.
    """
    study = target.open()
    trials = study.import_csv(sys.stdin if str(file) == "-" else file)
    text = f"added {len(trials)} trials\n\nnext: {target.again('show')}"
    target.emit(trials_document(study, trials), text)


@command(
    SECTION,
    'noregret annotate lab 3 --note "second batch of enzyme" --attribute operator=anna',
    study=TRIAL,
)
@click.argument("trial", type=click.INT, required=False)
@NOTE
@ATTRIBUTE
def annotate(
    target: Target, trial: int | None, note: str | None, attributes: tuple[str, ...]
) -> None:
    """Write a note or attributes to a TRIAL, or to the study.

    What is not named stays. An empty note, or an attribute null, deletes it.
    """
    if note is None and not attributes:
        raise click.UsageError("give --note TEXT or --attribute NAME=VALUE")
    study = target.open()
    study.annotate(trial, note=note, attributes=typed(pairs(attributes)))
    now = study.record() if trial is None else study.trials[trial]
    note, values = now.note, dict(now.attributes)
    subject = f"study {study.name}" if trial is None else f"trial {trial}"
    parts = [part for part in (note, attributes_text(values)) if part]
    target.emit(
        {"study": study.name, "trial": trial, "note": note, "attributes": values},
        f"{subject}: {'; '.join(parts) or 'nothing noted'}",
    )


@command(
    SECTION,
    "noregret reclaim lab --grace 600, or noregret reclaim lab 3 4 --then fail",
    study=TRIAL,
)
@click.argument("trials", type=click.INT, nargs=-1)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=60.0,
    metavar="SECONDS",
    help="Seconds without a heartbeat before a worker is considered dead.",
)
@click.option(
    "--then",
    type=click.Choice(["retry", "fail"]),
    default="retry",
    help="Propose the points again, or mark the trials failed.",
)
def reclaim(
    target: Target, trials: tuple[int, ...], grace: float, then: Literal["retry", "fail"]
) -> None:
    """Return trials of dead workers to the queue.

    With the numbers of TRIALS, return those instead, such as an experiment that will not be told.
    """
    study = target.open()
    back = study.reclaim(grace, then=then, numbers=list(trials) or None)
    became = "wait to be given out again" if then == "retry" else "are marked failed"
    text = (
        f"{trial_table(study, back)}\n\nthese {became}"
        if back
        else "no trial to take back: no worker is silent for so long"
    )
    target.emit(trials_document(study, back), text)


@command(SECTION, "noregret retry lab 3", study=TRIAL)
@NUMBER
def retry(target: Target, trial: int) -> None:
    """Return the point of a failed TRIAL to the queue.

    A new trial waits in its place, and the failure no longer counts.
    """
    study = target.open()
    again = study.retry(trial)
    target.emit(
        {"study": study.name, "trial": trial_document(study, again)},
        f"trial {again.number} waits in the place of trial {again.corrects}:"
        f" {point_text(study, again.params)}\n\nnext: {target.again('ask')}",
    )


def _whole_point(study: Study, words: tuple[str, ...]) -> dict[str, Any]:
    """A point with a value for every parameter that exists for its choices."""
    point = parse_point(study, words)
    branches = study.space.branches if isinstance(study.space, Space) else ()

    def exists(name: str) -> bool:
        rules = [rule for rule in branches if rule.name == name]
        return all(exists(rule.choice) and point.get(rule.choice) in rule.options for rule in rules)

    missing = [name for name in study.space.parameters if name not in point and exists(name)]
    if missing:
        raise SpaceError(
            f"the point is incomplete: {', '.join(missing)} missing, add"
            f" {' '.join(f'{name}=VALUE' for name in missing)}"
        )
    return point


def _check_outcomes(study: Study, outcomes: Mapping[str, Any] | None) -> None:
    missing = [name for name in study.outcomes if name not in (outcomes or {})]
    if missing:
        raise TrialError(
            f"the outcome {' and '.join(missing)} is missing: add"
            f" {' '.join(f'--outcome {name}=VALUE' for name in missing)}"
        )


def _measured(
    study: Study, value: str | None, noise: str | None
) -> tuple[float | None, float | None]:
    """The value and its noise, typed as ``41.5±0.2`` or with ``--noise``."""
    unit = units_of(study.record().attributes)[None]
    measured, std, _ = read_value(value, "the value", unit, noise=noise)
    if value is not None and measured is None:
        raise TrialError("the value is empty: write a number")
    return measured, std


def _report(target: Target, study: Study, trial: Trial) -> None:
    """Prints what was recorded, the best so far, and the next command."""
    ended = "failed, not the point's fault," if trial.transient else trial.state
    unit = units_of(study.record().attributes)[None]
    value = ended if trial.value is None else understood(trial.value, trial.noise_std, unit)
    result = "; ".join(part for part in (value, outcomes_text(study, trial)) if part)
    lines = [f"trial {trial.number}: {result} at {point_text(study, trial.params)}"]
    if trial.asked is not None:
        lines.append(f"asked for: {point_text(study, trial.asked)}")
    trials = standing(study.trials)
    best = study.best if any(each.state == "complete" for each in trials) else None
    if best is not None and best.feasible is False:
        lines.append(f"nothing feasible yet; closest is trial {best.number}")
    elif best is not None and best.number == trial.number:
        lines.append("the best so far")
    elif best is not None:
        lines.append(
            f"best so far: {number(best.value)} at trial {best.number},"
            f" {point_text(study, best.params)}"
        )
    running = [str(each.number) for each in trials if each.state == "running"]
    if running:
        lines.append(f"still under way: trial {', '.join(running)}")
    lines.append("")
    if trial.transient:
        lines.append(f"again: {target.again(f'retry {trial.number}')}")
    lines.append(f"next: {target.again('ask')}")
    document = {
        "study": study.name,
        "trial": trial_document(study, trial),
        "best": None if best is None else trial_document(study, best),
    }
    target.emit(document, "\n".join(lines))
