"""The server around the application, with limits on what a stranger can take of it: connections,
time and lines of the log. docs/security.md has a row for each.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 256
HEADER_SECONDS = 10.0  # to send a request's first lines, counted from the end of the last answer
READ_SECONDS = 60.0  # for which an answer may lie unread
LOOK_SECONDS = 2.0  # between two looks at a connection
HEADER_BYTES = 32 * 1024
LINES, LINES_A_SECOND = 50, 1.0  # of the log: at once, and after that


class Bounded(H11Protocol):
    """HTTP/1.1 with an end to waiting: for a request that does not come, and for an answer that
    nobody reads.
    """

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
            self.transport.abort()  # what was still to be sent is not waited for
            return
        now = time.monotonic()
        idle = self.cycle is None or self.cycle.response_complete
        if not self.flow.write_paused:
            self._flowed = now
        if (idle and now - self._since > HEADER_SECONDS) or now - self._flowed > READ_SECONDS:
            self.transport.abort()
            return
        self.loop.call_later(LOOK_SECONDS, self._look)


class Sparing(logging.Filter):
    """Lets through so many lines, and then one a second: whoever makes the server complain must not
    fill a disk with it. The next line says how many were left out.
    """

    def __init__(self) -> None:
        super().__init__()
        self._left, self._at, self._dropped = float(LINES), time.monotonic(), 0

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        self._left = min(LINES, self._left + LINES_A_SECOND * (now - self._at))
        self._at = now
        if self._left < 1:
            self._dropped += 1
            return False
        self._left -= 1
        if self._dropped:
            record.msg = f"{record.getMessage()} ({self._dropped} lines before it were left out)"
            record.args, self._dropped = None, 0
        return True


def bounded(app: Any, **settings: Any) -> uvicorn.Config:
    """Settings of a server for the application, with every limit."""
    made = uvicorn.Config(
        app,
        http=Bounded,
        ws="none",
        proxy_headers=False,  # or whoever is on this machine chooses the address he is counted by
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_keep_alive=5,
        backlog=128,
        server_header=False,
        date_header=False,
        access_log=False,
        **settings,
    )
    for name in ("uvicorn.error", "noregret.web"):
        log = logging.getLogger(name)
        for old in [each for each in log.filters if isinstance(each, Sparing)]:
            log.removeFilter(old)
        log.addFilter(Sparing())
    return made
