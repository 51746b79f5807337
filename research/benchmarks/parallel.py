"""What workers cost in regret at equal trials: python -m research.benchmarks.parallel [--seeds 40]
[--trials 100]; results in research/benchmarks/results/parallel.json.

Hartmann-6 with and without noise, one worker and four. The four are simulated, so that a seed gives
the same run everywhere: evaluations take random times, and whichever ends first is told and
replaced by a new ask while the others are pending. Regret is that of the best value seen, or under
noise of the recommended point.
"""

from __future__ import annotations

import argparse
import heapq
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.strategies import Strategy
from noregret.study import Progress
from research.benchmarks.problem import Problem
from research.benchmarks.sections import write_section
from research.benchmarks.synthetic import standard

RESULT = Path(__file__).resolve().parent / "results" / "parallel.json"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "storage.md"
BEGIN, END = "<!-- bench-parallel: written by the benchmark -->", "<!-- bench-parallel: end -->"
WORKERS = (1, 4)
WANTED = 1.3


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


def measure(seeds: int, trials: int, first: int = 0) -> dict[str, Any]:
    counts = [trials // 2, 3 * trials // 4, trials]
    rows = []
    with Progress(2 * len(WORKERS) * seeds, "parallel ") as bar:
        for noisy in (False, True):
            problem = standard("Hartmann-6", noisy)
            for seed in range(first, first + seeds):
                for workers in WORKERS:
                    found = regrets(problem, nr.InsuredGPUCB(), workers, seed, counts)
                    rows.append(
                        {"problem": problem.name, "seed": seed, "workers": workers, "regret": found}
                    )
                    bar.advance(problem.name)
    return {"counts": counts, "seeds": seeds, "rows": rows}


def section(result: dict[str, Any]) -> str:
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
                for workers in WORKERS
            )
            lines.append(
                f"| {'with noise' if 'noisy' in name else 'without noise'} | {count} | {one:.3g} |"
                f" {four:.3g} | {four / one:.2f} |"
            )
            missed[count] += [f"{name} after {count}"] if four > WANTED * one else []
    last = missed.pop(result["counts"][-1])
    verdict = f"within {WANTED}×" if not last else f"not within {WANTED}× on " + ", ".join(last)
    before = [entry for entries in missed.values() for entry in entries]
    about = (
        f"Simple regret of the default strategy at equal trials, {result['seeds']} seeds, by `make"
        " bench-parallel`: the best value seen, under noise (std 0.05) the recommended point. At"
        f" the end four workers are {verdict}; on the way they are"
        f" {'not, on ' + ', '.join(before) if before else 'so too'}."
    )
    return "\n".join([about, "", *lines])


def write(result: dict[str, Any], page: Path) -> None:
    write_section(page, BEGIN, END, section(result))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="research.benchmarks.parallel", description="What workers cost in regret."
    )
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed; from 1000 on for tuning")
    parser.add_argument(
        "--report", action="store_true", help="only write the table again from the results"
    )
    parser.add_argument("--dry", action="store_true", help="print the table, write nothing")
    options = parser.parse_args()
    if options.report:
        write(json.loads(RESULT.read_text(encoding="utf-8")), PAGE)
        return 0
    result = measure(options.seeds, options.trials, options.first)
    if options.dry:
        print(section(result))
        return 0
    RESULT.write_text(json.dumps(result) + "\n", encoding="utf-8")
    write(result, PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
