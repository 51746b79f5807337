"""``noregret run``: evaluate a Python function or a program until a stopping rule is met."""

from __future__ import annotations

import logging
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import click

from noregret.cli import objectives, output
from noregret.cli.options import (
    Assignments,
    Count,
    FunctionName,
    NotNegative,
    Positive,
    Seconds,
    Target,
    command,
    read_context,
)
from noregret.diagnostics.presentation import format_number
from noregret.errors import ConfigurationError, NoRegretError, TransientError, TrialTimeoutError
from noregret.space import named_params
from noregret.study import CertifiedWithin, Isolated, LeftBelow, Reached, Study
from noregret.trials import returned

# -- an objective under observation --


Objective = Callable[[Any], Any]


@dataclass(slots=True)
class Watched:
    """An objective that reports its failures, and gives up after ``limit`` of them in a row."""

    study: Study
    objective: Objective
    limit: int
    in_a_row: int = 0
    failed: int = 0
    last: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, params: Any) -> Any:
        try:
            result = self.objective(params)
            returned(result, self.study.outcomes)  # raises what the study would refuse
        except objectives.RunOverError:
            raise
        except Exception as error:
            self._report(params, reason(error))
            if isinstance(error, TrialTimeoutError):  # the run would print it once more
                raise objectives.EvaluationError(str(error)) from None
            raise
        with self._lock:
            self.in_a_row = 0
        return result

    def _report(self, params: Any, why: str) -> None:
        with self._lock:
            self.in_a_row, self.failed, self.last = self.in_a_row + 1, self.failed + 1, why
            clear = "\r\x1b[K" if sys.stderr.isatty() else ""  # overwrite a progress bar
            click.echo(
                f"{clear}noregret: failed at {output.point_text(self.study, params)}: {why}",
                err=True,
            )

    @property
    def gave_up(self) -> bool:
        return self.in_a_row >= self.limit


def reason(error: Exception) -> str:
    """A failure in a line."""
    if isinstance(error, (objectives.EvaluationError, TransientError)):
        return str(error)
    if isinstance(error, NoRegretError):
        return str(error).partition(":")[0]  # the rest is advice for users of tell
    return objectives.describe(error)


# -- the command --


@command
def run(
    target: Target,
    function: FunctionName = None,
    *,
    program: Annotated[str | None, "--command", "-c", "TEXT"] = None,
    context: Assignments = (),
    trials: Annotated[int | None, click.IntRange(min=0)] = None,
    total: Annotated[int | None, click.IntRange(min=0)] = None,
    timeout: Annotated[NotNegative | None, "SECONDS"] = None,
    value: Annotated[float | None, "--target", "VALUE"] = None,
    left: Annotated[Positive | None, "GAIN"] = None,
    certified: Annotated[Positive | None, "REGRET"] = None,
    heuristic: bool = False,
    workers: Count = 1,
    trial_timeout: Seconds | None = None,
    max_failures: Count = 3,
    grace: Seconds = 60.0,
    dead: Literal["retry", "fail", "leave"] = "retry",
    dry_run: bool = False,
) -> None:
    """Evaluate a Python function or a program, trial by trial.

    A FUNCTION takes a dict of the parameters and returns its value, or the pair (value, noise std).
    A program prints its value in the last line of its output, or a JSON line such as {"value": 0.3,
    "noise_std": 0.01}; an exit code other than 0 is a failed trial. Outcomes with limits go with
    the value: (value, {"toxicity": 0.2}), or {"value": 0.3, "toxicity": 0.2}. Several shells and
    machines may run one study at once. Ctrl-C or a kill loses nothing: the same command continues.

    Args:
        program: A program to run instead, with {NAME} in place of each parameter's value. No shell
            starts it.
        context: Current value of a context parameter, such as humidity=45.
        trials: How many trials to start here.
        total: How many trials the study shall have in all. Trials of other workers count.
        timeout: Start no more trials after this time.
        value: Stop once a value is as good as this.
        left: Stop once it can hardly get better than the recommended point by more than this, by
            the model: a rule of thumb.
        certified: Stop once the recommended point's regret is certified to be below this.
        heuristic: With --certified: accept a bound that is not proved.
        workers: How many trials at once, in threads.
        trial_timeout: Stop an evaluation after this time; its trial has failed. A function gets a
            process of its own.
        max_failures: Stop after this many failed trials in a row.
        grace: Seconds without a heartbeat before a worker is considered dead.
        dead: What to do with the trials of dead workers.
        dry_run: Evaluate the next point once, and record nothing.

    Example:
        noregret run lab train.py:loss --trials 50, or
        noregret run lab --command "./train --lr {lr}" --trials 50 --workers 4
    """
    if (function is None) == (program is None):
        raise click.UsageError(
            "name a function, such as train.py:loss, or a program with --command"
        )
    stops: list[Callable[[Study], bool]] = [Reached(value)] if value is not None else []
    if heuristic and certified is None:
        raise click.UsageError("--heuristic goes with --certified")
    if certified is not None:
        stops.append(CertifiedWithin(certified, heuristic=heuristic))
    if left is not None:
        stops.append(LeftBelow(left))
    if not stops and not dry_run and trials is total is timeout is None:
        raise click.UsageError(
            "say when to stop: --trials, --total, --timeout, --target, --left or --certified"
        )
    click.get_current_context().with_resource(_signals())
    study = target.open()
    before, started = len(study.trials), time.monotonic()
    now = read_context(study, context)
    try:
        with _objective(study, function, program, trial_timeout) as objective, _logging():
            if dry_run:
                _dry_run(target, study, objective, now)
                return
            watched = Watched(study, objective, max_failures)
            study.run(
                watched,
                trials,
                total=total,
                timeout=timeout,
                until=lambda study: watched.gave_up or any(stop(study) for stop in stops),
                workers=workers,
                catch=(Exception,),
                grace=grace,
                reclaim=None if dead == "leave" else dead,
                progress=False if target.as_json else None,
                context=now,
            )
    except objectives.NotStartedError as error:
        raise ConfigurationError(str(error)) from None
    except KeyboardInterrupt as error:
        error.add_note(
            "Trials under way returned to the queue, and all values are stored. Type the same"
            " command again to go on."
        )
        raise
    if watched.gave_up:
        raise NoRegretError(
            f"stopped: {watched.in_a_row} trials in a row failed, the last with: {watched.last}."
            " All values are stored: repair it and type the same command again"
        )
    _report(target, study, before, watched.failed, time.monotonic() - started)


def _dry_run(target: Target, study: Study, objective: Objective, context: Any) -> None:
    params = study.preview(context=context).params
    words = objective.arguments(params) if isinstance(objective, objectives.Program) else None
    try:
        outcomes = returned(objective(params), study.outcomes)
    except Exception as error:
        raise NoRegretError(
            f"it failed at {output.point_text(study, params)}: {reason(error)}."
            " Nothing was recorded"
        ) from None
    value, noise_std = outcomes.value, outcomes.noise_std
    document = {
        "study": study.name,
        "params": named_params(study.space, params),
        "value": value,
        "noise_std": noise_std,
        "command": words,
    }
    if study.outcomes:
        document |= {"outcomes": dict(outcomes.outcomes), "feasible": outcomes.feasible}
    text = "" if words is None else f"ran {shlex.join(words)}\n"
    text += format_number(value)
    text += "" if noise_std is None else f", noise {format_number(noise_std)}"
    text += "".join(f", {name} {format_number(each)}" for name, each in outcomes.outcomes.items())
    target.emit(document, f"{text} at {output.point_text(study, params)}; nothing was recorded")


def _report(target: Target, study: Study, before: int, failed: int, seconds: float) -> None:
    found, new = output.results(study), len(study.trials) - before
    document = {"study": study.name, "new": new, "failed_here": failed, "seconds": seconds}
    document |= output.counts(study) | found
    text = f"{new} new trials in {seconds:.1f} s; {study.name} has {output.counts_text(study)}"
    best = output.results_text(study, found)
    target.emit(document, f"{text}\n{best}\n\nnext: {target.again('plot')}")


def _objective(
    study: Study, function: str | None, program: str | None, timeout: float | None
) -> AbstractContextManager[Objective]:
    if program is not None:
        return objectives.Program(program, study.space, timeout, tuple(study.outcomes))
    assert function is not None
    found = objectives.load(function)
    return nullcontext(found) if timeout is None else Isolated(found, timeout)


@contextmanager
def _signals() -> Iterator[None]:
    """SIGINT, SIGTERM (from clusters) and SIGHUP interrupt the run and end its programs.

    Shells start background commands of a script with SIGINT ignored. It is caught here too:
    otherwise such a worker would outlive its script's Ctrl-C. An ignored SIGHUP stays ignored, as
    nohup requires.
    """

    def interrupt(*_: object) -> None:
        for each in caught:  # a second signal must not interrupt the cleanup
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        caught.append(signal.SIGHUP)
    previous = {each: signal.signal(each, interrupt) for each in caught}
    try:
        yield
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)


@contextmanager
def _logging() -> Iterator[None]:
    """Prints the library's warnings (a dead worker, a slow storage) as lines on stderr."""
    log, handler = logging.getLogger("noregret"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("noregret: %(message)s"))
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
