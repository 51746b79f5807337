"""Suite outcomes: limits on what is measured, and context.

Problems: ``limited``; methods: ``outcomes_methods``. Each method gets the same initial points.

python -m research.benchmarks.outcomes run [--seeds N] [--methods …] [--problems …] [--minutes M]
python -m research.benchmarks.outcomes report

One JSON line per (problem, method, seed) in results/outcomes.jsonl, packed by the report, which
writes the tables of docs/outcomes.md; a run that was stopped goes on where it was. Peers need the
environment ``torch`` of ``make bench-peers`` with this library on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from research.benchmarks.limited import CONTEXTUAL, LIMITED, Contextual, Limited
from research.benchmarks.outcomes_methods import METHODS, asker_of, initial
from research.benchmarks.regret import ROOT, append, pack, read
from research.benchmarks.sections import write_section

SUITE = "outcomes"
OURS = METHODS[0]
BEGIN, END = "<!-- outcomes: begin -->", "<!-- outcomes: end -->"


def play(problem: str, method: str, seed: int) -> dict[str, Any]:
    begun = time.perf_counter()
    limited = LIMITED.get(problem)
    try:
        result = _limited(limited, method, seed) if limited else _contextual(problem, method, seed)
    except Exception as error:  # a peer that fails is told of, and ranks last
        result = {"error": f"{type(error).__name__}: {error}"[:300], "score": None}
    row = {"problem": problem, "method": method, "seed": seed, **result}
    return row | {"seconds": float(f"{time.perf_counter() - begun:.3g}")}


def _limited(problem: Limited, method: str, seed: int) -> dict[str, Any]:
    points = initial(problem.bounds, seed)
    count = len(problem.g(points[0]))
    asker, best, curve = asker_of(method, problem.bounds, seed, count), math.inf, []
    for number in range(problem.trials):
        x = points[number].tolist() if number < len(points) else asker.ask(None)
        y, g = problem.f(x), problem.g(x)
        asker.tell(x, y, g)
        best = min(best, y if max(g) <= 0 else math.inf)
        curve.append(None if best == math.inf else best - problem.best)
    return {"curve": curve, "score": curve[-1]}


def _contextual(name: str, method: str, seed: int) -> dict[str, Any]:
    """The score is the mean regret against the best action of each context, of the second half."""
    problem = CONTEXTUAL[name]
    points, rng = initial(problem.bounds, seed), np.random.default_rng([seed, 7])
    asker = asker_of(method, problem.bounds, seed, 0)
    low, high = problem.bounds[-1]
    curve = []
    for number in range(problem.trials):
        z = float(low + (high - low) * rng.random())
        if number < len(points):
            x = [*points[number][:-1].tolist(), z]
        else:
            x = asker.ask(z)
        y = problem.f(x)
        asker.tell(x, y, [])
        curve.append(y - _least(problem, z))
    return {"curve": curve, "score": float(np.mean(curve[len(curve) // 2 :]))}


@cache
def _least(problem: Contextual, z: float) -> float:
    """By a grid of actions; the contexts of a seed are those of every method."""
    actions = [
        np.linspace(a, b, 801 if len(problem.bounds) == 2 else 61) for a, b in problem.bounds
    ]
    grid = np.stack(np.meshgrid(*actions[:-1], indexing="ij"), axis=-1)
    points = grid.reshape(-1, len(problem.bounds) - 1)
    return min(problem.f([*point.tolist(), z]) for point in points)


def ranks(rows: Sequence[dict[str, Any]], problems: Sequence[str]) -> dict[str, float]:
    """Mean rank of each method over problems and seeds; who found nothing feasible comes last.
    What not every method has ended does not count.
    """
    methods = sorted({row["method"] for row in rows})
    total: dict[str, list[float]] = {method: [] for method in methods}
    for problem in problems:
        for seed in sorted({row["seed"] for row in rows if row["problem"] == problem}):
            score = {
                row["method"]: math.inf if row["score"] is None else row["score"]
                for row in rows
                if row["problem"] == problem and row["seed"] == seed
            }
            if len(score) < len(methods):
                continue
            for method, own in score.items():
                better = sum(each < own for each in score.values())
                same = sum(each == own for each in score.values())
                total[method].append(better + (same + 1) / 2)
    return {method: float(np.mean(each)) for method, each in total.items() if each}


def duel(rows: Sequence[dict[str, Any]], problems: Sequence[str], method: str) -> str:
    """In how many of the runs that both ended this library came before a method; a tie is a
    half.
    """
    score = {
        (row["problem"], row["seed"], row["method"]): math.inf
        if row["score"] is None
        else row["score"]
        for row in rows
        if row["problem"] in problems
    }
    both = [
        (own, score[problem, seed, method])
        for (problem, seed, who), own in score.items()
        if who == OURS and method != OURS and (problem, seed, method) in score
    ]
    won = sum(0.5 * (own == other) + (own < other) for own, other in both)
    return f"{won:g} of {len(both)}" if both else "–"


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Median scores by problem and method, and mean ranks, as Markdown."""
    methods = [m for m in METHODS if any(row["method"] == m for row in rows)]
    kinds = (("limits", list(LIMITED)), ("context", list(CONTEXTUAL)))
    return "\n".join(block(rows, title, problems, methods) for title, problems in kinds)


def block(
    rows: Sequence[dict[str, Any]], title: str, problems: Sequence[str], methods: Sequence[str]
) -> str:
    lines = [f"| {title} | {' | '.join(methods)} |", f"|---|{'---|' * len(methods)}"]
    for problem in problems:
        cells = []
        for method in methods:
            found = [
                math.inf if row["score"] is None else row["score"]
                for row in rows
                if row["problem"] == problem and row["method"] == method
            ]
            middle = float(np.median(found)) if found else math.nan
            text = "none feasible" if middle == math.inf else f"{middle:.3g}"
            cells.append(text if found else "–")
        lines.append(f"| {problem} | {' | '.join(cells)} |")
    mean = ranks(rows, problems)
    cells = [f"**{mean[method]:.2f}**" if method in mean else "–" for method in methods]
    lines.append(f"| mean rank | {' | '.join(cells)} |")
    cells = [duel(rows, problems, method) for method in methods]
    return "\n".join([*lines, f"| noregret before it | {' | '.join(cells)} |", ""])


def section(rows: Sequence[dict[str, Any]]) -> str:
    """What the page says of the runs that are there."""
    counts = {method: len([row for row in rows if row["method"] == method]) for method in METHODS}
    ended = ", ".join(f"{method} {count}" for method, count in counts.items() if count)
    return f"Runs that ended: {ended}.\n\n{table(rows)}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="research.benchmarks.outcomes")
    parser.add_argument("command", choices=["run", "report"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    every = [*LIMITED, *CONTEXTUAL]
    parser.add_argument("--problems", nargs="+", default=every, choices=every)
    parser.add_argument("--minutes", type=float, default=1e9)
    options = parser.parse_args(arguments)
    if options.command == "report":
        pack(SUITE)
        write_section(ROOT / "docs" / "outcomes.md", BEGIN, END, section(read(SUITE)))
        return
    warnings.simplefilter("ignore")
    deadline = time.monotonic() + 60 * options.minutes
    done = {(row["problem"], row["method"], row["seed"]) for row in read(SUITE)}
    for seed in range(options.seeds):
        for method in options.methods:
            for problem in options.problems:
                if (problem, method, seed) not in done and time.monotonic() < deadline:
                    append(SUITE, play(problem, method, seed))


if __name__ == "__main__":
    main()
