"""Objectives of ``noregret run``: a Python function by name, or a program that is started once per
trial and prints its value.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from noregret.errors import ConfigurationError, NoRegretError, TransientError, WorkerDiedError
from noregret.space import Candidates, Space, named_params
from noregret.study import was_killed
from noregret.trials import check_noise, check_value

TAIL = 65536  # bytes of the output that are read, from its end
PATIENCE = 5.0  # seconds between SIGTERM and SIGKILL


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
        self.outcomes = outcomes
        names = list(space.parameters)
        try:
            self.words = shlex.split(command)
        except ValueError as error:
            raise ConfigurationError(
                f"the command {command!r} cannot be split into words: {error}"
            ) from None
        if not self.words:
            raise ConfigurationError(
                "the command is empty: write the program and its arguments,"
                " such as './train --lr {lr}'"
            )
        unused = [name for name in names if not any(f"{{{name}}}" in word for word in self.words)]
        if unused:
            raise ConfigurationError(
                f"the command does not use {{{unused[0]}}}: write every parameter in braces where"
                f" its value belongs, of {', '.join(names)}"
            )
        if "{" not in self.words[0] and shutil.which(self.words[0]) is None:
            raise ConfigurationError(
                f"there is no program {self.words[0]!r} that can be run:"
                " check its path, and that it is executable"
            )
        self.space, self.timeout = space, timeout
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
                said = _lines(err) or _lines(out)
                how = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
                raise _kind(code)(how + (f", its last words: {said[-1]}" if said else ""))
            lines = _lines(out)
            return read_outcomes(lines, self.outcomes) if self.outcomes else read_value(lines)

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


TEMPORARY = 75  # EX_TEMPFAIL of sysexits.h: try again later


def _kind(code: int) -> type[Exception]:
    """The error for an exit code. The point is not to blame if the program was killed (shells add
    128 to the signal) or reported a temporary failure.
    """
    if was_killed(code) or was_killed(128 - code):
        return WorkerDiedError
    return TransientError if code == TEMPORARY else EvaluationError


def read_value(lines: Sequence[str]) -> tuple[float, float | None]:
    """The value and its noise: the last line if it is a number, else the last line that is a JSON
    object with a value.
    """
    if not lines:
        raise EvaluationError("it printed nothing: the last line of its output must be the value")
    document: dict[str, Any] | None
    try:
        document = {"value": float(lines[-1])}
    except ValueError:
        document = _last_json(lines, ("value",))
    if document is None:
        raise EvaluationError(
            'the last line of its output is no number and no line is JSON with a "value":'
            f" {lines[-1][:200]!r}"
        )
    try:
        return check_value(document["value"]), check_noise(document.get("noise_std"))
    except NoRegretError as error:
        raise EvaluationError(str(error)) from None


def read_outcomes(lines: Sequence[str], names: tuple[str, ...]) -> dict[str, Any]:
    """Value and outcomes from the last line that is a JSON object with any of them; the value may
    be missing where an outcome is beyond its limit.
    """
    document = _last_json(lines, names)
    if document is not None:
        wanted = ("value", "noise_std", *names)
        return {name: document[name] for name in wanted if name in document}
    raise EvaluationError(
        "no line of its output is JSON with its outcomes, such as"
        f' {{"value": 0.3, "{names[0]}": 0.2}}'
    )


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
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            process.kill()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            continue


# -- a Python function --


def load(name: str) -> Callable[[Any], Any]:
    """A function by name; its module is imported as Python would from the working folder."""
    where, colon, attribute = name.rpartition(":")
    if not colon or not where or not attribute:
        raise ConfigurationError(f"write module:function or script.py:function, got {name!r}")
    try:
        module = _script(Path(where)) if where.endswith(".py") else _module(where)
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{where} could not be loaded: {describe(error)}") from None
    function = module
    for part in attribute.split("."):
        if not hasattr(function, part):
            public = [key for key, value in vars(module).items() if callable(value)]
            names = ", ".join(sorted(key for key in public if not key.startswith("_")))
            raise ConfigurationError(
                f"{where} has no function {attribute!r}: it has {names or 'none'}"
            )
        function = getattr(function, part)
    if not callable(function):
        raise ConfigurationError(f"{attribute} in {where} is not a function but {function!r}")
    return function


def _module(name: str) -> ModuleType:
    sys.path.insert(0, "")
    if importlib.util.find_spec(name.split(".")[0]) is None:
        raise ConfigurationError(
            f"there is no module {name}:"
            " write its dotted name, or a script as path/to/script.py:function"
        )
    return importlib.import_module(name)


def _script(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigurationError(f"there is no file {path}")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def describe(error: BaseException) -> str:
    """An exception in a line, with the place in the user's code."""
    frames = traceback.extract_tb(error.__traceback__)
    text = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    if isinstance(error, SyntaxError):
        return f"{text} ({error.filename}, line {error.lineno})"
    return f"{text} ({frames[-1].filename}, line {frames[-1].lineno})" if frames else text
