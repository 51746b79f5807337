"""Signs of life of a worker, for the others."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field

from noregret.errors import StorageError
from noregret.study.plan import Work

log = logging.getLogger("noregret")


@dataclass(slots=True)
class Heartbeat:
    """A thread that says every few seconds which trials are alive. It starts late: executors may
    fork before, not after.
    """

    work: Work
    worker: str
    period: float
    numbers: frozenset[int] = frozenset()
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None and self.work.storage.shared:
            self._thread = threading.Thread(
                target=self._beat, name="noregret-heartbeat", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _beat(self) -> None:
        while not self._over.wait(self.period):
            if self.numbers:
                try:
                    self.work.storage.heartbeat(self.work.name, sorted(self.numbers), self.worker)
                except StorageError as error:
                    log.warning("no heartbeat this time: %s", error)
