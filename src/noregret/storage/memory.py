"""Storage in this process: gone with it. Takes anything, user callables included."""

from __future__ import annotations

import threading
from typing import Any

from noregret.errors import StorageError
from noregret.storage.protocol import StudyRecord
from noregret.trial import Trial


class MemoryStorage:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._studies: dict[str, tuple[StudyRecord, list[Trial]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"_studies": self._studies}  # a lock cannot be copied or pickled: the copy gets its own

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._lock = threading.Lock()
        self._studies = state["_studies"]

    def create(self, record: StudyRecord) -> None:
        with self._lock:
            if record.name in self._studies:
                raise StorageError(f"a study named {record.name!r} exists already: open it, or choose another name")
            self._studies[record.name] = (record, [])

    def _find(self, name: str) -> tuple[StudyRecord, list[Trial]]:
        if name not in self._studies:
            raise StorageError(f"there is no study named {name!r}; there are {sorted(self._studies)!r}")
        return self._studies[name]

    def open(self, name: str) -> StudyRecord:
        return self._find(name)[0]

    def names(self) -> list[str]:
        return sorted(self._studies)

    def trials(self, name: str) -> list[Trial]:
        with self._lock:
            return list(self._find(name)[1])

    def insert(self, name: str, trial: Trial) -> bool:
        with self._lock:
            trials = self._find(name)[1]
            if trial.number != len(trials):
                return False
            trials.append(trial)
            return True

    def finish(self, name: str, trial: Trial) -> bool:
        with self._lock:
            trials = self._find(name)[1]
            if trials[trial.number].state != "running":
                return False
            trials[trial.number] = trial
            return True
