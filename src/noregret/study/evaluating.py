"""``Study.run``: what it was asked for, checked and handed to ``running.Run``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.errors import ConfigurationError
from noregret.study.asking import is_there, next_trial, searched
from noregret.study.isolated import DaemonThreads, Isolated, check_pickled, needs_pickling
from noregret.study.plan import (
    Plan,
    Reclaim,
    Work,
    check_catch,
    check_grace,
    check_objective,
    check_run,
)
from noregret.study.progress_bar import Progress
from noregret.study.running import Run
from noregret.trials import Trial

if TYPE_CHECKING:
    from noregret.study.study import Study

# what the inputs are now that nobody chooses, or a function that says it at each ask
Context = Mapping[str, Any] | Callable[[], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Ends:
    """When a run is over; times in seconds."""

    trials: int | None  # started here
    total: int | None  # of the study
    timeout: float | None
    trial_timeout: float | None
    until: Callable[[Study], bool] | None


@dataclass(frozen=True, slots=True)
class Settings:
    """Who evaluates, and what happens when that goes wrong."""

    workers: int
    executor: Executor | None
    catch: tuple[type[Exception], ...]
    grace: float
    reclaim: Reclaim | None
    progress: bool | None


def run_study(
    study: Study,
    objective: Callable[[Any], Any],
    ends: Ends,
    settings: Settings,
    callbacks: Sequence[Callable[[Study, Trial], Any]],
    context: Context | None,
) -> None:
    check_run(
        trials=ends.trials,
        total=ends.total,
        workers=settings.workers,
        timeout=ends.timeout,
        until=ends.until,
        reclaim=settings.reclaim,
        trial_timeout=ends.trial_timeout,
        callbacks=callbacks,
        executor=settings.executor,
    )
    check_objective(objective)
    caught = check_catch(settings.catch)
    check_grace(settings.grace)
    executor, trial_timeout, until = settings.executor, ends.trial_timeout, ends.until
    if executor is not None and trial_timeout is not None:
        raise ConfigurationError(
            "trial_timeout needs processes that can be ended: leave executor out, workers says"
            " how many there are"
        )
    if needs_pickling(executor):
        check_pickled(objective, type(executor).__name__)
    threads = settings.workers > 1 or ends.timeout is not None or trial_timeout is not None
    own = DaemonThreads() if executor is None and threads else None
    plan = Plan(
        trials=math.inf if ends.trials is None else ends.trials,
        total=math.inf if ends.total is None else ends.total,
        deadline=math.inf if ends.timeout is None else time.monotonic() + ends.timeout,
        until=lambda: study._stopping or (until is not None and until(study)),
        workers=settings.workers,
        executor=executor or own,
        catch=caught,
        grace=settings.grace,
        reclaim=settings.reclaim,
    )

    def ended(number: int) -> None:
        for callback in callbacks:
            callback(study, study.trials[number])

    def following(worker: str, limit: float) -> Trial | None:
        now = context() if callable(context) else context
        return next_trial(study, worker, limit, context=now)

    def may_take(trial: Trial) -> bool:
        now = context() if callable(context) else context
        return is_there(study, trial, searched(study, None, now))

    def note(trial: Trial) -> str:
        return progress_note(study, trial)

    work = Work(study._key, study._storage, following, note, ended, study.outcomes, may_take)
    shown = False if ends.trials is None else settings.progress
    study._runs, study._stopping = study._runs + 1, False
    try:
        with Progress(int(ends.trials or 0), shown=shown) as bar, ExitStack() as stack:
            if trial_timeout is not None:
                objective = stack.enter_context(Isolated(objective, trial_timeout))
            Run(work, objective, plan, bar).run()
    finally:
        study._runs -= 1


def stop_run(study: Study) -> None:
    if study._runs == 0:
        raise ConfigurationError(
            "there is no run to stop: call stop() while run() is under way in this process,"
            " from a callback, the objective or another thread"
        )
    study._stopping = True


def progress_note(study: Study, trial: Trial) -> str:
    """What stands beside the progress bar."""
    best = study.best if any(t.state == "complete" for t in study.trials) else None
    note = "" if best is None or best.value is None else f"best {best.value:.4g}"
    if best is not None and best.feasible is False:
        note = "nothing feasible yet"
    model = trial.decision.model
    if model is not None:
        lengthscale = float(np.exp(np.mean(np.log(model.lengthscales))))
        note += f"  h {model.h:.3g}  lengthscale {lengthscale:.3g}"
    return note
