"""The regret benchmark: one runner for all suites and all methods, paired, resumable.

python -m research.benchmarks.sweep run [--side tune] [--suites …] [--methods …] [--starts own …]
python -m research.benchmarks.sweep compare LABEL LABEL [--suites …]
python -m research.benchmarks.sweep table [--label LABEL] [--suites …]
python -m research.benchmarks.sweep report

A run is (problem, method, seed, start). ``own``: each method starts by itself, as a user runs it;
``common``: all get the same random initial points. The sides share no instance: ``tune`` is for
choices, ``report`` for what is published. Results are JSON lines in research/benchmarks/results/
sweep, or with --label in out/sweep/LABEL; a run that was stopped continues where it was. ``report``
packs them and writes docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import multiprocessing
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from noregret.study import Progress
from research.benchmarks import coco, strangers
from research.benchmarks.constrained import KNOWN, LIMITED, known, limits
from research.benchmarks.measured import MATERIALS, TABLES, TUNING_TABLES, materials, tables
from research.benchmarks.peers import PEERS
from research.benchmarks.players import DEFAULT, LONGER, OURS, PENDING, ROOT, player, scale_of
from research.benchmarks.problem import Problem
from research.benchmarks.synthetic import (
    HIGH,
    TUNING_HIGH,
    faults,
    high,
    laboratories,
    laboratory,
    mixed,
    needle,
)

RESULTS = ROOT / "research" / "benchmarks" / "results" / "sweep"
SCRATCH = ROOT / "out" / "sweep"
Side = Literal["tune", "report"]
Start = Literal["own", "common"]
TRIALS = {2: 40, 3: 50, 5: 75, 10: 100, 20: 150}  # COCO, by the number of inputs
MANY = 500  # trials of the suite "many"
SUITES = (
    *("strangers", "bbob-2", "bbob-3", "bbob-5", "bbob-10", "bbob-20", "mixint-5", "mixint-10"),
    *("noisy-5", "constrained-5", "needle", "tables", "mixed", "laboratory", "faults"),
    *("limits", "known", "high", "materials", "many"),
)
CONTEXT = "context"  # for choices alone, by cumulative regret: no peer takes a context
PUBLISHED = ("random", "optuna_tpe", "optuna_gp", "botorch_logei", "skopt")  # peers of the report
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Job:
    suite: str
    problem: str
    method: str
    seed: int
    start: Start
    materials: str | None = None

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        return self.suite, self.problem, self.method, self.seed, self.start


def instances(suite: str, side: Side, seeds: int) -> Iterator[tuple[int, str]]:
    """(seed, problem), all problems of one seed first: what is done when time is up is paired."""
    tune = side == "tune"
    first = 1000 if tune else 0
    kind = suite.partition("-")[0]
    if kind in ("bbob", "mixint", "noisy", "constrained", "many", CONTEXT):
        for number in range(11, 11 + seeds) if tune else range(21, 21 + seeds):
            names = coco.names(kind, range(number, number + 1))
            yield from ((number, name) for name in (names[::4] if kind == "many" else names))
    elif kind == "strangers":
        for number in range(100, 100 + seeds) if tune else range(seeds):
            yield from ((number, name) for name in strangers.names(range(number, number + 1)))
    elif kind in ("needle", "mixed", "faults"):  # many functions instead of many seeds
        count = {"needle": 42, "mixed": 20, "faults": 20}[kind] * (seeds if tune else 1)
        yield from ((0, f"{kind}-{i}") for i in range(first, first + count))
    else:
        names = {
            "tables": list(TUNING_TABLES if tune else TABLES),
            "laboratory": laboratories(first),
            "limits": list(LIMITED),
            "known": list(KNOWN),
            "high": list(TUNING_HIGH if tune else HIGH),
            "materials": list(MATERIALS),
        }[kind]
        for number in range(first, first + seeds):
            yield from ((number, name) for name in names)


def make(suite: str, name: str, folder: str | None) -> Problem:
    kind, _, size = suite.partition("-")
    number = int(name.rpartition("-")[2]) if kind in ("needle", "mixed", "faults") else 0
    makers: dict[str, Callable[[], Problem]] = {
        "many": lambda: coco.coco("bbob", 5, name, MANY),
        CONTEXT: lambda: coco.in_context(name, TRIALS[3]),
        "strangers": lambda: strangers.strangers(name),
        "needle": lambda: needle(number),
        "mixed": lambda: mixed(number),
        "faults": lambda: faults(number),
        "tables": lambda: tables(name),
        "laboratory": lambda: laboratory(name),
        "limits": lambda: limits(name),
        "known": lambda: known(name),
        "high": lambda: high(name),
        "materials": lambda: materials(name, Path(folder or ".")),
    }
    if kind in makers:
        return makers[kind]()
    return coco.coco(kind, int(size), name, TRIALS[int(size)])


def play(job: Job) -> dict[str, Any]:
    """One run: the noise-free regret of every trial (null: failed or infeasible), that of the
    recommended point (peers: of the best feasible value told), and processor seconds.
    """
    warnings.simplefilter("ignore")
    problem = make(job.suite, job.problem, job.materials)
    given = iter(problem.initial_points(job.seed) if job.start == "common" else ())
    trials = round(problem.trials * (LONGER if job.method in PENDING else 1))
    contexts = [problem.context_at(index, job.seed) for index in range(trials)]
    tops = [problem.best_in_context(context) for context in contexts]
    before = _processor_seconds()
    regrets: list[float | None] = []
    told: list[tuple[float, float]] = []
    with player(job.method, problem, job.seed, own_start=job.start == "own") as optimizer:
        for index in range(trials):
            params = next(given, None)
            if params is None:
                params = optimizer.ask(contexts[index])
            if problem.crashes(params, index, job.seed):
                regrets.append(None)
                optimizer.tell(params, None, [])
                continue
            violations = problem.limits(params) if problem.limits else []
            feasible = max(violations, default=0.0) <= 0
            regret = tops[index] - problem.value(params)
            value = problem.measure(params, index, job.seed)
            regrets.append(float(f"{regret:.4g}") if feasible else None)
            told += [(value, regret)] if feasible else []
            optimizer.tell(params, value, violations)
        chosen = optimizer.recommend()
    final: float | None = max(told)[1] if told else None
    if chosen is not None:
        feasible = problem.limits is None or max(problem.limits(chosen)) <= 0
        final = problem.maximum - problem.value(chosen) if feasible else None
    return {
        "problem": job.problem,
        "method": job.method,
        "seed": job.seed,
        "start": job.start,
        "scale": float(f"{scale_of(problem):.4g}"),
        "stuck_above": problem.stuck_above,
        "recommended": None if final is None else float(f"{final:.4g}"),
        "seconds": float(f"{_processor_seconds() - before:.3g}"),
        "regret": regrets,
    }


def _processor_seconds() -> float:
    """Of this process and of those that it started and that ended."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


# -- results on disk --


def folder_of(label: str | None) -> Path:
    return RESULTS if label is None else SCRATCH / label


def read(folder: Path, suite: str) -> list[dict[str, Any]]:
    """What is packed, then what was appended since; a line cut short by a kill is skipped."""
    packed, fresh = folder / f"{suite}.jsonl.gz", folder / f"{suite}.jsonl"
    lines = gzip.decompress(packed.read_bytes()).decode().splitlines() if packed.exists() else []
    lines += fresh.read_text(encoding="utf-8").splitlines() if fresh.exists() else []
    rows: list[dict[str, Any]] = []
    for line in lines:
        with contextlib.suppress(json.JSONDecodeError):
            rows.append(json.loads(line))
    return rows


def append(folder: Path, suite: str, row: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{suite}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def pack(folder: Path, suite: str) -> None:
    """The compact form that is committed; equal results, equal bytes."""
    rows = {(r["problem"], r["method"], r["seed"], r["start"]): r for r in read(folder, suite)}
    if rows:
        text = "".join(json.dumps(rows[key]) + "\n" for key in sorted(rows))
        (folder / f"{suite}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        (folder / f"{suite}.jsonl").unlink(missing_ok=True)


def run(
    jobs: list[Job],
    folder: Path,
    workers: int,
    minutes: float,
    task: Callable[[Job], dict[str, Any]] = play,
) -> list[str]:
    """Computes what is missing until the time is up; returns failures in words."""
    done = {
        (suite, r["problem"], r["method"], r["seed"], r["start"])
        for suite in {job.suite for job in jobs}
        for r in read(folder, suite)
    }
    missing = [job for job in jobs if job.key not in done]
    deadline = time.monotonic() + 60 * minutes
    failures: list[str] = []
    os.environ.update(dict.fromkeys(THREADS, "1"))  # one thread per run, one run per core
    with (
        Progress(len(jobs), "sweep ") as bar,
        ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        bar.done = len(jobs) - len(missing)
        queue = iter(missing)
        running: dict[Future[dict[str, Any]], Job] = {}
        while True:
            while (
                len(running) < workers
                and time.monotonic() < deadline
                and (job := next(queue, None)) is not None
            ):
                running[pool.submit(task, job)] = job
            if not running:
                return failures
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                try:
                    append(folder, job.suite, future.result())
                except Exception as error:
                    failures.append(f"{job.method} on {job.problem}, seed {job.seed}: {error}")
                bar.advance(f"{job.method} on {job.problem}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="research.benchmarks.sweep", description="Regret.")
    parser.add_argument("command", choices=["run", "compare", "table", "report"])
    parser.add_argument("labels", nargs="*", help="compare: the second against the first")
    parser.add_argument("--suites", nargs="+", default=list(SUITES), choices=[*SUITES, CONTEXT])
    parser.add_argument("--methods", nargs="+", default=[DEFAULT])
    parser.add_argument("--side", choices=["tune", "report"], default="report")
    parser.add_argument("--starts", nargs="+", choices=["own", "common"], default=["own"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--label", help="keep results apart, in out/sweep/LABEL")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop starting runs after this")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--materials", help="folder with crossed_barrel.csv and agnp.csv")
    options = parser.parse_args()
    if options.command in ("compare", "table"):
        from research.benchmarks import paired

        return paired.main(options)
    if options.command == "report":
        from research.benchmarks import report

        for suite in SUITES:
            pack(RESULTS, suite)
        return report.main()
    unknown = [m for m in options.methods if m not in OURS and m not in PEERS]
    if unknown:
        parser.error(f"unknown method {unknown[0]!r}: use {', '.join([*OURS, *PEERS])}")
    if options.side == "tune" and options.label is None:
        parser.error("--side tune needs --label: what chooses is kept apart from what is published")
    folder = options.materials and str(Path(options.materials).resolve())
    suites = [s for s in options.suites if s != "materials" or folder]
    jobs = [
        Job(suite, problem, method, seed, start, folder)
        for suite in suites
        for start in options.starts
        for seed, problem in instances(suite, options.side, options.seeds)
        for method in options.methods
    ]
    for failure in run(jobs, folder_of(options.label), options.workers, options.minutes):
        print(f"failed: {failure}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
