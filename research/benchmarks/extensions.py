"""The default with each extension switched on, over suites of the tuning side (decisions/0010).

python -m research.benchmarks.extensions run [--minutes M] [--seeds N]
python -m research.benchmarks.extensions table

One JSON line per (problem, method, seed) in research/benchmarks/results/extensions.jsonl; a run
that is stopped goes on where it was. One process.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.strategies import Additive, Categorical, Smoothness, Sparse, Strategy, Warping
from research.benchmarks.mixed import mixed
from research.benchmarks.problem import Problem
from research.benchmarks.synthetic import high, needle, rkhs, standard
from research.benchmarks.tables import tables

FILE = Path(__file__).parent / "results" / "extensions.jsonl"
LONGEST = 60  # trials of a run: the whole comparison is to be had on one core

METHODS: dict[str, Callable[[], Strategy]] = {
    "default": nr.InsuredGPUCB,
    "smoothness": lambda: nr.InsuredGPUCB(model=Smoothness()),
    "warping": lambda: nr.InsuredGPUCB(model=Warping()),
    "additive": lambda: nr.InsuredGPUCB(model=Additive()),
    "categorical": lambda: nr.InsuredGPUCB(model=Categorical()),
    "sparse": lambda: nr.InsuredGPUCB(model=Sparse()),
    "log-EI": nr.LogEI,
}
PROBLEMS: dict[str, dict[str, Callable[[], Problem]]] = {
    "needle": {f"needle-{i}": lambda i=i: needle(i) for i in (1000, 1001, 1003, 1004)},  # type: ignore[misc]
    "rkhs": {f"rkhs-{i}": lambda i=i: rkhs(i) for i in (1000, 1001, 1003, 1004)},  # type: ignore[misc]
    "standard": {
        name: lambda name=name: standard(name, False)  # type: ignore[misc]
        for name in ("Branin", "Levy-4", "Hartmann-6", "Rastrigin-4")
    },
    "tables": {
        name: lambda name=name: tables(f"hpobench/{name}")  # type: ignore[misc]
        for name in ("car", "vehicle", "phoneme")
    },
    "mixed": {f"mixed-{i}": lambda i=i: mixed(i) for i in (1000, 1001, 1002, 1003)},  # type: ignore[misc]
    "high": {name: lambda name=name: high(name) for name in ("Levy-4/20", "Hartmann-6/30")},  # type: ignore[misc]
}
CHOICES = ("tables", "mixed")  # where a kernel of choices differs from the default's


def final_regret(problem: Problem, strategy: Strategy, seed: int, trials: int) -> float:
    """The simple regret of the noise-free values, the same initial points and noise for all."""
    study = nr.Study(problem.space, "maximize", strategy, seed)
    best, points = -math.inf, iter(problem.initial_points(seed))
    for index in range(trials):
        params = next(points, None)
        trial = None
        if params is None:
            trial = study.ask()
            params = trial.params
        best = max(best, problem.value(params))
        value = problem.measure(params, index, seed)
        if trial is None:
            study.add(params, value)
        else:
            study.tell(trial, value)
    return problem.maximum - best


def jobs(seeds: int) -> Iterator[tuple[str, str, str, int]]:
    """Problem by problem in turn, so that a short run has something of every suite."""
    for seed in range(1000, 1000 + seeds):
        for index in range(4):
            for suite, problems in PROBLEMS.items():
                name = list(problems)[index] if index < len(problems) else None
                for method in METHODS:
                    if name and (method != "categorical" or suite in CHOICES):
                        yield suite, name, method, seed


def done() -> dict[tuple[str, str, int], dict[str, Any]]:
    if not FILE.exists():
        return {}
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    return {(row["problem"], row["method"], row["seed"]): row for row in rows}


def run(minutes: float, seeds: int) -> None:
    warnings.simplefilter("ignore")
    end, known = time.monotonic() + 60 * minutes, done()
    for suite, name, method, seed in jobs(seeds):
        if (name, method, seed) in known:
            continue
        if time.monotonic() > end:
            return
        problem = PROBLEMS[suite][name]()
        started = time.process_time()
        regret = final_regret(problem, METHODS[method](), seed, min(problem.trials, LONGEST))
        row = {"suite": suite, "problem": name, "method": method, "seed": seed}
        row |= {"regret": float(f"{regret:.6g}"), "seconds": time.process_time() - started}
        with FILE.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def table() -> str:
    """By suite the geometric mean of the regret over the default's, pairs of (problem, seed); a
    regret of zero counts as 10⁻⁴ of the default's scale there.
    """
    known = done()
    suites = {(row["problem"], row["seed"]): row["suite"] for row in known.values()}
    lines = [f"| regret over the default's | {' | '.join(PROBLEMS)} |"]
    lines.append("|---" * (len(PROBLEMS) + 1) + "|")
    for method in list(METHODS)[1:]:
        cells = []
        for suite in PROBLEMS:
            ratios = []
            for key, where in suites.items():
                ours, base = (
                    known.get((key[0], method, key[1])),
                    known.get((key[0], "default", key[1])),
                )
                if where == suite and ours is not None and base is not None:
                    least = 1e-4
                    ratios.append(math.log(max(ours["regret"], least) / max(base["regret"], least)))
            better = sum(ratio < -0.05 for ratio in ratios)
            worse = sum(ratio > 0.05 for ratio in ratios)
            cell = f"{math.exp(float(np.mean(ratios))):.2f} ({better}–{worse})" if ratios else "–"
            cells.append(cell)
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    if given.what == "run":
        run(given.minutes, given.seeds)
    else:
        print(table())
