"""What a study needs of a storage: values in, values out, and two compare-and-set operations. Nothing locks for long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from noregret.space import SearchSpace
from noregret.strategies import Strategy
from noregret.trial import Trial

Goal = Literal["maximize", "minimize"]


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """All that defines a study besides its trials: with them it resumes anywhere."""

    name: str
    space: SearchSpace
    goal: Goal
    strategy: Strategy
    seed: int


class Storage(Protocol):
    """Trials are keyed by (study, number); numbers are gap-free from 0."""

    def create(self, record: StudyRecord) -> None:
        """Raises StorageError if the name is taken or the record cannot be stored."""

    def open(self, name: str) -> StudyRecord:
        """Raises StorageError if there is no such study."""

    def names(self) -> list[str]: ...

    def trials(self, name: str) -> list[Trial]:
        """All trials by number."""

    def insert(self, name: str, trial: Trial) -> bool:
        """Adds a trial under its number, the next free one; False if another worker took that number."""

    def finish(self, name: str, trial: Trial) -> bool:
        """Replaces a running trial by its finished self; False if it is not running any more."""
