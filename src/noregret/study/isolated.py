"""Objectives that can be ended: threads that do not keep a program from ending, and processes that
are killed when they take too long.
"""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from noregret.errors import ConfigurationError, TrialTimeoutError, WorkerDiedError

ENDING = 5.0  # seconds between asking a process to end and killing it


def was_killed(code: int) -> bool:
    """Whether another process ended this one: hung up, interrupted, killed (for memory, by a
    cluster) or asked to end. A crash has other signals.

    Args:
        code: The exit code.
    """
    return -code in (1, 2, 9, 15)  # SIGHUP, SIGINT, SIGKILL, SIGTERM


def check_pickled(objective: Any, why: str) -> None:
    """Found out before a trial is charged for it."""
    try:
        pickle.dumps(objective)
    except Exception as error:
        raise ConfigurationError(
            f"{why} needs an objective that can be pickled, defined at the top of a module and"
            f" without locks, files and connections ({type(error).__name__}: {error})"
        ) from None


class DaemonThreads(Executor):
    """A thread per call. Unlike those of a ``ThreadPoolExecutor`` they do not keep the program from
    ending when an objective hangs.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=work, name=f"noregret_{next(self._numbers)}", daemon=True).start()
        return future


class Isolated:
    """An objective that is evaluated in separate processes. A process is used again as long as it
    answers in time.

    Args:
        objective: A picklable function of the parameters.
        seconds: Longest time of one evaluation; then its process is ended and TrialTimeoutError
            raised.
    """

    def __init__(self, objective: Callable[[Any], Any], seconds: float) -> None:
        check_pickled(objective, "trial_timeout")
        self.objective, self.seconds = objective, seconds
        self._context = multiprocessing.get_context("spawn")
        self._idle: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()
        self._lock, self._all, self._over = threading.Lock(), set[Any](), False

    def __enter__(self) -> Isolated:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over, left = True, list(self._all)
        for process in left:
            self._end(process)

    def __call__(self, params: Any) -> Any:
        process, pipe = self._taken()
        try:
            pipe.send(params)
            in_time = pipe.poll(self.seconds)
            answer, error = pipe.recv() if in_time else (None, None)
        except (EOFError, OSError):
            process.join(ENDING)
            code = process.exitcode
            self._end(process)
            kind = WorkerDiedError if code is not None and was_killed(code) else RuntimeError
            raise kind(f"the process of the objective died (exit code {code})") from None
        except BaseException:
            self._end(process)
            raise
        if not in_time:
            self._end(process)
            raise TrialTimeoutError(f"no value after {self.seconds:g} s: it was ended")
        self._idle.put((process, pipe))
        if error is not None:
            raise error
        return answer

    def _taken(self) -> tuple[Any, Any]:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            pass
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_serve, args=(theirs, self.objective), name="noregret-objective", daemon=True
        )
        with self._lock:
            if self._over:
                raise RuntimeError("the run is over")
            process.start()
            self._all.add(process)
        theirs.close()
        if not ours.poll(None) or ours.recv() != "ready":
            raise RuntimeError("the process of the objective did not start")
        return process, ours

    def _end(self, process: Any) -> None:
        with self._lock:
            self._all.discard(process)
        process.terminate()
        process.join(ENDING)
        if process.is_alive():
            process.kill()
            process.join(ENDING)


def _serve(pipe: Any, objective: Callable[[Any], Any]) -> None:
    pipe.send("ready")
    while True:
        try:
            params = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer: tuple[Any, Exception | None] = (objective(params), None)
        except Exception as error:
            answer = (None, error)
        try:
            pipe.send(answer)
        except (OSError, ValueError):
            return
        except Exception as error:  # an answer that cannot be pickled
            pipe.send((None, TypeError(f"what the objective gave cannot be sent back: {error}")))
