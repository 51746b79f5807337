"""The one mutable object: ask, tell, run."""

from __future__ import annotations

import logging
import math
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from copy import deepcopy
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from noregret.errors import (
    ConfigurationError,
    KnownRowsError,
    StorageError,
    StudyExistsError,
    TrialError,
    UnknownTrialError,
    check_count,
    check_one_of,
)
from noregret.search import Resolution, resolution_of
from noregret.space import (
    Array,
    Candidates,
    Constraint,
    FixedInputs,
    Parameter,
    SearchSpace,
    Space,
)
from noregret.storage import STORE_IT, UNLIMITED, MemoryStorage, Storage, StudyRecord, StudySummary
from noregret.strategies import Belief, Strategy, algorithm_of, display_name
from noregret.study.record import (
    changed_space,
    check_numbers,
    check_same,
    derived_from,
    is_same,
    new_record,
    point_run,
)
from noregret.study.result import (
    CHANCE,
    Certificate,
    Feasibility,
    Recommendation,
    Replay,
    Result,
    best_action,
    best_of,
    certify_in,
    check_chance,
    complete,
    feasibility_of,
    recommend,
    recommended_of,
    result_of,
)
from noregret.study.running import MAX_ATTEMPTS, Reclaim, Run, check_seconds, plain_point
from noregret.trials import (
    STATES,
    Decision,
    Ending,
    Goal,
    History,
    Limit,
    State,
    Trial,
    check_attributes,
    check_ending,
    check_note,
    corrections,
    history_of,
    html_table,
    known_at,
    latest,
    number_of,
    short_point,
    shown,
    sign_of,
    standing,
)

if TYPE_CHECKING:
    from noregret.diagnostics import Importance
    from noregret.study.files import Format, Known, Source, Target, TrialTable

log = logging.getLogger("noregret")
Callback = Callable[["Study", Trial], Any]
Place = Storage | str | os.PathLike[str] | None
Attributes = Mapping[str, Any]
Values = Mapping[str, Any]
# the values of the context parameters, or a function that returns them before each trial
Context = Values | Callable[[], Values]
# distance in every unit-cube coordinate below which two workers' points are equal
SAME_POINT = 1e-3
INSTEAD_OF_RETRY = {
    "waiting": "the next ask gives it out, there is nothing to retry",
    "running": "it is under way; if its worker is gone, reclaim(numbers=[…]) takes it back",
    "complete": "only a failed trial can be given out again; enqueue() its point to measure it"
    " once more",
    "withdrawn": "it was not to be run; enqueue() its point to have it tried after all",
}


class Study:
    """An optimisation in progress: ``ask`` for a point, evaluate it anywhere, ``tell`` its value;
    or ``run`` a function. ``create`` and ``open`` are for studies in files and databases.

    Args:
        space: A dict of parameters, ``(low, high)`` pairs, a ``Space`` or ``Candidates``.
        goal: "maximize" or "minimize".
        strategy: How points are chosen; None is ``InsuredGPUCB()``.
        seed: Of the random numbers: equal seeds and equal values give equal proposals.
        name: The study's name.
        storage: A storage object; None is this process's memory.
        trials: Earlier trials of the same study, which then continues exactly where they stopped.
        outcomes: What is measured beside the value and how far it may go, ``{"toxicity":
            AtMost(0.3)}``.
        context: Names of inputs that are given at each ask instead of chosen.

    Raises:
        ConfigurationError: A setting makes no sense.
        TrialError: The trials are not numbered 0, 1, 2, …
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
        listed = list(trials)
        record = new_record(name, space, goal, strategy, seed, outcomes, context)
        check_numbers(listed)
        if isinstance(storage, (str, os.PathLike)):
            raise ConfigurationError(
                f"storage must be a storage object, got {str(storage)!r}: a study in a file or"
                " database is made with Study.create(name, space, goal, storage=…)"
            )
        self._create(record, MemoryStorage() if storage is None else storage, listed)

    def _create(self, record: StudyRecord, storage: Storage, trials: Sequence[Trial] = ()) -> Study:
        """Stores a new study, and makes this object a handle on it."""
        self._attach(record, storage)
        for trial in trials:
            self._encode(trial)
            if record.space.region is not None:
                record.space.canonical(trial.params)
        # a third party's storage may not take trials here: pass them only if there are any
        self._key = storage.create(record, trials) if trials else storage.create(record)
        return self

    def _attach(self, record: StudyRecord, storage: Storage) -> Study:
        self._record, self._storage = record, storage
        self._key = record.name if record.key is None else record.key
        self._runs, self._stopping = 0, False
        # a cache: a trial's point may change when it ends, if another point was run
        self._encoded: dict[tuple[int, bool], Array] = {}
        return self

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
            context: Names of the context parameters, which are given at each ask.
        """
        place = _as_storage(storage, must_exist=False)
        record = new_record(name, space, goal, strategy, seed, outcomes, context)
        try:
            return object.__new__(Study)._create(record, place)
        except StudyExistsError as error:
            if not resume:
                error.add_note("With resume=True it is opened, and goes on where it stopped.")
                raise
            study = Study.open(name, storage=place)
            check_same(study._record, record, strategy)
            return study

    @staticmethod
    def open(name: str, *, storage: Place = None) -> Study:
        """A stored study, exactly where it stopped; any number of processes may have it open.

        Args:
            name: Its name.
            storage: A file or a URL; None is NOREGRET_STORAGE, or noregret.db in the working
                folder.

        Returns:
            The study.

        Raises:
            StorageError: There is no such storage or study.
        """
        place = _as_storage(storage)
        return object.__new__(Study)._attach(place.open(name), place)

    def __reduce__(self) -> tuple[Callable[[str], Study], tuple[str]]:
        """A stored study is opened again where it is unpickled: in a process pool, by joblib."""
        if not self._storage.shared:
            raise StorageError(
                f"study {self.name!r} is in memory and cannot be pickled: {STORE_IT}; to save it,"
                " pickle study.trials for Study(…, trials=…)"
            )
        return partial(Study.open, storage=self._storage), (self._key,)

    def __copy__(self) -> Study:
        """Another handle on the same study."""
        return Study.open(self._key, storage=self._storage)

    def __deepcopy__(self, memo: dict[int, Any]) -> Study:
        """Of a study in memory an independent one; of a stored one another handle."""
        shared = self._storage.shared
        storage = self._storage if shared else deepcopy(self._storage, memo)
        return Study.open(self._key, storage=storage)

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

    @cached_property
    def _algorithm(self) -> int:
        """The number of today's version of the strategy."""
        return algorithm_of(self._record.strategy)

    @property
    def outcomes(self) -> Mapping[str, Limit]:
        """The limits of the measured outcomes, by name."""
        return self._record.outcomes

    @property
    def context(self) -> tuple[str, ...]:
        """The parameters that are given at each ask instead of chosen."""
        return self._record.context

    def record(self) -> StudyRecord:
        """Everything that defines the study, as it is stored now: also its ``seed``, ``note``,
        ``attributes``, ``key`` (which study it is, if its name was reused) and ``origin`` (of a
        derived study: the study it came from, what was changed, the trials' old numbers).
        """
        return self._storage.open(self._key)

    @property
    def trials(self) -> list[Trial]:
        """All trials by number."""
        trials = self._storage.trials(self._key)
        if self._storage.shared:  # a file may be damaged; trials in memory came from the space
            self._check_points(trials)
        return trials

    def __repr__(self) -> str:
        trials = self.trials
        done, note = len(complete(trials)), ""
        if done:
            best = best_of(self._record, trials)
            value = "" if best.value is None else shown(best.value)
            note = f", best {value} at {short_point(best.params)}" if value else ""
            note = ", nothing feasible yet" if best.feasible is False or not note else note
        return f"<Study {self.name!r}: {self.goal}, {done} of {len(trials)} trials complete{note}>"

    def _repr_html_(self) -> str:
        trials = standing(self.trials)
        states = [trial.state for trial in trials]
        counts = [f"{states.count(state)} {state}" for state in STATES if state in states]
        rows = [
            ("goal", self.goal),
            ("inputs", ", ".join(self.space.parameters)),
            ("strategy", type(self.strategy).__name__),
            ("trials", ", ".join(counts) or "none yet"),
            ("limits", ", ".join(f"{name} {limit}" for name, limit in self.outcomes.items())),
            ("context", ", ".join(self.context)),
            ("best", repr(best_of(self._record, trials))[1:-1] if complete(trials) else ""),
            ("note", self.record().note or ""),
        ]
        return html_table(f"study {self.name}", rows)

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
            context: Current values of all context parameters, where the study has any.
        """
        if count is not None:
            check_count("count", count)
            return [self.ask(fixed=fixed, context=context) for _ in range(count)]
        trial = self._next_trial(fixed=fixed, context=context)
        assert trial is not None  # there is no limit on their number
        return trial

    def _next_trial(
        self,
        worker: str | None = None,
        total: float = math.inf,
        fixed: Values | None = None,
        context: Values | None = None,
    ) -> Trial | None:
        """None: the study has ``total`` trials already, and none of them waits."""
        storage, key, part = self._storage, self._key, self._part(fixed, context)
        proposal: Trial | None = None
        seen, overtaken = 0, False
        # No lock is held while the strategy computes. If others took the number meanwhile, the
        # storage gives the point the next free one; only if they took the point too is another one
        # proposed, once.
        while True:
            trials = self.trials
            waiting = self._waiting(trials, part) if fixed is None else None
            if waiting is not None:
                claimed = storage.claim(key, waiting.number, worker)
                if claimed is not None:
                    return claimed
                continue
            limit = math.inf if total == math.inf else total + len(corrections(trials))
            if len(trials) >= limit:
                return None
            if proposal is None:
                self._warn_if_changed(trials)
                proposal, seen = self._propose(part, trials), len(trials)
            elif proposal.decision.draw is None and self._is_near(proposal, trials[seen:]):
                proposal = self._propose(part, trials, secrets.randbelow(2**31))
                seen = len(trials)
            trial = replace(proposal, number=len(trials))
            unless: Callable[[Sequence[Trial]], bool] | None = bool
            if overtaken:
                trial = replace(trial, decision=replace(trial.decision, seen=seen))
                redrawn = trial.decision.draw is not None
                unless = None if redrawn else partial(self._is_near, trial)
            added = storage.append(key, [trial], worker, limit, unless)
            if added is not None:
                return added[0]
            overtaken = True

    def preview(self, *, context: Values | None = None) -> Trial:
        """What the next ask would give; nothing is recorded.

        Args:
            context: Current values of the context parameters, where the study has any.
        """
        trials, part = self.trials, self._part(None, context)
        waiting = self._waiting(trials, part)
        if waiting is not None:
            return replace(waiting, state="running")
        return self._propose(part, trials)

    def _encode(self, trial: Trial) -> Array:
        """The point of a trial in the unit cube."""
        key = trial.number, trial.is_finished
        if key not in self._encoded:
            self._encoded[key] = self._record.space.encode(trial.params)
        return self._encoded[key]

    def _check_points(self, trials: Sequence[Trial]) -> None:
        """Raises StorageError if a stored point is not in the space."""
        for trial in trials:
            if (trial.number, trial.is_finished) in self._encoded:
                continue
            try:
                self._encode(trial)
                if trial.asked is not None:
                    self.space.encode(trial.asked)
            except (ValueError, TypeError, KeyError, OverflowError) as error:
                raise StorageError(
                    f"trial {trial.number} of study {self.name!r} is damaged: its point is none of"
                    f" the study's space ({error}). `noregret database recover` exports all"
                ) from None

    def _history(self, trials: Sequence[Trial]) -> History:
        """The trials as the strategy sees them."""
        record, sign = self._record, sign_of(self._record.goal)
        return history_of(trials, self._encode, record.space.dimension, sign, record.outcomes)

    def _part(self, fixed: Values | None, context: Values | None) -> SearchSpace:
        """The part of the space that is searched: in this context, with these values fixed."""
        names, space = self._record.context, self._record.space
        if not names and context is not None:
            raise ConfigurationError(f"this study has no context, got {context!r}: use fixed=")
        if not names:
            return space if fixed is None else FixedInputs(space, fixed)
        values = context if isinstance(context, Mapping) else {}
        missing = [name for name in names if name not in values]
        unknown = [name for name in values if name not in names]
        if missing or unknown:
            wanted = ", ".join(f"{name!r}: …" for name in names)
            raise ConfigurationError(
                f"{', '.join(names)} is context here: say what it is now, context={{{wanted}}}, got"
                f" {context!r}; missing {missing!r}, unknown {unknown!r}"
            )
        twice = [name for name in fixed or {} if name in names]
        if twice:
            raise ConfigurationError(f"{twice!r} are context: give them in context=, not in fixed=")
        in_order = {name: values[name] for name in names}
        return FixedInputs(space, {**in_order, **(fixed or {})}, is_context=True)

    def _waiting(self, trials: Sequence[Trial], part: SearchSpace) -> Trial | None:
        """The first waiting trial in a part of the space; without context, the first of all."""
        held, at = part.held, part.at[part.held]
        for trial in trials:
            if trial.state != "waiting":
                continue
            if not self._record.context or np.array_equal(self._encode(trial)[held], at):
                return trial
        return None

    def _is_near(self, trial: Trial, others: Sequence[Trial]) -> bool:
        """Whether one of the others has the same point, up to SAME_POINT."""
        x = self.space.encode(trial.params)
        return any(np.abs(self._encode(other) - x).max() < SAME_POINT for other in others)

    def _propose(
        self, part: SearchSpace, trials: Sequence[Trial], draw: int | None = None
    ) -> Trial:
        """The next trial, with everything needed to derive it again.

        Args:
            part: The part of the space that is searched.
            trials: All trials so far.
            draw: Another stream of random numbers, for a second attempt; None: the first.
        """
        record = self._record
        rng = np.random.default_rng([record.seed, len(trials), *([] if draw is None else [draw])])
        proposal = record.strategy.propose(part, self._history(trials), rng)
        decision = replace(
            proposal.decision.signed(sign_of(record.goal)),
            pending=tuple([trial.number for trial in trials if not trial.is_finished]),
            fixed=part.fixed or None,
            draw=draw,
            algorithm=self._algorithm,
        )
        return Trial(len(trials), part.decode(proposal.x), decision=decision)

    def _warn_if_changed(self, trials: Sequence[Trial]) -> None:
        """Warns that another version of the strategy decides from here on. Its decisions carry the
        number of that version, so that a study warns once.
        """
        decisions = (trial.decision for trial in reversed(trials))
        earlier = next((decision for decision in decisions if decision.chosen), None)
        today = self._algorithm
        if earlier is not None and earlier.algorithm != today:
            log.warning(
                f"study {self.name!r}: its earlier trials were proposed by algorithm"
                f" {earlier.algorithm} of {display_name(self.strategy)}, from trial {len(trials)}"
                f" on algorithm {today} decides, of the installed noregret; replay can derive"
                " proposals from there on"
            )

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
        """Records the result of a trial. The first tell stands.

        A trial that will not be run is told as ``state="withdrawn"``: that is neither a value nor a
        failure, and the point is not proposed again.

        Args:
            trial: The trial, or its number.
            value: What was measured; None for one that failed or was withdrawn.
            noise_std: Standard deviation of this value's noise, if it is known.
            outcomes: Where some have limits: each by its name, or the pair of it and its noise's
                std. Where one is beyond its limit the value may be missing.
            state: "complete", "failed" or "withdrawn".
            params: The values that were run, where they differ from those asked for.
            reason: Why it failed.
            note: Words to keep with it.
            attributes: JSON values by name to keep with it; shown and exported, as the note is.
            transient: The failure had nothing to do with the point; no strategy sees it, and
                ``retry`` gives the point out again.

        Returns:
            The finished trial.

        Raises:
            TrialError: The trial has ended already, or what is told makes no sense.
        """
        number = number_of(trial)
        ending = check_ending(
            self.outcomes, value, noise_std, state, outcomes, reason, note, attributes, transient
        )
        if isinstance(trial, Trial) or params is not None:
            point = point_run(self.space, self._trial(trial), params)
            ending = replace(ending, params=point)
        finished = self._storage.finish(self._key, number, ending)
        if finished is None:
            now = self._trial(number)
            how = f"complete with value {now.value!r}" if now.state == "complete" else now.state
            raise TrialError(
                f"trial {number} is {how} already: the first tell stands, correct() it"
            )
        return finished

    def _trial(self, trial: Trial | int, trials: Sequence[Trial] | None = None) -> Trial:
        """The stored trial; one of another study, or of a preview whose number was taken, is
        refused.
        """
        trials, number = self.trials if trials is None else trials, number_of(trial)
        if not 0 <= number < len(trials):
            raise UnknownTrialError(f"there is no trial {number}: this study has {len(trials)}")
        there = trials[number].proposed
        if isinstance(trial, Trial) and not is_same(there, trial.proposed):
            raise TrialError(
                f"trial {number} is at {plain_point(there)}: what was given is of another study, or"
                " was only previewed; nothing was recorded"
            )
        return trials[number]

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
        """A point measured elsewhere: it counts as data, not as a decision.

        Args:
            params: The point.
            value: What was measured.
            noise_std: Standard deviation of this value's noise, if it is known.
            outcomes: As for ``tell``.
            note: Words to keep with it.
            attributes: JSON values by name to keep with it.
        """
        ending = check_ending(
            self.outcomes, value, noise_std, "complete", outcomes, None, note, attributes
        )
        return self._append([Trial(0, self.space.canonical(params)).ended(ending)])[0]

    def enqueue(
        self, params: Any, *, note: str | None = None, attributes: Attributes | None = None
    ) -> Trial:
        """A point to be tried before the strategy is asked again: it waits for the next ask."""
        attributes, decision = check_attributes(attributes), Decision("enqueued")
        waiting = Ending("waiting", note=check_note(note), attributes=attributes)
        trial = Trial(0, self.space.canonical(params), decision=decision)
        return self._append([trial.ended(waiting)])[0]

    def _append(self, trials: Sequence[Trial]) -> list[Trial]:
        """Trials under the next free numbers, all or none."""
        added = self._storage.append(self._key, trials)
        assert added is not None  # there is no limit
        return added

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
        new, text = check_attributes(attributes), check_note(note)
        number = None
        if trial is not None:
            number = self._trial(trial).number
        self._storage.annotate(self._key, number, None if note is None else text or "", new)

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

        def ending_of(old: Trial) -> Ending:
            if not old.is_finished:
                raise TrialError(f"trial {old.number} is {old.state}, there is nothing to correct")
            measured = outcomes
            if outcomes is None and state == "complete" and old.outcomes:  # they stay
                stds = old.outcome_noise
                measured = {name: (mean, stds.get(name)) for name, mean in old.outcomes.items()}
            arguments = (value, noise_std, state, measured, reason, note, attributes, transient)
            ending = check_ending(self.outcomes, *arguments)
            return replace(ending, params=point_run(self.space, old, params))

        return self._supersede(trial, "correction", ending_of)

    def retry(self, trial: Trial | int) -> Trial:
        """Gives the point of a failed trial out again: a new trial waits in its place, and the
        failure no longer counts. The next ask returns it.
        """

        def ending_of(old: Trial) -> Ending:
            if old.state != "failed":
                advice = INSTEAD_OF_RETRY[old.state]
                raise TrialError(f"trial {old.number} is {old.state}: {advice}")
            return Ending("waiting", params=old.proposed)

        return self._supersede(trial, "retry", ending_of)

    def _supersede(
        self,
        trial: Trial | int,
        source: Literal["correction", "retry"],
        ending_of: Callable[[Trial], Ending],
    ) -> Trial:
        """Adds a trial in the place of another one's latest entry."""
        while True:
            trials = self.trials
            number = self._trial(trial, trials).number
            old = trials[latest(number, corrections(trials))]
            words: dict[str, Any] = {"note": old.note, "attributes": old.attributes}
            new = Trial(len(trials), old.params, decision=Decision(source), **words)
            new = new.ended(ending_of(old))
            asked = None if is_same(new.params, old.proposed) else old.proposed
            new = replace(new, corrects=old.number, asked=asked)
            if self._storage.append(self._key, [new], unless=bool) is not None:
                return self.trials[new.number]

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
        if then not in ("retry", "fail"):
            raise ConfigurationError(f'then is "retry" or "fail", got {then!r}')
        check_seconds("grace", grace)
        limit = MAX_ATTEMPTS if numbers is None else UNLIMITED
        attempts = limit if then == "retry" else 0
        if numbers is None:
            return self._storage.reclaim(self._key, attempts, grace=grace)
        trials = self.trials
        named = [self._trial(number, trials) for number in numbers]
        for trial in named:
            if trial.state != "running":
                raise TrialError(
                    f"trial {trial.number} is {trial.state}, not running: nothing to reclaim"
                )
        listed = [trial.number for trial in named]
        return self._storage.reclaim(self._key, attempts, numbers=listed)

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
        context: Context | None = None,
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
            grace: Seconds without a heartbeat before a worker is considered dead.
            reclaim: Its trial is given out again ("retry", three times at most), has failed
                ("fail") or stays as it is (None).
            progress: Whether a progress bar is drawn; None: on a terminal and in a notebook.
            trial_timeout: Seconds after which an evaluation is ended; its trial has failed and the
                run goes on. Each evaluation then has a separate process: the objective must be
                picklable, and ``executor`` cannot be given.
            context: Values of the context parameters, or a function that returns them before each
                trial.
        """

        ends = (trials, total, timeout, until, trial_timeout)
        settings = (*ends, workers, executor, catch, callbacks, grace, reclaim, progress)
        run = Run(self, objective, context, *settings)
        self._runs, self._stopping = self._runs + 1, False
        try:
            run.run()
        finally:
            self._runs -= 1
        return self

    def stop(self) -> None:
        """Lets the ``run`` of this object start no more trials: for callbacks, objectives in this
        process and other threads. What is in flight is still told.
        """
        if self._runs == 0:
            raise ConfigurationError("there is no run to stop: it is over, or in another process")
        self._stopping = True

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
            context: Other context parameters.
        """
        if space is not None and (parameters is not None or constraints is not None):
            raise ConfigurationError("give space, or parameters and constraints, not both")
        old = self.record()
        if space is None:
            space = changed_space(old.space, parameters, constraints)
        changes: dict[str, Any] = {"goal": goal, "strategy": strategy, "seed": seed}
        changes |= {"outcomes": outcomes, "context": context}
        same = {field: getattr(old, field) for field, new in changes.items() if new is None}
        new = new_record(name, space, **(changes | same))
        new = replace(new, note=check_note(note) or old.note, attributes=old.attributes)
        record, trials = derived_from(old, self.trials, new, past or {})
        place = self._storage if storage is None else _as_storage(storage, must_exist=False)
        return object.__new__(Study)._create(record, place, trials)

    # -- files --

    def import_csv(
        self, source: Source, *, known: Known = "refuse", label: str | None = None
    ) -> list[Trial]:
        """Measured points from a CSV file, all of them or none: a column for every parameter,
        ``value`` (or the value's name), and optionally ``noise_std`` and ``state``. Other columns
        are kept as attributes.

        Args:
            source: The file, or its name.
            known: What becomes of rows that the study has already: nothing is imported ("refuse"),
                only the others are ("skip"), or all ("add"), as repeated measurements.
            label: Kept as the attribute "import" of each trial, by which ``take_back`` finds them.

        Raises:
            TrialError: A row cannot be read.
            KnownRowsError: Rows are in the study already, and ``known`` is "refuse".
        """
        from noregret.study.files import IMPORT
        from noregret.study.numerals import units_of

        check_one_of("known", known, ("refuse", "skip", "add"))
        attributes = self.record().attributes
        value_name = str(attributes.get("value_name") or "")
        read = self._table().read(source, units_of(attributes), value_name)
        here = Counter(map(self._said_by, standing(self.trials)))
        new = [trial for trial in read if not _taken(here, self._said_by(trial))]
        if len(new) < len(read) and known == "refuse":
            advice = 'known="skip" imports the others, known="add" all; nothing was imported'
            raise KnownRowsError(len(read) - len(new), len(read), advice)
        added = new if known == "skip" else read
        if label is not None:
            about = {IMPORT: label}
            added = [replace(each, attributes={**each.attributes, **about}) for each in added]
        return self._append(added) if added else []

    def _said_by(self, trial: Trial) -> tuple[Any, ...]:
        """What a row of a file says: two rows are the same where this is."""
        point = self.space.encode(trial.params).round(12).tolist()
        outcomes = tuple(sorted(trial.outcomes.items()))
        return trial.state, trial.value, trial.noise_std, outcomes, tuple(point)

    @overload
    def export(self) -> Any: ...
    @overload
    def export(self, target: Target, format: Format | None = None) -> None: ...
    def export(self, target: Target | None = None, format: Format | None = None) -> Any:  # noqa: A002
        """All trials, in a file or as a pandas DataFrame (extra ``frame``).

        Args:
            target: The file, or its name; None returns a DataFrame instead.
            format: "csv", "json" (with decisions) or "parquet" (extra ``frame``); by default as the
                file's name ends.
        """
        if target is None:
            return self._table().frame(self.trials)
        return self._table().write(target, format, self.trials)

    def _table(self) -> TrialTable:
        from noregret.study.files import TrialTable

        return TrialTable(self.space, self.outcomes)

    # -- results --

    def result(self, delta: float | None = None, *, chance: float = CHANCE) -> Result:
        """Best, recommended, prediction, certificate and belief, from one fit.

        Args:
            delta: Failure probability of the band, in (0, 1); None: the strategy's own.
            chance: That the recommended point keeps all limits, as for ``recommend``.

        Raises:
            TrialError: No trial is complete yet.
        """
        check_chance(chance)
        trials = self.trials
        return result_of(self._record, trials, self._encode, self._belief(trials, delta), chance)

    @property
    def best(self) -> Trial:
        """The best observed value. With noise it is partly luck: see ``recommended``. Where there
        are limits, of the trials within them; while there is none, the one that misses them least:
        see ``feasibility``.
        """
        return best_of(self._record, self.trials)

    @property
    def best_params(self) -> Any:
        """The point of ``best``, to pass on: a new dict without the inputs that do not exist for
        its choices, or an array.
        """
        params = self.best.params.copy()
        return (
            self.space.active(params)
            if isinstance(self.space, Space) and self.space.branches
            else params
        )

    @property
    def recommended(self) -> Trial:
        """The evaluated point with the best posterior mean, or with the best lower bound where that
        is proved: what to use in the end. Where there are limits, among the points that keep all of
        them with a chance of 90 % by the model: ``recommend`` takes another chance.
        """
        if self.context:
            raise self._depends_on_context("recommended", "study.recommend(context={{{}}})")
        trials = self.trials
        belief = self._belief(trials)
        if belief is None:
            return best_of(self._record, trials)
        return recommended_of(self._record, trials, self._encode, belief)[0]

    def _depends_on_context(self, what: str, call: str) -> ConfigurationError:
        named = ", ".join(f"{name!r}: …" for name in self.context)
        return ConfigurationError(f"{what} depends on the context here: ask {call.format(named)}")

    def belief(self, delta: float | None = None) -> Belief | None:
        """The strategy's posterior given everything told so far, on the unit cube and to be
        maximised; None without a model. Points under way do not count.

        Args:
            delta: Failure probability of the band, in (0, 1); None: the strategy's own.
        """
        return self._belief(self.trials, delta)

    def _belief(self, trials: Sequence[Trial], delta: float | None = None) -> Belief | None:
        if delta is not None and not 0 < delta < 1:
            raise ConfigurationError(f"delta is a failure probability in (0, 1), got {delta!r}")
        return self.strategy.belief(self.space, self._history(trials).observed, delta)

    def certificate(
        self, delta: float | None = None, *, context: Values | None = None
    ) -> Certificate:
        """A bound on the regret of the recommended point, max UCB − its LCB, with the condition
        under which it holds, and whether that is proved. Points under way do not count.

        Args:
            delta: Failure probability of the band, in (0, 1); None: the strategy's own.
            context: In a study with context: bounds the regret of ``recommend(context=…)``
                against the best action in that context.

        Raises:
            TrialError: There is no model or no value yet, or nothing keeps all limits.
        """
        if context is not None:
            part, trials = self._part(None, context), self.trials
            belief = self._model(trials, "a certificate needs", delta)
            return certify_in(part, belief, self._history(trials).X, self._record.seed)
        if self.context:
            raise self._depends_on_context("certificate", "study.certificate(context={{{}}})")
        trials = self.trials
        belief = self._model(trials, "a certificate needs", delta)
        certificate = result_of(self._record, trials, self._encode, belief).certificate
        if certificate is None:
            raise TrialError("no regret to certify: nothing keeps all limits")
        return certificate

    def left(self, chance: float = 0.95, *, context: Values | None = None) -> float | None:
        """How much better than the recommended point f may get: the quantile of max f − f(x̂) under
        the fitted model with its hyperparameters averaged by evidence. A rule of thumb: it cannot
        see a peak that is narrower than the ``resolution()``. docs/theory.md#left

        Args:
            chance: The level of the quantile, in (0, 1).
            context: In a study with context: the values for which it is asked.

        Returns:
            The number, in the value's unit; None while it is not known: up to five values per
            number and per option of a choice, and while it would exceed the range of the values
            told.

        Raises:
            ConfigurationError: The strategy has no such model: ask ``certificate()``.
            TrialError: No trial is complete yet.
        """
        check_chance(chance)
        if self.context and context is None:
            raise self._depends_on_context("left", "study.left(context={{{}}})")
        part, trials = self._part(None, context), self.trials
        done, belief = complete(trials), self._belief(trials)
        best_of(self._record, trials)  # raises without a trial
        if belief is None or belief.mixture is None:
            raise ConfigurationError(
                f"{type(self.strategy).__name__} averages over no hyperparameters, so it does not"
                " say what is left: ask certificate(), or use the default strategy"
            )
        if context is None:
            x = self._encode(recommended_of(self._record, trials, self._encode, belief)[0])
        else:
            x = best_action(part, belief, self._history(trials).X, self._record.seed)
        from noregret.study.remaining import left_at

        y = np.array([trial.value for trial in done if trial.value is not None])
        return left_at(part, belief, x, y, chance, self._record.seed)

    def feasibility(self) -> Feasibility:
        """What is known of the limits: whether anything keeps them, and what comes closest."""
        trials, belief = self.trials, None
        if self.strategy.proved:
            belief = self._belief(trials)
            of_outcomes = getattr(self.strategy, "about_outcomes", None)
            if belief is None and of_outcomes is not None:  # no value is known yet
                outcomes = of_outcomes(self.space, self._history(trials))
                belief = replace(outcomes[0].margin, outcomes=outcomes) if outcomes else None
        return feasibility_of(self._record, trials, belief)

    def recommend(self, *, chance: float = CHANCE, context: Values | None = None) -> Recommendation:
        """What to use: the evaluated point with the best posterior mean, or with the best lower
        bound where that is proved. In a context, seen or not, the best action there, whether it was
        tried or not.

        Args:
            chance: Where outcomes have limits, the chance that all are kept, by the model; a proved
                band keeps them surely instead. If no point is that sure, the surest one.
            context: In a study with context: a value for each context parameter.

        Raises:
            ConfigurationError: The chance is none, or the study has no context, or another one.
            TrialError: There is no model or no value yet.
        """
        check_chance(chance)
        if context is not None or self.context:
            return self._recommend([context], chance)[0]
        trials = self.trials
        best_of(self._record, trials)  # raises without a trial
        belief = self._model(trials, "a recommendation needs")
        trial = recommended_of(self._record, trials, self._encode, belief, chance)[0]
        x = self._encode(trial)
        return recommend(self.space, belief, x, self.goal, chance, trial.number)

    def _recommend(
        self, contexts: Sequence[Values | None], chance: float = CHANCE
    ) -> list[Recommendation]:
        """What to use in each context, from one fit."""
        parts, trials = [self._part(None, each) for each in contexts], self.trials
        belief, X = self._model(trials, "a recommendation needs"), self._history(trials).X
        seed = self._record.seed
        actions = [best_action(part, belief, X, seed, chance) for part in parts]
        return [
            recommend(part, belief, x, self.goal, chance, None)
            for part, x in zip(parts, actions, strict=True)
        ]

    def _model(self, trials: Sequence[Trial], needs: str, delta: float | None = None) -> Belief:
        """The belief; TrialError while there is none."""
        belief = self._belief(trials, delta) if complete(trials) else None
        if belief is None:
            raise TrialError(f"{needs} a strategy with a model and at least one value")
        return belief

    def resolution(self) -> Resolution:
        """The largest ball without a value: which bumps cannot have been missed, whatever the model
        believes; per combination of options where there are choices. ``str`` says it in words.
        """
        done = [trial for trial in complete(self.trials) if trial.value is not None]
        if not done:
            raise TrialError("the resolution needs at least one value")
        points = np.array([self._encode(trial) for trial in done])
        return resolution_of(self.space, points)

    def importances(self, belief: Belief | None = None) -> list[Importance]:
        """Which inputs matter: the share of the model's variance that each explains alone
        (``first``) and with the others (``total``), each with its uncertainty; and whether halves
        of the data agree (``stable``).

        Args:
            belief: The model of all trials, if it is at hand; None fits it.
        """
        from noregret.diagnostics import half_beliefs, importances

        trials = self.trials
        known = belief or self._model(trials, "importances need")
        halves = half_beliefs(self.strategy, self.space, self._history(trials))
        return importances(known, self.space, halves=halves)

    def replay(self, tolerance: float = 1e-6) -> Replay:
        """Derives every proposal again from the trials before it. Points differ if a coordinate of
        the unit cube does by more than ``tolerance``. Proposals by another version of the strategy
        are skipped: ``since`` is the trial from which on all can be derived.
        """
        if not tolerance >= 0:
            raise ConfigurationError(f"tolerance must be at least 0, got {tolerance!r}")
        trials, today, agreed = self.trials, self._algorithm, 0
        proposed = [trial for trial in trials if trial.decision.chosen]
        others = [trial.number for trial in proposed if trial.decision.algorithm != today]
        skipped, since = len(others), others[-1] + 1 if others else 0
        for trial in proposed:
            decision = trial.decision
            part: SearchSpace = self.space
            if decision.algorithm != today:
                continue
            if decision.fixed is not None:
                part = FixedInputs(self.space, decision.fixed, is_context=bool(self.context))
            derived = self._propose(part, known_at(trials, trial.number), decision.draw).params
            recorded = self.space.encode(trial.proposed)
            if np.abs(self.space.encode(derived) - recorded).max() > tolerance:
                return Replay(agreed, trial.number, trial.proposed, derived, skipped, since)
            agreed += 1
        return Replay(agreed, skipped=skipped, since=since)


def _taken(counts: Counter[tuple[Any, ...]], item: tuple[Any, ...]) -> bool:
    """Whether there is one of an item left; it is then one less."""
    counts[item] -= 1
    return counts[item] >= 0


def snapshot_of(study: Study) -> Study:
    """The study as it is now, in memory: reading it again costs no query, and it never changes.

    Args:
        study: Any study; it stays as it is.
    """
    return object.__new__(Study)._create(study.record(), MemoryStorage(), study.trials)


def studies(storage: Place = None) -> list[StudySummary]:
    """All studies in a storage at a glance.

    Args:
        storage: A file or a URL; None is NOREGRET_STORAGE, or noregret.db in the working folder.

    Returns:
        A summary of each study, by name.

    Raises:
        StorageError: There is no such storage.
    """
    return _as_storage(storage).summaries()


def delete_study(name: str, storage: Place = None) -> None:
    """Removes a study and all its trials for good.

    Args:
        name: Its name.
        storage: As for ``studies``.

    Raises:
        StorageError: There is no such storage or study.
    """
    _as_storage(storage).delete(name)


def _as_storage(storage: Place, *, must_exist: bool = True) -> Storage:
    if storage is None or isinstance(storage, (str, os.PathLike)):
        from noregret.storage import SQLStorage

        return SQLStorage(storage, must_exist=must_exist)
    return storage
