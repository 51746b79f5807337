"""What a stranger can take of the server is bounded: time, memory, guesses, lines of the log."""

import logging
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from noregret.storage import SQLStorage
from noregret.web import app, security
from noregret.web.security import Access, Throttle
from tests.web.conftest import TOKEN, Clients, served

HEADERS = {"Content-Type": "application/x-www-form-urlencoded"}


def opened(url: str) -> socket.socket:
    parts = urlsplit(url)
    assert parts.hostname is not None
    return socket.create_connection((parts.hostname, parts.port or 80), timeout=240)


def is_closed(connection: socket.socket) -> bool:
    """Waits for the other side to close; an answer before that is read."""
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def answers(url: str) -> bool:
    """Once it has noticed that others have left."""
    for _ in range(1000):
        try:
            return httpx.get(url, timeout=60).status_code == 200
        except httpx.TransportError:
            time.sleep(0.05)
    return False


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(app, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(security, "BODY_SECONDS", 0.5)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "said",
    [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", b"GET / HT"],
    ids=["nothing", "half a header", "half a line"],
)
def test_half_open_connections_are_closed(storage: SQLStorage, said: bytes) -> None:
    """They stayed for ever."""
    with served(storage, Access()) as url:
        connections = [opened(url) for _ in range(20)]
        for connection in connections:
            connection.sendall(said)
        assert all(map(is_closed, connections))
        for connection in connections:
            connection.close()
        assert answers(url)


@pytest.mark.usefixtures("quick")
def test_a_header_that_drips_is_not_waited_for(storage: SQLStorage) -> None:
    with served(storage, Access()) as url, opened(url) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(OSError):  # noqa: PT012
            for _ in range(2000):
                connection.sendall(b"X-A: b\r\n")
                time.sleep(0.05)


@pytest.mark.usefixtures("quick")
def test_a_body_that_does_not_come_is_not_waited_for(storage: SQLStorage) -> None:
    with served(storage, Access(token=TOKEN)) as url, opened(url) as connection:
        head = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\ntok"
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 408")


@pytest.mark.usefixtures("quick")
def test_connections_are_counted(storage: SQLStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MOST_CONNECTIONS", 8)
    monkeypatch.setattr(app, "HEADER_SECONDS", 240.0)
    with served(storage, Access()) as url:
        held = [opened(url) for _ in range(8)]
        for connection in held:
            connection.sendall(b"GET / HTTP/1.1\r\n")
        with opened(url) as another:
            assert is_closed(another)
        for connection in held:
            connection.close()
        assert answers(url)


def test_strangers_send_little(clients: Clients) -> None:
    """4 MiB were read before anybody was asked who it is."""
    client = clients(token=TOKEN)
    big = "token=" + "x" * 5000
    assert client.post("/login", content=big, headers=HEADERS).status_code == 413
    chunks = (b"x" * 1000 for _ in range(100))
    assert client.post("/login", content=chunks, headers=HEADERS).status_code == 413
    # and what needs a token is refused before its body is read
    assert client.post("/api/studies/first/ask", content=b"x" * 2**21).status_code == 401


def test_wrong_tokens_are_throttled_and_the_right_one_passes(clients: Clients) -> None:
    """300 in 0.75 s were answered."""
    client = clients(token=TOKEN)
    wrong = [
        client.post("/login", content="token=wrong", headers=HEADERS).status_code for _ in range(20)
    ]
    assert wrong == [401] * 5 + [429] * 15
    refused = client.post("/login", content="token=wrong", headers=HEADERS)
    assert refused.headers["Retry-After"] == "10"
    guessed = client.get("/api/studies", headers={"Authorization": "Bearer guess-guess-guess"})
    assert guessed.status_code == 429
    right = client.get("/api/studies", headers={"Authorization": f"Bearer {TOKEN}"})
    assert right.status_code == 200


def test_the_throttle_forgets_in_time_and_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    throttle = Throttle()
    for _ in range(5):
        assert not throttle.refuses("a")
        throttle.wrong("a")
    assert throttle.refuses("a")
    assert not throttle.refuses("b")
    now += 10.1
    assert not throttle.refuses("a")
    for number in range(5000):
        throttle.wrong(str(number))
    assert len(throttle._buckets) == security.MAX_ADDRESSES


def logged_in(client: TestClient) -> str:
    answer = client.post("/login", content=f"token={TOKEN}", headers=HEADERS)
    assert answer.status_code == 303
    return answer.headers["Set-Cookie"]


def test_a_cookie_does_not_outlive_its_log_out(clients: Clients) -> None:
    client = clients(token=TOKEN)
    flags = logged_in(client)
    assert all(word in flags for word in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age="))
    stolen = dict(client.cookies)
    page = client.get("/").text
    csrf = page.split('name="csrf-token" content="')[1][:64]
    assert client.post("/logout", headers={"X-CSRF-Token": csrf}).status_code == 204
    client.cookies.clear()
    client.cookies.update(stolen)
    assert client.get("/api/studies").status_code == 401


def test_too_many_sessions_end_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "MAX_SESSIONS", 10)
    access = Access(token=TOKEN)
    opened = [access.new_session() for _ in range(11)]
    assert len(access.sessions) == 10
    assert access.session(opened[0]) is None
    assert all(access.session(each) for each in opened[1:])


def test_the_log_is_bounded() -> None:
    """143 MB a minute."""
    limit = app.RateLimit()

    def record() -> logging.LogRecord:
        return logging.LogRecord("x", logging.WARNING, "f", 1, "bad %s", ("thing",), None)

    passed = [limit.filter(record()) for _ in range(10_000)]
    assert sum(passed) <= app.LINES + 2
    limit.bucket._at -= 5.0
    last = record()
    assert limit.filter(last)
    assert "lines before it were dropped" in last.getMessage()


def test_five_wrong_tokens_in_the_header_are_heard_and_then_one_in_ten_seconds(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    client = clients(token=TOKEN)
    guess = {"Authorization": "Bearer not-the-token-at-all"}
    codes = [client.get("/api/studies", headers=guess).status_code for _ in range(20)]
    assert codes == [401] * 5 + [429] * 15
    now += security.WRONG_SECONDS  # those that were refused cost nothing
    codes = [client.get("/api/studies", headers=guess).status_code for _ in range(2)]
    assert codes == [401, 429]


def test_what_a_proxy_sends_along_locks_nobody_out(clients: Clients) -> None:
    client = clients(token=TOKEN)
    basic = {"Authorization": "Basic YWRhOnMzY3JldA=="}
    codes = {client.get("/api/studies", headers=basic).status_code for _ in range(9)}
    assert codes == {401}  # no token at all, and no guess at one
    https = {"X-Forwarded-Proto": "https", **basic}
    entered = client.post("/login", content=f"token={TOKEN}", headers={**HEADERS, **https})
    assert entered.status_code == 303
    assert "; Secure" in entered.headers["set-cookie"]
    session = {"Cookie": entered.headers["set-cookie"].partition(";")[0]}
    for header in ("Basic YWRhOnMzY3JldA==", "Bearer of-somebody-else-entirely"):
        sent = {**session, "Authorization": header}
        codes = {client.get("/api/studies", headers=sent).status_code for _ in range(9)}
        assert codes == {200}
    plain = client.post("/login", content=f"token={TOKEN}", headers=HEADERS)
    assert "; Secure" not in plain.headers["set-cookie"]


def test_nobody_chooses_the_address_he_is_counted_by() -> None:
    async def echo(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(scope["client"][0]).encode()})

    config = app.server_config(echo)
    config.load()
    answer = TestClient(config.loaded_app, client=("127.0.0.1", 5000)).get(
        "/", headers={"X-Forwarded-For": "10.0.0.9"}
    )
    assert answer.text == "127.0.0.1"
