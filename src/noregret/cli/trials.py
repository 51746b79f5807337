"""Commands about single trials: ask, tell, correct, add, enqueue, annotate."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from noregret.cli.options import (
    NumbersCommand,
    Target,
    on_study,
    pairs,
    parse_point,
    typed,
)
from noregret.cli.outcomes import CONTEXT, OUTCOME, outcomes_text, read_context, read_outcomes
from noregret.cli.output import attributes_text, number, point_text, trial_document, trial_table
from noregret.errors import TrialError
from noregret.study import Study, read_value, understood, units_of
from noregret.trials import State, Trial, standing

NOISE = click.option(
    "--noise",
    "noise_std",
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


def outcome(failed: str) -> Callable[[Callable[..., Trial]], Callable[..., None]]:
    """The arguments of a command that records what came of a trial, read and said the same way."""

    def decorated(recorded: Callable[..., Trial]) -> Callable[..., None]:
        @click.argument("trial", type=click.INT)
        @click.argument("value", required=False)
        @NOISE
        @REALLY
        @REASON
        @TRANSIENT
        @NOTE
        @ATTRIBUTE
        @OUTCOME
        @click.option("--failed", is_flag=True, help=failed)
        @click.option(
            "--withdrawn",
            is_flag=True,
            help="It is not going to be run: neither a value nor a failure.",
        )
        @on_study
        @functools.wraps(recorded)
        def command(
            target: Target,
            trial: int,
            value: str | None,
            noise_std: str | None,
            failed: bool,
            withdrawn: bool,
            outcomes: tuple[str, ...],
            **said: Any,
        ) -> None:
            if (value is not None) + failed + withdrawn != 1 and not (outcomes and value is None):
                raise click.UsageError("give a VALUE, or --failed, or --withdrawn")
            study = target.open()
            state: State = "failed" if failed else "withdrawn" if withdrawn else "complete"
            number, noise = _measured(study, value, noise_std)
            said = {"noise_std": noise, "state": state, **_remarks(study, **said)}
            said["outcomes"] = read_outcomes(study, outcomes)
            _told(target, study, recorded(study, trial, number, **said))

        return command

    return decorated


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
@CONTEXT
@on_study
def ask(target: Target, count: int, fix: tuple[str, ...], context: tuple[str, ...]) -> None:
    """The next point to measure. Points under way are taken into account, so you may ask again
    before you tell.
    """
    study = target.open()
    fixed = parse_point(study, fix) if fix else None
    trials = study.ask(count, fixed=fixed, context=read_context(study, context))
    first = trials[0].number
    beside = "".join(f" --outcome {name}=…" for name in study.outcomes)
    lines = [
        trial_table(study, trials, outcomes=False),
        "",
        f"measured:  {target.again(f'tell {first} VALUE')}{beside}",
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
@outcome(
    failed="It could not be measured: the point is not proposed again,"
    " and its surroundings are avoided."
)
def tell(study: Study, trial: int, value: float | None, **said: Any) -> Trial:
    """The VALUE of a TRIAL. It is on the disk when this returns, and it stands: a mistake is put
    right with `correct`.
    """
    return study.tell(trial, value, **said)


@click.command(
    short_help="Replace what was told of a trial",
    cls=NumbersCommand,
    epilog="Example: noregret correct 3 16.2, or noregret correct 3 --failed",
)
@outcome(failed="It was no valid measurement at all.")
def correct(study: Study, trial: int, value: float | None, **said: Any) -> Trial:
    """Replace what was told of a TRIAL. The old entry is kept and no longer counts."""
    return study.correct(trial, value, **said)


@click.command(
    short_help="A point measured before, with its value",
    cls=NumbersCommand,
    epilog="Example: noregret add temperature=40 solvent=dmf 61.2 --noise 0.5",
)
@POINT
@click.argument("value")
@NOISE
@NOTE
@ATTRIBUTE
@OUTCOME
@on_study
def add(
    target: Target,
    point: tuple[str, ...],
    value: str,
    noise_std: str | None,
    outcomes: tuple[str, ...],
    **said: Any,
) -> None:
    """A point measured before or elsewhere, with its VALUE."""
    study = target.open()
    told = read_outcomes(study, outcomes)
    remarks = _remarks(study, **said)
    number, noise = _measured(study, value, noise_std)
    added = study.add(parse_point(study, point), number, noise, outcomes=told, **remarks)
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


def _measured(
    study: Study, value: str | None, noise: str | None
) -> tuple[float | None, float | None]:
    """The value that was typed and its noise, ± behind it or by itself."""
    unit = units_of(study.record().attributes)[None]
    number, std, _ = read_value(value, "the value", unit, noise=noise)
    if value is not None and number is None:
        raise TrialError("the value is empty: write a number")
    return number, std


def _told(target: Target, study: Study, trial: Trial) -> None:
    """What was recorded, and how it compares."""
    document: dict[str, Any] = {
        "study": study.name,
        "trial": trial_document(study, trial),
        "best": None,
    }
    ended = "failed, not the point's fault," if trial.transient else trial.state
    unit = units_of(study.record().attributes)[None]
    told = ended if trial.value is None else understood(trial.value, trial.noise_std, unit)
    told = "; ".join(each for each in (told, outcomes_text(study, trial)) if each)
    lines = [f"trial {trial.number}: {told} at {point_text(study, trial.params)}"]
    if trial.asked is not None:
        lines.append(f"asked for: {point_text(study, trial.asked)}")
    trials = standing(study.trials)
    if any(each.state == "complete" for each in trials):
        best = study.best
        document["best"] = trial_document(study, best)
        same = best.number == trial.number
        if best.feasible is False:
            lines.append(f"nothing feasible yet; closest is trial {best.number}")
        else:
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
