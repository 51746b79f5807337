"""Commands about trials that are given out again: reclaim, of workers that died, and retry, of
failures.
"""

from __future__ import annotations

from typing import Literal

import click

from noregret.cli.options import Target, on_study
from noregret.cli.output import point_text, trial_document, trial_table


@click.command(
    short_help="Take back trials whose worker died",
    epilog="Example: noregret reclaim --grace 600, or noregret reclaim 3 4 --then fail",
)
@click.argument("trials", type=click.INT, nargs=-1)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a worker may have been silent.",
)
@click.option(
    "--then",
    type=click.Choice(["retry", "fail"]),
    default="retry",
    show_default=True,
    help="Give them out again, or mark them failed.",
)
@on_study
def reclaim(
    target: Target, trials: tuple[int, ...], grace: float, then: Literal["retry", "fail"]
) -> None:
    """Take back trials whose worker died; or the TRIALS named, such as an experiment that will
    never be told.
    """
    study = target.open()
    back = study.reclaim(grace, then=then, numbers=list(trials) or None)
    became = "wait to be given out again" if then == "retry" else "are marked failed"
    text = (
        f"{trial_table(study, back)}\n\nthese {became}"
        if back
        else "no trial to take back: every worker gave a sign of life, or none runs"
    )
    target.emit(
        {"study": study.name, "trials": [trial_document(study, trial) for trial in back]}, text
    )


@click.command(
    short_help="Give the point of a failed trial out again",
    epilog="Example: noregret retry 3",
)
@click.argument("trial", type=click.INT)
@on_study
def retry(target: Target, trial: int) -> None:
    """Give the point of a failed TRIAL out again: a new trial waits in its place, and the failure
    no longer counts.
    """
    study = target.open()
    again = study.retry(trial)
    target.emit(
        {"study": study.name, "trial": trial_document(study, again)},
        f"trial {again.number} waits in the place of trial {again.corrects}:"
        f" {point_text(study, again.params)}\n\nnext: {target.again('ask')}",
    )
