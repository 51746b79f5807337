"""``noregret run``: evaluate a Python function or a program until a stopping rule is met.

A function is named by its module or script. A program is started once per trial and prints its
value.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import IO, Annotated, Any, Literal

import click

from noregret.cli import options, output
from noregret.diagnostics.presentation import format_number
from noregret.errors import (
    ConfigurationError,
    NoRegretError,
    TransientError,
    TrialTimeoutError,
    WorkerDiedError,
)
from noregret.space import Candidates, Space, named_params
from noregret.study import CertifiedWithin, Isolated, LeftBelow, Reached, Study, was_killed
from noregret.trials import check_noise, check_value, returned

Objective = Callable[[Any], Any]
TAIL = 65536  # bytes of the output that are read, from its end
PATIENCE = 5.0  # seconds between SIGTERM and SIGKILL
TEMPORARY = 75  # EX_TEMPFAIL of sysexits.h: try again later

# -- programs --


class EvaluationError(Exception):
    """An evaluation failed, and so has its trial."""


class RunOverError(EvaluationError):
    """The evaluation was ended because the run was."""


class NotStartedError(BaseException):
    """The program cannot be started at any point. Like Ctrl-C it passes through the run, so that
    the trials under way return to the queue.
    """


class Program:
    """``with Program("./train --lr {lr}", space) as objective``; leaving ends running programs.

    The command is split into words before each {name} is replaced by its value, and no shell reads
    it: a value can never run anything.
    """

    def __init__(
        self,
        command: str,
        space: Space | Candidates,
        timeout: float | None = None,
        outcomes: tuple[str, ...] = (),
    ) -> None:
        self.space, self.timeout, self.outcomes = space, timeout, outcomes
        names = list(space.parameters)
        try:
            # on Windows a backslash belongs to a path
            self.words = shlex.split(command, posix=os.name != "nt")
            if os.name == "nt":
                self.words = [word.strip('"') for word in self.words]
        except ValueError as error:
            raise ConfigurationError(
                f"the command {command!r} cannot be split into words: {error}"
            ) from None
        if not self.words:
            raise ConfigurationError(
                "the command is empty: write a program and its arguments: './train --lr {lr}'"
            )
        unused = [name for name in names if not any(f"{{{name}}}" in word for word in self.words)]
        if unused:
            raise ConfigurationError(
                f"the command does not use {{{unused[0]}}}: it needs every parameter in braces"
            )
        if "{" not in self.words[0] and shutil.which(self.words[0]) is None:
            raise ConfigurationError(
                f"there is no program {self.words[0]!r}: check its path, and that it is executable"
            )
        self._places = re.compile("|".join(re.escape(f"{{{name}}}") for name in names))
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock, self._over = threading.Lock(), False

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
            left = list(self._running)
        for process in left:
            _end(process)

    def arguments(self, params: Any) -> list[str]:
        """The command line of one evaluation."""
        values = named_params(self.space, params)
        return [
            self._places.sub(lambda found: _word(values[found[0][1:-1]]), word)
            for word in self.words
        ]

    def __call__(self, params: Any) -> Any:
        # files, not pipes: a child of the program may keep a pipe open
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = self._start(self.arguments(params), out, err)
            try:
                code = process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                raise EvaluationError(f"no answer after {self.timeout:g} s: it was ended") from None
            finally:
                with self._lock:
                    self._running.discard(process)
                _end(process)
            if self._over:
                raise RunOverError("the run is over")
            if code != 0:
                printed = _lines(err) or _lines(out)
                how = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
                raise _error_of(code)(how + (f", its last words: {printed[-1]}" if printed else ""))
            return read_printed(_lines(out), self.outcomes)

    def _start(
        self, arguments: list[str], out: IO[bytes], err: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._over:
                raise RunOverError("the run is over")
            try:
                process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise NotStartedError(
                    f"cannot start {arguments[0]!r}: {getattr(error, 'strerror', None) or error}"
                ) from None
            self._running.add(process)
        return process


def _error_of(code: int) -> type[Exception]:
    """The error for an exit code. The point is not to blame if the program was killed (shells add
    128 to the signal) or reported a temporary failure.
    """
    if was_killed(code) or was_killed(128 - code):
        return WorkerDiedError
    return TransientError if code == TEMPORARY else EvaluationError


def read_printed(lines: Sequence[str], outcomes: Sequence[str] = ()) -> Any:
    """The result in a program's output, as a function would return it.

    Without outcomes: the pair (value, noise std), from the last line if it is a number, else from
    the last line that is a JSON object with a value. With outcomes: value and outcomes as a dict,
    from the last line that is a JSON object with any outcome; the value may be missing where an
    outcome is beyond its limit.
    """
    if outcomes:
        document = _last_json(lines, outcomes)
        if document is None:
            example = f'{{"value": 0.3, "{outcomes[0]}": 0.2}}'
            raise EvaluationError(f"no line of its output is JSON with its outcomes: {example}")
        return {
            name: document[name] for name in ("value", "noise_std", *outcomes) if name in document
        }
    if not lines:
        raise EvaluationError("it printed nothing: the last line of its output must be the value")
    try:
        document = {"value": float(lines[-1])}
    except ValueError:
        document = _last_json(lines, ["value"])
    if document is None:
        last = lines[-1][:200]
        raise EvaluationError(
            f'its last line is no number and no line JSON with a "value": {last!r}'
        )
    try:
        return check_value(document["value"]), check_noise(document.get("noise_std"))
    except NoRegretError as error:
        raise EvaluationError(str(error)) from None


def _last_json(lines: Sequence[str], names: Sequence[str]) -> dict[str, Any] | None:
    """The last line that is a JSON object with one of these keys."""
    for line in reversed(lines):
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict) and any(name in document for name in names):
            return document
    return None


def _lines(file: IO[bytes]) -> list[str]:
    """The last lines that are not empty."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL))
    lines = file.read().decode("utf-8", errors="replace").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _word(value: Any) -> str:
    """A value as other languages read it: 0.001, true, null."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return repr(float(value)) if isinstance(value, float) else str(value)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and its children: SIGTERM first, then SIGKILL."""
    for request in ("SIGTERM", "SIGKILL"):
        if process.poll() is not None:
            return
        try:
            os.killpg(process.pid, getattr(signal, request))
        except (AttributeError, ProcessLookupError, PermissionError):  # Windows has no groups
            process.kill()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            continue


# -- a Python function --


def load_function(name: str) -> Callable[[Any], Any]:
    """A function by name; its module is imported as Python would from the working folder."""
    where, colon, attribute = name.rpartition(":")
    if not colon or not where or not attribute:
        raise ConfigurationError(f"write module:function or script.py:function, got {name!r}")
    try:
        function: Any = _import(where)
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{where} could not be loaded: {locate(error)}") from None
    public = sorted(n for n, v in vars(function).items() if callable(v) and not n.startswith("_"))
    for part in attribute.split("."):
        if not hasattr(function, part):
            names = ", ".join(public) or "none"
            raise ConfigurationError(f"{where} has no function {attribute!r}: it has {names}")
        function = getattr(function, part)
    if not callable(function):
        raise ConfigurationError(f"{attribute} in {where} is not a function but {function!r}")
    return function


def _import(where: str) -> ModuleType:
    """A module by its name or its file, as Python imports it from the working folder."""
    path = Path(where)
    if path.suffix != ".py":
        sys.path.insert(0, "")
        if find_spec(where.split(".")[0]) is None:
            raise ConfigurationError(
                f"there is no module {where}: write its dotted name, or path/to/script.py:function"
            )
        return importlib.import_module(where)
    if not path.is_file():
        raise ConfigurationError(f"there is no file {path}")
    sys.path.insert(0, str(path.resolve().parent))
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    sys.modules[path.stem] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def locate(error: BaseException) -> str:
    """An exception in a line, with the place in the user's code."""
    frames = traceback.extract_tb(error.__traceback__)
    text = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    if isinstance(error, SyntaxError):
        return f"{text} ({error.filename}, line {error.lineno})"
    return f"{text} ({frames[-1].filename}, line {frames[-1].lineno})" if frames else text


# -- an objective under observation --


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
        except RunOverError:
            raise
        except Exception as error:
            self._report(params, failure_line(error))
            if isinstance(error, TrialTimeoutError):  # the run would print it once more
                raise EvaluationError(str(error)) from None
            raise
        with self._lock:
            self.in_a_row = 0
        return result

    def _report(self, params: Any, text: str) -> None:
        point = output.point_text(self.study, params)
        with self._lock:
            self.in_a_row, self.failed, self.last = self.in_a_row + 1, self.failed + 1, text
            clear = "\r\x1b[K" if sys.stderr.isatty() else ""  # overwrite a progress bar
            click.echo(f"{clear}noregret: failed at {point}: {text}", err=True)

    @property
    def gave_up(self) -> bool:
        return self.in_a_row >= self.limit


def failure_line(error: Exception) -> str:
    """A failure in a line."""
    if isinstance(error, (EvaluationError, TransientError)):
        return str(error)
    if isinstance(error, NoRegretError):
        return str(error).partition(":")[0]  # the rest is advice for users of tell
    return locate(error)


# -- the command --


@options.command
def run_command(
    target: options.Target,
    function: options.FunctionName = None,
    *,
    program: Annotated[str | None, "--command", "-c", "TEXT"] = None,
    context: options.Assignments = (),
    trials: Annotated[int | None, click.IntRange(min=0)] = None,
    total: Annotated[int | None, click.IntRange(min=0)] = None,
    timeout: Annotated[options.NotNegative | None, "SECONDS"] = None,
    value: Annotated[float | None, "--target", "VALUE"] = None,
    left: Annotated[options.Positive | None, "GAIN"] = None,
    certified: Annotated[options.Positive | None, "REGRET"] = None,
    heuristic: bool = False,
    workers: options.Count = 1,
    trial_timeout: options.Seconds | None = None,
    max_failures: options.Count = 3,
    grace: options.Seconds = 60.0,
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
        trials: Number of trials to start here.
        total: Stop once the study has this many trials, those of other workers included.
        timeout: Start no more trials after this time.
        value: Stop once a value is as good as this.
        left: Stop once it can hardly get better than the recommended point by more than this, by
            the model: a rule of thumb.
        certified: Stop once the recommended point's regret is certified to be below this.
        heuristic: With --certified: accept a bound that is not proved.
        workers: Number of trials at once, in threads.
        trial_timeout: Stop an evaluation after this time; its trial has failed. A function then
            runs in a separate process.
        max_failures: Stop after this many consecutive failed trials.
        grace: Seconds without a heartbeat before a worker is considered dead.
        dead: Whether trials of dead workers are proposed again, fail, or stay as they are.
        dry_run: Evaluate the next point once, and record nothing.

    Example:
        noregret run lab train.py:loss --trials 50, or
        noregret run lab --command "./train --lr {lr}" --trials 50 --workers 4
    """
    if (function is None) == (program is None):
        raise click.UsageError("name a function, such as train.py:loss, or a program: --command")
    stops: list[Callable[[Study], bool]] = [Reached(value)] if value is not None else []
    if heuristic and certified is None:
        raise click.UsageError("--heuristic goes with --certified")
    if certified is not None:
        stops.append(CertifiedWithin(certified, heuristic=heuristic))
    if left is not None:
        stops.append(LeftBelow(left))
    if not stops and not dry_run and trials is total is timeout is None:
        stopping = "--trials, --total, --timeout, --target, --left, --certified"
        raise click.UsageError(f"when to stop? {stopping}")
    click.get_current_context().with_resource(_signals())
    study = target.open()
    before, started = len(study.trials), time.monotonic()
    now = options.parse_context(study, context)
    manager: AbstractContextManager[Objective]
    if program is not None:
        manager = Program(program, study.space, trial_timeout, tuple(study.outcomes))
    else:
        loaded = load_function(function or "")
        manager = nullcontext(loaded) if trial_timeout is None else Isolated(loaded, trial_timeout)
    try:
        with manager as objective, _logging():
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
    except NotStartedError as error:
        raise ConfigurationError(str(error)) from None
    except KeyboardInterrupt as error:
        error.add_note(
            "Trials under way returned to the queue. Type the same command again to go on."
        )
        raise
    if watched.gave_up:
        raise NoRegretError(
            f"stopped: {watched.in_a_row} trials in a row failed, the last with: {watched.last}."
            " Repair it and type the same command again to go on"
        )
    _report(target, study, before, watched.failed, time.monotonic() - started)


def _dry_run(target: options.Target, study: Study, objective: Objective, context: Any) -> None:
    params = study.preview(context=context).params
    words = objective.arguments(params) if isinstance(objective, Program) else None
    where = f"at {output.point_text(study, params)}"
    try:
        found = returned(objective(params), study.outcomes)
    except Exception as error:
        message = f"it failed {where}: {failure_line(error)}. Nothing was recorded"
        raise NoRegretError(message) from None
    document = {
        "study": study.name,
        "params": named_params(study.space, params),
        "value": found.value,
        "noise_std": found.noise_std,
        "command": words,
    }
    if study.outcomes:
        document |= {"outcomes": dict(found.outcomes), "feasible": found.feasible}
    numbers = {"": found.value, "noise ": found.noise_std}
    numbers |= {f"{name} ": value for name, value in found.outcomes.items()}
    text = ", ".join(
        f"{name}{format_number(value)}" for name, value in numbers.items() if value is not None
    )
    ran = "" if words is None else f"ran {shlex.join(words)}\n"
    target.emit(document, f"{ran}{text} {where}; nothing was recorded")


def _report(target: options.Target, study: Study, before: int, failed: int, seconds: float) -> None:
    found, new = output.results(study), len(study.trials) - before
    document = {"study": study.name, "new": new, "failed_here": failed, "seconds": seconds}
    document |= output.counts(study) | found
    text = f"{new} new trials in {seconds:.1f} s; {study.name} has {output.counts_text(study)}"
    best = output.results_text(study, found)
    target.emit(document, f"{text}\n{best}\n\nnext: {target.again('plot')}")


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
