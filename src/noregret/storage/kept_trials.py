"""Reading trials: what was read finished changes in its remarks only, so it is read again for them
and for nothing else.
"""

from __future__ import annotations

import threading
from typing import Any

from noregret.errors import StorageError
from noregret.storage.lookup import must_exist, study_id
from noregret.storage.protocol import StudyKey
from noregret.storage.rows import trial_of
from noregret.storage.statements import Statements
from noregret.trials import Trial


class KeptTrials:
    """The trials read so far, by study."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._lock = threading.Lock()
        self._read: dict[
            int, tuple[list[Trial], set[int]]
        ] = {}  # by study: its trials, and the numbers of those not finished
        self._revisions: dict[int, int] = {}  # by study: the newest change of a finished trial read

    def of(self, name: str) -> list[Trial]:
        statements = self._statements
        study = study_id(statements, name)
        with self._lock:
            known, unfinished = self._read.setdefault(study, ([], set()))
            query = statements.select_changed if unfinished else statements.select_new
            values = {
                "study_id": study,
                "from_number": len(known),
                "from_revision": self._revisions.get(study, 0),
                **({"unfinished": sorted(unfinished)} if unfinished else {}),
            }
            rows = statements.database.attempt(
                "read", lambda connection: connection.execute(query, values).all()
            )
            if not rows and isinstance(name, StudyKey):
                self._must_exist(name, study)
            for row in rows:
                trial = read_trial(statements, row, name)
                if trial.number > len(known):  # or all behind it would be read as others
                    raise _damaged(statements, name, len(known), "there is no such row")
                known[trial.number : trial.number + 1] = [trial]
                self._revisions[study] = max(self._revisions.get(study, 0), row.revision)
                (unfinished.discard if trial.is_finished else unfinished.add)(trial.number)
            return list(known)

    def _must_exist(self, name: str, study: int) -> None:
        try:
            must_exist(self._statements, name, study)
        except StorageError:
            self._read.pop(study, None)
            raise


def read_trial(statements: Statements, row: Any, name: str) -> Trial:
    try:
        return trial_of(row)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        why = f"{type(error).__name__}: {error}"
        raise _damaged(statements, name, row[0], why) from None


def _damaged(statements: Statements, name: str, number: Any, why: str) -> StorageError:
    return StorageError(
        f"trial {number} of study {str(name)!r} in {statements.database.shown} is damaged"
        f" ({why}). The other trials are not concerned:"
        " `noregret recover` exports every one that can be read"
    )
