"""The default with each extension switched on, over suites of the tuning side (decisions/0010).

python -m research.benchmarks.extensions run [--minutes M] [--seeds N] [--methods …]
python -m research.benchmarks.extensions report

One JSON line per (problem, method, seed) in research/benchmarks/results/extensions.jsonl; a run
that is stopped goes on where it was. The report packs them into .jsonl.gz, and writes table and
verdicts into docs/extensions.md. One process.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.extensions import Additive, Categorical, Smoothness, Sparse, Warping
from noregret.strategies import Strategy
from research.benchmarks import regret
from research.benchmarks.insured_algorithms import InsuredBy, Thompson, Width
from research.benchmarks.mixed import mixed
from research.benchmarks.problem import Problem
from research.benchmarks.sections import write_section
from research.benchmarks.synthetic import high, needle, rkhs, standard
from research.benchmarks.tables import tables

NAME = "extensions"
PAGE = Path("docs/extensions.md")
BEGIN, END = "<!-- bench-extensions: written by the benchmark -->", "<!-- bench-extensions: end -->"
LONGEST = 60  # trials of a run: the whole comparison is to be had on one core
LEAST = 1e-3  # of the regret of the initial points: below, regrets count as equal
NEAR = 1.05  # a ratio of regrets up to which two are as good as each other
SEVERAL = 4  # problems of a suite without which nothing is decided

METHODS: dict[str, Callable[[], Strategy]] = {
    "default": nr.InsuredGPUCB,
    "smoothness": lambda: nr.InsuredGPUCB(model=Smoothness()),
    "warping": lambda: nr.InsuredGPUCB(model=Warping()),
    "additive": lambda: nr.InsuredGPUCB(model=Additive()),
    "categorical": lambda: nr.InsuredGPUCB(model=Categorical()),
    "sparse": lambda: nr.InsuredGPUCB(model=Sparse()),
    "subspace": nr.Subspace,
    "Thompson": lambda: InsuredBy(Thompson),
    "random width": lambda: InsuredBy(Width),
    "log-EI": nr.LogEI,
}
SWITCHED = tuple(name for name in METHODS if name not in ("default", "log-EI"))
PROBLEMS: dict[str, dict[str, Callable[[], Problem]]] = {
    "needle": {f"needle-{i}": lambda i=i: needle(i) for i in (1000, 1001, 1003, 1004)},  # type: ignore[misc]
    "rkhs": {f"rkhs-{i}": lambda i=i: rkhs(i) for i in (1000, 1001, 1003, 1004)},  # type: ignore[misc]
    "standard": {
        name: lambda name=name: standard(name, False)  # type: ignore[misc]
        for name in ("Branin", "Levy-4", "Hartmann-6", "Rastrigin-4")
    },
    "tables": {
        name: lambda name=name: tables(f"hpobench/{name}")  # type: ignore[misc]
        for name in ("car", "vehicle", "phoneme", "australian")
    },
    "mixed": {f"mixed-{i}": lambda i=i: mixed(i) for i in range(1000, 1012)},  # type: ignore[misc]
    "high": {
        name: lambda name=name: high(name)  # type: ignore[misc]
        for name in ("Levy-4/20", "Hartmann-6/30", "Rosenbrock-4/20", "Branin/40")
    },
}
# where an extension differs from the default, if not everywhere: choices, and numbers only
MORE = ("default", "categorical")  # on all problems of a suite; the others on SEVERAL
WHERE = {"categorical": ("mixed",), "subspace": ("needle", "rkhs", "standard", "high")}


def final_regret(
    problem: Problem, strategy: Strategy, seed: int, trials: int
) -> tuple[float, float]:
    """The simple regret of the noise-free values after the initial points and in the end, the same
    initial points and noise for all.
    """
    study = nr.Study(problem.space, "maximize", strategy, seed)
    best, points = -math.inf, iter(problem.initial_points(seed))
    start = math.inf
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
            start = problem.maximum - best
        else:
            study.tell(trial, value)
    return start, problem.maximum - best


def jobs(seeds: int, methods: list[str]) -> Iterator[tuple[str, str, str, int]]:
    """Problem by problem in turn, so that a short run has something of every suite."""
    for seed in range(1000, 1000 + seeds):
        for index in range(max(len(problems) for problems in PROBLEMS.values())):
            for suite, problems in PROBLEMS.items():
                for method in methods if index < len(problems) else []:
                    if suite in WHERE.get(method, PROBLEMS) and (index < SEVERAL or method in MORE):
                        yield suite, list(problems)[index], method, seed


Rows = Mapping[tuple[str, str, int], dict[str, Any]]


def done() -> Rows:
    return {(row["problem"], row["method"], row["seed"]): row for row in regret.read(NAME)}


def run(minutes: float, seeds: int, methods: list[str]) -> None:
    warnings.simplefilter("ignore")
    end, known = time.monotonic() + 60 * minutes, done()
    for suite, name, method, seed in jobs(seeds, methods):
        if (name, method, seed) in known:
            continue
        if time.monotonic() > end:
            return
        problem = PROBLEMS[suite][name]()
        started, trials = time.process_time(), min(problem.trials, LONGEST)
        start, last = final_regret(problem, METHODS[method](), seed, trials)
        row = {"suite": suite, "problem": name, "method": method, "seed": seed, "trials": trials}
        row |= {"start": float(f"{start:.6g}"), "regret": float(f"{last:.6g}")}
        regret.append(NAME, row | {"seconds": round(time.process_time() - started, 1)})


# -- the report --


def ratios(rows: Rows, method: str, suite: str) -> list[float]:
    """log(regret/the default's) for every problem and seed that both played."""
    found = []
    for (problem, by, seed), ours in rows.items():
        base = rows.get((problem, "default", seed))
        if by == method and ours["suite"] == suite and base is not None:
            least = max(LEAST * base["start"], 1e-12)
            found.append(math.log(max(ours["regret"], least) / max(base["regret"], least)))
    return found


def table(rows: Rows) -> str:
    """By suite the geometric mean of the regret over the default's, and how often better, worse."""
    lines = [f"| regret over the default's | {' | '.join(PROBLEMS)} | all |"]
    lines.append("|---" * (len(PROBLEMS) + 2) + "|")
    for method in list(METHODS)[1:]:
        cells = [_cell(ratios(rows, method, suite)) for suite in PROBLEMS]
        means = [np.mean(found) for suite in PROBLEMS if (found := ratios(rows, method, suite))]
        overall = f"{math.exp(float(np.mean(means))):.2f}" if means else "–"
        lines.append(f"| {method} | {' | '.join(cells)} | {overall} |")
    return "\n".join(lines)


def _cell(found: list[float]) -> str:
    if not found:
        return "–"
    better = sum(ratio < -math.log(NEAR) for ratio in found)
    worse = sum(ratio > math.log(NEAR) for ratio in found)
    return f"{math.exp(float(np.mean(found))):.2f} ({better}–{worse})"


def verdict(rows: Rows, method: str) -> str:
    """Whether it joins the default: better in all by two standard errors, worse on no suite."""
    suites = list(WHERE.get(method, PROBLEMS))
    found = {suite: ratios(rows, method, suite) for suite in suites}
    few = [suite for suite in suites if len(found[suite]) < SEVERAL]
    worse = [s for s in suites if found[s] and math.exp(np.mean(found[s])) > NEAR]
    if worse:
        return f"no: worse on {', '.join(worse)}"
    if few:
        return f"undecided: fewer than {SEVERAL} problems on {', '.join(few)}"
    mean = np.mean([np.mean(each) for each in found.values()])
    error = math.sqrt(sum(np.var(each, ddof=1) / len(each) for each in found.values()))
    if mean + 2 * error / len(found) > -math.log(NEAR) / 2:
        return "no: not better beyond chance"
    return "joins: better, and worse on no suite"


def section(rows: Rows) -> str:
    played = [(key, row) for key, row in rows.items() if key[1] not in MORE]
    counts = {s: len({key[0] for key, row in played if row["suite"] == s}) for s in PROBLEMS}
    choices = len(ratios(rows, "categorical", "mixed"))
    seeds = len({key[2] for key in rows})
    some = ", ".join(f"{count} of {suite}" for suite, count in counts.items())
    verdicts = "\n".join(f"| {method} | {verdict(rows, method)} |" for method in SWITCHED)
    return (
        f"{len(rows)} runs of at most {LONGEST} trials; problems: {some}; "
        f"{'one seed' if seeds == 1 else f'{seeds} seeds'} each, as far as the time went;"
        f" categories on {choices} runs. Geometric means over problems, in"
        " brackets how often better and worse by more than 5 %; *all* is the mean over suites.\n\n"
        f"{table(rows)}\n\n| switched on | joins the default? |\n|---|---|\n{verdicts}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="research.benchmarks.extensions")
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    given = parser.parse_args()
    if given.what == "run":
        run(given.minutes, given.seeds, given.methods)
        return
    regret.pack(NAME)
    write_section(regret.ROOT / PAGE, BEGIN, END, section(done()))


if __name__ == "__main__":
    main()
