"""``Study.run``: keeps any ``concurrent.futures`` executor busy, tells what comes back, and takes
over from workers that died.
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from noregret.errors import (
    ConfigurationError,
    StorageError,
    TransientError,
    TrialError,
    TrialTimeoutError,
    UnavailableError,
    WorkerDiedError,
    check_count,
)
from noregret.storage import UNLIMITED
from noregret.study.isolated import DaemonThreads, Isolated, check_pickled
from noregret.study.progress_bar import Progress
from noregret.study.result import check_chance
from noregret.trials import Ending, Trial, failure_text, is_number, returned, sign_of

if TYPE_CHECKING:
    from noregret.study.study import Study

Reclaim = Literal["retry", "fail"]
MAX_ATTEMPTS = 3  # times a trial is given out whose worker dies: the point may be what kills them
EVER = 1e9  # seconds, longer than any run
BEAT = 5.0  # seconds between heartbeats, less if the grace is short
PATIENCE = 600.0  # seconds for which a result is kept while the storage does not answer
T = TypeVar("T")
log = logging.getLogger("noregret")


# -- checks --


def check_seconds(name: str, value: Any) -> None:
    """ConfigurationError unless it is a positive, finite number."""
    if not is_number(value) or value <= 0:
        raise ConfigurationError(f"{name} is a positive number of seconds, got {value!r}")


def check_call(objective: Any, catch: Any, callbacks: Any) -> tuple[type[Exception], ...]:
    """Returns the exceptions to catch as a tuple, whatever collection they came in.

    Raises:
        ConfigurationError: The objective or a callback cannot be called, or ``catch`` holds
            anything but exceptions.
    """
    if not callable(objective):
        raise ConfigurationError(f"objective is a function of the parameters, got {objective!r}")
    if callable(callbacks) or not all(map(callable, callbacks)):
        raise ConfigurationError(f"callbacks is a list of functions, got {callbacks!r}")
    try:
        kinds = (catch,) if isinstance(catch, type) else tuple(catch)
    except TypeError:
        kinds = (catch,)
    if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
        raise ConfigurationError(f"catch is exceptions, such as (ValueError,), got {catch!r}")
    return kinds


# -- messages --


def plain_point(params: Any) -> str:
    """A point as a message shows it."""
    if isinstance(params, np.ndarray):
        return repr(params.tolist())
    return ", ".join(f"{name}={value!r}" for name, value in params.items())


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def worker_died(error: BaseException) -> bool:
    """Whether a process or the workers of a Dask cluster died of the evaluation."""
    return isinstance(error, WorkerDiedError) or type(error).__name__ == "KilledWorker"


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


@dataclass(eq=False)
class Run:
    """One call of ``Study.run``, whose arguments it takes.

    context: the values of the context parameters, or a function that returns them. executor: None
    runs one evaluation at a time in this thread.
    """

    study: Study
    objective: Callable[[Any], Any]
    context: Any
    trials: int | None
    total: int | None
    timeout: float | None
    until: Callable[[Study], bool] | None
    trial_timeout: float | None
    workers: int
    executor: Executor | None
    catch: tuple[type[Exception], ...]
    callbacks: Sequence[Callable[[Study, Trial], Any]]
    grace: float
    reclaim: Reclaim | None
    progress: bool | None

    def __post_init__(self) -> None:
        self.catch = check_call(self.objective, self.catch, self.callbacks)
        self._check()
        threads = self.workers > 1 or self.timeout is not None or self.trial_timeout is not None
        if self.executor is None and threads:
            self.executor = DaemonThreads()
        self.storage, self.key = self.study._storage, self.study._key
        self.deadline = math.inf if self.timeout is None else time.monotonic() + self.timeout
        shown = False if self.trials is None else self.progress
        self.bar = Progress(self.trials or 0, shown=shown)
        self.worker = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._heartbeat: threading.Thread | None = None
        self._over = threading.Event()
        self.flying: dict[Future[Any], Trial] = {}
        self.started = 0
        self.error: BaseException | None = None  # what ends the run
        self._last_reclaim = -math.inf

    def _check(self) -> None:
        """Raises ConfigurationError unless the run has an end and its arguments fit together."""
        if all(end is None for end in (self.trials, self.total, self.timeout, self.until)):
            raise ConfigurationError("run needs an end: trials, total, timeout or until")
        for name, count in (("trials", self.trials), ("total", self.total)):
            if count is not None:
                check_count(name, count, 0)
        check_count("workers", self.workers)
        if self.until is not None and not callable(self.until):
            raise ConfigurationError(f"until is a function of the study, got {self.until!r}")
        seconds = 0.0 if self.timeout in (None, math.inf) else self.timeout
        if not is_number(seconds) or seconds < 0:
            raise ConfigurationError(f"timeout is a number of seconds ≥ 0, got {self.timeout!r}")
        check_seconds("grace", self.grace)
        if self.reclaim not in ("retry", "fail", None):
            raise ConfigurationError(f'reclaim is "retry", "fail" or None, got {self.reclaim!r}')
        if self.trial_timeout is not None:
            check_seconds("trial_timeout", self.trial_timeout)
        if self.executor is None:
            return
        if not callable(getattr(self.executor, "submit", None)):
            raise ConfigurationError(
                f"executor must be a concurrent.futures.Executor, got {self.executor!r}"
            )
        if self.trial_timeout is not None:
            raise ConfigurationError(
                "trial_timeout needs processes that can be ended: leave out executor, use workers"
            )
        if isinstance(self.executor, ProcessPoolExecutor):
            check_pickled(self.objective, type(self.executor).__name__)

    def run(self) -> None:
        """Runs the loop; raises the first error that ends it once all others have been told."""
        with self.bar, ExitStack() as stack:
            if self.trial_timeout is not None:
                isolated = Isolated(self.objective, self.trial_timeout)
                self.objective = stack.enter_context(isolated)
            try:
                self._loop()
            except BaseException as error:
                self._abandon(error)
                raise
            finally:
                self._over.set()
                if self._heartbeat is not None:
                    self._heartbeat.join()
        if self.error is not None:
            raise self.error

    def _loop(self) -> None:
        while True:
            self._reclaim()
            may_start = self._fill()
            if self.flying:
                self._collect()
            elif may_start and self._others_at_work():
                time.sleep(min(BEAT, self.grace) / 10)
            else:
                return

    def _current_context(self) -> Any:
        return self.context() if callable(self.context) else self.context

    # -- starting --

    def _fill(self) -> bool:
        """Starts trials until all workers are busy; returns whether more may be started later."""
        try:
            while len(self.flying) < self.workers:
                if not self._may_start():
                    return False
                total = math.inf if self.total is None else self.total
                context = self._current_context()
                ask = partial(self.study._next_trial, self.worker, total, context=context)
                trial = self._patiently(ask)
                if trial is None:
                    return True
                self.started += 1
                log.debug("trial %d begins at %s", trial.number, plain_point(trial.params))
                self._start(trial)
        except Exception as error:  # what is in flight is still told
            self.error = error
            return False
        return True

    def _may_start(self) -> bool:
        return (
            self.error is None
            and (self.trials is None or self.started < self.trials)
            and time.monotonic() < self.deadline
            and not self.study._stopping
            and not (self.until is not None and self.until(self.study))
        )

    def _start(self, trial: Trial) -> None:
        if self.executor is None:
            future: Future[Any] = Future()
            self._take_off(future, trial)
            try:
                future.set_result(self.objective(trial.params.copy()))
            except Exception as error:
                future.set_exception(error)
            return
        try:
            future = self.executor.submit(self.objective, trial.params.copy())
        except Exception:
            self._give_back(UNLIMITED, trial)
            raise
        self._take_off(future, trial)

    def _take_off(self, future: Future[Any], trial: Trial) -> None:
        self.flying[future] = trial
        if self._heartbeat is None and self.storage.shared:
            # not earlier: an executor may fork when it gets its first evaluation
            name = "noregret-heartbeat"
            self._heartbeat = threading.Thread(target=self._beat, name=name, daemon=True)
            self._heartbeat.start()

    def _beat(self) -> None:
        """Reports every few seconds which trials are alive, in a thread."""
        while not self._over.wait(min(BEAT, self.grace / 4)):
            numbers = sorted(trial.number for trial in tuple(self.flying.values()))
            if numbers:
                try:
                    self.storage.heartbeat(self.key, numbers, self.worker)
                except StorageError as error:
                    log.warning("no heartbeat this time: %s", error)

    # -- ending --

    def _collect(self) -> None:
        """Waits until a trial has ended, but not so long that dead workers go unnoticed."""
        left = self.deadline + self.grace - time.monotonic()
        beat = self.grace / 2 if self.storage.shared and self.reclaim else math.inf
        pause = min(beat, max(left, 0.0))
        seconds = None if pause == math.inf else pause
        done = wait(self.flying, timeout=seconds, return_when=FIRST_COMPLETED).done
        if not done and left <= 0:
            message = "%d trials did not end within %g s after the timeout: they wait again"
            log.warning(message, len(self.flying), self.grace)
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
            try:
                for callback in self.callbacks:
                    callback(self.study, self.study.trials[trial.number])
            except Exception as error:
                self.error = self.error or error
            self.bar.advance(self._note(trial) if self.bar.shown else "")

    def _end(self, trial: Trial, future: Future[Any]) -> None:
        number = trial.number
        finish = partial(self.storage.finish, self.key, number)
        try:
            ending = returned(future.result(), self.study.outcomes)
        except (BrokenExecutor, CancelledError):  # the worker died, not the evaluation
            self._give_back(MAX_ATTEMPTS, trial)
            raise
        except Exception as error:
            if worker_died(error):
                log.warning("trial %d: %s", number, _described(error))
                self._give_back(MAX_ATTEMPTS, trial)
                return
            transient = isinstance(error, TransientError)
            ending = Ending("failed", error=failure_text(error), transient=transient)
            self._patiently(partial(finish, ending, self.worker), f"trial {number} failed")
            log.info("trial %d failed: %s", number, _described(error))
            if isinstance(error, TrialTimeoutError):
                log.warning("trial %d has failed: %s", number, error)
            elif not isinstance(error, self.catch):
                raise
        else:
            value = ending.value
            log.info("trial %d: %r at %s", number, value, plain_point(trial.params))
            recorded = f"trial {number} has the value {value!r}"
            if self._patiently(partial(finish, ending), recorded) is None:
                message = "trial %d was finished elsewhere first: that stands, %r is not recorded"
                log.warning(message, number, value)

    def _note(self, trial: Trial) -> str:
        """The text beside the progress bar."""
        note = ""
        with suppress(TrialError):  # nothing is complete yet
            best = self.study.best
            note = "" if best.value is None else f"best {best.value:.4g}"
            note = "nothing feasible yet" if best.feasible is False else note
        if trial.decision.model is None:
            return note
        numbers = self.study.strategy.explain(trial.decision).numbers
        if "h" in numbers:
            note += f"  h {numbers['h']:.3g}"
        if "lengthscales" in numbers:
            note += f"  lengthscale {float(np.exp(np.mean(np.log(numbers['lengthscales'])))):.3g}"
        return note

    def _patiently(self, action: Callable[[], T], outcome: str = "") -> T:
        """Repeats an action while the storage does not answer. With an outcome also while the
        storage cannot write: an evaluation may have cost a day.
        """
        deadline, pause = time.monotonic() + PATIENCE, 1.0
        while True:
            try:
                return action()
            except UnavailableError as error:
                if time.monotonic() + pause > deadline or not (outcome or error.passing):
                    if outcome:
                        error.add_note(
                            f"Not recorded: {outcome}. Tell it once the storage answers."
                        )
                    raise
                log.warning("%s; trying again in %g s", error, pause)
            time.sleep(pause)
            pause = min(2 * pause, 30.0)

    def _leave(self) -> None:
        """Gives all trials in flight back, also one just asked for when the run is interrupted."""
        for future in self.flying:
            future.cancel()
        self._give_back(UNLIMITED)
        self.flying.clear()

    def _abandon(self, error: BaseException) -> None:
        # release what the interrupted calls hold, such as a connection with a lock
        traceback.clear_frames(error.__traceback__)
        gc.collect()
        left = list(self.flying.values())
        with _undisturbed():
            self._leave()
        if isinstance(error, KeyboardInterrupt):
            again = ", or open it again" if self.storage.shared else "; it is in memory only"
            points = "; ".join(f"{t.number} at {plain_point(t.params)}" for t in left)
            error.add_note(
                f"{len(left)} trials in flight wait to be given out again"
                f"{f' ({points})' if left else ''}; everything told is kept. Call run again on this"
                f" study{again}."
            )

    # -- other workers --

    def _give_back(self, attempts: int, trial: Trial | None = None) -> None:
        """Returns one trial of this run, or all of them, to be given out again."""
        numbers = None if trial is None else [trial.number]
        try:
            self.storage.reclaim(
                self.key, attempts, grace=-EVER, numbers=numbers, worker=self.worker
            )
        except StorageError as error:
            log.warning("trials in flight stay running until they are reclaimed: %s", error)

    def _reclaim(self) -> None:
        """Takes trials from workers that send no heartbeat, twice per grace period."""
        now = time.monotonic()
        due = now - self._last_reclaim > self.grace / 2
        if not (self.reclaim and self.storage.shared and due):
            return
        self._last_reclaim = now
        attempts = MAX_ATTEMPTS if self.reclaim == "retry" else 0
        message = "trial %d gave no sign of life for %g s: it is %s"
        try:
            for trial in self.storage.reclaim(self.key, attempts, grace=self.grace):
                log.warning(message, trial.number, self.grace, trial.state)
        except UnavailableError as error:
            log.warning("dead workers were not looked for this time: %s", error)

    def _others_at_work(self) -> bool:
        """Whether trials of a limited study run elsewhere that may yet have to be taken over."""
        if self.total is None or self.reclaim is None:
            return False
        part = self.study._part(None, self._current_context())
        trials = self.storage.trials(self.key)
        is_attended = any(trial.worker is not None for trial in trials)
        return is_attended or self.study._waiting(trials, part) is not None


# -- stopping rules: any function of the study that returns a bool will do as well --


@dataclass(frozen=True, slots=True)
class Reached:
    """A stopping rule: a value at least as good as this one was told, within all limits.

    Args:
        value: The value to reach.

    Raises:
        ConfigurationError: It is not a finite number.
    """

    value: float

    def __post_init__(self) -> None:
        if not is_number(self.value):
            raise ConfigurationError(f"the value to reach must be finite, got {self.value!r}")

    def __call__(self, study: Study) -> bool:
        try:
            best = study.best
        except TrialError:
            return False  # nothing told yet
        if best.feasible is False or best.value is None:
            return False  # nothing feasible yet
        return sign_of(study.goal) * (best.value - self.value) >= 0


@dataclass(frozen=True, slots=True)
class CertifiedWithin:
    """A stopping rule: the certificate bounds the regret of the recommended point, under its
    condition; see ``Study.certificate``.

    A certificate whose condition the data refute stops nothing. In more than two inputs a
    certificate is proved where the maximum of the band could be covered: see ``slack``. Where
    outcomes have limits, the recommended point must also surely keep them.

    Args:
        regret: The bound to reach, in the value's unit.
        delta: Failure probability of the band, in (0, 1); None: the strategy's own.
        heuristic: Accept a strategy whose certificate is not proved: the run then stops by a rule
            of thumb.

    Raises:
        ConfigurationError: A number makes no sense; or, when the rule is asked, the certificate of
            the strategy is not proved.
    """

    regret: float
    delta: float | None = None
    heuristic: bool = False

    def __post_init__(self) -> None:
        if not is_number(self.regret) or self.regret <= 0:
            raise ConfigurationError(f"regret must be positive and finite, got {self.regret!r}")
        if self.delta is not None and not (is_number(self.delta) and 0 < self.delta < 1):
            raise ConfigurationError(f"delta is a probability in (0, 1), got {self.delta!r}")

    def __call__(self, study: Study) -> bool:
        if not (study.strategy.proved or self.heuristic):
            raise ConfigurationError(
                f"{type(study.strategy).__name__} has no proved bound with these settings: use"
                " AdaptiveGPUCB.rigorous(…), or CertifiedWithin(…, heuristic=True)"
            )
        if not any(trial.value is not None for trial in study.trials):
            return False
        result = study.result(self.delta)
        certificate = result.certificate
        if certificate is None and (result.belief is None or study.context):
            certificate = study.certificate(self.delta)  # says why there is none
        return (
            certificate is not None
            and not any(certificate.violations.values())
            and not certificate.refuted
            and (certificate.proved or self.heuristic)
            and certificate.regret_bound <= self.regret
        )


@dataclass(frozen=True, slots=True)
class LeftBelow:
    """A stopping rule of thumb: by the averaged model f can hardly get better than the recommended
    point by more than this; see ``Study.left``.

    No theorem says so. A peak narrower than the resolution of the points that were evaluated is not
    seen, and where the model is wrong for f the number is too. With limits a trial within all of
    them must have been told.

    Args:
        gain: The gain at which it stops, in the value's unit.
        chance: The level of the quantile, in (0, 1).

    Raises:
        ConfigurationError: A number makes no sense; or, when the rule is asked, the strategy has no
            such model.
    """

    gain: float
    chance: float = 0.95

    def __post_init__(self) -> None:
        if not is_number(self.gain) or not 0 < self.gain < math.inf:
            raise ConfigurationError(
                f"the gain to stop at must be positive and finite, got {self.gain!r}"
            )
        check_chance(self.chance)

    def __call__(self, study: Study) -> bool:
        if not any(trial.value is not None for trial in study.trials):
            return False
        left = study.left(self.chance)
        return left is not None and left <= self.gain and study.best.feasible is not False


@dataclass(frozen=True, slots=True)
class Infeasible:
    """A stopping rule: a theorem says that nothing in the space keeps all limits; see
    ``Study.feasibility``.

    Raises:
        ConfigurationError: When asked of a study without limits or without proved bands.
    """

    def __call__(self, study: Study) -> bool:
        if not (study.outcomes and study.strategy.proved):
            raise ConfigurationError(
                "Infeasible needs limits and proved bands, AdaptiveGPUCB.rigorous(…, outcomes=…)"
            )
        return study.feasibility().state == "infeasible"
