"""How quick the page is with 5,000 trials in ten inputs, and what twenty viewers cost a study that
runs on the same machine.

``python -m research.benchmarks.web page`` needs chromium and chromedriver; ``python -m
research.benchmarks.web viewers`` needs nothing. Both print JSON. One BLAS thread: set
OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.storage import SQLStorage
from noregret.trials import Decision, ModelDecision, Trial

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
            model = ModelDecision(
                t=number - 11,
                lengthscales=theta,
                mean=value + 0.05 * float(rng.normal()),
                std=0.05,
                beta_sqrt=1.5,
                information_gain=3.0 * math.log1p(number),
                noise_var=0.01,
                noise_std=0.05,
                fitted_lengthscales=theta,
                searched=TRIALS,
                improved=TRIALS,
                instant_regret_bound=0.3,
                scale=0.5,
                recommended_bound=-0.2,
            )
            decision = Decision("model", model)
        point = dict(zip(names, x.tolist(), strict=True))
        trials.append(Trial(number, point, "complete", value, decision=decision))
    assert storage.insert(name, trials)


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


if __name__ == "__main__":
    before = busy()
    found = {"page": page, "viewers": viewers}[sys.argv[1]]()
    print(
        json.dumps(
            {**found, "machine busy by the factor": [round(before, 2), round(busy(), 2)]}, indent=2
        )
    )
