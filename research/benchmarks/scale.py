"""Where the limits lie: seconds and memory of an ask with many trials, and with long lists.

    python -m research.benchmarks.scale [--quick] [--against SRC]
    python -m research.benchmarks.scale --outcomes SEEDS

The first prints a table of asks by the number of trials and one of lists; every line is a process
of its own with one thread. SRC is the ``src`` of another checkout: its lines are run in turn with
ours, and the last columns are ratios. Seconds are the processor's, not the clock's: they do not
depend much on what else the machine does. The second prints what outcome constraints cost.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.trials import Decision, Trial
from research.benchmarks.synthetic import hartmann3

ASKS = (100, 500, 1000, 2000, 5000)
LISTS = (10_000, 100_000, 1_000_000)
QUICK_ASKS = (100, 500)
QUICK_LISTS = (10_000,)
DIMENSION = 6
COLUMNS = 20
MEASURED = 100  # designs of a list
WARM = 5  # asks after the first
COUNTS = (0, 1, 2, 4)  # outcome constraints
OBJECTIVES: tuple[Callable[[float, float, float], float], ...] = (
    lambda a, b, c: (a - 0.3) ** 2 + math.sin(4 * b) * c + 0.5 * a * c,
    lambda a, b, c: hartmann3(np.array([a, b, c])),
    lambda a, b, c: math.exp(2 * a) - 3 * b * c + abs(c - 0.4),
)


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


def outcome_costs(seeds: int) -> dict[int, float]:
    """Processor time of asks with 0, 1, 2 and 4 outcome constraints, over that with none.

    Three inputs and three objectives, up to 40 trials, the studies in turn; from the ninth ask on.
    """
    total = dict.fromkeys(COUNTS, 0.0)
    for seed in range(seeds):
        for f in OBJECTIVES:
            studies = {
                count: nr.Study(
                    {name: nr.Float(0, 1) for name in "abc"},
                    "minimize",
                    seed=seed,
                    outcomes={f"g{i}": nr.AtMost(0.0) for i in range(count)},
                )
                for count in COUNTS
            }
            for number in range(40):
                for count, study in studies.items():
                    started = time.process_time()
                    trial = study.ask()
                    total[count] += time.process_time() - started if number >= 8 else 0.0
                    a, b, c = (trial.params[name] for name in "abc")
                    measured = (a + b - c**2 - 0.4, math.sin(3 * a) + b - 1.1, c * b - 0.5)
                    row = (*measured, a**2 + c - 1.2)[:count]
                    outcomes: Any = {f"g{i}": g for i, g in enumerate(row)} or None
                    study.tell(trial, f(a, b, c), outcomes=outcomes)
    return {count: seconds / total[0] for count, seconds in total.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--against", metavar="SRC", help="src of another checkout, for ratios")
    parser.add_argument("--outcomes", type=int, metavar="SEEDS", help="cost of outcomes instead")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        what, size = given.one
        print(json.dumps({"asks": asks, "lists": lists}[what](int(size))))
    elif given.outcomes:
        for count, ratio in outcome_costs(given.outcomes).items():
            print(f"{count} outcome constraints: × {ratio:.2f}")
    else:
        lines = table("asks", QUICK_ASKS if given.quick else ASKS, given.against)
        print(f"\nwarm asks grow as n^{exponent(lines):.2f} over the last two sizes\n")
        table("lists", QUICK_LISTS if given.quick else LISTS, given.against)


if __name__ == "__main__":
    main()
