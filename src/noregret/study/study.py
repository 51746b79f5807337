"""The one mutable object: ask, tell, run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from copy import deepcopy
from typing import Any, overload

from noregret.diagnostics import Importance
from noregret.errors import StorageError, StudyExistsError
from noregret.search import Resolution
from noregret.space import Array, Candidates, Constraint, Parameter, Space
from noregret.storage import STORE_IT, Storage, StudyRecord, StudySummary
from noregret.strategies import Belief, Strategy
from noregret.study import (
    answers,
    asking,
    changes,
    evaluating,
    making,
    policies,
    remarks,
    telling,
)
from noregret.study import files as exchange
from noregret.study.asking import Replay
from noregret.study.changes import same_study
from noregret.study.feasibility import Feasibility, belief_of_limits, feasibility_of
from noregret.study.files import Target
from noregret.study.importing import Source, read_csv
from noregret.study.making import Place, as_storage
from noregret.study.numerals import units_of
from noregret.study.plan import Reclaim
from noregret.study.policies import Recommendation
from noregret.study.result import Certificate, Result, best_of
from noregret.study.retrying import retried
from noregret.trials import (
    Goal,
    History,
    Limit,
    State,
    Trial,
    history_of,
    sign_of,
)

Callback = Callable[["Study", Trial], Any]
Attributes = Mapping[str, Any]
Values = Mapping[str, Any]


class Study:
    """An optimisation in progress: ``ask`` for a point, evaluate it anywhere, ``tell`` its value;
    or ``run`` a function.

    space: a dict of parameters, ``(low, high)`` pairs, a ``Space`` or ``Candidates``. strategy: by
    default ``InsuredGPUCB()``. seed: equal seeds and equal values give equal proposals.
    storage: by default memory; ``create`` and ``open`` are for files and databases. trials: earlier
    trials of the same study, which then goes on exactly where they stopped.

    outcomes: what is measured beside the value and how far it may go, ``{"toxicity":
    AtMost(0.3)}``. context: the names of inputs that are given at each ask instead of chosen.
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
        outcomes: Mapping[str, Limit] | None = None,
        context: Sequence[str] = (),
    ) -> None:
        given = list(trials)
        record = making.record_of(name, space, goal, strategy, seed, outcomes, context)
        making.check_numbers(given)
        self._create(record, making.kept_in(storage), given)

    def _create(self, record: StudyRecord, storage: Storage, trials: Sequence[Trial]) -> None:
        making.check_name(record.name)
        self._attach(record, storage)
        for trial in trials:
            self._encode(trial)
            if record.space.region is not None:
                record.space.canonical(trial.params)
        # a storage of one's own may know nothing of trials here: it is asked only if there are any
        self._key = storage.create(record, trials) if trials else storage.create(record)

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
        storage: Place = None,
        resume: bool = False,
        outcomes: Mapping[str, Limit] | None = None,
        context: Sequence[str] = (),
    ) -> Study:
        """A new stored study.

        Args:
            name: By which it is opened again.
            space: A dict of parameters, SciPy's bounds, a ``Space`` or ``Candidates``.
            goal: "maximize" or "minimize".
            strategy: How points are chosen; None is the default, ``InsuredGPUCB()``.
            seed: Of the random numbers.
            storage: A file or a URL (sqlite:///…, postgresql://…); None is NOREGRET_STORAGE, or
                noregret.db in the working folder.
            resume: A study of this name that is there already, with the same space and goal, is
                opened instead; it keeps its own seed.
            outcomes: Limits of what is measured beside the value, by name.
            context: Names of inputs that nobody chooses.
        """
        place = as_storage(storage, must_exist=False)
        try:
            return Study(
                space,
                goal,
                strategy,
                seed,
                name=name,
                storage=place,
                outcomes=outcomes,
                context=context,
            )
        except StudyExistsError as error:
            if not resume:
                error.add_note("With resume=True it is opened, and goes on where it stopped.")
                raise
        study = Study.open(name, storage=place)
        wanted = making.record_of(name, space, goal, strategy, seed, outcomes, context)
        same_study(study, wanted, strategy)
        return study

    @staticmethod
    def open(name: str, *, storage: Place = None) -> Study:
        """A stored study, exactly where it stopped; any number of processes may have it open."""
        chosen = as_storage(storage)
        study = object.__new__(Study)
        study._attach(chosen.open(name), chosen)
        return study

    def __reduce__(self) -> tuple[Callable[[Storage, str], Study], tuple[Storage, str]]:
        """A stored study is opened again where it is unpickled: in a process pool, by joblib."""
        if not self._storage.shared:
            raise StorageError(
                f"study {self.name!r} is in this process's memory and cannot be pickled: another"
                f" process would work on a copy of it, and its results would be lost. For several"
                f" processes, {STORE_IT}; to save it, pickle study.trials, and go on with"
                " Study(space, goal, strategy, seed, trials=…)"
            )
        return _opened, (self._storage, self._key)

    def __copy__(self) -> Study:
        """Another handle on the same study."""
        return _opened(self._storage, self._key)

    def __deepcopy__(self, memo: dict[int, Any]) -> Study:
        """Of a study in memory an independent one; of a stored one another handle."""
        shared = self._storage.shared
        return _opened(self._storage if shared else deepcopy(self._storage, memo), self._key)

    @staticmethod
    def names(*, storage: Place = None) -> list[str]:
        """The names of all studies in a storage."""
        return as_storage(storage).names()

    @staticmethod
    def summaries(*, storage: Place = None) -> list[StudySummary]:
        """All studies in a storage at a glance, by name."""
        return as_storage(storage).summaries()

    @staticmethod
    def delete(name: str, *, storage: Place = None) -> None:
        """Removes a study and all its trials for good."""
        as_storage(storage).delete(name)

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
    def outcomes(self) -> Mapping[str, Limit]:
        """What is measured beside the value, and how far it may go."""
        return self._record.outcomes

    @property
    def context(self) -> tuple[str, ...]:
        """The inputs that are given at each ask instead of chosen."""
        return self._record.context

    @property
    def note(self) -> str | None:
        """What was written about the study with ``annotate``."""
        return self._storage.open(self._key).note

    @property
    def attributes(self) -> Mapping[str, Any]:
        """JSON values by name, set with ``annotate``."""
        return self._storage.open(self._key).attributes

    @property
    def origin(self) -> Mapping[str, Any] | None:
        """Of a derived study: the study it came from, what was changed, the trials' old numbers."""
        return self._storage.open(self._key).origin

    @property
    def algorithms(self) -> list[tuple[int, int]]:
        """Which versions of the strategy's rule proposed the points: pairs of the first trial and
        the algorithm's number from there on. A study that an older noregret began goes on by the
        rule of the installed one; 0 is the first rule, or one before numbers were recorded.
        """
        return asking.algorithms(self.trials)

    @property
    def trials(self) -> list[Trial]:
        """All trials by number."""
        trials = self._storage.trials(self._key)
        if self._storage.shared:  # a file may be damaged; what is in memory came from the space
            for trial in trials:
                if (trial.number, trial.is_finished) not in self._encoded:
                    self._check(trial)
        return trials

    @property
    def identity(self) -> str:
        """Which study this is: a name may be given to another once a study was deleted."""
        return getattr(self._key, "identity", self.name)

    def __repr__(self) -> str:
        return answers.text_of(self)

    def _repr_html_(self) -> str:
        return answers.html_of(self)

    # -- ask and tell --

    @overload
    def ask(self, *, fixed: Values | None = None, context: Values | None = None) -> Trial: ...
    @overload
    def ask(
        self, count: int, *, fixed: Values | None = None, context: Values | None = None
    ) -> list[Trial]: ...
    def ask(
        self,
        count: int | None = None,
        *,
        fixed: Values | None = None,
        context: Values | None = None,
    ) -> Trial | list[Trial]:
        """The next point to evaluate; with ``count``, that many at once. Points asked and not told
        yet are taken into account.

        Trials that wait (enqueued, or their worker died) come first.

        Args:
            count: How many; then a list is returned.
            fixed: Values that some parameters must have this time; the rest is chosen best for
                them.
            context: What the inputs that nobody chooses are now, all of them, where the study has
                any.
        """
        return asking.ask(self, count, fixed, context)

    def preview(self, *, context: Values | None = None) -> Trial:
        """What the next ask would give; nothing is recorded."""
        return asking.preview(self, context)

    def tell(
        self,
        trial: Trial | int,
        value: Any = None,
        noise_std: Any = None,
        *,
        outcomes: Values | None = None,
        state: State = "complete",
        params: Any = None,
        reason: str | None = None,
        note: str | None = None,
        attributes: Attributes | None = None,
        transient: bool = False,
    ) -> Trial:
        """The value of a trial, with the noise's std if it is known for this one; or
        ``state="failed"``, with a ``reason``; or ``state="withdrawn"``, if nobody is going to run
        it: neither a value nor a failure, and not proposed again. The first tell stands.

        Args:
            trial: The trial, or its number.
            value: What was measured; None for one that failed or was withdrawn.
            noise_std: Standard deviation of this value's noise, if it is known.
            outcomes: Where some have limits: each by its name, or the pair of it and its noise's
                std. Where one is beyond its limit the value may be missing.
            state: "complete", "failed" or "withdrawn".
            params: What was really run, as far as it is not what was asked for.
            reason: Why it failed.
            note: Words to keep with it.
            attributes: JSON values by name to keep with it; shown and exported, as the note is.
            transient: The failure had nothing to do with the point; no strategy sees it, and
                ``retry`` gives the point out again.
        """
        told = remarks.Told(params, reason, note, attributes, transient)
        end = telling.Ending.checked(self, value, noise_std, state, outcomes)
        return telling.tell(self, telling.number_in(self, trial), end, told)

    def add(
        self,
        params: Any,
        value: Any = None,
        noise_std: Any = None,
        *,
        outcomes: Values | None = None,
        note: str | None = None,
        attributes: Attributes | None = None,
    ) -> Trial:
        """A point measured elsewhere: it counts as data, not as a decision."""
        end = telling.Ending.checked(self, value, noise_std, "complete", outcomes)
        return telling.add(self, params, end, note, attributes)

    def enqueue(
        self, params: Any, *, note: str | None = None, attributes: Attributes | None = None
    ) -> Trial:
        """A point to be tried before the strategy is asked again: it waits for the next ask."""
        return telling.enqueue(self, params, note, attributes)

    def annotate(
        self,
        trial: Trial | int | None = None,
        *,
        note: str | None = None,
        attributes: Attributes | None = None,
    ) -> None:
        """Writes a note or attributes to a trial, finished or not, or without one to the study.
        What is left out stays; an empty note and an attribute None are taken away.
        """
        telling.annotate(self, trial, note, attributes)

    def find(
        self,
        *,
        state: State | None = None,
        note: str | None = None,
        attributes: Attributes | None = None,
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
        outcomes: Values | None = None,
        state: State = "complete",
        params: Any = None,
        reason: str | None = None,
        note: str | None = None,
        attributes: Attributes | None = None,
        transient: bool = False,
    ) -> Trial:
        """Another outcome for a finished trial. Nothing is overwritten: a new trial takes its place
        in the history, in ``best`` and in ``recommended``. Note and attributes go along, and
        ``outcomes`` if they are not told anew. With ``state="withdrawn"`` the result is struck out.
        The arguments are those of ``tell``.
        """
        told = remarks.Told(params, reason, note, attributes, transient)
        which = telling.number_in(self, trial)
        return telling.correct(self, which, value, noise_std, state, outcomes, told)

    def retry(self, trial: Trial | int) -> Trial:
        """Gives the point of a failed trial out again: a new trial waits in its place, and the
        failure no longer counts. The next ask returns it.
        """
        return retried(self._storage, self._key, telling.number_in(self, trial))

    def reclaim(
        self,
        grace: float = 60.0,
        *,
        then: Reclaim = "retry",
        numbers: Iterable[Trial | int] | None = None,
    ) -> list[Trial]:
        """Takes back running trials whose worker gave no sign of life for ``grace`` seconds;
        ``run`` does so by itself.

        Args:
            grace: Seconds of silence.
            then: "retry": they are given out again by the next ask, three times at most; "fail":
                they have failed.
            numbers: These trials, silent or not: those of a plain ask have no worker that could
                give a sign.
        """
        return telling.reclaim(self, grace, then, numbers)

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
        context: evaluating.Context | None = None,
    ) -> Study:
        """Evaluates ``objective(params)`` until one of the ends below is reached, or ``stop()`` was
        called.

        An exception marks its trial failed and, unless named in ``catch``, stops the run once the
        others in flight have been told. After Ctrl-C those in flight wait to be given out again;
        the study is intact, and ``run`` goes on. With a shared storage it sends heartbeats.

        Args:
            objective: Returns its value, or the pair (value, noise std). Where outcomes have
                limits: the pair (value, outcomes), or a dict with "value" and each outcome.
            trials: How many to start here.
            total: How many the study shall have, whoever ran them; waits for those that run
                elsewhere.
            workers: Evaluations kept in flight; points in flight are taken into account.
            executor: Any ``concurrent.futures.Executor`` to run them in (processes, Dask's
                ``client.get_executor()``, mpi4py's); None: threads.
            catch: Exceptions that do not stop the run.
            timeout: Seconds after which nothing new is started; what then does not end within
                ``grace`` seconds waits to be given out again.
            until: Asked with the study after each trial: whether to stop.
            callbacks: Each called with the study and the trial after a trial has ended here.
            grace: Seconds without a sign after which a trial's worker is taken to be dead.
            reclaim: Its trial is given out again ("retry", three times at most), has failed
                ("fail") or stays as it is (None).
            progress: Whether a progress bar is drawn; None: on a terminal and in a notebook.
            trial_timeout: Each evaluation in a process of its own, ended after so many seconds; its
                trial has failed and the run goes on. The objective must be one that can be pickled,
                and ``executor`` is then ours.
            context: What the inputs are that nobody chooses, or a function that says so before
                each trial.
        """
        ends = evaluating.Ends(trials, total, timeout, trial_timeout, until)
        settings = evaluating.Settings(workers, executor, catch, grace, reclaim, progress)
        evaluating.run_study(self, objective, ends, settings, callbacks, context)
        return self

    def stop(self) -> None:
        """Lets the ``run`` of this object start no more trials: for callbacks, objectives in this
        process and other threads. What is in flight is still told.
        """
        evaluating.stop_run(self)

    def derived(
        self,
        name: str,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        past: Mapping[str, Any] | None = None,
        constraints: Sequence[Constraint] | None = None,
        space: Any = None,
        goal: Goal | None = None,
        strategy: Strategy | None = None,
        seed: int | None = None,
        storage: Place = None,
        note: str | None = None,
        outcomes: Mapping[str, Limit] | None = None,
        context: Sequence[str] | None = None,
    ) -> Study:
        """A new study with the trials of this one, which stays as it is.

        Under the same settings it is a copy with every decision; otherwise the outcomes go along as
        data. ``origin`` says where a study came from.

        Args:
            name: Of the new study.
            parameters: Those with another range, and new ones.
            past: The value that a new input had in the old trials.
            constraints: Other constraints on the inputs.
            space: Another space altogether.
            goal: Another goal.
            strategy: Another strategy.
            seed: Another seed.
            storage: None: this study's own.
            note: Words to keep with it.
            outcomes: Other limits.
            context: Other inputs that nobody chooses.
        """
        change = changes.Change(
            name,
            parameters,
            space,
            goal,
            strategy,
            seed,
            note,
            constraints,
            outcomes,
            context,
        )
        old = self._storage.open(self._key)
        record, trials = changes.derived(old, change, self.trials, past or {})
        study = object.__new__(Study)
        place = self._storage if storage is None else as_storage(storage, must_exist=False)
        study._create(record, place, trials)
        return study

    # -- files --

    def import_csv(self, source: Source) -> list[Trial]:
        """Measured points from a CSV file, all of them or none: a column for every parameter,
        ``value``, and if you like ``noise_std`` and ``state``.
        """
        return telling.append(
            self, read_csv(source, self.space, self.outcomes, units_of(self.attributes))
        )

    def export(self, target: Target, format: exchange.Format | None = None) -> None:  # noqa: A002
        """All trials as "csv", "json" (with decisions) or "parquet" (extra ``frame``); by default
        as the file's name ends.
        """
        exchange.write(target, format, self.space, self.trials, self.outcomes)

    def to_frame(self) -> Any:
        """All trials as a pandas DataFrame (extra ``frame``)."""
        return exchange.frame(self.space, self.trials, self.outcomes)

    # -- results --

    def result(self, delta: float | None = None) -> Result:
        """Best, recommended, prediction, certificate and belief, from one fit."""
        return answers.result_of(self, delta)

    @property
    def best(self) -> Trial:
        """The best observed value. With noise it is partly luck: see ``recommended``. Where there
        are limits, of the trials within them; while there is none, the one that misses them least:
        see ``feasibility``.
        """
        return best_of(answers.complete(self), self.goal, self.outcomes)

    @property
    def recommended(self) -> Trial:
        """The evaluated point with the best posterior mean, or with the best lower bound where that
        is proved: what to use in the end.
        """
        return answers.recommended(self)

    def belief(self, delta: float | None = None) -> Belief | None:
        """The strategy's posterior given everything told so far, on the unit cube and to be
        maximised; None without a model. Points under way do not count.
        """
        return answers.belief_of(self, delta)

    def certificate(self, delta: float | None = None) -> Certificate:
        """A bound on the regret of the recommended point, max UCB − its LCB, with the condition
        under which it holds, and whether that is proved. Points under way do not count.
        """
        return answers.certificate_of(self, delta)

    def feasibility(self) -> Feasibility:
        """What is known of the limits: whether anything keeps them, and what comes closest."""
        return feasibility_of(self, belief_of_limits(self))

    def recommended_for(self, context: Values) -> Recommendation:
        """What to use in a context, seen or not: the action with the best posterior mean there, or
        with the best lower bound where that is proved.
        """
        return policies.recommended_for(self, context)

    def certificate_for(self, context: Values, delta: float | None = None) -> Certificate:
        """A bound on the regret of ``recommended_for`` against the best action in that context."""
        return policies.certificate_for(self, context, delta)

    def resolution(self) -> Resolution:
        """The largest ball of the unit cube without an evaluation: which bumps cannot have been
        missed, whatever the model believes. ``str`` says it in words.
        """
        return answers.resolution_of(self)

    def importances(self) -> list[Importance]:
        """Which inputs matter: the share of the model's variance that each explains alone
        (``first``) and with the others (``total``), each with its uncertainty.
        """
        return answers.importances_of(self)

    def replay(self, tolerance: float = 1e-6) -> Replay:
        """Derives every proposal again from the trials before it. Points differ if a coordinate of
        the unit cube does by more than ``tolerance``. Proposals by another version of the strategy
        are skipped: ``since`` is the trial from which on all can be derived.
        """
        return asking.replay(self, tolerance)

    # -- the history a strategy sees --

    def _encode(self, trial: Trial) -> Array:
        key = trial.number, trial.is_finished
        if key not in self._encoded:
            self._encoded[key] = self.space.encode(trial.params)
        return self._encoded[key]

    def _check(self, trial: Trial) -> None:
        """That a point, as it was stored, is one of the space."""
        try:
            self._encode(trial)
            if trial.asked is not None:
                self.space.encode(trial.asked)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise StorageError(
                f"trial {trial.number} of study {self.name!r} is damaged: its point is none of the"
                f" study's space ({error}). `noregret recover` exports it with all others"
            ) from None

    def _history(self, trials: Sequence[Trial]) -> History:
        sign, limits = sign_of(self.goal), self.outcomes
        return history_of(trials, self._encode, self.space.dimension, sign, limits)


def _opened(storage: Storage, name: str) -> Study:
    return Study.open(name, storage=storage)
