"""Seconds per ask of the default against those of another checkout, on problems of the tuning
side: python -m research.benchmarks.ask_times SRC [--repeats 3].

SRC is the ``src`` of the other checkout, for the default before 16 November a worktree of the
commit before it. Both play the same problems in turn, each run a process of its own with one
thread; seconds are the processor's. The ratio is that of the summed asks.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS = (
    "needle 1000",
    "needle 1001",
    "needle 1002",
    "rkhs 1003",
    "rkhs 1004",
    "Hartmann-6 noisy",
    "Branin noisy",
    "mixed 1001",
    "mixed 1004",
)
WANTED = 1.2


def asks(name: str) -> tuple[int, float]:
    """How many asks there were after the initial points, and their seconds in all."""
    import noregret as nr
    from research.benchmarks.mixed import mixed
    from research.benchmarks.synthetic import needle, rkhs, standard

    warnings.simplefilter("ignore")
    kind, _, index = name.partition(" ")
    numbered = {"needle": needle, "rkhs": rkhs, "mixed": mixed}
    problem = numbered[kind](int(index)) if kind in numbered else standard(kind, noisy=True)
    study, seed, seconds = nr.Study(problem.space, "maximize", seed=1000), 1000, 0.0
    points = problem.initial_points(seed)
    for index_, params in enumerate(points):
        study.add(params, problem.measure(params, index_, seed))
    for number in range(len(points), problem.trials):
        start = time.process_time()
        trial = study.ask()
        seconds += time.process_time() - start
        study.tell(trial, problem.measure(trial.params, number, seed))
    return problem.trials - len(points), seconds


def measured(name: str, source: Path) -> tuple[int, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--one", name],
        env={
            **os.environ,
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": f"{source}{os.pathsep}{ROOT}",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    count, seconds = json.loads(done.stdout)
    return int(count), float(seconds)


def table(before: Path, repeats: int) -> list[str]:
    lines = ["| problem | asks | ms, ours | ms, the other | ratio |", "|---|---|---|---|---|"]
    totals, logs = [0.0, 0.0], []
    for name in PROBLEMS:
        least = [math.inf, math.inf]
        for _ in range(repeats):
            for which, source in enumerate((ROOT / "src", before)):
                count, seconds = measured(name, source)
                least[which] = min(least[which], seconds)
        totals = [total + seconds for total, seconds in zip(totals, least, strict=True)]
        logs.append(math.log(least[0] / least[1]))
        ours, other = (1e3 * seconds / count for seconds in least)
        lines.append(f"| {name} | {count} | {ours:.1f} | {other:.1f} | {ours / other:.2f} |")
        print(lines[-1], flush=True)
    ratio, middle = totals[0] / totals[1], math.exp(sum(logs) / len(logs))
    word = "within" if ratio <= WANTED else "not within"
    lines.append(f"\nAll asks: × {ratio:.2f}, {word} {WANTED}; geometric mean × {middle:.2f}.")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="research.benchmarks.ask_times")
    parser.add_argument("source", type=Path, nargs="?", help="src of the other checkout")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the quickest counts")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asks(options.one)))
        return 0
    if options.source is None or not (options.source / "noregret").is_dir():
        parser.error(f"no package noregret in {options.source}: name the src of another checkout")
    print("\n".join(table(options.source.resolve(), options.repeats)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
