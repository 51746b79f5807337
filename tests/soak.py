"""Many processes on one study that mix all calls while they are killed, stopped, told a wrong time
and refused space: ``python -m tests.soak --minutes 10 --processes 64``, or ``make soak``.

Every process notes what was answered to it. In the end nothing told is lost, nothing was told
twice, no number is missing, nobody hangs, and every proposal is derived again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import noregret as nr
from noregret.errors import NoRegretError
from noregret.storage import SQLStorage, sql

SPACE: dict[str, Any] = {"x": nr.Float(0, 1), "c": nr.Choice(["a", "b", "c"])}
HANG = 60.0  # seconds for one call


def value_of(params: Any) -> float:
    return float((params["x"] - 0.3) ** 2 + len(params["c"]))


def worker(url: str, notes: Path, seed: int, until: float, full: bool) -> None:
    """Calls at random until the time is over; every answer is noted once it is there."""
    rng = random.Random(seed)
    jump = timedelta(hours=rng.choice([-1, 0, 0, 1]))
    vars(sql)["utc_now"] = lambda: (datetime.now(UTC) + jump).isoformat(timespec="milliseconds")
    storage = SQLStorage(url)
    study, mine = nr.Study.open("soak", storage=storage), []
    with notes.open("a", buffering=1) as file:
        while time.time() < until:
            call = rng.choice(
                ["ask", "ask", "tell", "tell", "tell", "add", "enqueue", "look", "rest"]
            )
            begun = time.monotonic()
            try:
                if call == "ask":
                    mine.append(study.ask())
                    file.write(json.dumps(["asked", mine[-1].number, mine[-1].params]) + "\n")
                elif call == "tell" and mine:
                    trial = mine.pop(rng.randrange(len(mine)))
                    if rng.random() < 0.1:
                        study.tell(trial, state="failed")
                        file.write(json.dumps(["told", trial.number, None]) + "\n")
                    else:
                        study.tell(trial, value_of(trial.params))
                        told = ["told", trial.number, value_of(trial.params)]
                        file.write(json.dumps(told) + "\n")
                elif call == "add":
                    point = {"x": rng.random(), "c": rng.choice("abc")}
                    added = study.add(point, value_of(point))
                    file.write(json.dumps(["told", added.number, value_of(point)]) + "\n")
                elif call == "enqueue" and rng.random() < 0.3:
                    study.enqueue({"x": rng.random(), "c": "a"})
                elif call == "look":
                    nr.Study.summaries(storage=storage)
                else:
                    time.sleep(rng.expovariate(50))
                if full and rng.random() < 0.02 and storage._database.is_sqlite:
                    _fill(storage, rng)
            except NoRegretError as error:
                file.write(json.dumps(["refused", -1, str(error)[:200]]) + "\n")
            if time.monotonic() - begun > HANG:
                file.write(json.dumps(["hung", -1, call]) + "\n")


def _fill(storage: SQLStorage, rng: random.Random) -> None:
    """As if the disk were full, for this process, for a moment."""
    with storage._database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        time.sleep(rng.random() / 50)
        connection.exec_driver_sql("PRAGMA max_page_count = 1073741823")


def soak(url: str, folder: Path, seconds: float, processes: int, seed: int = 0) -> dict[str, Any]:
    """Runs it and counts what must not be: lost, twice, gaps, hangs, proposals that differ."""
    rng = random.Random(seed)
    nr.Study.create("soak", SPACE, "minimize", nr.InsuredGPUCB(), storage=url)
    until, hired, killed, stopped = time.time() + seconds, 0, 0, 0
    at_work: set[int] = set()
    while time.time() < until:
        while len(at_work) < processes:
            child = os.fork()
            if child == 0:
                with suppress(BaseException):
                    worker(url, folder / f"{hired}.notes", seed + hired, until, hired % 4 == 0)
                os._exit(0)
            at_work.add(child)
            hired += 1
        time.sleep(rng.expovariate(2))
        victim = rng.choice(sorted(at_work))
        if rng.random() < 0.5:
            os.kill(victim, signal.SIGKILL)
            os.waitpid(victim, 0)
            at_work.discard(victim)
            killed += 1
        else:
            os.kill(victim, signal.SIGSTOP)
            time.sleep(rng.random() / 4)
            os.kill(victim, signal.SIGCONT)
            stopped += 1
    patience, hung = time.time() + HANG, 0
    while at_work and time.time() < patience:
        for child in sorted(at_work):
            if os.waitpid(child, os.WNOHANG)[0]:
                at_work.discard(child)
        time.sleep(0.05)
    for child in at_work:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        hung += 1
    return judged(url, folder) | {
        "hung": hung + judged(url, folder)["hung"],
        "processes": hired,
        "killed": killed,
        "stopped": stopped,
    }


def judged(url: str, folder: Path) -> dict[str, Any]:
    study = nr.Study.open("soak", storage=url)
    trials = study.trials
    notes = [
        json.loads(line)
        for file in sorted(folder.glob("*.notes"))
        for line in file.read_text().splitlines()
    ]
    told = [(number, value) for what, number, value in notes if what == "told"]
    asked = [(number, params) for what, number, params in notes if what == "asked"]
    replay = study.replay()
    return {
        "trials": len(trials),
        "told": len(told),
        "lost": sum(
            number >= len(trials) or trials[number].value != value for number, value in told
        )
        + sum(trials[number].params != params for number, params in asked),
        "twice": len(told) - len({number for number, _ in told}),
        "gaps": sum(trial.number != index for index, trial in enumerate(trials)),
        "hung": sum(what == "hung" for what, *_ in notes),
        "refused": sum(what == "refused" for what, *_ in notes),
        "differs": -1 if replay.number is None else replay.number,
        "derived": replay.agreed,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--storage", help="a URL; by default a new SQLite file")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        url = chosen.storage or str(Path(name) / "soak.db")
        found = soak(url, Path(name), 60 * chosen.minutes, chosen.processes)
    print(json.dumps(found, indent=1))
    faults = {key: found[key] for key in ("lost", "twice", "gaps", "hung")}
    if any(faults.values()) or found["differs"] >= 0:
        raise SystemExit(f"the soak found faults: {faults}, first proposal {found['differs']}")


if __name__ == "__main__":
    main()
