"""Fits for all viewers: one process of low priority computes each once per version of a study.

The server's own process only reads and writes. A fit of thousands of trials delays no page and,
in one nice process with one thread, hardly any ask.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, TypeVar

from noregret.errors import NoRegretError
from noregret.web import fitting
from noregret.web.fitting import Fitter, Summary
from noregret.web.security import outward

T = TypeVar("T")

log = logging.getLogger("noregret.web")

RETRY_SECONDS = 2.0  # assumed duration of a fit that failed
PATIENCE = 9.0  # pause after a fit, in durations of that fit: fitting takes a tenth of the time


@dataclass(slots=True)
class Fit:
    """The last summary of a study, and the task that computes the next one."""

    identity: str
    summary: Summary | None = None
    finished: float = 0.0
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class Models:
    """The models of a storage's studies. It lives on the event loop and computes nothing."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: ProcessPoolExecutor | None = None
        self._fits: dict[str, Fit] = {}

    def last(self, name: str, identity: str) -> Summary | None:
        """The last summary of the study with this name and identity; starts nothing."""
        fit = self._fits.get(name)
        return fit.summary if fit is not None and fit.identity == identity else None

    def look(self, name: str, identity: str, version: str) -> tuple[Summary | None, bool]:
        """The last summary, of this version or an older one, and whether a newer one is due."""
        fit = self._fits.get(name)
        if fit is None or fit.identity != identity:  # a new study of that name starts anew
            fit = self._fits[name] = Fit(identity)
        if fit.task is not None:
            return fit.summary, True
        if fit.summary is not None and fit.summary.version == version:
            return fit.summary, False
        seconds = 0.0 if fit.summary is None else fit.summary.seconds
        if time.monotonic() - fit.finished >= PATIENCE * seconds:
            fit.task = asyncio.create_task(self._fit(name, fit))
        return fit.summary, True

    async def _fit(self, name: str, fit: Fit) -> None:
        try:
            fit.summary = await self.call(Fitter.summarise, name)
        except Exception as error:  # nothing awaits this task: an error becomes the summary
            if not isinstance(error, NoRegretError):
                log.exception("the model of %r could not be fitted", name)
            text = f"the model could not be fitted: {outward(error, self._url)}"
            fit.summary = Summary(error=text, seconds=RETRY_SECONDS)
        finally:
            fit.finished, fit.task = time.monotonic(), None

    async def call(self, method: Callable[..., T], name: str, *arguments: Any) -> T:
        """Call a method of the fitter in its process."""
        if self._pool is None:
            for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
                # only the new process reads these: NumPy is loaded here already
                os.environ.setdefault(variable, "1")
            self._pool = ProcessPoolExecutor(
                1, multiprocessing.get_context("spawn"), fitting.start, (self._url,)
            )
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._pool, fitting.call, method, name, *arguments
            )
        except BrokenProcessPool:
            self._pool = None
            raise NoRegretError(
                "the process that fits models died, perhaps out of memory: the next request starts"
                " it again"
            ) from None

    def close(self) -> None:
        if self._pool is not None:
            for process in list(self._pool._processes.values()):
                process.terminate()  # a fit may take minutes, and its viewers are gone
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
