"""Studies in SQLite or PostgreSQL through SQLAlchemy Core: three tables, JSON text, UTC times,
every change one statement. Needs the extra ``sql``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from noregret.storage import adding, changing, lookup, overview, stored_studies
from noregret.storage.database import Database
from noregret.storage.kept_trials import KeptTrials
from noregret.storage.protocol import StudyKey, StudyRecord, StudySummary
from noregret.storage.schema import prepare
from noregret.storage.statements import Statements
from noregret.trials import About, State, Trial


class SQLStorage:
    """Safe for any number of threads, processes and machines. must_exist: a SQLite file that is not
    there is an error, not made.
    """

    shared = True

    def __init__(
        self, storage: str | os.PathLike[str] | None = None, *, must_exist: bool = False
    ) -> None:
        self._database = Database(storage, must_exist=must_exist)
        self.url = self._database.url
        self._statements = Statements(self._database)
        self._kept = KeptTrials(self._statements)
        try:
            prepare(self._database, self._statements.studies, self._statements.trials)
        except BaseException:
            self.close()
            raise

    def __reduce__(self) -> tuple[Callable[[str], SQLStorage], tuple[str]]:
        """A copy, here or in another process, is opened by the address, with connections of its
        own.
        """
        return _opened, (self._database.address,)

    # -- studies --

    def create(self, record: StudyRecord, trials: Sequence[Trial] = ()) -> StudyKey:
        return stored_studies.create(self._statements, record, trials)

    def open(self, name: str) -> StudyRecord:
        return stored_studies.read(self._statements, name)

    def key(self, name: str) -> StudyKey:
        return lookup.key(self._statements, name)

    def delete(self, name: str) -> None:
        stored_studies.delete(self._statements, name)

    def names(self) -> list[str]:
        return lookup.names(self._statements)

    def summaries(self) -> list[StudySummary]:
        return overview.summaries(self._statements)

    # -- trials --

    def trials(self, name: str) -> list[Trial]:
        return self._kept.of(name)

    def insert(self, name: str, trials: Sequence[Trial], worker: str | None = None) -> bool:
        return adding.insert(self._statements, name, trials, worker)

    def append(
        self,
        name: str,
        trials: Sequence[Trial],
        worker: str | None = None,
        below: float = math.inf,
        unless: Callable[[Sequence[Trial]], bool] | None = None,
    ) -> list[Trial] | None:
        bounds = adding.Bounds(below, unless)
        return adding.append(self._statements, name, trials, worker, bounds)

    def claim(self, name: str, number: int, worker: str | None = None) -> Trial | None:
        return changing.claim(self._statements, self._kept, name, number, worker)

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
        told = changing.Outcome(state, value, noise_std, about or About())
        return changing.finish(self._statements, self._kept, name, number, told, worker)

    def annotate(
        self, name: str, number: int | None, note: str | None, attributes: Mapping[str, Any]
    ) -> None:
        changing.annotate(self._statements, name, number, note, attributes)

    def heartbeat(self, name: str, numbers: Sequence[int], worker: str) -> None:
        changing.heartbeat(self._statements, name, numbers, worker)

    def reclaim(
        self,
        name: str,
        attempts: int,
        *,
        grace: float = 0.0,
        numbers: Sequence[int] | None = None,
        worker: str | None = None,
    ) -> list[Trial]:
        meant = changing.Meant(grace, numbers, worker)
        return changing.reclaim(self._statements, name, attempts, meant)

    def close(self) -> None:
        """Gives the connections back; the storage may be used again."""
        self._database.engine.dispose()


def _opened(address: str) -> SQLStorage:
    return SQLStorage(address, must_exist=True)
