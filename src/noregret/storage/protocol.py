"""The storage protocol: what a study needs of the place where its trials live.

Values go in and come out, and every change is compare-and-set. No method holds a lock for long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from noregret.errors import StorageError, StudyExistsError, UnknownStudyError
from noregret.space import Candidates, Space
from noregret.strategies import Strategy
from noregret.trials import Ending, Goal, Limit, Trial

UNLIMITED = 2**31 - 1  # attempts: the trial was returned on purpose, which is no failed attempt
DIED = "its worker gave no sign of life, or it was taken back"  # error of a reclaimed trial
# Advice for a study that several processes are to work on.
STORE_IT = (
    'keep it in a file or database, Study.create(name, space, goal, storage="study.db"); or work on'
    " it in this process alone"
)


class StudyKey(str):
    """A study's name together with its identity.

    A name can be given to another study once the first is deleted. Every method of a storage that
    takes a name also takes a key, and then refuses another study of the same name.
    """

    __slots__ = ("identity",)
    identity: str

    def __new__(cls, name: str, identity: str) -> StudyKey:
        key = super().__new__(cls, name)
        key.identity = identity
        return key

    def __reduce__(self) -> tuple[type[StudyKey], tuple[str, str]]:
        return StudyKey, (str(self), self.identity)


def unknown_study(name: str, names: Sequence[str]) -> UnknownStudyError:
    return UnknownStudyError(f"there is no study named {str(name)!r}; there are {list(names)!r}")


def study_exists(name: str) -> StudyExistsError:
    return StudyExistsError(
        f"a study named {name!r} exists already: open it, or choose another name"
    )


def study_replaced(name: str) -> StorageError:
    return StorageError(
        f"study {str(name)!r} was deleted and made anew under its name: open it again to work"
        " on the new one"
    )


def check_numbering(trials: Sequence[Trial]) -> None:
    """Raises StorageError unless the first trials of a new study are numbered 0, 1, 2 …"""
    numbers = [trial.number for trial in trials]
    if numbers != list(range(len(numbers))):
        raise StorageError(f"trials are numbered from 0 without gaps, got {numbers!r}")


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """Everything that defines a study besides its trials.

    Only note and attributes may change, with ``annotate``.

    Args:
        name: The study's name, unique in its storage.
        space: The search space, or a list of designs.
        goal: "maximize" or "minimize".
        strategy: The strategy that proposes points.
        seed: The seed of all its random numbers.
        key: The name with the study's identity. Set by the storage.
        note: Free text.
        attributes: JSON values by name.
        origin: Of a derived study: the study it came from, and what was changed.
        outcomes: Limits on what is measured beside the value, by name.
        context: Names of the inputs that are given at each ask instead of chosen.
    """

    name: str
    space: Space | Candidates
    goal: Goal
    strategy: Strategy
    seed: int
    key: StudyKey | None = field(default=None, compare=False)
    note: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, Any] | None = None
    outcomes: Mapping[str, Limit] = field(default_factory=dict)
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StudySummary:
    """A study at a glance. Corrected trials are not counted; their corrections are.

    Args:
        name: The study's name.
        goal: "maximize" or "minimize".
        trials: Number of trials in all states.
        waiting: Number of trials that wait for a worker.
        running: Number of trials under evaluation.
        complete: Number of trials with a value.
        failed: Number of failed trials.
        best: The best value among the feasible trials; None without one.
        created: UTC time of creation, in ISO 8601.
        last_activity: UTC time of the last trial that was added or finished.
        withdrawn: Number of trials that will not be run.
    """

    name: str
    goal: Goal
    trials: int
    waiting: int
    running: int
    complete: int
    failed: int
    best: float | None
    created: str
    last_activity: str
    withdrawn: int = 0


class Storage(Protocol):
    """Trials are keyed by (study, number), and numbers are gap-free from 0.

    Of a finished trial only note and attributes ever change. A worker is whoever evaluates a trial
    and sends heartbeats for it; None means that no heartbeats are sent, as for an experiment by
    hand. Methods raise UnknownStudyError where there is no study of the given name.
    """

    @property
    def shared(self) -> bool:
        """Whether other processes can work on the same studies."""

    def create(self, record: StudyRecord, trials: Sequence[Trial] = ()) -> StudyKey:
        """Creates a study together with its first trials: all of it or nothing.

        Raises:
            StudyExistsError: The name is taken.
            StorageError: The record cannot be stored.
        """

    def open(self, name: str) -> StudyRecord:
        """Returns the study's record, with its key."""

    def key(self, name: str) -> StudyKey:
        """Returns the key of the study that has this name now."""

    def delete(self, name: str) -> None:
        """Removes a study with its trials."""

    def names(self) -> list[str]:
        """Returns the names of all studies, sorted."""

    def summaries(self) -> list[StudySummary]:
        """Returns a summary of each study, sorted by name."""

    def trials(self, name: str) -> list[Trial]:
        """Returns all trials by number."""

    def append(
        self,
        name: str,
        trials: Sequence[Trial],
        worker: str | None = None,
        below: float = math.inf,
        unless: Callable[[Sequence[Trial]], bool] | None = None,
    ) -> list[Trial] | None:
        """Adds trials under the next free numbers, whatever these are.

        Args:
            name: The study.
            trials: The trials. Their numbers are replaced.
            worker: Who evaluates them.
            below: No number may reach this limit.
            unless: Called with the trials that were added meanwhile, if any: those from the number
                of the first new trial on. True cancels, so that ``bool`` always does. No trial is
                added between this call and the new ones.

        Returns:
            The trials with their numbers; None if nothing was added.
        """

    def claim(self, name: str, number: int, worker: str | None = None) -> Trial | None:
        """Sets a waiting trial to running and returns it; None if it is not waiting any more."""

    def finish(
        self, name: str, number: int, ending: Ending, worker: str | None = None
    ) -> Trial | None:
        """Ends a running or waiting trial.

        Args:
            name: The study.
            number: The trial.
            ending: Its result, and what is told beside it.
            worker: If given, the trial must still be running there.

        Returns:
            The finished trial, as ``Trial.ended`` makes it; None if it has ended already or does
            not exist.
        """

    def annotate(
        self, name: str, number: int | None, note: str | None, attributes: Mapping[str, Any]
    ) -> None:
        """Changes note and attributes of a trial, or of the study.

        Args:
            name: The study.
            number: The trial; None for the study itself.
            note: The new note. None keeps the old one, "" removes it.
            attributes: Merged into the existing ones, also those that others add at the same
                moment. None removes one.
        """

    def heartbeat(self, name: str, numbers: Sequence[int], worker: str) -> None:
        """Records a sign of life for those of these trials that still run at this worker."""

    def reclaim(
        self,
        name: str,
        attempts: int,
        *,
        grace: float = 0.0,
        numbers: Sequence[int] | None = None,
        worker: str | None = None,
    ) -> list[Trial]:
        """Takes running trials back, and returns them.

        They wait for another worker; or they have failed, if they were given out ``attempts`` times
        already.

        Args:
            name: The study.
            attempts: After this many attempts the point itself may kill its workers: the trial
                fails. 0: it fails at once, as transient. UNLIMITED: it is returned on purpose, and
                this attempt does not count.
            grace: Seconds since the last heartbeat after which a worker is considered dead.
            numbers: Take back these trials instead, whatever their heartbeat.
            worker: If given, only trials that run at this worker.
        """
