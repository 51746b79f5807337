"""The application (API, pages, static files, errors) and the server around it.

The server bounds what a stranger can take of it: connections, time and lines of the log.
docs/security.md has a row for each limit.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from noregret import __version__
from noregret.errors import (
    NoRegretError,
    StorageError,
    StudyExistsError,
    TrialError,
    UnknownStudyError,
    UnknownTrialError,
)
from noregret.storage import SQLStorage
from noregret.web import api, pages
from noregret.web.fitting import Models
from noregret.web.library import Library
from noregret.web.security import Access, Bucket, Guard, outward

STATUS = {  # of the first class that an error is an instance of; 422 for all others
    UnknownStudyError: 404,
    UnknownTrialError: 404,
    StudyExistsError: 409,
    TrialError: 409,
    StorageError: 503,
}

MOST_CONNECTIONS = 256  # connections at a time; one more is closed
HEADER_SECONDS = 10.0  # time for a request's header, from the end of the last response
READ_SECONDS = 60.0  # time for which a response may stay unread
LOOK_SECONDS = 2.0  # time between two checks of a connection
HEADER_BYTES = 32 * 1024  # size of a request's header
LINES = 50  # lines of the log at once
LINE_SECONDS = 1.0  # time after which there may be one more


def create_app(storage: SQLStorage, access: Access | None = None) -> FastAPI:
    """The application.

    Args:
        storage: Where the studies are.
        access: Who may read and write; by default read-only without a token, on loopback.

    Returns:
        The ASGI application.
    """
    access = access or Access()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        app.state.models.close()

    app = FastAPI(
        title="noregret",
        version=__version__,
        description="Studies: see what the optimizer believes, and run experiments.",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.library = Library(storage)
    app.state.models = Models(storage.url)
    app.state.access = access
    app.include_router(api.router)
    app.include_router(pages.router)
    for kind in (NoRegretError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answer)
    app.add_middleware(Guard, access=access)
    return app


def _answer(request: Request, error: Exception) -> Response:
    """An error as JSON, or as a page. Our own errors say what is wrong and what to do."""
    headers: Any = None
    if isinstance(error, HTTPException):
        status, headers = error.status_code, error.headers
        detail = "there is nothing at this address" if status == 404 else str(error.detail)
    elif isinstance(error, RequestValidationError):
        # where and why, without the value: it may not be printable
        items = error.errors()
        status = 400 if any(item["type"] == "json_invalid" for item in items) else 422
        detail = "; ".join(f"{'.'.join(map(str, i['loc']))}: {i['msg']}" for i in items[:5])
    else:
        status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 422)
        detail = outward(error, request.app.state.library.storage.url)
    if request.url.path.startswith("/api") or request.method != "GET":
        return JSONResponse({"detail": detail.encode("utf-8", "replace").decode()}, status, headers)
    return pages.render(request, "problem.html", status, code=status, detail=detail)


# -- the server --


class TimedProtocol(H11Protocol):
    """HTTP/1.1 that gives up on requests that do not come and on responses that are not read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self._flowed = time.monotonic()
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
            return
        self._look()

    def on_response_complete(self) -> None:
        self._since = time.monotonic()
        super().on_response_complete()

    def _look(self) -> None:
        if self.transport.is_closing():
            self.transport.abort()  # without waiting for what was still to be sent
            return
        now = time.monotonic()
        idle = self.cycle is None or self.cycle.response_complete
        if not self.flow.write_paused:
            self._flowed = now
        if (idle and now - self._since > HEADER_SECONDS) or now - self._flowed > READ_SECONDS:
            self.transport.abort()
            return
        self.loop.call_later(LOOK_SECONDS, self._look)


class RateLimit(logging.Filter):
    """Lets LINES log lines through, then one per LINE_SECONDS, so that requests cannot fill a disk.
    The next line says how many were dropped.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bucket, self._dropped = Bucket(LINES, LINE_SECONDS), 0

    def filter(self, record: logging.LogRecord) -> bool:
        if self.bucket.left() < 1:
            self._dropped += 1
            return False
        self.bucket.take()
        if self._dropped:
            record.msg = f"{record.getMessage()} ({self._dropped} lines before it were dropped)"
            record.args, self._dropped = None, 0
        return True


RATE_LIMIT = RateLimit()


def server_config(app: Any, **settings: Any) -> uvicorn.Config:
    """The server's configuration with every limit.

    Args:
        app: The application.
        **settings: Further arguments of ``uvicorn.Config``.

    Returns:
        The configuration, for ``uvicorn.Server``.
    """
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        ws="none",
        proxy_headers=False,  # or a local process could choose the address it is counted by
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_keep_alive=5,
        backlog=128,
        server_header=False,
        date_header=False,
        access_log=False,
        **settings,
    )
    for name in ("uvicorn.error", "noregret.web"):
        logging.getLogger(name).addFilter(RATE_LIMIT)
    return config
