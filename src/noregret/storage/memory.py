"""Storage in this process: gone with it. Takes anything, user callables included."""

from __future__ import annotations

import math
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from noregret.errors import StorageError, StudyExistsError, UnknownStudyError
from noregret.storage.protocol import (
    DIED,
    STORE_IT,
    UNLIMITED,
    StudyKey,
    StudyRecord,
    StudySummary,
    check_first,
    made_anew,
)
from noregret.trials import About, State, Trial, merged, standing, utc_now


@dataclass(slots=True)
class _Lease:
    """When a trial's worker last gave a sign of life, and how often the trial was given out."""

    heard: float | None = None
    attempts: int = 0

    def take(self, worker: str | None) -> None:
        self.heard = None if worker is None else time.monotonic()
        self.attempts += 1


@dataclass(slots=True)
class _Kept:
    record: StudyRecord
    identity: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: str = field(default_factory=utc_now)
    trials: list[Trial] = field(default_factory=list)
    leases: list[_Lease] = field(default_factory=list)


class MemoryStorage:
    """Thread-safe."""

    shared = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._studies: dict[str, _Kept] = {}

    def __getstate__(self) -> dict[str, Any]:
        # a lock cannot be copied or pickled: the copy gets its own
        return {"_studies": self._studies}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._studies = state["_studies"]

    def create(self, record: StudyRecord, trials: Sequence[Trial] = ()) -> StudyKey:
        check_first(trials)
        with self._lock:
            if record.name in self._studies:
                raise StudyExistsError(
                    f"a study named {record.name!r} exists already: open it, or choose another name"
                )
            kept = self._studies[record.name] = _Kept(record)
            _add(kept, trials, None)
            return StudyKey(record.name, kept.identity)

    def _find(self, name: str) -> _Kept:
        if name not in self._studies:
            raise UnknownStudyError(
                f"there is no study named {str(name)!r}; there are {sorted(self._studies)!r}"
            )
        kept = self._studies[name]
        if isinstance(name, StudyKey) and name.identity != kept.identity:
            raise StorageError(made_anew(name))
        return kept

    def _changed(self, name: str) -> _Kept:
        """A study that is about to change. A forked process has a copy of it, and what it told
        there would be lost.
        """
        if self._process != os.getpid():
            raise StorageError(
                f"study {str(name)!r} is in the memory of another process, and this one would work"
                f" on a copy of it: {STORE_IT}"
            )
        return self._find(name)

    def open(self, name: str) -> StudyRecord:
        kept = self._find(name)
        return replace(kept.record, key=StudyKey(kept.record.name, kept.identity))

    def key(self, name: str) -> StudyKey:
        kept = self._find(name)
        return StudyKey(kept.record.name, kept.identity)

    def delete(self, name: str) -> None:
        with self._lock:
            self._changed(name)
            del self._studies[name]

    def names(self) -> list[str]:
        return sorted(self._studies)

    def summaries(self) -> list[StudySummary]:
        with self._lock:
            return [_summary(kept) for _, kept in sorted(self._studies.items())]

    def trials(self, name: str) -> list[Trial]:
        with self._lock:
            return list(self._find(name).trials)

    def insert(self, name: str, trials: Sequence[Trial], worker: str | None = None) -> bool:
        with self._lock:
            kept = self._changed(name)
            first = len(kept.trials)
            if [trial.number for trial in trials] != list(range(first, first + len(trials))):
                return False
            _add(kept, trials, worker)
            return True

    def append(
        self,
        name: str,
        trials: Sequence[Trial],
        worker: str | None = None,
        below: float = math.inf,
        unless: Callable[[Sequence[Trial]], bool] | None = None,
    ) -> list[Trial] | None:
        with self._lock:
            kept = self._changed(name)
            first = len(kept.trials)
            if trials and first + len(trials) > below:
                return None
            came = kept.trials[trials[0].number :] if trials else []
            if came and unless is not None and unless(came):
                return None
            _add(kept, [replace(trial, number=first + i) for i, trial in enumerate(trials)], worker)
            return kept.trials[first:]

    def claim(self, name: str, number: int, worker: str | None = None) -> Trial | None:
        with self._lock:
            kept = self._changed(name)
            if not 0 <= number < len(kept.trials) or kept.trials[number].state != "waiting":
                return None
            kept.leases[number].take(worker)
            kept.trials[number] = replace(
                kept.trials[number], state="running", worker=worker, started=utc_now()
            )
            return kept.trials[number]

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
        about = about or About()
        with self._lock:
            kept = self._changed(name)
            if not 0 <= number < len(kept.trials) or kept.trials[number].is_finished:
                return None
            trial = kept.trials[number]
            if worker is not None and (trial.state != "running" or trial.worker != worker):
                return None
            if about.params is not None:
                trial = replace(trial, params=about.params, asked=trial.params)
            kept.trials[number] = replace(
                trial,
                state=state,
                value=value,
                noise_std=noise_std,
                finished=utc_now(),
                worker=None,
                error=about.error,
                note=about.note or trial.note,
                attributes=merged(trial.attributes, about.attributes),
                outcomes=about.outcomes,
                outcome_noise=about.outcome_noise,
                feasible=about.feasible,
                transient=about.transient,
            )
            return kept.trials[number]

    def annotate(
        self, name: str, number: int | None, note: str | None, attributes: Mapping[str, Any]
    ) -> None:
        with self._lock:
            kept = self._changed(name)
            old = kept.record if number is None else kept.trials[number]
            said = old.note if note is None else note or None
            both = merged(old.attributes, attributes)
            if number is None:
                kept.record = replace(kept.record, note=said, attributes=both)
            else:
                kept.trials[number] = replace(kept.trials[number], note=said, attributes=both)

    def heartbeat(self, name: str, numbers: Sequence[int], worker: str) -> None:
        with self._lock:
            kept = self._changed(name)
            for number in numbers:
                if kept.trials[number].worker == worker:
                    kept.leases[number].heard = time.monotonic()

    def reclaim(
        self,
        name: str,
        attempts: int,
        *,
        grace: float = 0.0,
        numbers: Sequence[int] | None = None,
        worker: str | None = None,
    ) -> list[Trial]:
        def is_meant(trial: Trial, lease: _Lease) -> bool:
            if worker not in (None, trial.worker):
                return False
            if numbers is not None:
                return trial.number in numbers
            return lease.heard is not None and lease.heard < time.monotonic() - grace

        with self._lock:
            kept, taken = self._changed(name), []
            for number, (trial, lease) in enumerate(zip(kept.trials, kept.leases, strict=True)):
                if trial.state == "running" and is_meant(trial, lease):
                    over = lease.attempts >= attempts
                    state: State = "failed" if over else "waiting"
                    kept.trials[number] = replace(
                        trial,
                        state=state,
                        finished=utc_now() if over else None,
                        worker=None,
                        started=trial.started if over else None,
                        error=DIED if over else None,
                        transient=over and attempts == 0,
                    )
                    lease.heard = None
                    lease.attempts -= attempts == UNLIMITED
                    taken.append(kept.trials[number])
            return taken


def _add(kept: _Kept, trials: Sequence[Trial], worker: str | None) -> None:
    now = utc_now()
    for trial in trials:
        running, lease = trial.state == "running", _Lease()
        if running:
            lease.take(worker)
        kept.leases.append(lease)
        finished = (trial.finished or now) if trial.is_finished else None
        kept.trials.append(
            replace(
                trial,
                created=trial.created or now,
                started=trial.started or (now if running else None),
                finished=finished,
                worker=worker if running else None,
            )
        )


def _summary(kept: _Kept) -> StudySummary:
    counting = standing(kept.trials)
    states = Counter(trial.state for trial in counting)
    values = [
        trial.value
        for trial in counting
        if trial.state == "complete" and trial.value is not None and trial.feasible is not False
    ]
    best = (max if kept.record.goal == "maximize" else min)(values, default=None)
    times = [
        text
        for trial in kept.trials
        for text in (trial.created, trial.finished)
        if text is not None
    ]
    return StudySummary(
        kept.record.name,
        kept.record.goal,
        len(counting),
        states["waiting"],
        states["running"],
        states["complete"],
        states["failed"],
        best,
        kept.created,
        max([kept.created, *times]),
        states["withdrawn"],
    )
