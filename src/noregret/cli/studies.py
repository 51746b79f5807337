"""Commands about whole studies that are there: list, show, best, delete, backup, recover,
upgrade.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from noregret.cli.options import (
    Target,
    complete_study,
    on_storage,
    on_study,
    pairs,
    typed,
)
from noregret.cli.outcomes import limits_document, limits_text, outcomes_text
from noregret.cli.output import (
    SAID,
    attributes_text,
    counted,
    counts,
    number,
    parameter_range,
    plus_minus,
    point_text,
    reason,
    resolution,
    results,
    results_text,
    table,
    text_of,
    trial_document,
    trial_table,
)
from noregret.errors import ConfigurationError, UnknownTrialError
from noregret.space import Candidates, Space, named_params
from noregret.storage import backup as backup_storage
from noregret.storage import codec
from noregret.storage import recover as recover_storage
from noregret.storage import upgrade as upgrade_storage
from noregret.strategies import algorithm_of, display_name
from noregret.study import Study, algorithms, snapshot
from noregret.trials import State, Trial

SHOWN = 20  # trials in a table unless --all


def parameters_text(study: Study) -> str:
    ranges = "; ".join(
        f"{name} {parameter_range(parameter)}" for name, parameter in study.space.parameters.items()
    )
    if isinstance(study.space, Candidates):
        return f"one of {len(study.space)} candidates"
    known = (*study.space.branches, *study.space.constraints)
    return "; ".join([ranges, *(str(each) for each in known)])


def study_document(study: Study) -> dict[str, Any]:
    record = study.record()
    return {
        "study": study.name,
        "goal": study.goal,
        "seed": record.seed,
        "space": codec.described(study.space),
        "strategy": codec.to_json(study.strategy),
        "strategy_name": display_name(study.strategy),
        "algorithms": [list(pair) for pair in algorithms(study.trials)],
        "theorem": study.strategy.theorem,
        "note": record.note,
        "attributes": dict(record.attributes),
        **limits_document(study),
    }


@click.command(
    "list", short_help="The studies of a database", epilog="Example: noregret list --storage lab.db"
)
@on_storage
def list_(target: Target) -> None:
    """The studies of a database at a glance."""
    summaries = target.connect().summaries()
    rows = [
        [
            each.name,
            each.goal,
            str(each.trials),
            str(each.complete),
            str(each.running),
            str(each.waiting),
            str(each.failed),
            number(each.best),
            each.last_activity[:16].replace("T", " "),
        ]
        for each in summaries
    ]
    header = [
        "study",
        "goal",
        "trials",
        "complete",
        "under way",
        "waiting",
        "failed",
        "best",
        "last activity (UTC)",
    ]
    text = (
        table(header, rows, right=range(2, 8))
        if rows
        else "no studies yet: make one with `noregret create`"
    )
    target.emit({"studies": [asdict(each) for each in summaries]}, text)


@click.command(
    short_help="A study, or one of its trials",
    epilog="Example: noregret show, or noregret show 7 for one trial",
)
@click.argument("trial", type=click.INT, required=False)
@click.option("--all", "everything", is_flag=True, help=f"All trials, not only the last {SHOWN}.")
@click.option(
    "--state", type=click.Choice(list(SAID)), help="Only trials in this state (under way: running)."
)
@click.option("--where", multiple=True, metavar="NAME=VALUE", help="Only with this attribute.")
@click.option("--about", metavar="TEXT", help="Only with this text in the note or the reason.")
@on_study
def show(
    target: Target,
    trial: int | None,
    everything: bool,
    state: State | None,
    where: tuple[str, ...],
    about: str | None,
) -> None:
    """A study: its parameters, its trials, the best so far. With a TRIAL's number: that trial, and
    why it was chosen.
    """
    study = snapshot(target.open())
    trials = study.trials
    chosen = _matching(trials, state, about, typed(pairs(where)))
    if trial is not None:
        if not 0 <= trial < len(trials):
            raise UnknownTrialError(
                f"there is no trial {trial}: this study has {len(trials)} (numbers from 0)"
            )
        document = trial_document(study, trials[trial])
        target.emit({"study": study.name, "trial": document}, _trial_text(study, trial))
        return
    found = results(study)
    document = {
        **study_document(study),
        **counts(study),
        **found,
        "trials": [trial_document(study, each) for each in chosen],
    }
    target.emit(document, _study_text(target, study, found, chosen, everything))


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


def _algorithms(study: Study) -> list[str]:
    """Which versions of its strategy proposed the trials, where it is not today's alone."""
    pairs, today = algorithms(study.trials), algorithm_of(study.strategy)
    if all(algorithm == today for _, algorithm in pairs):
        return []
    text = ", ".join(f"{algorithm} from trial {first} on" for first, algorithm in pairs)
    then = "" if pairs[-1][1] == today else f", {today} from the next one on"
    return [f"algorithm    {text}{then}"]


def _study_text(
    target: Target, study: Study, found: dict[str, Any], chosen: list[Trial], everything: bool
) -> str:
    trials, record = study.trials, study.record()
    shown = chosen if everything else chosen[-SHOWN:]
    lines = [f"study {study.name}: {study.goal}, {counted(counts(study))}", ""]
    lines += [
        table(
            ["parameter", "range"],
            [[name, parameter_range(p)] for name, p in study.space.parameters.items()],
        ),
        "",
    ]
    if isinstance(study.space, Space) and study.space.constraints:
        lines += [f"constraint   {each}" for each in study.space.constraints]
        lines.append("")
    if isinstance(study.space, Space) and study.space.branches:
        lines += [f"exists       {each}" for each in study.space.branches]
        lines.append("")
    lines += [
        *([f"limits       {limits_text(study)}"] if study.outcomes else []),
        *([f"context      {', '.join(study.context)}"] if study.context else []),
        f"strategy     {display_name(study.strategy)}, seed {record.seed}",
        *_algorithms(study),
        f"guarantee    {study.strategy.theorem}",
        results_text(study, found),
        *([f"note         {record.note}"] if record.note else []),
        *([f"made from    {record.origin['study']}"] if record.origin else []),
        *([f"attributes   {attributes_text(record.attributes)}"] if record.attributes else []),
        "",
    ]
    if shown:
        hidden = len(chosen) - len(shown)
        lines += [
            *([f"({hidden} earlier trials: --all shows them)"] if hidden else []),
            trial_table(study, shown),
            "",
        ]
    open_trials = [each for each in trials if each.state == "running"]
    if open_trials:
        lines.append(
            f"next: {target.again(f'tell {open_trials[0].number} VALUE')}, once it is measured"
        )
    else:
        lines.append(f"next: {target.again('ask')}")
    return "\n".join(lines)


def _trial_text(study: Study, index: int) -> str:
    trial = study.trials[index]
    rows = [
        ["state", SAID[trial.state]],
        ["value", number(trial.value)],
        ["noise", number(trial.noise_std)],
        ["outcomes", outcomes_text(study, trial)],
        ["why", reason(trial)],
        ["asked (UTC)", trial.created or ""],
        ["begun (UTC)", trial.started or ""],
        ["ended (UTC)", trial.finished or ""],
        ["took", "" if trial.duration is None else f"{trial.duration:.3g} s"],
        ["failed for", (trial.error or "").partition("\n")[0]],
        ["note", trial.note or ""],
        ["attributes", attributes_text(trial.attributes)],
        ["asked for", "" if trial.asked is None else point_text(study, trial.asked)],
    ]
    rows += [
        [name, text_of(value)] for name, value in named_params(study.space, trial.params).items()
    ]
    text = table([f"trial {index}", ""], [row for row in rows if row[1]])
    model = trial.decision.model
    recorded = {} if model is None else model.to_json()
    measured = [
        [
            f"expected {each['name']}",
            f"{plus_minus(each['mean'], each['std'])},"
            f" {each['chance']:.0%} likely within its limit",
        ]
        for each in recorded.pop("outcomes", ())
    ]
    reasons = [[key, _short(value)] for key, value in recorded.items() if value is not None]
    reasons = [*measured, *reasons]
    return text + (f"\n\n{table(['decision', ''], reasons)}" if reasons else "")


def _short(value: Any) -> str:
    return (
        ", ".join(text_of(each) for each in value)
        if isinstance(value, (list, tuple))
        else text_of(value)
    )


@click.command(
    short_help="The best value and the point to use", epilog="Example: noregret best --study lab"
)
@click.option(
    "--delta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Failure probability of the certificate.",
)
@on_study
def best(target: Target, delta: float | None) -> None:
    """The best value, the point to use, and what is certified about it.

    With noise the best value is partly luck: the recommended point is the best by the model.
    """
    study = target.open()
    study.best  # noqa: B018 — raises if nothing was told
    found = {**results(study, delta), "resolution": resolution(study)}
    target.emit({"study": study.name, "goal": study.goal, **found}, results_text(study, found))


@click.command(short_help="Delete a study for good", epilog="Example: noregret delete lab --yes")
@click.argument("name", shell_complete=complete_study)
@click.option("--yes", is_flag=True, help="Do not ask.")
@on_storage
def delete(target: Target, name: str, yes: bool) -> None:
    """Delete a study with all its trials, for good."""
    storage = target.connect()
    study = Study.open(name, storage=storage)
    what = f"study {name} ({counted(counts(study))})"
    if not yes:
        if target.as_json:
            raise ConfigurationError(
                f"{what} would be deleted for good: add --yes (with --json nothing is asked)"
            )
        try:
            click.confirm(f"delete {what} for good?", abort=True, err=True)
        except click.Abort:
            raise ConfigurationError("nothing was deleted: answer y, or add --yes") from None
    storage.delete(name)
    target.emit({"deleted": name}, f"deleted {what}")


@click.command(
    short_help="Copy a database that is in use",
    epilog="Example: noregret backup monday.db --storage lab.db",
)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@on_storage
def backup(target: Target, file: Path) -> None:
    """Copy a SQLite database into a new FILE, while others use it.

    The copy is one file and complete. Copying a database in use by other means loses the latest
    changes, which are in the file beside it that ends in -wal.
    """
    path = backup_storage(file, target.existing())
    target.emit({"file": str(path)}, f"copied all studies to {path}")


@click.command(
    short_help="Save what a damaged file still holds",
    epilog="Example: noregret recover --storage damaged.db --json > saved.json",
)
@on_storage
def recover(target: Target) -> None:
    """Read what a damaged SQLite file still holds, and name what cannot be read.

    With --json the studies with all that is kept of them, their trials as noregret export writes
    them. The file may be of an older version and is not changed.
    """
    found = recover_storage(target.existing())
    lines = [
        f"{each['name'] or 'study ' + str(each['study'])}: {len(each['trials'])} trials"
        for each in found.studies
    ]
    lines += [f"lost: {each}" for each in found.lost] or ["all that was found could be read"]
    target.emit({"studies": found.studies, "lost": found.lost}, "\n".join(lines))


@click.command(
    short_help="Bring an older database up to date",
    epilog="Example: noregret upgrade --storage lab.db",
)
@on_storage
def upgrade(target: Target) -> None:
    """Bring a database written by an older version up to this one's form."""
    before, after = upgrade_storage(target.existing())
    text = (
        f"the database has schema {after} already"
        if before == after
        else f"upgraded the database from schema {before} to {after}"
    )
    target.emit({"from": before, "to": after}, text)
