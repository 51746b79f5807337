"""The one mutable object: ask, tell, run.

Sign, units and encoding change here and nowhere else: inside, everything is maximised on the unit cube.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from noregret.acquisition import ucb
from noregret.array import Array
from noregret.errors import ConfigurationError, TrialError
from noregret.maximize import argmax
from noregret.progress import Progress
from noregret.space import as_space
from noregret.storage import MemoryStorage, SQLStorage, Storage, StudyRecord
from noregret.storage.protocol import Goal
from noregret.strategies import AdaptiveGPUCB, Belief, Strategy
from noregret.told import check_noise, check_value, number_of
from noregret.trial import History, State, Trial


@dataclass(frozen=True, slots=True)
class Certificate:
    """The recommended point's regret is at most ``regret_bound``, under ``condition`` and not otherwise."""

    params: Any
    regret_bound: float
    condition: str


class Study:
    """An optimisation in progress: ``ask`` for a point, evaluate it anywhere, ``tell`` its value; or ``run`` a function.

    trials: earlier trials of the same study, which then goes on exactly where they stopped.
    """

    def __init__(self, space: Any, goal: Goal = "maximize", strategy: Strategy | None = None, seed: int = 0, *, name: str = "study",
                 storage: Storage | None = None, trials: Iterable[Trial] = ()) -> None:  # fmt: skip
        if goal not in ("maximize", "minimize"):
            raise ConfigurationError(f'goal is "maximize" or "minimize", got {goal!r}')
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ConfigurationError(f"seed must be a whole number of at least 0, got {seed!r}")
        chosen = AdaptiveGPUCB.practical() if strategy is None else strategy
        if isinstance(chosen, type) or not isinstance(chosen, Strategy):
            raise ConfigurationError(f"strategy must be a strategy value such as AdaptiveGPUCB.practical(), got {chosen!r}")
        record = StudyRecord(name, as_space(space), goal, chosen, int(seed))
        chosen_storage = storage if storage is not None else MemoryStorage()
        chosen_storage.create(record)
        self._attach(record, chosen_storage)
        for trial in trials:
            self._encode(trial)
            if not self._storage.insert(name, trial):
                raise TrialError(f"trials must come in order of their numbers without gaps, got number {trial.number}")

    def _attach(self, record: StudyRecord, storage: Storage) -> None:
        self._record, self._storage = record, storage
        self._encoded: dict[int, Array] = {}  # a cache: params of a trial never change

    @staticmethod
    def create(name: str, space: Any, goal: Goal = "maximize", strategy: Strategy | None = None, seed: int = 0, *,
               storage: Storage | str | os.PathLike[str] | None = None) -> Study:  # fmt: skip
        """A new stored study. storage: a file or a URL (sqlite:///…, postgresql://…); by default NOREGRET_STORAGE or noregret.db in the working folder."""
        return Study(space, goal, strategy, seed, name=name, storage=_as_storage(storage))

    @staticmethod
    def open(name: str, *, storage: Storage | str | os.PathLike[str] | None = None) -> Study:
        """A stored study, exactly where it stopped; any number of processes may have it open."""
        chosen = _as_storage(storage)
        study = object.__new__(Study)
        study._attach(chosen.open(name), chosen)
        return study

    # -- what it is --

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def space(self) -> Any:
        return self._record.space

    @property
    def goal(self) -> Goal:
        return self._record.goal

    @property
    def strategy(self) -> Strategy:
        return self._record.strategy

    @property
    def seed(self) -> int:
        return self._record.seed

    @property
    def trials(self) -> list[Trial]:
        """All trials by number."""
        return self._storage.trials(self._record.name)

    def __repr__(self) -> str:
        trials = self.trials
        done = [trial for trial in trials if trial.state == "complete"]
        text = f"<Study {self._record.name!r}: {self.goal}, {len(done)} of {len(trials)} trials complete"
        return text + (f", best {self.best.value:.6g} at {self.best.params}>" if done else ">")

    # -- ask and tell --

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, count: int) -> list[Trial]: ...
    def ask(self, count: int | None = None) -> Trial | list[Trial]:
        """The next point to evaluate; with ``count``, that many at once. Points asked and not told yet are taken into account."""
        if count is not None:
            if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
                raise ConfigurationError(f"count must be a whole number of at least 1, got {count!r}")
            return [self.ask() for _ in range(count)]
        while True:  # no lock while thinking: if another worker took the number, think again with its point pending
            trials = self.trials
            number = len(trials)
            rng = np.random.default_rng([self.seed, number])
            proposal = self.strategy.propose(self.space, self._history(trials), rng)
            trial = Trial(number, self.space.decode(proposal.x), info=proposal.info)
            if self._storage.insert(self._record.name, trial):
                return trial

    def tell(self, trial: Trial | int, value: Any = None, noise_std: Any = None, *, state: State = "complete") -> Trial:
        """The value of a running trial, with the noise's std if it is known for this one; or ``state="failed"``."""
        number = number_of(trial)
        if state not in ("complete", "failed"):
            raise TrialError(f'state is "complete" or "failed", got {state!r}')
        if state == "failed" and value is not None:
            raise TrialError(f"a failed trial has no value, got {value!r}: leave it out")
        checked = None if state == "failed" else check_value(value)
        noise = check_noise(noise_std)
        trials = self.trials
        if not 0 <= number < len(trials):
            raise TrialError(
                f"there is no trial {number}: this study has {len(trials)} (numbers from 0); ask for a trial first, or add() a measured point"
            )
        finished = replace(trials[number], state=state, value=checked, noise_std=noise)
        if not self._storage.finish(self._record.name, finished):
            now = self.trials[number]
            told = f"complete with value {now.value!r}" if now.state == "complete" else now.state
            raise TrialError(f"trial {number} is {told} already: the first tell stands; add() the point again if you measured it twice")
        return finished

    def add(self, params: Any, value: Any, noise_std: Any = None) -> Trial:
        """A point measured elsewhere: it counts as data, not as a decision."""
        x = self.space.encode(params)
        checked, noise = check_value(value), check_noise(noise_std)
        while True:
            trial = Trial(len(self.trials), self.space.decode(x), "complete", checked, noise)
            if self._storage.insert(self._record.name, trial):
                return trial

    def run(self, objective: Callable[[Any], Any], trials: int | None = None, *, workers: int = 1, executor: Executor | None = None,
            catch: tuple[type[Exception], ...] = (), timeout: float | None = None, until: Callable[[Study], bool] | None = None,
            progress: bool | None = None) -> Study:  # fmt: skip
        """Evaluates ``objective(params)`` until ``trials`` were started, ``timeout`` seconds have passed or ``until(study)`` says yes.

        ``workers`` evaluations are kept in flight, in threads or in any ``concurrent.futures.Executor`` (processes, Dask's ``client.get_executor()``,
        mpi4py's); points in flight are taken into account. An exception marks its trial failed and, unless named in ``catch``, stops the run once
        the others in flight have been told. Ctrl-C marks those in flight failed; the study is intact, and ``run`` goes on.
        """
        if trials is None and timeout is None and until is None:
            raise ConfigurationError("run needs an end: trials, timeout (in seconds) or until")
        if trials is not None and (isinstance(trials, bool) or not isinstance(trials, (int, np.integer)) or trials < 0):
            raise ConfigurationError(f"trials must be a whole number of at least 0, got {trials!r}")
        if isinstance(workers, bool) or not isinstance(workers, (int, np.integer)) or workers < 1:
            raise ConfigurationError(f"workers must be a whole number of at least 1, got {workers!r}")
        if timeout is not None and not timeout >= 0:
            raise ConfigurationError(f"timeout is a number of seconds of at least 0, got {timeout!r}")
        own = ThreadPoolExecutor(workers) if executor is None and workers > 1 else None
        try:
            with Progress(int(trials or 0), shown=False if trials is None else progress) as bar:
                self._run(objective, math.inf if trials is None else trials, workers, (executor or own), catch,
                          math.inf if timeout is None else time.monotonic() + timeout, until, bar)  # fmt: skip
        finally:
            if own is not None:
                own.shutdown(wait=False, cancel_futures=True)
        return self

    def _run(self, objective: Callable[[Any], Any], trials: float, workers: int, executor: Executor | None, catch: tuple[type[Exception], ...],
             deadline: float, until: Callable[[Study], bool] | None, bar: Progress) -> None:  # fmt: skip
        flying: dict[Future[Any], Trial] = {}
        started, stopped_by, asked = 0, None, None
        try:
            while True:
                while (len(flying) < workers and started < trials and stopped_by is None and time.monotonic() < deadline
                       and not (until is not None and until(self))):  # fmt: skip
                    asked, started = self.ask(), started + 1
                    future = _now(objective, asked.params) if executor is None else executor.submit(objective, asked.params)
                    flying[future], asked = asked, None
                if not flying:
                    break
                for future in wait(flying, return_when=FIRST_COMPLETED).done:
                    trial = flying.pop(future)
                    try:
                        self.tell(trial, future.result())
                    except Exception as error:
                        self._fail(trial)
                        if not isinstance(error, catch):
                            stopped_by = stopped_by or error
                    bar.advance(self._note(trial) if bar.shown else "")
        except BaseException as error:
            for future in flying:
                future.cancel()
            left = [*flying.values(), *([asked] if asked is not None else [])]
            for trial in left:
                self._fail(trial)
            if isinstance(error, KeyboardInterrupt):
                error.add_note(
                    f"{len(left)} trials in flight were marked failed; everything told is kept. Call run again on this study, or open it again, to go on."
                )
            raise
        if stopped_by is not None:
            raise stopped_by

    def _fail(self, trial: Trial) -> None:
        if self.trials[trial.number].state == "running":
            self.tell(trial, state="failed")

    def _note(self, trial: Trial) -> str:
        note = f"best {self.best.value:.4g}" if any(t.state == "complete" for t in self.trials) else ""
        if "h" in trial.info:
            note += f"  h {trial.info['h']:.3g}  lengthscale {np.exp(np.mean(np.log(trial.info['lengthscales']))):.3g}"
        return note

    # -- results --

    @property
    def _sign(self) -> float:
        return 1.0 if self.goal == "maximize" else -1.0

    @property
    def best(self) -> Trial:
        """The best observed value. With noise it is partly luck: see ``recommended``."""
        done = [trial for trial in self.trials if trial.value is not None]
        if not done:
            raise TrialError("no trial is complete yet: tell a value first")
        return max(done, key=lambda trial: self._sign * float(trial.value or 0.0))

    @property
    def recommended(self) -> Trial:
        """The evaluated point with the best posterior mean: what to use in the end."""
        belief = self.belief()
        if belief is None:
            return self.best
        done = [trial for trial in self.trials if trial.state == "complete"]
        mean, _ = belief.predict(np.array([self._encode(trial) for trial in done]))
        return done[int(np.argmax(mean))]

    def belief(self, delta: float | None = None) -> Belief | None:
        """The strategy's posterior given everything told so far, on the unit cube and to be maximised; None without a model."""
        if delta is not None and not 0 < delta < 1:
            raise ConfigurationError(f"delta is a failure probability in (0, 1), got {delta!r}")
        return self.strategy.belief(self.space, self._history(self.trials), delta)

    def certificate(self, delta: float | None = None) -> Certificate:
        """A bound on the regret of the recommended point, max UCB − its LCB, with the condition under which it holds."""
        belief = self.belief(delta)
        if belief is None:
            raise TrialError("a certificate needs a strategy with a model and at least one value")
        recommended = self.recommended
        x = self._encode(recommended)
        none = np.empty((0, self.space.dimension))
        top = argmax(
            ucb(belief.predictor, belief.beta_sqrt), self.space, belief.lengthscales, np.random.default_rng(self.seed), x[None, :], none
        )
        lower, _ = belief.band(x[None, :])
        _, upper = belief.band(top[None, :])
        return Certificate(recommended.params, float(upper[0] - lower[0]), belief.condition)

    # -- the history a strategy sees --

    def _encode(self, trial: Trial) -> Array:
        if trial.number not in self._encoded:
            self._encoded[trial.number] = self.space.encode(trial.params)
        return self._encoded[trial.number]

    def _history(self, trials: list[Trial]) -> History:
        def points(state: State) -> Array:
            return np.array([self._encode(t) for t in trials if t.state == state]).reshape(-1, self.space.dimension)

        done = [trial for trial in trials if trial.state == "complete"]
        row_of = {trial.number: row for row, trial in enumerate(done)}
        decided = [trial for trial in trials if trial.info]
        return History(
            X=points("complete"),
            y=np.array([self._sign * float(trial.value or 0.0) for trial in done]),
            noise_std=np.array([math.nan if trial.noise_std is None else trial.noise_std for trial in done]),
            pending=points("running"),
            failed=points("failed"),
            decisions=tuple(trial.info for trial in decided),
            rows=tuple(row_of.get(trial.number) for trial in decided),
        )


def _as_storage(storage: Storage | str | os.PathLike[str] | None) -> Storage:
    return SQLStorage(storage) if storage is None or isinstance(storage, (str, os.PathLike)) else storage


def _now(objective: Callable[[Any], Any], params: Any) -> Future[Any]:
    """The call made at once: one worker needs no pool."""
    future: Future[Any] = Future()
    try:
        future.set_result(objective(params))
    except Exception as error:
        future.set_exception(error)
    return future


def maximize(objective: Callable[[Any], Any], space: Any, trials: int = 50, strategy: Strategy | None = None, seed: int = 0, *,
             catch: tuple[type[Exception], ...] = (), progress: bool | None = None) -> Study:  # fmt: skip
    """Runs a study to the end and returns it: ``.best``, ``.recommended``, ``.trials``, ``.certificate()``."""
    return Study(space, "maximize", strategy, seed).run(objective, trials, catch=catch, progress=progress)


def minimize(objective: Callable[[Any], Any], space: Any, trials: int = 50, strategy: Strategy | None = None, seed: int = 0, *,
             catch: tuple[type[Exception], ...] = (), progress: bool | None = None) -> Study:  # fmt: skip
    """As ``maximize``, for a loss."""
    return Study(space, "minimize", strategy, seed).run(objective, trials, catch=catch, progress=progress)
