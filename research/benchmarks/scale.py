"""Where the limits lie: seconds and memory of an ask with many trials, and with long lists.

    python -m research.benchmarks.scale [--quick] [--against SRC]
    python -m research.benchmarks.scale --fits N | --regret N

The first prints a table of asks by the number of trials and one of lists; every line is a process
of its own with one thread. SRC is the ``src`` of another checkout: its lines are run in turn with
ours, and the last columns are ratios. Seconds are the processor's, not the clock's: they do not
depend much on what else the machine does. The second compares estimates from a part of the data
with estimates from all of them, on functions of the tuning side (decisions/0010).
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import noregret as nr
from noregret.trials import Decision, Trial

ASKS = (100, 500, 1000, 2000, 5000)
LISTS = (10_000, 100_000, 1_000_000)
QUICK_ASKS = (100, 500)
QUICK_LISTS = (10_000,)
DIMENSION = 6
COLUMNS = 20
MEASURED = 100  # designs of a list
WARM = 5  # asks after the first
FUNCTIONS = ("Hartmann-6", "Levy-4", "Rastrigin-4", "Branin")
HELD_OUT = 500
FURTHER = 30  # asks
SEEDS = (1000, 1001, 1002)


def objective(x: Any) -> float:
    weight = 1 / np.arange(1, len(x) + 1)
    return float(weight @ (np.sin(3 * np.pi * x) - 2 * (x - 0.6) ** 2))


def timed_asks(study: nr.Study) -> tuple[float, float]:
    """Seconds of the first ask, and the median of later ones."""
    seconds = []
    for _ in range(WARM + 1):
        start = time.process_time()
        trial = study.ask()
        seconds.append(time.process_time() - start)
        study.tell(trial, objective(trial.params))
    return seconds[0], statistics.median(seconds[1:])


def peak() -> float:
    """MB of this process at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def asks(n: int) -> dict[str, float]:
    rng = np.random.default_rng(n)
    X = rng.random((n, DIMENSION))
    y = [objective(x) + 0.05 * float(rng.standard_normal()) for x in X]
    trials = [
        Trial(i, x, "complete", v, decision=Decision("added"))
        for i, (x, v) in enumerate(zip(X, y, strict=True))
    ]
    study = nr.Study([(0.0, 1.0)] * DIMENSION, "maximize", trials=trials)
    first, warm = timed_asks(study)
    return {"size": n, "first": first, "warm": warm, "peak": peak()}


def lists(count: int) -> dict[str, float]:
    rng = np.random.default_rng(count)
    table = rng.random((count, COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "s.db"
        study = nr.Study.create("list", nr.Candidates(table), "maximize", storage=file)
        for row in table[:MEASURED]:
            study.add(row, objective(row))
        del study, table
        gc.collect()
        start = time.process_time()
        study = nr.Study.open("list", storage=file)
        opened = time.process_time() - start
        first, warm = timed_asks(study)
        size = file.stat().st_size / 1e6
    known = {"size": count, "first": first, "warm": warm}
    return known | {"peak": peak(), "open": opened, "file": size}


def measured(what: str, size: int, source: str | None) -> dict[str, float]:
    """One line, in a process of its own."""
    root = Path(__file__).resolve().parents[2]
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": source or str(root / "src"),
    }
    done = subprocess.run(
        [sys.executable, __file__, "--one", what, str(size)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    line: dict[str, float] = json.loads(done.stdout)
    return line


def exponent(lines: list[dict[str, float]]) -> float:
    """Of the growth of a warm ask with n, over the last two sizes."""
    a, b = lines[-2:]
    return math.log(b["warm"] / a["warm"]) / math.log(b["size"] / a["size"])


def table(what: str, sizes: tuple[int, ...], against: str | None) -> list[dict[str, float]]:
    keys = ["first", "warm", "peak", *(["open", "file"] if what == "lists" else [])]
    units = {"first": "s", "warm": "s", "open": "s", "peak": "MB", "file": "MB"}
    compared = ["first ratio", "warm ratio"] if against else []
    print("| " + " | ".join([what, *(f"{k} ({units[k]})" for k in keys), *compared]) + " |")
    print("|" + "---|" * (1 + len(keys) + len(compared)))
    lines = []
    for size in sizes:
        line = measured(what, size, None)
        cells = [f"{size:,}", *(f"{line[key]:.3g}" for key in keys)]
        if against:
            other = measured(what, size, against)
            cells += [f"{line[key] / other[key]:.2f}" for key in ("first", "warm")]
        print("| " + " | ".join(cells) + " |", flush=True)
        lines.append(line)
    return lines


def fits(n: int) -> None:
    """Estimates from all of n points beside those from a part: negative log density of held-out
    values, and how many of them lie within 1.96 standard deviations.
    """
    from noregret.gp import ENOUGH
    from noregret.strategies import inputs
    from noregret.strategies.data import standardise_robustly
    from noregret.strategies.insured import ESTIMATION, KERNEL
    from noregret.strategies.modelling import EXACT
    from noregret.trials import History
    from research.benchmarks.synthetic import standard

    print("| function | points | density, all | part | within, all | part | seconds, all | part |")
    print("|---|---|---|---|---|---|---|---|")
    for name in FUNCTIONS:
        problem = standard(name, noisy=True)
        rng = np.random.default_rng(1000)
        d = problem.space.dimension
        X = rng.random((n + HELD_OUT, d))
        # half of them near the best of the first half, as in a search
        values = np.array([problem.value(problem.space.decode(x)) for x in X])
        best = X[int(np.argmax(values[: n // 2]))]
        X[n // 2 : n] = np.clip(best + 0.1 * rng.standard_normal((n - n // 2, d)), 0, 1)
        y = np.array([problem.value(problem.space.decode(x)) for x in X])
        y += problem.noise_std * rng.standard_normal(len(y))
        none = np.empty((0, d))
        history = History(X[:n], y[:n], np.full(n, np.nan), none, none)
        framed = standardise_robustly(history, problem.space, None, compress=True)
        evidence = inputs.InputEvidence(
            KERNEL,
            framed.X,
            framed.y,
            framed.told,
            ESTIMATION.prior,
            ESTIMATION.noise_prior,
            kriging=True,
            smallest_noise_var=EXACT,
            group=inputs.Inputs.of(problem.space).group,
        )
        wanted = framed.compression.forward((y[n:] - framed.offset) / framed.scale)
        answers = []
        for enough in (n, ENOUGH):
            start = time.process_time()
            with patch.object(inputs, "ENOUGH", enough):
                fit = inputs.fit_inputs(evidence, ESTIMATION, None, np.random.default_rng(0))
            seconds = time.process_time() - start
            posterior = framed.condition(KERNEL, fit.lengthscales, fit.noise_var, kriging=True)
            mean, std = posterior.predict(X[n:])
            std = np.sqrt(std**2 + fit.noise_var)
            error = (wanted - mean) / std
            density = float(np.mean(0.5 * error**2 + np.log(std)))
            answers.append((density, float(np.mean(np.abs(error) < 1.96)), seconds))
        (a, b, c), (p, q, r) = answers
        print(
            f"| {name} noisy | {n} | {a:.3f} | {p:.3f} | {b:.3f} | {q:.3f} | {c:.1f} | {r:.1f} |",
            flush=True,
        )


def regret(n: int) -> None:
    """Simple regret after FURTHER asks that begin with n known points, the estimates from all of
    them or from a part.
    """
    from noregret.gp import ENOUGH
    from noregret.strategies import inputs
    from research.benchmarks.synthetic import standard

    print("| function | seed | regret at the start | all | part |")
    print("|---|---|---|---|---|")
    for name in FUNCTIONS[:3]:
        problem = standard(name, noisy=True)
        for seed in SEEDS:
            U = np.random.default_rng(seed).random((n, problem.space.dimension))
            X = [problem.space.decode(u) for u in U]
            trials = [
                Trial(i, x, "complete", problem.measure(x, i, seed), decision=Decision("added"))
                for i, x in enumerate(X)
            ]
            ends = []
            for enough in (10 * n, ENOUGH):
                study = nr.Study(problem.space, "maximize", seed=seed, trials=trials)
                best = start = max(problem.value(x) for x in X)
                with patch.object(inputs, "ENOUGH", enough):
                    for index in range(FURTHER):
                        trial = study.ask()
                        best = max(best, problem.value(trial.params))
                        study.tell(trial, problem.measure(trial.params, n + index, seed))
                ends.append(problem.maximum - best)
            first = problem.maximum - start
            cells = (name, seed, f"{first:.3g}", f"{ends[0]:.3g}", f"{ends[1]:.3g}")
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--against", metavar="SRC", help="src of another checkout, for ratios")
    parser.add_argument("--fits", type=int, metavar="N", help="estimates from a part of N points")
    parser.add_argument("--regret", type=int, metavar="N", help="asks that begin with N points")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        what, size = given.one
        print(json.dumps({"asks": asks, "lists": lists}[what](int(size))))
    elif given.fits:
        fits(given.fits)
    elif given.regret:
        regret(given.regret)
    else:
        lines = table("asks", QUICK_ASKS if given.quick else ASKS, given.against)
        print(f"\nwarm asks grow as n^{exponent(lines):.2f} over the last two sizes\n")
        table("lists", QUICK_LISTS if given.quick else LISTS, given.against)


if __name__ == "__main__":
    main()
