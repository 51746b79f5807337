"""Studies as viewers see them: read once per change, shared by all."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from noregret import diagnostics
from noregret.diagnostics import Alarm, Calibration, Convergence, Prediction, Reason
from noregret.errors import UnknownStudyError, UnknownTrialError
from noregret.storage import SQLStorage, StudyKey, StudyRecord
from noregret.study import Study
from noregret.trials import Trial, sign_of

FRESH_SECONDS = 0.5  # age up to which viewers share a reading


class Snapshot:
    """A study at one moment. Derived values are computed when first read, and once."""

    def __init__(self, study: Study, record: StudyRecord, rows: list[Trial]) -> None:
        self.study, self.record, self.rows, self.read = study, record, rows, time.monotonic()
        self.identity = "" if record.key is None else record.key.identity
        # A finished trial changes only in its note and attributes.
        changing = [(trial.state, trial.note, dict(trial.attributes)) for trial in rows]
        content = repr((self.identity, record.note, dict(record.attributes), changing))
        self.version = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @cached_property
    def trials(self) -> list[Trial]:
        """The rows with corrections in place of what they correct."""
        return diagnostics.effective_trials(self.rows)

    @cached_property
    def tally(self) -> Counter[str]:
        """The number of trials by state."""
        return Counter(trial.state for trial in self.trials)

    @cached_property
    def predictions(self) -> list[Prediction | None]:
        """One per trial; None where no model proposed the point."""
        return diagnostics.predictions(self.trials, self.record.goal, self.record.strategy)

    @property
    def checked(self) -> list[Prediction]:
        """The predictions whose value is known."""
        return [p for p in self.predictions if p is not None and p.residual is not None]

    @cached_property
    def convergence(self) -> Convergence:
        return diagnostics.track_convergence(self.trials, self.predictions, self.record.goal)

    @cached_property
    def calibration(self) -> Calibration:
        return diagnostics.check_calibration(self.predictions)

    @cached_property
    def alarms(self) -> list[Alarm]:
        record = self.record
        return diagnostics.alarms(
            record.space, self.trials, self.predictions, record.goal, record.strategy
        )

    @cached_property
    def best(self) -> Trial | None:
        """The trial with the best value within all limits."""
        sign = sign_of(self.record.goal)
        return max(
            (t for t in self.trials if t.value is not None and t.feasible is not False),
            key=lambda trial: sign * float(trial.value or 0.0),
            default=None,
        )

    @cached_property
    def noise(self) -> float | None:
        """The noise's standard deviation: the last one told, or the model's estimate."""
        for trial, prediction in zip(self.trials[::-1], self.predictions[::-1], strict=True):
            estimate = None if prediction is None else prediction.explanation.noise_std
            if noise_std := trial.noise_std or estimate:
                return noise_std
        return None

    @property
    def empty(self) -> bool:
        """Whether no trial is complete yet."""
        return not self.tally["complete"]

    def trial(self, number: int) -> Trial:
        """The trial of this number; raises UnknownTrialError."""
        if number >= len(self.rows):
            raise UnknownTrialError(f"study {self.record.name!r} has no trial {number}")
        return self.rows[number]

    def prediction(self, number: int) -> Prediction | None:
        """The forecast at a trial's point; None where no model proposed it."""
        return next((p for p in self.predictions if p is not None and p.number == number), None)

    def reason(self, number: int) -> Reason:
        """Why a trial's point was chosen."""
        return diagnostics.why(self.trial(number), self.prediction(number), self.record.goal)


class Library:
    """The studies of one storage. Safe for threads.

    Args:
        storage: The storage.
        fresh_seconds: The age up to which a reading is taken for the study's state.
    """

    def __init__(self, storage: SQLStorage, fresh_seconds: float = FRESH_SECONDS) -> None:
        self.storage, self._fresh_seconds = storage, fresh_seconds
        self._studies: dict[str, tuple[str, Study]] = {}  # each with its identity
        self._snapshots: dict[str, Snapshot] = {}
        self._locks: dict[tuple[str, str], threading.Lock] = {}

    def study(self, name: str) -> Study:
        """The study that has this name now: another one if it was deleted and created again."""
        with self._forgetting(name):
            return self._study(self.storage.key(name))

    def _study(self, key: StudyKey) -> Study:
        identity, study = self._studies.get(key, ("", None))
        if study is None or identity != key.identity:
            study = Study.open(str(key), storage=self.storage)
            self._studies[str(key)] = key.identity, study
            self._snapshots.pop(key, None)
        return study

    @contextmanager
    def _forgetting(self, name: str) -> Iterator[None]:
        """Forget a study that turns out to be deleted."""
        try:
            yield
        except UnknownStudyError:
            self.forget(name)
            raise UnknownStudyError(f"there is no study named {name!r}") from None

    @contextmanager
    def changing(self, name: str) -> Iterator[Study]:
        """The study, to be changed: the next snapshot is read from the storage."""
        study = self.study(name)
        try:
            yield study
        finally:
            self._snapshots.pop(name, None)

    def lock(self, name: str, purpose: str) -> threading.Lock:
        """One thread at a time reads a study, and one at a time computes its next point."""
        return self._locks.setdefault((name, purpose), threading.Lock())

    def snapshot(self, name: str) -> Snapshot:
        """The study as it is now, or was at most ``fresh_seconds`` ago.

        It takes two SQL statements: the study's row, and the trials that changed. If none changed,
        the storage makes a third to see that the study is still there.
        """
        with self.lock(name, "read"), self._forgetting(name):
            last = self._snapshots.get(name)
            if last is not None and time.monotonic() - last.read < self._fresh_seconds:
                return last
            record = self.storage.open(name)
            assert record.key is not None
            study = self._study(record.key)
            snapshot = Snapshot(study, record, study.trials)
            if last is not None and last.version == snapshot.version:
                last.read, snapshot = snapshot.read, last
            self._snapshots[name] = snapshot
            return snapshot

    def forget(self, name: str) -> None:
        """Drop what is kept of a study that was deleted."""
        self._studies.pop(name, None)
        self._snapshots.pop(name, None)
        for key in [key for key in list(self._locks) if key[0] == name]:
            self._locks.pop(key, None)
