"""What a study needs of a storage: values in, values out, and compare-and-set changes. Nothing
locks for long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from noregret.errors import StorageError
from noregret.space import Candidates, Space
from noregret.strategies import Strategy
from noregret.trials import About, Goal, Limit, State, Trial

UNLIMITED = 2**31 - 1  # attempts: a trial is given back on purpose, which is no death of a worker
DIED = "its worker gave no sign of life, or it was taken back"  # why a reclaimed trial failed
# what to do about a study that several processes shall work on
STORE_IT = (
    'keep it in a file or database, Study.create(name, space, goal, storage="study.db"); or work on'
    " it in this process alone"
)


class StudyKey(str):
    """A study's name that remembers which study it is: once deleted, its name may be given to
    another. Every method of a storage takes a name, or this.
    """

    __slots__ = ("identity",)
    identity: str

    def __new__(cls, name: str, identity: str) -> StudyKey:
        key = super().__new__(cls, name)
        key.identity = identity
        return key

    def __reduce__(self) -> tuple[type[StudyKey], tuple[str, str]]:
        return StudyKey, (str(self), self.identity)


def made_anew(name: str) -> str:
    return (
        f"study {str(name)!r} was deleted and made anew under its name: open it again to work"
        " on the new one"
    )


def check_first(trials: Sequence[Trial]) -> None:
    """Those that a study is made with."""
    numbers = [trial.number for trial in trials]
    if numbers != list(range(len(numbers))):
        raise StorageError(f"trials are numbered from 0 without gaps, got {numbers!r}")


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """All that defines a study besides its trials: with them it resumes anywhere.

    origin: of a derived study, from which one and what was changed. Note and attributes may be
    changed by ``annotate``, nothing else may.
    """

    name: str
    space: Space | Candidates
    goal: Goal
    strategy: Strategy
    seed: int
    key: StudyKey | None = field(default=None, compare=False)  # set by the storage
    note: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, Any] | None = None
    outcomes: Mapping[str, Limit] = field(default_factory=dict)  # measured beside the value
    context: tuple[str, ...] = ()  # inputs that are given at each ask, not chosen


@dataclass(frozen=True, slots=True)
class StudySummary:
    """A study at a glance. Corrected trials are not counted, their corrections are. best: of those
    within all limits, where there are limits. Times are UTC.
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
    """Trials are keyed by (study, number); numbers are gap-free from 0. A finished trial never
    changes but in its note and attributes.

    worker: who evaluates a trial and sends heartbeats for it; None: nobody does, as for an
    experiment by hand.
    """

    @property
    def shared(self) -> bool:
        """Whether other processes may work on the same studies."""

    def create(self, record: StudyRecord, trials: Sequence[Trial] = ()) -> StudyKey:
        """A study with its first trials: all of it, or nothing. Raises StorageError if the name is
        taken or the record cannot be stored.
        """

    def open(self, name: str) -> StudyRecord:
        """With its key. Raises StorageError if there is no such study."""

    def key(self, name: str) -> StudyKey:
        """Which study has this name now. Raises StorageError if none has."""

    def delete(self, name: str) -> None:
        """Removes a study with its trials. Raises StorageError if there is no such study."""

    def names(self) -> list[str]: ...

    def summaries(self) -> list[StudySummary]:
        """All studies by name."""

    def trials(self, name: str) -> list[Trial]:
        """All trials by number."""

    def insert(self, name: str, trials: Sequence[Trial], worker: str | None = None) -> bool:
        """Adds trials under their numbers, the next free ones: all of them, or none (False) if
        another worker took a number.
        """

    def append(
        self,
        name: str,
        trials: Sequence[Trial],
        worker: str | None = None,
        below: float = math.inf,
        unless: Callable[[Sequence[Trial]], bool] | None = None,
    ) -> list[Trial] | None:
        """Adds trials under the next free numbers, whatever these are, and returns them: all of
        them, or none (None) if a number would not be smaller than ``below``, or if ``unless`` says
        True of those that came meanwhile, from the first one's number on: nobody adds any between
        this look and the new ones.
        """

    def claim(self, name: str, number: int, worker: str | None = None) -> Trial | None:
        """A waiting trial, now running; None if it is not waiting any more."""

    def finish(
        self,
        name: str,
        number: int,
        state: State,
        value: float | None,
        noise_std: float | None,
        *,
        worker: str | None = None,
        about: About | None = None,
    ) -> Trial | None:
        """Ends a running or waiting trial; None if it has ended already or does not exist. worker:
        only if it runs there still. about: what else was told; its attributes are added to those
        that are there, and None takes one away.
        """

    def annotate(
        self, name: str, number: int | None, note: str | None, attributes: Mapping[str, Any]
    ) -> None:
        """Changes note and attributes of a trial, or with None of the study; nothing else is
        touched. note: None leaves it, "" takes it away. attributes: added to those that are there,
        None takes one away; what others add at the same moment is kept. Whoever reads the trials
        next sees them.
        """

    def heartbeat(self, name: str, numbers: Sequence[int], worker: str) -> None:
        """Says that these trials are alive, as far as they still run at this worker."""

    def reclaim(
        self,
        name: str,
        attempts: int,
        *,
        grace: float = 0.0,
        numbers: Sequence[int] | None = None,
        worker: str | None = None,
    ) -> list[Trial]:
        """Takes running trials back: those whose last heartbeat is older than grace, or those named
        (by worker: if they run there still).

        They wait to be given out again, or have failed if they were given out that many times
        already: after several attempts the point may be what kills its workers, while with 0 the
        failure is transient. With UNLIMITED they were given back on purpose: that time does not
        count.
        """
