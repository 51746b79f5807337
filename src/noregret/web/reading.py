"""Studies as the viewers see them: read once per change, shared by all."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import cached_property

from noregret.diagnostics import (
    Alarm,
    Calibration,
    Convergence,
    Prediction,
    alarms,
    calibration,
    convergence,
    outcomes,
    predictions,
)
from noregret.errors import UnknownStudyError
from noregret.storage import SQLStorage, StudySummary
from noregret.study import Study
from noregret.trials import Trial

FRESH_SECONDS = 0.5  # viewers who come within this time of a reading share it


class Snapshot:
    """A study at one moment; what is derived from it is computed when first looked at, and once."""

    def __init__(self, study: Study, trials: list[Trial]) -> None:
        self.study, self.rows, self.read = study, trials, time.monotonic()
        self.counts = Counter(trial.state for trial in trials)
        self.encoded: dict[str, bytes] = {}
        text = repr(
            (
                study.identity,
                study.seed,
                study.strategy,
                trials[0].created if trials else "",
                [trial.state for trial in trials],
                (study.note, dict(study.attributes)),
                [
                    (trial.number, trial.note, dict(trial.attributes))
                    for trial in trials
                    if trial.note or trial.attributes
                ],
            )
        )
        self.version = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @cached_property
    def trials(self) -> list[Trial]:
        """With corrections in place of what they correct."""
        return outcomes(self.rows)

    @cached_property
    def tally(self) -> Counter[str]:
        """How many of them are in which state."""
        return Counter(trial.state for trial in self.trials)

    @cached_property
    def made(self) -> list[Prediction | None]:
        return predictions(self.trials, self.study.goal)

    @cached_property
    def convergence(self) -> Convergence:
        return convergence(self.trials, self.made, self.study.goal)

    @cached_property
    def calibration(self) -> Calibration:
        return calibration(self.made)

    @cached_property
    def alarms(self) -> list[Alarm]:
        return alarms(
            self.study.space, self.trials, self.made, self.study.goal, self.study.strategy
        )

    @cached_property
    def best(self) -> Trial | None:
        done = [trial for trial in self.trials if trial.value is not None]
        done = [trial for trial in done if trial.feasible is not False]
        sign = 1.0 if self.study.goal == "maximize" else -1.0
        return max(done, key=lambda trial: sign * float(trial.value or 0.0)) if done else None

    @cached_property
    def noise(self) -> float | None:
        """What a repeated measurement scatters by: as told last, or as the model takes it."""
        for trial in reversed(self.trials):
            model = trial.decision.model
            known = trial.noise_std or (None if model is None else model.noise_std)
            if known:
                return known
        return None

    @property
    def empty(self) -> bool:
        """Nothing was told yet."""
        return not self.tally["complete"]

    def bytes_of(self, what: str, make: Callable[[Snapshot], bytes]) -> bytes:
        """An encoded answer, made once."""
        if what not in self.encoded:
            self.encoded[what] = make(self)
        return self.encoded[what]


class Library:
    """The studies of one storage. Safe for threads."""

    def __init__(self, storage: SQLStorage) -> None:
        self.storage = storage
        self._studies: dict[str, Study] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._locks: dict[tuple[str, str], threading.Lock] = {}

    def summaries(self) -> list[StudySummary]:
        return self.storage.summaries()

    def study(self, name: str) -> Study:
        """As it is now: if it was deleted and made anew meanwhile, the new one."""
        try:
            key = self.storage.key(name)
        except UnknownStudyError:
            self._studies.pop(name, None)
            self._snapshots.pop(name, None)
            raise UnknownStudyError(f"there is no study named {name!r}") from None
        known = self._studies.get(name)
        if known is None or known.identity != key.identity:
            known = self._studies[name] = Study.open(name, storage=self.storage)
            self._snapshots.pop(name, None)
        return known

    def lock(self, name: str, purpose: str) -> threading.Lock:
        """One at a time reads a study, and one at a time thinks about its next point."""
        self.study(name)  # no lock for a study that is not there
        return self._locks.setdefault((name, purpose), threading.Lock())

    def snapshot(self, name: str) -> Snapshot:
        with self.lock(name, "read"):
            known = self._snapshots.get(name)
            if known is not None and time.monotonic() - known.read < FRESH_SECONDS:
                return known
            taken = self._read(name)
            if known is not None and known.version == taken.version:
                known.read, taken = taken.read, known
            self._snapshots[name] = taken
            return taken

    def _read(self, name: str) -> Snapshot:
        study = self.study(name)
        return Snapshot(study, study.trials)

    def forget(self, name: str) -> None:
        """A study that was deleted."""
        self._studies.pop(name, None)
        self._snapshots.pop(name, None)

    def changed(self, name: str) -> None:
        """The next look reads again."""
        self._snapshots.pop(name, None)
