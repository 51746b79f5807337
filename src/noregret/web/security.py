"""Who may read and write, and the headers of every response.

Without a token, on loopback: only requests addressed to this machine by name, since another site
can make its own name mean 127.0.0.1. With a token: the header ``Authorization: Bearer …``, or the
cookie that the log-in form sets. A change needs ``--write``, the same origin, and either the header
or the CSRF token that belongs to the cookie.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import math
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noregret.diagnostics.presentation import without_python
from noregret.errors import (
    ConfigurationError,
    StorageError,
    StudyExistsError,
    UnavailableError,
    UnknownStudyError,
)
from noregret.storage.database import shown_url, storage_file
from noregret.web.artifacts import LARGEST_FILE

log = logging.getLogger("noregret.web")

SMALLEST_TOKEN = 16  # characters
LARGEST_BODY = 4 * 2**20  # bytes: a CSV file of some ten thousand trials
LARGEST_LOGIN = 4096  # bytes of a request to log in
BODY_SECONDS = 30.0  # time in which a body must arrive
SESSION_SECONDS = 12 * 3600
MAX_SESSIONS = 10_000  # sessions at a time; one more ends the oldest
LOCAL = "local"  # the session of every visitor of a server without a token
WRONG_TOKENS = 5  # wrong tokens that an address may send at once
WRONG_SECONDS = 10.0  # time after which it may send one more
MAX_ADDRESSES = 1024  # addresses whose wrong tokens are counted; one more forgets the oldest
SAFE = ("GET", "HEAD", "OPTIONS")  # methods that change nothing
OPEN = ("/login", "/static/")  # paths that need no token
HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[0-9a-zA-Z.-]+)(?::[0-9]*)?")  # name or address, port
UNAVAILABLE = "the database is not available: try again; the server's log says why"

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Access:
    """Who may read and write.

    Args:
        write: Whether studies may be changed.
        token: What visitors log in with; None: they need none, on loopback only.
        host: The address that is served.

    Raises:
        ConfigurationError: The token is weak, or missing where others can connect.
    """

    write: bool = False
    token: str | None = None
    host: str = "127.0.0.1"
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    sessions: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    throttle: Throttle = field(default_factory=lambda: Throttle(), repr=False, compare=False)

    def __post_init__(self) -> None:
        token, fresh = self.token, secrets.token_urlsafe(24)
        if token is None and not is_loopback(self.host):
            raise ConfigurationError(
                f"serving on {self.host} lets others in: set NOREGRET_TOKEN or --token, for"
                f" instance to {fresh}, or keep to 127.0.0.1"
            )
        if token is None:
            self.sessions[LOCAL] = math.inf
        elif len(token) < SMALLEST_TOKEN or not (token.isascii() and token.isprintable()):
            raise ConfigurationError(
                f"a token needs at least {SMALLEST_TOKEN} printable ASCII characters, so that it"
                f" cannot be guessed; here is a fresh one: {fresh}"
            )

    def knows(self, token: str) -> bool:
        """Whether it is the server's token, compared in constant time."""
        return self.token is not None and hmac.compare_digest(
            token.encode("utf-8", "replace"), self.token.encode()
        )

    def new_session(self) -> str:
        """A session that lasts SESSION_SECONDS; the oldest one ends if there are too many."""
        now = time.time()
        for session in [old for old, end in self.sessions.items() if end < now]:
            self.sessions.pop(session, None)
        while len(self.sessions) >= MAX_SESSIONS:
            self.sessions.pop(next(iter(self.sessions)), None)
        session = secrets.token_urlsafe(24)
        self.sessions[session] = now + SESSION_SECONDS
        return session

    def session(self, cookie: str) -> str | None:
        """The cookie if it is a session that has not ended."""
        return cookie if self.sessions.get(cookie, 0.0) > time.time() else None

    def end_session(self, session: str) -> None:
        """End a session: a copy of its cookie is worth nothing from now on. LOCAL does not end."""
        if session != LOCAL:
            self.sessions.pop(session, None)

    def csrf(self, session: str) -> str:
        """The token that belongs to a session's cookie and stands in its pages."""
        return hmac.new(self.secret, session.encode(), hashlib.sha256).hexdigest()


class Bucket:
    """Allows ``size`` events at once, then one per ``seconds``."""

    def __init__(self, size: int, seconds: float) -> None:
        self._size, self._seconds = size, seconds
        self._left, self._at = float(size), time.monotonic()

    def left(self) -> float:
        """How many events it allows now."""
        return min(self._size, self._left + (time.monotonic() - self._at) / self._seconds)

    def take(self) -> None:
        """Count an event."""
        self._left, self._at = self.left() - 1, time.monotonic()


class Throttle:
    """Counts wrong tokens: an address may send WRONG_TOKENS at once, then one per WRONG_SECONDS."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def refuses(self, address: str) -> bool:
        """Whether the address has to wait."""
        return address in self._buckets and self._buckets[address].left() < 1

    def wrong(self, address: str) -> None:
        """Count a wrong token."""
        self._buckets.setdefault(address, Bucket(WRONG_TOKENS, WRONG_SECONDS)).take()
        self._buckets.move_to_end(address)
        while len(self._buckets) > MAX_ADDRESSES:
            self._buckets.popitem(last=False)


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI middleware around everything. It refuses, bounds the body, and sets the headers.

    ``scope["state"]`` gets the visitor's session, if any, and the name of its cookie.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        # The port is part of the name: browsers send a cookie to every port of a host.
        cookie_name = f"noregret_{(scope.get('server') or ('', 0))[1]}"
        cookies = cookie_parser(headers.get("cookie", ""))
        session = self.access.session(cookies.get(cookie_name, ""))
        scope.setdefault("state", {}).update(session=session, cookie_name=cookie_name)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                answer.update(HEADERS)
                answer.setdefault("Cache-Control", "private, no-cache")
            await send(message)

        refused = self._refusal(scope, headers, session)
        if refused is None and scope["method"] not in SAFE:
            largest = LARGEST_LOGIN if scope["path"] == "/login" else LARGEST_BODY
            largest = LARGEST_FILE if scope["method"] == "PUT" else largest
            declared = headers.get("content-length", "0")
            if declared.isdigit() and int(declared[:20]) > largest:
                refused = _no(413, _too_large(largest))
            receive = self._bounded(receive, largest)
        await (refused or self.app)(scope, receive, sending)

    def _refusal(self, scope: Scope, headers: Headers, session: str | None) -> Response | None:
        path, method, access = scope["path"], scope["method"], self.access
        scheme, _, text = headers.get("authorization", "").partition(" ")
        bearer = text.strip() if scheme.lower() == "bearer" else ""
        by_header = access.knows(bearer)
        if access.token is None:
            host = HOST.fullmatch(headers.get("host", ""))
            if host is None or not is_loopback(host[1].lower()):
                return _no(421, "use 127.0.0.1 or localhost: other names need a token (--token)")
        elif not by_header:
            address = (scope.get("client") or ("", 0))[0]
            guesses = bool(bearer) and session is None  # a session needs no token
            if guesses or (path == "/login" and method not in SAFE):
                if access.throttle.refuses(address):
                    return _no(
                        429,
                        f"too many wrong tokens: wait {WRONG_SECONDS:g} s and try again",
                        {"Retry-After": f"{WRONG_SECONDS:g}"},
                    )
                if guesses:
                    access.throttle.wrong(address)
            if session is None and not path.startswith(OPEN):
                if method in SAFE and not path.startswith("/api"):
                    return RedirectResponse("/login?next=" + quote(path, safe="/"), 303)
                need = {"WWW-Authenticate": "Bearer"}
                return _no(401, "log in, or send a token as Authorization: Bearer …", need)
        if method in SAFE:
            return None
        if not _same_origin(headers):
            return _no(403, "this came from another site: nothing was changed")
        if path == "/login":
            return None
        if path != "/logout" and not access.write:
            return _no(403, "this server only reads: restart it with --write to change studies")
        sent = headers.get("x-csrf-token", "").encode("utf-8", "replace")
        if not by_header and not (
            session and hmac.compare_digest(sent, access.csrf(session).encode())
        ):
            return _no(
                403,
                "the CSRF token is missing or old: reload the page; a script sends the server's"
                " token as Authorization: Bearer … instead",
            )
        return None

    def _bounded(self, receive: Receive, largest: int) -> Receive:
        """Reads a body of at most ``largest`` bytes, whatever length was declared, in time."""
        deadline, size = asyncio.get_running_loop().time() + BODY_SECONDS, 0

        async def receiving() -> Message:
            nonlocal size
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                late = f"the request did not come within {BODY_SECONDS:g} s"
                raise HTTPException(408, late, {"Connection": "close"}) from None
            size += len(message.get("body", b""))
            if size > largest:
                raise HTTPException(413, _too_large(largest))
            return message

        return receiving


def _too_large(largest: int) -> str:
    return f"the request is larger than {largest} bytes"


def outward(error: Exception, url: str) -> str:
    """An error's text for visitors, without the database's address; the log has all of it."""
    text = without_python(str(error))
    if not isinstance(error, StorageError) or isinstance(
        error, (UnknownStudyError, StudyExistsError)
    ):
        return text
    log.warning("storage: %s", error)
    if isinstance(error, UnavailableError):
        return UNAVAILABLE  # the driver's text may hold an address too
    for address in filter(None, (shown_url(url), storage_file(url))):
        text = text.replace(address, "the database")
    return text


def _no(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"detail": detail}, status, headers)


def _same_origin(headers: Headers) -> bool:
    """Whether no other site sent it: a browser names the origin of every change, a program none."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2].lower() == headers.get("host", "").lower()
