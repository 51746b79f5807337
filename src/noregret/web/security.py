"""Who may come in, and what leaves with every answer.

Loopback without a token: only requests addressed to this machine by name (a page elsewhere cannot
rebind its own name to it). With a token: a header ``Authorization: Bearer …``, or the cookie that
the log-in form sets. Whoever changes something needs ``--write``, the same origin, and either the
header or the CSRF token that belongs to the cookie.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noregret.errors import (
    ConfigurationError,
    StorageError,
    StudyExistsError,
    UnavailableError,
    UnknownStudyError,
)
from noregret.storage.database import shown_url, storage_file

log = logging.getLogger("noregret.web")

SMALLEST_TOKEN = 16
LARGEST_BODY = 4 * 2**20  # bytes: a CSV file of some ten thousand trials
LARGEST_LOGIN = 4096  # bytes, from somebody who is not known yet
BODY_SECONDS = 30.0  # in which a body must have come
SESSION_SECONDS = 12 * 3600
MOST_REVOKED = 100_000  # sessions remembered as over; with more, all are
WRONG, WRONG_SECONDS = 5, 10.0  # wrong tokens of one address at once, and one more after so long
MOST_ADDRESSES = 1024  # remembered
SAFE = ("GET", "HEAD", "OPTIONS")
OPEN = ("/login", "/static/")  # what a stranger may see
HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[0-9a-zA-Z.-]+)(?::[0-9]*)?")  # name or address, port
UNAVAILABLE = (
    "the database did not answer or could not be written; nothing was changed as far as is known."
    " Try again; the server's log says why"
)

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
    """What the person who started the server allows."""

    write: bool = False
    token: str | None = None
    host: str = "127.0.0.1"
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    ended: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    throttle: Throttle = field(default_factory=lambda: Throttle(), repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.token is not None and (
            len(self.token) < SMALLEST_TOKEN
            or not self.token.isascii()
            or not self.token.isprintable()
        ):
            raise ConfigurationError(
                f"a token has at least {SMALLEST_TOKEN} printable ASCII characters, so that it"
                f" cannot be guessed; here is a fresh one: {secrets.token_urlsafe(24)}"
            )
        if self.token is None and not is_loopback(self.host):
            raise ConfigurationError(
                f"serving on {self.host} lets others in: set NOREGRET_TOKEN or --token, for"
                f" instance to {secrets.token_urlsafe(24)}, or keep to 127.0.0.1"
            )

    def knows(self, token: str) -> bool:
        """Compared in constant time."""
        return self.token is not None and hmac.compare_digest(
            token.encode("utf-8", "replace"), self.token.encode()
        )

    def new_session(self) -> str:
        return self._signed(f"{secrets.token_urlsafe(18)}.{int(time.time()) + SESSION_SECONDS}")

    def session(self, cookie: str) -> str | None:
        """The cookie if this server made it and it has not run out."""
        body, _, _ = cookie.rpartition(".")
        if not hmac.compare_digest(self._signed(body).encode(), cookie.encode("utf-8", "replace")):
            return None
        if body in self.ended:
            return None
        return cookie if int(body.rpartition(".")[2]) > time.time() else None

    def end_session(self, cookie: str) -> None:
        """A copy of the cookie is worth nothing from now on."""
        body, _, _ = cookie.rpartition(".")
        now = time.time()
        for old in [each for each, until in self.ended.items() if until < now]:
            del self.ended[old]
        if len(self.ended) >= MOST_REVOKED:  # somebody logs in and out all the time
            object.__setattr__(self, "secret", secrets.token_bytes(32))
            self.ended.clear()
        self.ended[body] = now + SESSION_SECONDS

    def csrf(self, session: str) -> str:
        return hmac.new(self.secret, b"csrf " + session.encode(), hashlib.sha256).hexdigest()

    def _signed(self, body: str) -> str:
        message = b"session " + body.encode("utf-8", "replace")
        return f"{body}.{hmac.new(self.secret, message, hashlib.sha256).hexdigest()}"


class Throttle:
    """How many wrong tokens an address may send: a few, then one every ten seconds."""

    def __init__(self) -> None:
        self._tries: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def _left(self, address: str) -> float:
        left, at = self._tries.get(address, (float(WRONG), time.monotonic()))
        return min(float(WRONG), left + (time.monotonic() - at) / WRONG_SECONDS)

    def refuses(self, address: str) -> bool:
        return self._left(address) < 1

    def wrong(self, address: str) -> None:
        self._tries[address] = (self._left(address) - 1, time.monotonic())
        self._tries.move_to_end(address)
        while len(self._tries) > MOST_ADDRESSES:
            self._tries.popitem(last=False)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI middleware around everything; ``scope["state"]`` gets session and csrf for the pages."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        cookie_name = (  # cookies do not tell ports apart
            f"noregret_{(scope.get('server') or ('', 0))[1]}"
        )
        session = self.access.session(_cookies(headers).get(cookie_name, ""))
        fresh = session is None and self.access.token is None
        session = self.access.new_session() if fresh else session
        secure = "https" in (scope.get("scheme"), headers.get("x-forwarded-proto"))
        scope.setdefault("state", {}).update(
            secure=secure,
            session=session,
            csrf=self.access.csrf(session) if session else "",
            cookie_name=cookie_name,
        )

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    answer[name] = value
                if "cache-control" not in answer:
                    answer["Cache-Control"] = "private, no-cache"
                if fresh and scope["method"] in SAFE and not scope["path"].startswith("/static/"):
                    answer.append(
                        "Set-Cookie",
                        cookie(cookie_name, str(session), secure=secure),
                    )
            await send(message)

        refused = self._refusal(scope, headers, session)
        if refused is not None:
            await refused(scope, receive, sending)
            return
        await self._limited(scope, receive, sending, headers)

    def _refusal(self, scope: Scope, headers: Headers, session: str | None) -> Response | None:
        path, method, access = scope["path"], scope["method"], self.access
        scheme, _, given = headers.get("authorization", "").partition(" ")
        by_header = scheme.lower() == "bearer" and access.knows(given.strip())
        address = (scope.get("client") or ("", 0))[0]
        # a right token always passes; whoever has a session guesses no more
        guesses = scheme.lower() == "bearer" and given and not by_header and session is None
        if access.token is not None and (guesses or (path == "/login" and method not in SAFE)):
            if not by_header and access.throttle.refuses(address):
                return _no(
                    429,
                    f"too many wrong tokens: wait {WRONG_SECONDS:g} s and try again",
                    {"Retry-After": f"{WRONG_SECONDS:g}"},
                )
            if guesses:
                access.throttle.wrong(address)
        if access.token is None and not is_loopback(_hostname(headers.get("host", ""))):
            return _no(
                421,
                "this server answers to 127.0.0.1 and localhost only; start it with a token to use"
                " another name",
            )
        if (
            access.token is not None
            and not by_header
            and session is None
            and not path.startswith(OPEN)
        ):
            if method in SAFE and not path.startswith("/api"):
                return RedirectResponse("/login?next=" + quote(path, safe="/"), 303)
            return _no(
                401,
                "a token is needed: send it as Authorization: Bearer …, or log in",
                {"WWW-Authenticate": "Bearer"},
            )
        if method in SAFE:
            return None
        if not _same_origin(headers):
            return _no(403, "this came from another site: nothing was changed")
        if path == "/login":
            return None
        if path != "/logout" and not access.write:
            return _no(403, "this server only reads: start it with --write to change studies")
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

    async def _limited(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        """Bodies are read here and no further than the limit, whatever the sender said their length
        is.
        """
        declared = headers.get("content-length", "0")
        largest = LARGEST_LOGIN if scope["path"] == "/login" else LARGEST_BODY
        parts: list[bytes] = []
        size, more = 0, scope["method"] not in SAFE
        too_large = declared.isdigit() and int(declared[:20]) > largest
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while more and not too_large:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    more, too_large = message.get("more_body", False), size > largest
        except TimeoutError:
            late = f"the request did not come within {BODY_SECONDS:g} s"
            await _no(408, late, {"Connection": "close"})(scope, receive, send)
            return
        if too_large:
            await _no(413, f"the request is larger than {largest} bytes")(scope, receive, send)
            return
        body = b"".join(parts)
        given = False

        async def receiving() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, receiving, send)


def cookie(name: str, value: str, *, secure: bool) -> str:
    age = SESSION_SECONDS if value else 0
    return f"{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict" + (
        "; Secure" if secure else ""
    )


def outward(error: Exception, url: str) -> str:
    """An error as visitors see it: without the address of the database, which the log has."""
    text = str(error)
    if not isinstance(error, StorageError):
        return text
    if isinstance(error, (UnknownStudyError, StudyExistsError)):
        return text
    log.warning("storage: %s", error)
    if isinstance(error, UnavailableError):
        return UNAVAILABLE  # the driver's words may hold an address too
    for address in filter(None, (shown_url(url), storage_file(url))):
        text = text.replace(address, "the database")
    return text


def _no(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"detail": detail}, status, headers)


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        return {
            name: morsel.value for name, morsel in SimpleCookie(headers.get("cookie", "")).items()
        }
    except CookieError:
        return {}


def _hostname(host: str) -> str:
    """Of a Host header; nothing if it is not written as one."""
    found = HOST.fullmatch(host)
    return "" if found is None else found[1].lower()


def _same_origin(headers: Headers) -> bool:
    """Browsers name the origin of every such request; what is no browser names none."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2].lower() == headers.get("host", "").lower()
