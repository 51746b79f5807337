"""The one mutable object: ask, tell, run."""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from noregret.diagnostics import Importance, importances
from noregret.errors import (
    ConfigurationError,
    StudyExistsError,
    TrialError,
    UnknownTrialError,
)
from noregret.search import Resolution, largest_empty_ball
from noregret.space import (
    Array,
    Candidates,
    Parameter,
    SearchSpace,
    Slice,
    Space,
    as_space,
    hold,
    region_of,
)
from noregret.storage import MemoryStorage, SQLStorage, Storage, StudyRecord, StudySummary
from noregret.strategies import Belief, InsuredGPUCB, Strategy
from noregret.study import changes, remarks
from noregret.study import files as exchange
from noregret.study.changes import same_study
from noregret.study.files import Source, Target
from noregret.study.isolated import DaemonThreads, Isolated, check_pickled, needs_pickling
from noregret.study.progress_bar import Progress
from noregret.study.result import Certificate, Result, best_of, certify, recommended_of
from noregret.study.running import (
    ATTEMPTS,
    UNLIMITED,
    Plan,
    Reclaim,
    Run,
    Work,
    check_grace,
    check_run,
)
from noregret.trials import (
    STATES,
    Decision,
    Goal,
    History,
    Proposal,
    State,
    Trial,
    check_attributes,
    check_note,
    check_outcome,
    corrections,
    history_of,
    html_table,
    known_at,
    latest,
    merged,
    number_of,
    sign_of,
    standing,
    utc_now,
)

# how often a number is taken only after a look at the points that came before it; then the next
# free one is taken without: there must be an end
TRIES = 8
SAME_POINT = 1e-3  # of every coordinate's range: nearer than this two workers had the same thought
Callback = Callable[["Study", Trial], Any]


@dataclass(frozen=True, slots=True)
class Replay:
    """How many of the strategy's proposals were derived again, and the first that came out
    differently.
    """

    agreed: int
    number: int | None = None
    recorded: Any = None
    derived: Any = None


class Study:
    """An optimisation in progress: ``ask`` for a point, evaluate it anywhere, ``tell`` its value;
    or ``run`` a function.

    space: a dict of parameters, ``(low, high)`` pairs, a ``Space`` or ``Candidates``. strategy: by
    default ``InsuredGPUCB()``. seed: equal seeds and equal values give equal proposals.
    storage: by default memory; ``create`` and ``open`` are for files and databases. trials: earlier
    trials of the same study, which then goes on exactly where they stopped.
    """

    _key: str

    def __init__(
        self,
        space: Any,
        goal: Goal | None = None,
        strategy: Strategy | None = None,
        seed: int = 0,
        *,
        name: str = "study",
        storage: Storage | None = None,
        trials: Iterable[Trial] = (),
    ) -> None:
        if goal not in ("maximize", "minimize"):
            raise ConfigurationError(
                'say what is wanted: goal is "maximize" or "minimize", such as Study(space,'
                f' "minimize") for a loss{"" if goal is None else f"; got {goal!r}"}'
            )
        chosen = InsuredGPUCB() if strategy is None else strategy
        if isinstance(chosen, type) or not isinstance(chosen, Strategy):
            raise ConfigurationError(
                f"strategy must be a strategy value such as InsuredGPUCB(), got {chosen!r}"
            )
        given = list(trials)
        if [trial.number for trial in given] != list(range(len(given))):
            raise TrialError(
                "trials must be numbered from 0 without gaps, got the numbers"
                f" {[trial.number for trial in given]}"
            )
        record = StudyRecord(name, as_space(space), goal, chosen, check_seed(seed))
        self._create(record, storage if storage is not None else MemoryStorage(), given)

    def _create(self, record: StudyRecord, storage: Storage, trials: Sequence[Trial]) -> None:
        self._attach(record, storage)
        for trial in trials:
            self._encode(trial)
            if region_of(record.space) is not None:
                record.space.normal(trial.params)
        self._key = self._storage.create(record)
        self._storage.insert(self._key, trials)

    def _attach(self, record: StudyRecord, storage: Storage) -> None:
        self._record, self._storage = record, storage
        self._key = record.name if record.key is None else record.key
        # a cache: a trial's point may change at its end, when another one was run
        self._encoded: dict[tuple[int, bool], Array] = {}
        self._runs, self._stopping = 0, False

    @staticmethod
    def create(
        name: str,
        space: Any,
        goal: Goal | None = None,
        strategy: Strategy | None = None,
        seed: int = 0,
        *,
        storage: Storage | str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> Study:
        """A new stored study. storage: a file or a URL (sqlite:///…, postgresql://…); by default
        NOREGRET_STORAGE or noregret.db in the working folder. resume: a study of this name that is
        there already, with the same space and goal, is opened instead.
        """
        place = _as_storage(storage, must_exist=False)
        try:
            return Study(space, goal, strategy, seed, name=name, storage=place)
        except StudyExistsError as error:
            if not resume:
                error.add_note("With resume=True it is opened, and goes on where it stopped.")
                raise
        study = Study.open(name, storage=place)
        same_study(study, as_space(space), goal, strategy)
        return study

    @staticmethod
    def open(name: str, *, storage: Storage | str | os.PathLike[str] | None = None) -> Study:
        """A stored study, exactly where it stopped; any number of processes may have it open."""
        chosen = _as_storage(storage)
        study = object.__new__(Study)
        study._attach(chosen.open(name), chosen)
        return study

    @staticmethod
    def names(*, storage: Storage | str | os.PathLike[str] | None = None) -> list[str]:
        """The names of all studies in a storage."""
        return _as_storage(storage).names()

    @staticmethod
    def summaries(*, storage: Storage | str | os.PathLike[str] | None = None) -> list[StudySummary]:
        """All studies in a storage at a glance, by name."""
        return _as_storage(storage).summaries()

    @staticmethod
    def delete(name: str, *, storage: Storage | str | os.PathLike[str] | None = None) -> None:
        """Removes a study and all its trials for good."""
        _as_storage(storage).delete(name)

    # -- what it is --

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def space(self) -> Space | Candidates:
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
    def note(self) -> str | None:
        """What was written about the study with ``annotate``."""
        return self._storage.open(self.name).note

    @property
    def attributes(self) -> Mapping[str, Any]:
        """JSON values by name, set with ``annotate``."""
        return self._storage.open(self.name).attributes

    @property
    def origin(self) -> Mapping[str, Any] | None:
        """Of a derived study: the study it came from, what was changed, the trials' old numbers."""
        return self._storage.open(self.name).origin

    @property
    def trials(self) -> list[Trial]:
        """All trials by number."""
        return self._storage.trials(self._key)

    @property
    def identity(self) -> str:
        """Which study this is: a name may be given to another once a study was deleted."""
        return getattr(self._key, "identity", self.name)

    def __repr__(self) -> str:
        trials = self.trials
        done = [trial for trial in standing(trials) if trial.state == "complete"]
        text = f"<Study {self.name!r}: {self.goal}, {len(done)} of {len(trials)} trials complete"
        return text + (f", best {self.best.value:.6g} at {self.best.params}>" if done else ">")

    def _repr_html_(self) -> str:
        trials = standing(self.trials)
        done = [trial for trial in trials if trial.state == "complete"]
        counts = [
            f"{sum(trial.state == state for trial in trials)} {state}"
            for state in STATES
            if any(trial.state == state for trial in trials)
        ]
        rows = [
            ("goal", self.goal),
            ("inputs", ", ".join(self.space.parameters)),
            ("strategy", type(self.strategy).__name__),
            ("trials", ", ".join(counts) or "none yet"),
            ("best", repr(best_of(done, self.goal))[1:-1] if done else ""),
            ("note", self.note or ""),
        ]
        return html_table(f"study {self.name}", rows)

    # -- ask and tell --

    @overload
    def ask(self, *, fixed: Mapping[str, Any] | None = None) -> Trial: ...
    @overload
    def ask(self, count: int, *, fixed: Mapping[str, Any] | None = None) -> list[Trial]: ...
    def ask(
        self, count: int | None = None, *, fixed: Mapping[str, Any] | None = None
    ) -> Trial | list[Trial]:
        """The next point to evaluate; with ``count``, that many at once. Points asked and not told
        yet are taken into account.

        Trials that wait (enqueued, or their worker died) come first. fixed: values that some
        parameters must have this time; the rest is chosen best for them.
        """
        if count is None:
            trial = self._next(fixed=fixed)
            assert trial is not None
            return trial
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise ConfigurationError(f"count must be a whole number of at least 1, got {count!r}")
        return [self.ask(fixed=fixed) for _ in range(count)]

    def _next(
        self,
        worker: str | None = None,
        total: float = math.inf,
        fixed: Mapping[str, Any] | None = None,
    ) -> Trial | None:
        """None: the study has ``total`` trials already, and none of them waits."""
        space = self.space if fixed is None else hold(self.space, fixed)
        thought: Trial | None = None
        seen = lost = 0
        # no lock while thinking. If others took the number meanwhile, the point gets the next free
        # one all the same; only if they took the point too is it thought about again, once
        while True:
            trials = self.trials
            waiting = next((trial for trial in trials if trial.state == "waiting"), None)
            if waiting is not None and fixed is None:
                claimed = self._storage.claim(self._key, waiting.number, worker)
                if claimed is not None:
                    return claimed
                continue
            limit = math.inf if total == math.inf else total + len(corrections(trials))
            if len(trials) >= limit:
                return None
            if thought is None:
                thought, seen = self._think(space, trials), len(trials)
            elif thought.decision.draw is None and self._is_among(thought, trials[seen:]):
                thought, seen = self._think(space, trials, secrets.randbelow(2**31)), len(trials)
            number = len(trials)
            decision = replace(thought.decision, seen=None if seen == number else seen)
            trial = replace(thought, number=number, decision=decision)
            if lost < TRIES:
                if self._storage.insert(self._key, [trial], worker):
                    return trial
                lost += 1
                continue
            trial = replace(trial, decision=replace(decision, seen=seen))
            given = self._storage.append(self._key, [trial], worker, limit)
            if given is not None:
                return given[0]

    def _think(self, space: SearchSpace, trials: Sequence[Trial], draw: int | None = None) -> Trial:
        """What is proposed next, with all that is needed to derive it again."""
        proposal = self._propose(space, trials, draw)
        decision = replace(
            proposal.decision.signed(sign_of(self.goal)),
            pending=tuple([trial.number for trial in trials if not trial.is_finished]),
            fixed=space.given if isinstance(space, Slice) else None,
            draw=draw,
        )
        return Trial(len(trials), space.decode(proposal.x), decision=decision, created=utc_now())

    def _is_among(self, thought: Trial, others: Sequence[Trial]) -> bool:
        """Whether others have the same point, or next to it."""
        x = self.space.encode(thought.params)
        return any(np.abs(self._encode(other) - x).max() < SAME_POINT for other in others)

    def _propose(
        self, space: SearchSpace, trials: Sequence[Trial], draw: int | None = None
    ) -> Proposal:
        entropy = [self.seed, len(trials)] if draw is None else [self.seed, len(trials), draw]
        return self.strategy.propose(space, self._history(trials), np.random.default_rng(entropy))

    def preview(self) -> Trial:
        """What the next ask would give; nothing is recorded."""
        trials = self.trials
        waiting = next((trial for trial in trials if trial.state == "waiting"), None)
        if waiting is not None:
            return replace(waiting, state="running")
        proposal = self._propose(self.space, trials)
        decision = proposal.decision.signed(sign_of(self.goal))
        return Trial(len(trials), self.space.decode(proposal.x), decision=decision)

    def tell(
        self,
        trial: Trial | int,
        value: Any = None,
        noise_std: Any = None,
        *,
        state: State = "complete",
        params: Any = None,
        reason: str | None = None,
        note: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Trial:
        """The value of a trial, with the noise's std if it is known for this one; or
        ``state="failed"``, with a ``reason``. The first tell stands.

        params: what was really run, as far as it is not what was asked for. note and attributes
        (JSON values by name) are kept with the trial, and shown and exported with it.
        """
        number = number_of(trial)
        checked, noise = check_outcome(value, noise_std, state)
        with_it = None
        if any(each is not None for each in (params, reason, note, attributes)):
            asked = self._trial(number, "ask for a trial first, or add() a measured point")
            with_it = remarks.about(
                self.space,
                asked,
                state,
                params=params,
                reason=reason,
                note=note,
                attributes=attributes,
            )
        finished = self._storage.finish(self._key, number, state, checked, noise, about=with_it)
        if finished is None:
            now = self._trial(number, "ask for a trial first, or add() a measured point")
            told = f"complete with value {now.value!r}" if now.state == "complete" else now.state
            raise TrialError(
                f"trial {number} is {told} already: the first tell stands; correct() it if that was"
                " wrong, add() the point again if you measured it twice"
            )
        return finished

    def _trial(self, number: int, advice: str) -> Trial:
        trials = self.trials
        if not 0 <= number < len(trials):
            raise UnknownTrialError(
                f"there is no trial {number}: this study has {len(trials)} (numbers from 0);"
                f" {advice}"
            )
        return trials[number]

    def add(
        self,
        params: Any,
        value: Any,
        noise_std: Any = None,
        *,
        note: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Trial:
        """A point measured elsewhere: it counts as data, not as a decision."""
        normal, (checked, noise) = (
            self.space.normal(params),
            check_outcome(value, noise_std, "complete"),
        )
        said = check_note(note), check_attributes(attributes)
        return self._append(
            [Trial(0, normal, "complete", checked, noise, note=said[0], attributes=said[1])]
        )[0]

    def enqueue(
        self,
        params: Any,
        *,
        note: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Trial:
        """A point to be tried before the strategy is asked again: it waits for the next ask."""
        normal, decision = self.space.normal(params), Decision("enqueued")
        said = check_note(note), check_attributes(attributes)
        return self._append(
            [Trial(0, normal, "waiting", decision=decision, note=said[0], attributes=said[1])]
        )[0]

    def annotate(
        self,
        trial: Trial | int | None = None,
        *,
        note: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes a note or attributes to a trial, finished or not, or without one to the study.
        What is left out stays; an empty note and an attribute None are taken away.
        """
        new, text = check_attributes(attributes), check_note(note)
        if trial is None:
            old: Any = self._storage.open(self.name)
            number = None
        else:
            number = number_of(trial)
            old = self._trial(number, "only a trial that is there can be annotated")
        kept = old.note if note is None else text
        self._storage.annotate(self.name, number, kept, merged(old.attributes, new))

    def find(
        self,
        *,
        state: State | None = None,
        note: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> list[Trial]:
        """The trials in this state, with this text in their note or reason, with these
        attributes.
        """
        return remarks.chosen(self.trials, state, note, attributes)

    def correct(
        self,
        trial: Trial | int,
        value: Any = None,
        noise_std: Any = None,
        *,
        state: State = "complete",
        params: Any = None,
        reason: str | None = None,
        note: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Trial:
        """Another outcome for a finished trial. Nothing is overwritten: a new trial takes its place
        in the history, in ``best`` and in ``recommended``. Note and attributes go along.
        """
        number = number_of(trial)
        checked, noise = check_outcome(value, noise_std, state)
        told = {"params": params, "reason": reason, "note": note, "attributes": attributes}
        while True:
            old = self._trial(number, "only a told trial can be corrected")
            if not old.is_finished:
                raise TrialError(
                    f"trial {number} is {old.state}, there is nothing to correct: tell() its value"
                )
            trials = self.trials
            newest = latest(number, corrections(trials))
            said = remarks.about(self.space, trials[newest], state, **told)
            new = replace(
                remarks.corrected(trials[newest], said),
                number=len(trials),
                state=state,
                value=checked,
                noise_std=noise,
            )
            if self._storage.insert(self._key, [new]):
                return self.trials[new.number]

    def _append(self, trials: Sequence[Trial]) -> list[Trial]:
        """Trials under the next free numbers, all or none."""
        added = self._storage.append(self._key, trials)
        assert added is not None  # there is no limit
        return added

    def reclaim(
        self,
        grace: float = 60.0,
        *,
        then: Reclaim = "retry",
        numbers: Iterable[Trial | int] | None = None,
    ) -> list[Trial]:
        """Takes back running trials whose worker gave no sign of life for ``grace`` seconds;
        ``run`` does so by itself.

        They are given out again by the next ask, three times at most, or with then="fail" have
        failed. Trials of a plain ask have no worker that could give a sign: name them by
        ``numbers``.
        """
        if then not in ("retry", "fail"):
            raise ConfigurationError(f'then is "retry" or "fail", got {then!r}')
        check_grace(grace)
        if numbers is None:
            return self._storage.reclaim(self._key, ATTEMPTS if then == "retry" else 0, grace=grace)
        named = [number_of(number) for number in numbers]
        for number in named:
            state = self._trial(number, "only a running trial can be reclaimed").state
            if state != "running":
                raise TrialError(
                    f"trial {number} is {state}: only a running trial can be reclaimed"
                )
        return self._storage.reclaim(self._key, UNLIMITED if then == "retry" else 0, numbers=named)

    def run(
        self,
        objective: Callable[[Any], Any],
        trials: int | None = None,
        *,
        total: int | None = None,
        workers: int = 1,
        executor: Executor | None = None,
        catch: tuple[type[Exception], ...] = (),
        timeout: float | None = None,
        until: Callable[[Study], bool] | None = None,
        callbacks: Sequence[Callback] = (),
        grace: float = 60.0,
        reclaim: Reclaim | None = "retry",
        progress: bool | None = None,
        trial_timeout: float | None = None,
    ) -> Study:
        """Evaluates ``objective(params)`` until ``trials`` were started here, the study has
        ``total``, ``timeout`` seconds have passed, ``until(study)`` says yes or ``stop()`` was
        called. After each trial that ended here, every ``callback(study, trial)`` is called.

        The objective returns its value, or the pair (value, noise std).

        ``workers`` evaluations are kept in flight, in threads or in any
        ``concurrent.futures.Executor`` (processes, Dask's ``client.get_executor()``, mpi4py's);
        points in flight are taken into account. An exception marks its trial failed and, unless
        named in ``catch``, stops the run once the others in flight have been told. After Ctrl-C
        those in flight wait to be given out again; the study is intact, and ``run`` goes on.

        With a shared storage it sends heartbeats, and takes over trials whose worker gave none for
        ``grace`` seconds: they are given out again (reclaim="retry", three times at most), have
        failed ("fail") or stay as they are (None). With ``total`` it waits for trials that run
        elsewhere.

        ``timeout`` starts nothing new; what then does not end within ``grace`` seconds waits to be
        given out again. ``trial_timeout``: each evaluation in a process of its own, ended after so
        many seconds; its trial has failed and the run goes on. The objective must be one that can
        be pickled, and ``executor`` is then ours.
        """
        check_run(
            trials=trials,
            total=total,
            workers=workers,
            timeout=timeout,
            until=until,
            reclaim=reclaim,
            trial_timeout=trial_timeout,
            callbacks=callbacks,
        )
        check_grace(grace)
        if executor is not None and trial_timeout is not None:
            raise ConfigurationError(
                "trial_timeout needs processes that can be ended: leave executor out, workers says"
                " how many there are"
            )
        if needs_pickling(executor):
            check_pickled(objective, type(executor).__name__)
        threads = workers > 1 or timeout is not None or trial_timeout is not None
        own = DaemonThreads() if executor is None and threads else None
        plan = Plan(
            trials=math.inf if trials is None else trials,
            total=math.inf if total is None else total,
            deadline=math.inf if timeout is None else time.monotonic() + timeout,
            until=lambda: self._stopping or (until is not None and until(self)),
            workers=workers,
            executor=executor or own,
            catch=catch,
            grace=grace,
            reclaim=reclaim,
        )

        def ended(number: int) -> None:
            for callback in callbacks:
                callback(self, self.trials[number])

        work = Work(self._key, self._storage, self._next, self._note, ended)
        shown = False if trials is None else progress
        self._runs, self._stopping = self._runs + 1, False
        try:
            with Progress(int(trials or 0), shown=shown) as bar, ExitStack() as stack:
                if trial_timeout is not None:
                    objective = stack.enter_context(Isolated(objective, trial_timeout))
                Run(work, objective, plan, bar).run()
        finally:
            self._runs -= 1
        return self

    def stop(self) -> None:
        """Lets the ``run`` of this object start no more trials: for callbacks, objectives in this
        process and other threads. What is in flight is still told.
        """
        if self._runs == 0:
            raise ConfigurationError(
                "there is no run to stop: call stop() while run() is under way in this process,"
                " from a callback, the objective or another thread"
            )
        self._stopping = True

    def _note(self, trial: Trial) -> str:
        note = (
            f"best {self.best.value:.4g}" if any(t.state == "complete" for t in self.trials) else ""
        )
        model = trial.decision.model
        if model is not None:
            lengthscale = float(np.exp(np.mean(np.log(model.lengthscales))))
            note += f"  h {model.h:.3g}  lengthscale {lengthscale:.3g}"
        return note

    def derived(
        self,
        name: str,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        past: Mapping[str, Any] | None = None,
        space: Any = None,
        goal: Goal | None = None,
        strategy: Strategy | None = None,
        seed: int | None = None,
        storage: Storage | str | os.PathLike[str] | None = None,
        note: str | None = None,
    ) -> Study:
        """A new study with the trials of this one, which stays as it is.

        parameters: those with another range, and new ones; past: the value that a new input had in
        the old trials. space, goal, strategy and seed likewise replace those of this study. Under
        the same settings it is a copy with every decision; otherwise the outcomes go along as data.
        storage: by default this study's own. ``origin`` says where a study came from.
        """
        changed = changes.changed(
            self._storage.open(self.name),
            name=name,
            parameters=parameters,
            space=None if space is None else as_space(space),
            goal=goal,
            strategy=strategy,
            seed=None if seed is None else check_seed(seed),
            note=check_note(note),
        )
        record, trials = changes.carried(*changed, self.trials, past or {})
        study = object.__new__(Study)
        study._create(
            record,
            self._storage if storage is None else _as_storage(storage, must_exist=False),
            trials,
        )
        return study

    # -- files --

    def import_csv(self, source: Source) -> list[Trial]:
        """Measured points from a CSV file, all of them or none: a column for every parameter,
        ``value``, and if you like ``noise_std`` and ``state``.
        """
        return self._append(exchange.read_csv(source, self.space))

    def export(self, target: Target, format: exchange.Format | None = None) -> None:  # noqa: A002
        """All trials as "csv", "json" (with decisions) or "parquet" (extra ``frame``); by default
        as the file's name ends.
        """
        exchange.write(target, format, self.space, self.trials)

    def to_frame(self) -> Any:
        """All trials as a pandas DataFrame (extra ``frame``)."""
        return exchange.frame(self.space, self.trials)

    # -- results --

    def _complete(self) -> list[Trial]:
        return [trial for trial in standing(self.trials) if trial.state == "complete"]

    def result(self, delta: float | None = None) -> Result:
        """Best, recommended, prediction, certificate and belief, from one fit."""
        complete = self._complete()
        best, belief = best_of(complete, self.goal), self.belief(delta)
        if belief is None:
            return Result(best, best, None, None, None)
        recommended, mean, std = recommended_of(complete, self._encode, belief)
        x = self._encode(recommended)
        certificate = certify(self.space, belief, recommended, x, self.seed)
        prediction = (sign_of(self.goal) * mean, std)
        return Result(best, recommended, prediction, certificate, belief)

    @property
    def best(self) -> Trial:
        """The best observed value. With noise it is partly luck: see ``recommended``."""
        return best_of(self._complete(), self.goal)

    @property
    def recommended(self) -> Trial:
        """The evaluated point with the best posterior mean, or with the best lower bound where that
        is proved: what to use in the end.
        """
        belief = self.belief()
        if belief is None:
            return self.best
        return recommended_of(self._complete(), self._encode, belief)[0]

    def belief(self, delta: float | None = None) -> Belief | None:
        """The strategy's posterior given everything told so far, on the unit cube and to be
        maximised; None without a model. Points under way do not count.
        """
        if delta is not None and not 0 < delta < 1:
            raise ConfigurationError(f"delta is a failure probability in (0, 1), got {delta!r}")
        return self.strategy.belief(self.space, self._history(self.trials).observed, delta)

    def certificate(self, delta: float | None = None) -> Certificate:
        """A bound on the regret of the recommended point, max UCB − its LCB, with the condition
        under which it holds, and whether that is proved. Points under way do not count.
        """
        certificate = self.result(delta).certificate if self._complete() else None
        if certificate is None:
            raise TrialError("a certificate needs a strategy with a model and at least one value")
        return certificate

    def resolution(self) -> Resolution:
        """The largest ball of the unit cube without an evaluation: which bumps cannot have been
        missed, whatever the model believes. ``str`` says it in words.
        """
        complete = self._complete()
        if not complete:
            raise TrialError("the resolution needs at least one value")
        points = np.array([self._encode(trial) for trial in complete])
        return largest_empty_ball(points, region_of(self.space))

    def importances(self) -> list[Importance]:
        """Which inputs matter: the share of the model's variance that each explains alone
        (``first``) and with the others (``total``), each with its uncertainty.
        """
        belief = self.belief() if self._complete() else None
        if belief is None:
            raise TrialError("importances need a strategy with a model and at least one value")
        return importances(belief, self.space)

    def replay(self, tolerance: float = 1e-6) -> Replay:
        """Derives every proposal again from the trials before it. Points differ if a coordinate of
        the unit cube does by more than ``tolerance``.
        """
        if not tolerance >= 0:
            raise ConfigurationError(f"tolerance must be at least 0, got {tolerance!r}")
        trials, agreed = self.trials, 0
        for trial in trials:
            if not trial.decision.chosen:
                continue
            fixed = trial.decision.fixed
            space = self.space if fixed is None else hold(self.space, fixed)
            known, draw = known_at(trials, trial.number), trial.decision.draw
            derived = space.decode(self._propose(space, known, draw).x)
            recorded = self.space.encode(trial.proposed)
            if np.abs(self.space.encode(derived) - recorded).max() > tolerance:
                return Replay(agreed, trial.number, trial.proposed, derived)
            agreed += 1
        return Replay(agreed)

    # -- the history a strategy sees --

    def _encode(self, trial: Trial) -> Array:
        key = trial.number, trial.is_finished
        if key not in self._encoded:
            self._encoded[key] = self.space.encode(trial.params)
        return self._encoded[key]

    def _history(self, trials: Sequence[Trial]) -> History:
        return history_of(trials, self._encode, self.space.dimension, sign_of(self.goal))


def check_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ConfigurationError(f"seed must be a whole number of at least 0, got {seed!r}")
    return int(seed)


def _as_storage(
    storage: Storage | str | os.PathLike[str] | None, *, must_exist: bool = True
) -> Storage:
    if storage is None or isinstance(storage, (str, os.PathLike)):
        return SQLStorage(storage, must_exist=must_exist)
    return storage
