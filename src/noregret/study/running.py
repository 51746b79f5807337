"""Running trials on any ``concurrent.futures`` executor: keeps it busy, tells what comes back,
takes over from workers that died.
"""

from __future__ import annotations

import gc
import logging
import math
import os
import signal
import socket
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Future,
    wait,
)
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from noregret.errors import (
    StorageError,
    TransientError,
    TrialTimeoutError,
    UnavailableError,
    WorkerDiedError,
)
from noregret.storage import UNLIMITED
from noregret.study.heartbeat import Heartbeat
from noregret.study.plan import ATTEMPTS, Plan, Work
from noregret.study.progress_bar import Progress
from noregret.trials import About, Trial, failure_text, returned

AGES = 1e9  # seconds
BEAT = 5.0  # seconds between heartbeats, less if the grace is short
PATIENCE = 600.0  # seconds for which a value is kept while the storage does not answer
T = TypeVar("T")
log = logging.getLogger("noregret")


def plain_point(params: Any) -> str:
    """A point as a message shows it."""
    if isinstance(params, np.ndarray):
        return repr(params.tolist())
    return ", ".join(f"{name}={value!r}" for name, value in params.items())


def describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def worker_died(error: BaseException) -> bool:
    """Whether what evaluated the point was killed, while others go on: its process, or the workers
    that a Dask cluster gave it.
    """
    dask = type(error).__name__ == "KilledWorker" and type(error).__module__.startswith(
        "distributed"
    )
    return dask or isinstance(error, WorkerDiedError)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A second Ctrl-C does not keep the first from cleaning up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Run:
    """One call of ``Study.run``."""

    def __init__(
        self, work: Work, objective: Callable[[Any], Any], plan: Plan, bar: Progress
    ) -> None:
        self.work, self.objective, self.plan, self.bar = work, objective, plan, bar
        self.worker = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self.flying: dict[Future[Any], Trial] = {}
        self.started = 0
        self.error: BaseException | None = None  # what stopped it
        self.heartbeat = Heartbeat(work, self.worker, min(BEAT, plan.grace / 4))
        self._looked = -math.inf

    def run(self) -> None:
        try:
            while True:
                self._reclaim()
                may_start = self._fill()
                if self.flying:
                    self._collect()
                elif may_start and self._others_at_work():
                    time.sleep(min(BEAT, self.plan.grace) / 10)
                else:
                    break
        except BaseException as error:
            self._abandon(error)
            raise
        finally:
            self.heartbeat.stop()
        if self.error is not None:
            raise self.error

    # -- starting --

    def _fill(self) -> bool:
        """Starts what there is to start; whether more may be started later."""
        while True:
            if len(self.flying) >= self.plan.workers:
                return True
            if not self._may_start():
                return False
            try:
                trial = self._patiently(lambda: self.work.next(self.worker, self.plan.total))
            except Exception as error:  # what is in flight is still told
                self.error = error
                return False
            if trial is None:
                return True
            self.started += 1
            log.debug("trial %d begins at %s", trial.number, plain_point(trial.params))
            self._start(trial)

    def _may_start(self) -> bool:
        try:
            return (
                self.error is None
                and self.started < self.plan.trials
                and time.monotonic() < self.plan.deadline
                and not self.plan.until()
            )
        except Exception as error:
            self.error = error
            return False

    def _start(self, trial: Trial) -> None:
        if self.plan.executor is None:
            future: Future[Any] = Future()
            self._take_off(future, trial)
            try:
                future.set_result(self.objective(trial.params.copy()))
            except Exception as error:
                future.set_exception(error)
            return
        try:
            future = self.plan.executor.submit(self.objective, trial.params.copy())
        except Exception as error:
            self._give_back([trial], UNLIMITED)
            self.error = error
        else:
            self._take_off(future, trial)

    def _take_off(self, future: Future[Any], trial: Trial) -> None:
        self.flying[future] = trial
        self.heartbeat.numbers |= {trial.number}
        self.heartbeat.start()

    # -- ending --

    def _collect(self) -> None:
        """Waits until something is done, though not so long that dead workers go unnoticed."""
        pause = self.plan.grace / 2 if self.work.storage.shared and self.plan.reclaim else math.inf
        left = self.plan.deadline + self.plan.grace - time.monotonic()
        pause = min(pause, max(left, 0.0))
        done = wait(
            self.flying,
            timeout=None if pause == math.inf else pause,
            return_when=FIRST_COMPLETED,
        ).done
        if not done and left <= 0:
            log.warning(
                "%d trials did not end within %g s after the timeout: they wait to be given out"
                " again, and what they return is not told",
                len(self.flying),
                self.plan.grace,
            )
            self._leave()
        for future in done:
            trial = self.flying[future]
            try:
                self._end(trial, future)
            except Exception as error:
                if not isinstance(error, (StorageError, BrokenExecutor, CancelledError)):
                    error.add_note(f"Trial {trial.number} failed at {plain_point(trial.params)}.")
                self.error = self.error or error
            del self.flying[future]
            self.heartbeat.numbers -= {trial.number}
            try:
                self.work.ended(trial.number)
            except Exception as error:
                self.error = self.error or error
            self.bar.advance(self.work.note(trial) if self.bar.shown else "")

    def _end(self, trial: Trial, future: Future[Any]) -> None:
        name, storage = self.work.name, self.work.storage
        try:
            value, noise, told = returned(future.result(), self.work.limits)
        except (BrokenExecutor, CancelledError):  # the worker died, not the evaluation
            self._give_back([trial], ATTEMPTS)
            raise
        except Exception as error:
            if worker_died(error):
                log.warning("trial %d: %s", trial.number, describe(error))
                self._give_back([trial], ATTEMPTS)
                return
            transient = isinstance(error, TransientError)
            about = About(error=failure_text(error), transient=transient)
            self._patiently(
                lambda: storage.finish(
                    name,
                    trial.number,
                    "failed",
                    None,
                    None,
                    worker=self.worker,
                    about=about,
                ),
                f"trial {trial.number} failed",
            )
            log.info("trial %d failed: %s", trial.number, describe(error))
            if isinstance(error, TrialTimeoutError):
                log.warning("trial %d has failed: %s", trial.number, error)
            elif not isinstance(error, self.plan.catch):
                raise
        else:
            log.info("trial %d: %r at %s", trial.number, value, plain_point(trial.params))
            measured = About(outcomes=told.values, outcome_noise=told.noise, feasible=told.feasible)
            if (
                self._patiently(
                    lambda: storage.finish(
                        name, trial.number, "complete", value, noise, about=measured
                    ),
                    f"trial {trial.number} has the value {value!r}",
                )
                is None
            ):
                log.warning(
                    "trial %d was finished elsewhere first: that outcome stands, %r is not"
                    " recorded",
                    trial.number,
                    value,
                )

    def _patiently(self, action: Callable[[], T], outcome: str = "") -> T:
        """Again while the storage does not answer; with an outcome also while it cannot write: an
        evaluation may have cost a day.
        """
        deadline, pause = time.monotonic() + PATIENCE, 1.0
        while True:
            try:
                return action()
            except UnavailableError as error:
                if time.monotonic() + pause > deadline or not (outcome or error.passing):
                    if outcome:
                        error.add_note(
                            f"The outcome was not recorded: {outcome}. Tell it once the storage"
                            " answers."
                        )
                    raise
                log.warning("%s; trying again in %g s", error, pause)
            time.sleep(pause)
            pause = min(2 * pause, 30.0)

    def _leave(self) -> None:
        """What is in flight waits to be given out again."""
        for future in self.flying:
            future.cancel()
        self._give_back(list(self.flying.values()), UNLIMITED)
        self.flying.clear()
        self.heartbeat.numbers = frozenset()

    def _abandon(self, error: BaseException) -> None:
        # what the interrupted calls still hold, a connection with a lock among it, is let go first
        traceback.clear_frames(error.__traceback__)
        gc.collect()
        with _undisturbed():
            left = list(self.flying.values())
            self._leave()
            self._give_back_all()
        if isinstance(error, KeyboardInterrupt):
            again = (
                "Call run again on this study, or open it again, to go on."
                if self.work.storage.shared
                else "Call run again on this study to go on: it is in memory only."
            )
            points = "; ".join(f"{t.number} at {plain_point(t.params)}" for t in left)
            error.add_note(
                f"{len(left)} trials in flight wait to be given out again"
                f"{f' ({points})' if left else ''}; everything told is kept. {again}"
            )

    # -- other workers --

    def _give_back(self, trials: list[Trial], attempts: int) -> None:
        if not trials:
            return
        try:
            self.work.storage.reclaim(
                self.work.name,
                attempts,
                numbers=[trial.number for trial in trials],
                worker=self.worker,
            )
        except StorageError as error:
            log.warning("trials in flight stay running until they are reclaimed: %s", error)

    def _give_back_all(self) -> None:
        """Also a trial that was just asked for when the run was interrupted."""
        try:
            self.work.storage.reclaim(self.work.name, UNLIMITED, grace=-AGES, worker=self.worker)
        except StorageError as error:
            log.warning("trials may stay running until they are reclaimed: %s", error)

    def _reclaim(self) -> None:
        """Takes trials from workers that gave no sign of life, now and then."""
        now = time.monotonic()
        if (
            self.plan.reclaim
            and self.work.storage.shared
            and now - self._looked > self.plan.grace / 2
        ):
            self._looked = now
            try:
                for trial in self.work.storage.reclaim(
                    self.work.name, self.plan.attempts, grace=self.plan.grace
                ):
                    log.warning(
                        "trial %d gave no sign of life for %g s: it is %s",
                        trial.number,
                        self.plan.grace,
                        trial.state,
                    )
            except UnavailableError as error:
                log.warning("dead workers were not looked for this time: %s", error)

    def _others_at_work(self) -> bool:
        """Whether trials of a limited study run elsewhere that may yet have to be taken over."""
        if math.isinf(self.plan.total) or self.plan.reclaim is None:
            return False
        return any(
            trial.worker is not None or (trial.state == "waiting" and self.work.may_take(trial))
            for trial in self.work.storage.trials(self.work.name)
        )
