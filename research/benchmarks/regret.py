"""The regret benchmark: every method on every problem with the same initial points and noise draws,
resumable.

python -m research.benchmarks.regret run [--suites …] [--methods …] [--seeds N] [--quick] [--minutes
M] [--materials DIR] python -m research.benchmarks.regret report

Results are one JSON line per (problem, method, seed) in research/benchmarks/results/<suite>.jsonl,
packed into .jsonl.gz by the report. A run that is stopped, by hand or by --minutes, continues where
it was.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import math
import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.space import Candidates, Choice, Space
from noregret.strategies import Strategy
from noregret.study import Progress
from research.benchmarks.constrained import KNOWN, constrained
from research.benchmarks.constrained import PEERS as CONSTRAINED
from research.benchmarks.faults import faults
from research.benchmarks.methods import CURVE, DEFAULT, OURS, RANDOM, RUNNABLE
from research.benchmarks.mixed import mixed
from research.benchmarks.peers.registry import adapters
from research.benchmarks.players import describe, linear_sum, peer_python
from research.benchmarks.problem import Problem
from research.benchmarks.real import MATERIALS, TUNING, materials, tuning
from research.benchmarks.synthetic import HIGH, STANDARD, high, needle, rkhs, standard
from research.benchmarks.tables import TABLES, tables

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "research" / "benchmarks" / "results"
SUITES = (
    "needle",
    "rkhs",
    "standard",
    "high",
    "materials",
    "tuning",
    "tables",
    "mixed",
    "faults",
    "constrained",
)
ONE_SEED = ("needle", "rkhs")  # many functions instead of many seeds
LOOKS = 3  # a design measured so often is known: another look while better ones are left is wasted


@dataclass(frozen=True, slots=True)
class Job:
    suite: str
    problem: str
    method: str
    seed: int
    materials: str | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        return self.problem, self.method, self.seed


def problems(suite: str, quick: bool) -> list[str]:
    """Names of a suite's problems on the report side of docs/decisions/0010."""
    names = {
        "needle": [f"needle-{i}" for i in range(42)],
        "rkhs": [f"rkhs-{i}" for i in range(18)],
        "standard": [f"{name}{suffix}" for name in STANDARD for suffix in ("", " noisy")],
        "high": list(HIGH),
        "materials": list(MATERIALS),
        "tuning": list(TUNING),
        "tables": list(TABLES),
        "mixed": [f"mixed-{i}" for i in range(20)],
        "faults": [f"faults-{i}" for i in range(20)],
        "constrained": list(KNOWN),
    }[suite]
    every = {
        "needle": 7,
        "rkhs": 5,
        "standard": 5,
        "high": 3,
        "materials": 1,
        "tuning": 2,
        "tables": 4,
    }
    return names[:: every.get(suite, 7)] if quick else names


def make(suite: str, name: str, folder: str | None) -> Problem:
    if suite == "needle":
        return needle(int(name.removeprefix("needle-")))
    if suite == "rkhs":
        return rkhs(int(name.removeprefix("rkhs-")))
    if suite == "standard":
        return standard(name.removesuffix(" noisy"), name.endswith(" noisy"))
    if suite == "high":
        return high(name)
    if suite == "materials":
        return materials(name, Path(folder or "."))
    if suite == "tables":
        return tables(name)
    if suite == "mixed":
        return mixed(int(name.removeprefix("mixed-")))
    if suite == "constrained":
        return constrained(name)
    if suite == "faults":
        return faults(int(name.removeprefix("faults-")))
    return tuning(name)


def play(job: Job) -> dict[str, Any]:
    """One run: noise-free values of every trial (NaN: it failed), seconds of every ask, in the end
    the noise-free value of the best one told and of what is recommended (peers: the former), and
    how many decisions went to designs known already while better ones were left."""
    warnings.simplefilter("ignore")
    problem = make(job.suite, job.problem, job.materials)
    ask_tell = (
        _ours(RUNNABLE[job.method](), problem, job.seed)
        if job.method in RUNNABLE
        else _peer(job.method, problem, job.seed)
    )
    values: list[float] = []
    seconds: list[float] = []
    told: list[tuple[float, float]] = []
    looks: Counter[bytes] = Counter()
    wasted = 0
    points = iter(problem.initial_points(job.seed))
    ask, tell, recommend = next(ask_tell)
    try:
        for index in range(problem.trials):
            params = next(points, None)
            if params is None:
                params, spent = ask()
                seconds.append(spent)
                left = problem.maximum - float(np.nanmax(values)) if values else np.inf
                known = looks[problem.space.encode(params).tobytes()] >= LOOKS
                wasted += known and problem.spread is not None and left > 2 * problem.spread
            looks[problem.space.encode(params).tobytes()] += 1
            if problem.crashes(params, index, job.seed):
                values.append(math.nan)
                tell(params, None)
                continue
            values.append(problem.value(params))
            told.append((problem.measure(params, index, job.seed), values[-1]))
            tell(params, told[-1][0])
        chosen = recommend()
        best = max(told)[1]
        final = best if chosen is None else problem.value(chosen)
    finally:
        ask_tell.close()
    return {
        "problem": job.problem,
        "method": job.method,
        "seed": job.seed,
        "maximum": problem.maximum,
        "initial": problem.initial,
        "stuck_above": problem.stuck_above,
        "spread": problem.spread,
        "best": float(f"{best:.6g}"),
        "final": float(f"{final:.6g}"),
        "wasted": int(wasted),
        "values": [float(f"{v:.6g}") for v in values],
        "seconds": [float(f"{s:.3g}") for s in seconds],
    }


AskTell = tuple[
    Callable[[], tuple[Any, float]], Callable[[Any, float | None], None], Callable[[], Any]
]


def _ours(strategy: Strategy, problem: Problem, seed: int) -> Generator[AskTell, None, None]:
    study = nr.Study(problem.space, "maximize", strategy, seed)
    asked: dict[int, nr.Trial] = {}

    def ask() -> tuple[Any, float]:
        started = time.perf_counter()
        trial = study.ask()
        asked[0] = trial
        return trial.params, time.perf_counter() - started

    def tell(params: Any, value: float | None) -> None:
        trial = asked.pop(0, None)
        if trial is None:
            trial = study.enqueue(params) if value is None else None
            if trial is None:
                study.add(params, value)
                return
            trial = study.ask()  # a failed initial point
        if value is None:
            study.tell(trial, state="failed")
        else:
            study.tell(trial, value)

    yield ask, tell, lambda: study.recommended.params


def _peer(method: str, problem: Problem, seed: int) -> Generator[AskTell, None, None]:
    """A peer in its own process and environment, which minimises."""
    space, finite = _box(problem.space)
    process = subprocess.Popen(
        [
            peer_python(method),
            str(ROOT / "research" / "benchmarks" / "peers" / "worker.py"),
            method,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def send(message: dict[str, Any]) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()

    def ask() -> tuple[Any, float]:
        send({"op": "ask"})
        assert process.stdout is not None
        reply = json.loads(process.stdout.readline() or '{"error": "the process ended"}')
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']}")
        named = dict(zip(space.parameters, reply["x"], strict=True))
        for name, parameter in space.parameters.items():  # a peer may leave its box by a rounding
            if not isinstance(parameter, Choice):
                named[name] = type(parameter.low)(
                    min(max(named[name], parameter.low), parameter.high)
                )
        u = space.encode(named)
        # told the snapped point, a peer would propose the same place again: the nearest design not
        # measured yet
        if finite:
            rows = problem.space.enumeration()
            assert rows is not None
            order = np.argsort(((rows - u) ** 2).sum(axis=1), kind="stable")
            u = next((rows[i] for i in order if rows[i].tobytes() not in measured), rows[order[0]])
        return problem.space.decode(problem.space.snap(u[None, :])[0]), float(reply["seconds"])

    measured: set[bytes] = set()
    worst = [math.inf]

    def tell(params: Any, value: float | None) -> None:
        measured.add(problem.space.encode(params).tobytes())
        if value is None:  # no state of its own in the protocol: as bad as the worst value told
            value = worst[0] if math.isfinite(worst[0]) else 0.0
        worst[0] = min(worst[0], value)
        row = list(params.values()) if isinstance(params, dict) else [float(v) for v in params]
        send(
            {
                "op": "tell",
                "x": [v.item() if isinstance(v, np.generic) else v for v in row],
                "y": -value,
            }
        )

    candidates = (
        [[float(v) for v in row] for row in problem.space.rows]
        if isinstance(problem.space, Candidates) and finite
        else None
    )
    send(
        {
            "op": "start",
            "parameters": [describe(name, p) for name, p in space.parameters.items()],
            "seed": seed,
            "noisy": problem.noisy,
            "noise_std": problem.noise_std,
            "candidates": candidates,
            "trials": problem.trials,
            "linear": [linear_sum(each) for each in getattr(space, "constraints", ())],
        }
    )
    try:
        yield ask, tell, lambda: None
    finally:
        process.kill()
        process.wait()


def _box(space: Any) -> tuple[Space, bool]:
    return (space._box, True) if isinstance(space, Candidates) else (space, False)


# -- results on disk --


def read(suite: str) -> list[dict[str, Any]]:
    """What is packed, then what was appended since; a line cut short by a kill is skipped."""
    packed, fresh = RESULTS / f"{suite}.jsonl.gz", RESULTS / f"{suite}.jsonl"
    lines = gzip.decompress(packed.read_bytes()).decode().splitlines() if packed.exists() else []
    lines += fresh.read_text(encoding="utf-8").splitlines() if fresh.exists() else []
    rows: list[dict[str, Any]] = []
    for line in lines:
        with contextlib.suppress(json.JSONDecodeError):
            rows.append(json.loads(line))
    return rows


def append(suite: str, row: dict[str, Any]) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{suite}.jsonl"
    torn = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write(("\n" if torn else "") + json.dumps(row) + "\n")


def pack(suite: str) -> None:
    """The compact form that is committed; equal results, equal bytes."""
    rows = read(suite)
    if rows:
        text = "".join(
            json.dumps(row) + "\n"
            for row in sorted(rows, key=lambda r: (r["problem"], r["method"], r["seed"]))
        )
        (RESULTS / f"{suite}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        (RESULTS / f"{suite}.jsonl").unlink(missing_ok=True)


def run(jobs: list[Job], workers: int, minutes: float) -> list[str]:
    """Computes what is missing until the time is up; returns failures in words."""
    done = {
        (r["problem"], r["method"], r["seed"])
        for suite in {job.suite for job in jobs}
        for r in read(suite)
    }
    missing = [job for job in jobs if job.key not in done]
    deadline = time.monotonic() + 60 * minutes
    failures: list[str] = []
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # equal for all: one thread per run, one run per core
    with (
        Progress(len(jobs), "regret ") as bar,
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
                running[pool.submit(play, job)] = job
            if not running:
                return failures
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                try:
                    append(job.suite, future.result())
                except Exception as error:
                    failures.append(f"{job.method} on {job.problem}, seed {job.seed}: {error}")
                bar.advance(f"{job.method} on {job.problem}")


def methods_of(suite: str, installed: list[str]) -> list[str]:
    """Ours and the peers of a suite, unless others are asked for."""
    if suite == "constrained":
        return [DEFAULT, RANDOM, *(peer for peer in CONSTRAINED if peer in installed)]
    return [*OURS, *(CURVE if suite == "needle" else ()), *installed]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="research.benchmarks.regret", description="Regret against the peers."
    )
    parser.add_argument("command", choices=["run", "report"])
    parser.add_argument("--suites", nargs="+", default=list(SUITES), choices=SUITES)
    parser.add_argument("--methods", nargs="+", help="default: ours and every installed peer")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--quick", action="store_true", help="a few problems of each suite, one seed"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=1e9,
        help="stop starting runs after this time; the next call goes on",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--materials", type=Path, help="folder with crossed_barrel.csv and agnp.csv"
    )
    options = parser.parse_args()
    if options.command == "report":
        from docs.making.benchmarks import write

        for suite in SUITES:
            pack(suite)
        write(ROOT / "docs")
        return 0
    installed = [
        name for name in adapters() if (ROOT / ".peers" / adapters()[name].environment).exists()
    ]
    unknown = [m for m in options.methods or [] if m not in RUNNABLE and m not in adapters()]
    if unknown:
        parser.error(f"no method {unknown[0]!r}: {', '.join([*RUNNABLE, *adapters()])}")
    suites = [s for s in options.suites if s != "materials" or options.materials]
    if len(suites) < len(options.suites):
        print("materials: left out, pass --materials DIR", file=sys.stderr)
    seeds = 1 if options.quick else options.seeds
    jobs = [
        Job(
            suite,
            problem,
            method,
            0 if suite in ONE_SEED else seed,
            None if options.materials is None else str(options.materials.resolve()),
        )
        for seed in range(seeds)
        for suite in suites
        if not (seed and suite in ONE_SEED)
        for problem in problems(suite, options.quick)
        for method in options.methods or methods_of(suite, installed)
    ]
    for failure in run(jobs, options.workers, options.minutes):
        print(f"failed: {failure}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
