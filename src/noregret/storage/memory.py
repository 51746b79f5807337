"""Storage in the memory of this process. Takes anything, user callables included."""

from __future__ import annotations

import math
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from noregret.errors import StorageError
from noregret.storage.protocol import (
    DIED,
    STORE_IT,
    UNLIMITED,
    StudyKey,
    StudyRecord,
    StudySummary,
    check_numbering,
    study_exists,
    study_replaced,
    unknown_study,
)
from noregret.trials import STATES, Ending, State, Trial, merged, standing, utc_now


@dataclass(slots=True)
class _Study:
    record: StudyRecord  # with its key
    created: str = field(default_factory=utc_now)
    trials: list[Trial] = field(default_factory=list)
    # by the trial's number: time of the last heartbeat, None where none is sent
    heartbeats: list[float | None] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)  # how often each trial was given out

    def add(self, trials: Sequence[Trial], worker: str | None) -> list[Trial]:
        first = len(self.trials)
        for number, trial in enumerate(trials, first):
            self.trials.append(trial.as_added(number, worker))
            self.heartbeats.append(None if worker is None else time.monotonic())
            self.attempts.append(int(trial.state == "running"))
        return self.trials[first:]

    def change(self, number: int, **changes: Any) -> Trial:
        trial = self.trials[number] = replace(self.trials[number], **changes)
        return trial

    def end(self, trial: Trial, ending: Ending) -> Trial:
        ended = replace(trial.ended(ending), finished=utc_now(), worker=None)
        self.trials[trial.number] = ended
        return ended

    def get(self, number: int, *states: State) -> Trial | None:
        """A trial that is in one of these states."""
        trial = self.trials[number] if 0 <= number < len(self.trials) else None
        return trial if trial is not None and trial.state in states else None

    def summary(self) -> StudySummary:
        trials = standing(self.trials)
        states = Counter(trial.state for trial in trials)
        values = [
            trial.value
            for trial in trials
            if trial.state == "complete" and trial.value is not None and trial.feasible is not False
        ]
        times = [time for trial in self.trials for time in (trial.created, trial.finished) if time]
        return StudySummary(
            self.record.name,
            self.record.goal,
            len(trials),
            best=(max if self.record.goal == "maximize" else min)(values, default=None),
            created=self.created,
            last_activity=max([self.created, *times]),
            **{state: states[state] for state in STATES},
        )


class MemoryStorage:
    """Studies in the memory of this process, which end with it. Safe for threads."""

    shared = False

    def __init__(self) -> None:
        self.__setstate__({"_studies": {}})

    def __getstate__(self) -> dict[str, Any]:
        return {"_studies": self._studies}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._studies: dict[str, _Study] = state["_studies"]
        self._lock = threading.Lock()  # a lock cannot be copied: each copy gets its own
        self._process = os.getpid()

    def _find(self, name: str) -> _Study:
        study = self._studies.get(name)
        if study is None:
            raise unknown_study(name, self.names())
        key = study.record.key
        if isinstance(name, StudyKey) and key is not None and name.identity != key.identity:
            raise study_replaced(name)
        return study

    @contextmanager
    def _changing(self, name: str) -> Iterator[_Study]:
        """A study that is about to change. A forked process would change a copy of it."""
        with self._lock:
            if self._process != os.getpid():
                raise StorageError(
                    f"study {str(name)!r} is in the memory of another process, and this one would"
                    f" work on a copy of it: {STORE_IT}"
                )
            yield self._find(name)

    # -- studies --

    def create(self, record: StudyRecord, trials: Sequence[Trial] = ()) -> StudyKey:
        check_numbering(trials)
        with self._lock:
            if record.name in self._studies:
                raise study_exists(record.name)
            key = StudyKey(record.name, uuid.uuid4().hex)
            study = self._studies[record.name] = _Study(replace(record, key=key))
            study.add(trials, None)
            return key

    def open(self, name: str) -> StudyRecord:
        return self._find(name).record

    def key(self, name: str) -> StudyKey:
        key = self._find(name).record.key
        assert key is not None  # since ``create``
        return key

    def delete(self, name: str) -> None:
        with self._changing(name):
            del self._studies[name]

    def names(self) -> list[str]:
        return sorted(self._studies)

    def summaries(self) -> list[StudySummary]:
        with self._lock:
            return [study.summary() for _, study in sorted(self._studies.items())]

    # -- trials --

    def trials(self, name: str) -> list[Trial]:
        with self._lock:
            return list(self._find(name).trials)

    def append(
        self,
        name: str,
        trials: Sequence[Trial],
        worker: str | None = None,
        below: float = math.inf,
        unless: Callable[[Sequence[Trial]], bool] | None = None,
    ) -> list[Trial] | None:
        with self._changing(name) as study:
            if trials and len(study.trials) + len(trials) > below:
                return None
            newer = study.trials[trials[0].number :] if trials else []
            if newer and unless is not None and unless(newer):
                return None
            return study.add(trials, worker)

    def claim(self, name: str, number: int, worker: str | None = None) -> Trial | None:
        with self._changing(name) as study:
            if study.get(number, "waiting") is None:
                return None
            study.heartbeats[number] = None if worker is None else time.monotonic()
            study.attempts[number] += 1
            return study.change(number, state="running", worker=worker, started=utc_now())

    def finish(
        self, name: str, number: int, ending: Ending, worker: str | None = None
    ) -> Trial | None:
        with self._changing(name) as study:
            trial = study.get(number, "running", "waiting")
            if trial is None or (worker is not None and trial.worker != worker):
                return None
            return study.end(trial, ending)

    def annotate(
        self, name: str, number: int | None, note: str | None, attributes: Mapping[str, Any]
    ) -> None:
        with self._changing(name) as study:
            old = study.record if number is None else study.trials[number]
            changes: dict[str, Any] = {
                "note": old.note if note is None else note or None,
                "attributes": merged(old.attributes, attributes),
            }
            if number is None:
                study.record = replace(study.record, **changes)
            else:
                study.change(number, **changes)

    def heartbeat(self, name: str, numbers: Sequence[int], worker: str) -> None:
        with self._changing(name) as study:
            for number in numbers:
                if study.trials[number].worker == worker:
                    study.heartbeats[number] = time.monotonic()

    def reclaim(
        self,
        name: str,
        attempts: int,
        *,
        grace: float = 0.0,
        numbers: Sequence[int] | None = None,
        worker: str | None = None,
    ) -> list[Trial]:
        with self._changing(name) as study:

            def is_lost(trial: Trial) -> bool:
                if trial.state != "running" or worker not in (None, trial.worker):
                    return False
                heard = study.heartbeats[trial.number]
                silent = heard is not None and heard < time.monotonic() - grace
                return silent if numbers is None else trial.number in numbers

            reclaimed = []
            for trial in filter(is_lost, list(study.trials)):
                number, died = trial.number, Ending("failed", error=DIED, transient=attempts == 0)
                study.heartbeats[number] = None
                if study.attempts[number] >= attempts:
                    reclaimed.append(study.end(trial, died))
                else:
                    returned = study.change(number, state="waiting", worker=None, started=None)
                    reclaimed.append(returned)
                study.attempts[number] -= attempts == UNLIMITED
            return reclaimed
