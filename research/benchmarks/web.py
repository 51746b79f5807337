"""How quick the page is with 5,000 trials in ten inputs, and what twenty viewers cost a study that
runs on the same machine.

``python -m research.benchmarks.web page`` needs chromium and chromedriver; ``… web viewers`` needs
nothing. Both print JSON. One BLAS thread: set OPENBLAS_NUM_THREADS=1. ``… web attacks [--quick]``
(``make bench-web``) writes the table of docs/security.md: what attacks on the server cost in memory
and in other visitors' time. Linux only: it reads /proc.
"""

from __future__ import annotations

import http.client
import json
import math
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.storage import SQLStorage
from noregret.strategies.insured import InsuredRecord
from noregret.trials import Decision, ModelDecision, Trial, as_json
from research.benchmarks.report import write_section

TRIALS, INPUTS, VIEWERS = 5000, 10, 20
BLOCK, BLOCKS = 12, 8  # asks per block; blocks with and without viewers take turns


def large_study(storage: SQLStorage, name: str) -> None:
    """Rows such as the default strategy writes, without the hours that 5,000 asks would take."""
    rng = np.random.default_rng(0)
    names = [f"input {i}" for i in range(INPUTS)]
    nr.Study.create(name, {each: nr.Float(0, 1) for each in names}, "maximize", storage=storage)
    center, trials = rng.random(INPUTS), []
    for number in range(TRIALS):
        x = np.clip(center + rng.normal(size=INPUTS) * 0.5 / math.sqrt(1 + number / 50), 0, 1)
        value = float(-np.sum((x - center) ** 2) + 0.05 * rng.normal())
        decision = Decision("initial")
        if number >= 12:
            theta = tuple((0.3 + 0.2 * rng.random(INPUTS)).tolist())
            mean = value + 0.05 * float(rng.normal())
            record = InsuredRecord(
                lengthscales=theta,
                latent_std=0.1,
                beta_sqrt=1.5,
                exploration=1.0,
                information_gain=3.0 * math.log1p(number),
                noise_var=0.01,
                noise_std=0.05,
                fitted_lengthscales=theta,
                searched=TRIALS,
                improved=TRIALS,
                scale=0.5,
                recommended_bound=-0.2,
                memory={},
            )
            model = ModelDecision(number - 11, mean, 0.05)
            decision = Decision("model", model, payload=as_json(record))
        point = dict(zip(names, x.tolist(), strict=True))
        trials.append(Trial(number, point, "complete", value, decision=decision))
    assert storage.append(name, trials)


@contextmanager
def serving(file: Path, *more: str) -> Iterator[str]:
    command = [
        sys.executable,
        "-m",
        "noregret",
        "serve",
        "--storage",
        str(file),
        "--port",
        "0",
        *more,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[0].rstrip("/")
        finally:
            process.terminate()


# -- the page --

READY = """return {
  text: performance.getEntriesByType('paint')
    .find(e => e.name === 'first-contentful-paint')?.startTime,
  chart: window.firstChart, model: document.body.dataset.model || null,
  slice: Boolean(document.querySelector('[data-slice] .plot .main-svg'))}"""
WATCH = """new MutationObserver(() => {
  if (!window.firstChart && document.querySelector('[data-chart] .plot .main-svg'))
    window.firstChart = performance.now(); })
  .observe(document, {childList: true, subtree: true});"""


def chromium() -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--window-size=1280,900",
    ):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def busy() -> float:
    """How many times longer than on an idle machine a second of work takes now: other work slows
    the figures by about as much.
    """
    wall, own = time.perf_counter(), time.process_time()
    while time.process_time() - own < 1.0:
        math.sqrt(2.0)
    return time.perf_counter() - wall


def page() -> dict[str, Any]:
    found: dict[str, Any] = {"trials": TRIALS, "inputs": INPUTS}
    with tempfile.TemporaryDirectory() as folder:
        storage = SQLStorage(Path(folder) / "large.db")
        large_study(storage, "large")
        with serving(Path(folder) / "large.db") as address:
            driver = chromium()
            driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
            driver.get("about:blank")  # a browser that is open
            for visit in (
                "first",
                "second",
            ):  # neither it nor the server has seen the page, and both have
                began = time.monotonic()
                driver.get(f"{address}/studies/large")
                while not (ready := driver.execute_script(READY))["chart"]:
                    time.sleep(0.02)
                found[visit] = {
                    "first text": ready["text"] / 1000,
                    "convergence drawn": ready["chart"] / 1000,
                }
                while not driver.execute_script(READY)["slice"]:
                    time.sleep(0.1)
                found[visit]["model and slice drawn"] = time.monotonic() - began
            study = nr.Study.open("large", storage=storage)
            study.add(study.trials[0].params, 0.0)
            began = time.monotonic()
            while f"{TRIALS + 1} complete" not in driver.execute_script(
                "return document.getElementById('counts').innerText"
            ):
                time.sleep(0.02)
            found["a new trial seen after"] = time.monotonic() - began
            driver.quit()
    return found


# -- viewers --


def view(address: str, name: str, stop: threading.Event) -> None:
    """Asks for what an open overview asks for."""
    seen: dict[str, Any] = {}
    while not stop.wait(2.0):
        now = json.load(urllib.request.urlopen(f"{address}/api/studies/{name}/version?model=true"))
        if (now["version"], now["model"]) != seen.get("now"):
            seen["now"] = (now["version"], now["model"])
            urllib.request.urlopen(f"{address}/studies/{name}").read()
            urllib.request.urlopen(f"{address}/api/studies/{name}/charts/convergence").read()


def viewers() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "running.db"
        study = nr.Study.create(
            "running", {f"x{i}": nr.Float(0, 1) for i in range(6)}, "maximize", storage=file
        )
        center = np.full(6, 0.4)

        def step() -> float:
            began = time.perf_counter()
            trial = study.ask()
            took = time.perf_counter() - began
            study.tell(trial, float(-np.sum((np.array(list(trial.params.values())) - center) ** 2)))
            time.sleep(0.25)  # the experiment
            return took

        with serving(file) as address:
            for _ in range(100):
                trial = study.ask()
                study.tell(
                    trial, float(-np.sum((np.array(list(trial.params.values())) - center) ** 2))
                )
            alone: list[float] = []
            watched: list[float] = []
            for block in range(BLOCKS):
                if block % 2:
                    code = (
                        "import threading, research.benchmarks.web as w; s = threading.Event();"
                        f" [threading.Thread(target=w.view, args=({address!r}, 'running',"
                        f" s)).start() for _ in range({VIEWERS})]"
                    )
                    crowd = subprocess.Popen([sys.executable, "-c", code])
                    time.sleep(4.0)
                taken = [step() for _ in range(BLOCK)]
                (watched if block % 2 else alone).extend(taken)
                if block % 2:
                    crowd.kill()
                    crowd.wait()
                    time.sleep(1.0)
    return {
        "viewers": VIEWERS,
        "asks": len(alone),
        "ask alone, median ms": 1000 * statistics.median(alone),
        "ask with viewers, median ms": 1000 * statistics.median(watched),
        "ratio": statistics.median(watched) / statistics.median(alone),
    }


# -- attacks --

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
def attacked() -> Iterator[Server]:
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
    with attacked() as server:
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


def attacks(quick: bool) -> None:
    rows = table(measured(0.1 if quick else 1.0))
    print(rows)
    if not quick:
        write_section(PAGE, BEGIN, END, rows)


if __name__ == "__main__":
    if sys.argv[1] == "attacks":
        attacks("--quick" in sys.argv)
        sys.exit(0)
    before = busy()
    found = {"page": page, "viewers": viewers}[sys.argv[1]]()
    print(
        json.dumps(
            {**found, "machine busy by the factor": [round(before, 2), round(busy(), 2)]}, indent=2
        )
    )
