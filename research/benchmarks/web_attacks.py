"""What attacks cost the page's server, in memory and in other visitors' time: ``make bench-web``
writes the table of docs/security.md. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import http.client
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import noregret as nr

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
BEGIN, END = "<!-- bench-web: written by the benchmark -->", "<!-- bench-web: end -->"
TOKEN = "a token that nobody will guess"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True)
class Server:
    """A server under attack."""

    host: str
    port: int
    process: int
    log: Path

    def megabytes(self, what: str = "VmRSS") -> float:
        text = Path(f"/proc/{self.process}/status").read_text()
        line = next(line for line in text.splitlines() if line.startswith(what))
        return int(line.split()[1]) / 1024

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=60)

    def answer(
        self, verb: str = "GET", path: str = "/api/studies", body: bytes = b"", **headers: str
    ) -> int:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(verb, path, body or None, headers)
            answered = connection.getresponse()
            answered.read()
            return answered.status
        finally:
            connection.close()

    def visit(self) -> float:
        """Seconds until a visitor with the token has his answer."""
        begun = time.monotonic()
        status = self.answer(Authorization=f"Bearer {TOKEN}")
        if status != 200:
            raise SystemExit(f"a visitor was answered {status}")
        return time.monotonic() - begun


@contextmanager
def serving() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study = nr.Study.create(
            "s", {"x": nr.Float(0, 1)}, "maximize", nr.RandomSearch(), storage=folder / "s.db"
        )
        study.run(lambda p: p["x"], trials=20, progress=False)
        command = [sys.executable, "-m", "noregret", "serve", "--port", "0", "--json"]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                [*command, "--storage", str(folder / "s.db"), "--token", TOKEN],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
            try:
                assert process.stdout is not None
                said = (re.search(r"http://[\w.:]+", line) for line in process.stdout)
                url = next(found for found in said if found is not None)
                host, _, port = url[0].removeprefix("http://").partition(":")
                yield Server(host, int(port), process.pid, folder / "log")
            finally:
                process.terminate()
                process.wait(30)


# -- the attacks: each returns what it saw, in words --


def half_open(server: Server, count: int) -> str:
    """Connections that say half a header and then nothing."""
    held = []
    for _ in range(count):
        connection = server.connect()
        held.append(connection)
        with suppress(OSError):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
    return _ended(held)


def dripping(server: Server, count: int) -> str:
    """A header that comes byte by byte."""
    held = [server.connect() for _ in range(count)]
    begun, alive = time.monotonic(), set(held)
    while alive and time.monotonic() - begun < 40:
        for connection in list(alive):
            try:
                connection.sendall(b"X")
            except OSError:
                alive.discard(connection)
        time.sleep(0.2)
    seconds = time.monotonic() - begun
    for connection in held:
        connection.close()
    return f"{count - len(alive)} of {count} closed after {seconds:.0f} s"


def slow_bodies(server: Server, count: int) -> str:
    """A log-in whose body does not come."""
    held = []
    for _ in range(count):
        connection = server.connect()
        held.append(connection)
        head = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4000\r\n\r\ntok"
        with suppress(OSError):
            connection.sendall(head)
    return _ended(held)


def _ended(held: list[socket.socket]) -> str:
    begun, closed = time.monotonic(), 0
    for connection in held:
        connection.settimeout(max(0.01, begun + 60 - time.monotonic()))
        try:
            while connection.recv(65536):
                pass
            closed += 1
        except TimeoutError:
            pass
        except OSError:
            closed += 1
        connection.close()
    return f"{closed} of {len(held)} closed after {time.monotonic() - begun:.0f} s"


def large_bodies(server: Server, count: int) -> str:
    """Log-ins of 4 MiB from strangers."""
    statuses: Counter[str] = Counter()

    def send(_: int) -> None:
        try:
            statuses[str(server.answer("POST", "/login", b"x" * 2**22, **FORM))] += 1
        except OSError:
            statuses["closed"] += 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(count)))
    return _said(statuses)


def guesses(server: Server, count: int) -> str:
    """Wrong tokens of one address."""
    begun, statuses = time.monotonic(), Counter[str]()
    for index in range(count):
        statuses[str(server.answer("POST", "/login", f"token={index}".encode(), **FORM))] += 1
    return f"{_said(statuses)} in {time.monotonic() - begun:.0f} s"


def flood(server: Server, count: int) -> str:
    """Requests as fast as eight clients can send them."""
    begun, statuses = time.monotonic(), Counter[str]()

    def send(_: int) -> None:
        try:
            statuses[str(server.answer(path="/nothing-here"))] += 1
        except OSError:
            statuses["closed"] += 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(count)))
    grown = server.log.stat().st_size / 1024
    return f"{_said(statuses)} in {time.monotonic() - begun:.0f} s; the log has {grown:.0f} KB"


def _said(statuses: Counter[str]) -> str:
    return ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))


ATTACKS: tuple[tuple[str, Callable[[Server, int], str], int], ...] = (
    ("half a header, then nothing", half_open, 250),
    ("more connections than there may be", half_open, 1000),
    ("a header byte by byte", dripping, 100),
    ("a body that does not come", slow_bodies, 100),
    ("log-ins of 4 MiB", large_bodies, 100),
    ("wrong tokens", guesses, 300),
    ("requests from eight clients", flood, 3000),
)


def measured(share: float) -> list[tuple[str, ...]]:
    """A row per attack: how many, what became of it, memory, visitors' waits, also without one."""
    rows: list[tuple[str, ...]] = []
    with serving() as server:
        usual = [server.visit() for _ in range(10)]
        rows.append(
            (
                "none",
                "",
                "",
                f"{server.megabytes():.0f} MB",
                f"{statistics.median(usual):.2f} s",
                "",
            )
        )
        for name, attack, full in ATTACKS:
            count, before = max(int(share * full), 4), server.megabytes()
            waits, refused, over = list[float](), 0, threading.Event()

            def visiting(waits: list[float] = waits, over: threading.Event = over) -> None:
                nonlocal refused
                while not over.is_set():
                    try:
                        waits.append(server.visit())
                    except OSError:  # all connections are taken
                        refused += 1
                    time.sleep(0.25)

            visitor = threading.Thread(target=visiting)
            visitor.start()
            seen = attack(server, count)
            over.set()
            visitor.join()
            grown = max(server.megabytes() - before, 0.0)
            wait = f"{max(waits):.2f} s" if waits else "never"
            rows.append((name, str(count), seen, f"+{grown:.0f} MB", wait, str(refused)))
            server.visit()  # it is there afterwards
        rows.append(("after all of them", "", "", f"{server.megabytes():.0f} MB", "", ""))
    return rows


def table(rows: list[tuple[str, ...]]) -> str:
    head = (
        "attack",
        "how many",
        "what became of it",
        "memory",
        "a visitor waits at most",
        "turned away",
    )
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of it, printed only")
    chosen = parser.parse_args()
    made = table(measured(0.1 if chosen.quick else 1.0))
    print(made)
    if not chosen.quick:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
