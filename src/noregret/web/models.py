"""What needs a fit: recommended point, certificate, slices. One process of low priority computes
it, once per version of a study, for all viewers.

The server's own process only reads and writes: a fit of thousands of trials delays no page and,
being one nice process on one thread, hardly any ask.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from noregret.errors import NoRegretError
from noregret.web import fitting
from noregret.web.security import outward

log = logging.getLogger("noregret.web")

RETRY_SECONDS = 2.0  # times PATIENCE, after a fit that failed
PATIENCE = 9.0  # a study that changes all the time is fitted in at most a tenth of the time


@dataclass(slots=True)
class Fits:
    """Of one study: the last answer, how long it took, and whether the next is under way."""

    identity: str
    answer: dict[str, Any] | None = None
    finished: float = 0.0
    seconds: float = 0.0
    under_way: asyncio.Task[None] | None = field(default=None, repr=False)


class Models:
    """Lives on the event loop; nothing here computes."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: ProcessPoolExecutor | None = None
        self._fits: dict[str, Fits] = {}

    def last(self, name: str, identity: str) -> dict[str, Any] | None:
        """The last answer there is of the study with this name and identity; nothing is started."""
        fits = self._fits.get(name)
        return fits.answer if fits is not None and fits.identity == identity else None

    def look(self, name: str, identity: str, version: str) -> tuple[dict[str, Any] | None, bool]:
        """The last answer, whether or not it is of this version, and whether a newer one is on its
        way.
        """
        fits = self._fits.get(name)
        if fits is None or fits.identity != identity:  # a new study of that name starts anew
            fits = self._fits[name] = Fits(identity)
        if fits.under_way is not None:
            return fits.answer, True
        if fits.answer is not None and fits.answer["version"] == version:
            return fits.answer, False
        if time.monotonic() - fits.finished >= PATIENCE * fits.seconds:
            fits.under_way = asyncio.create_task(self._fit(name, fits))
        return fits.answer, True

    async def _fit(self, name: str, fits: Fits) -> None:
        try:
            fits.answer = await self._call(fitting.judge, name)
            fits.seconds = fits.answer["seconds"]
        except Exception as error:  # an answer like others: nobody awaits this task
            if not isinstance(error, NoRegretError):
                log.exception("the model of %r could not be fitted", name)
            fits.answer, fits.seconds = (
                fitting.failure(f"the model could not be fitted: {outward(error, self._url)}"),
                RETRY_SECONDS,
            )
        finally:
            fits.finished, fits.under_way = time.monotonic(), None

    async def slice(self, name: str, query: fitting.SliceQuery) -> dict[str, Any]:
        return await self._call(fitting.cut, name, query)

    async def slices(self, name: str, through: int | None) -> dict[str, Any]:
        return await self._call(fitting.cuts, name, through)

    async def _call(self, function: Any, name: str, *arguments: Any) -> dict[str, Any]:
        if self._pool is None:
            for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
                # read by the new process only: NumPy is loaded here already
                os.environ.setdefault(variable, "1")
            self._pool = ProcessPoolExecutor(
                1, multiprocessing.get_context("spawn"), fitting.start, (self._url,)
            )
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._pool, function, name, *arguments
            )
        except BrokenProcessPool:
            self._pool = None
            raise NoRegretError(
                "the process that fits models died, perhaps for want of memory; it starts again"
                " with the next request"
            ) from None

    def close(self) -> None:
        if self._pool is not None:
            for process in list(self._pool._processes.values()):
                process.terminate()  # a fit may take minutes, and nobody waits for it any more
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
