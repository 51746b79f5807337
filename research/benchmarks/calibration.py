"""Whether what the default says of itself is true: python -m research.benchmarks.calibration
[--side report] [--every 10] [--materials DIR]; results in research/benchmarks/results/
calibration.json, the section in docs/benchmarks.md.

Each run is that of the regret benchmark, with looks every few decisions from the tenth on: is what
the page shows as "how much may be left" at least the regret of the recommended point? In the end:
how many values lay in the 90 % band that was forecast for them, and did an alarm go off?
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.diagnostics import calibration, outcomes, predictions
from noregret.strategies import Strategy
from noregret.study import Progress
from research.benchmarks.problem import Problem
from research.benchmarks.regret import ROOT, SUITES, make, problems, read
from research.benchmarks.tables import TUNING_TABLES

RESULT = Path(__file__).resolve().parent / "results" / "calibration.json"
FIRST = 10  # the decision from which on it counts
ROUNDING = 1e-9
TUNING_SIDE = {
    "needle": [f"needle-{i}" for i in range(1000, 1042)],
    "rkhs": [f"rkhs-{i}" for i in range(1000, 1018)],
    "standard": [
        f"{name}{noisy}"
        for name in ("Branin", "Hartmann-6", "Levy-4", "Rastrigin-4")
        for noisy in ("", " noisy")
    ],
    "high": ["Levy-4/20", "Rosenbrock-4/20", "Hartmann-6/30", "Branin/40"],
    "tables": list(TUNING_TABLES),
    "mixed": [f"mixed-{i}" for i in range(1000, 1020)],
    "faults": [f"faults-{i}" for i in range(1000, 1020)],
}


def looked_at(problem: Problem, strategy: Strategy, seed: int, every: int) -> dict[str, Any]:
    """One run: looks as (decision, what may be left, what is), whether each value lay in its band,
    and whether the alarm of wrong forecasts went off at any look.
    """
    study = nr.Study(problem.space, "maximize", strategy, seed)
    looks, decided = [], 0
    points = iter(problem.initial_points(seed))
    for index in range(problem.trials):
        start = next(points, None)
        if start is not None:
            study.enqueue(start)
        trial = study.ask()
        if problem.crashes(trial.params, index, seed):
            study.tell(trial, state="failed")
        else:
            study.tell(trial, problem.measure(trial.params, index, seed))
        decided += start is None
        if start is None and decided >= FIRST and (decided - FIRST) % every == 0:
            found = study.result()
            assert found.certificate is not None
            regret = problem.maximum - problem.value(found.recommended.params)
            bound = found.certificate.regret_bound
            looks.append([decided, *(float(f"{number:.4g}") for number in (bound, regret))])
    made = predictions(outcomes(study.trials), study.goal)
    late = [each for each in made if each is not None][FIRST - 1 :]
    checked = calibration(made)
    below = zip(checked.coverage, checked.least, strict=True)
    return {
        "looks": looks,
        "spread": float(f"{np.ptp([t.value for t in study.trials if t.value is not None]):.4g}"),
        "inside": sum(bool(each.inside) for each in late),
        "values": sum(each.residual is not None for each in late),
        "alarm": any(coverage < least for coverage, least in below),
    }


def known(problem: Problem, name: str) -> Problem:
    """With the best value that any run of the regret benchmark found, where nothing better is
    known.
    """
    if np.isfinite(problem.maximum):
        return problem
    found = [max(row["values"]) for row in read(problem.suite) if row["problem"] == name]
    return replace(problem, maximum=max(found, default=math.nan))


def measure(
    chosen: Iterable[tuple[str, str]], seed: int, every: int, folder: str | None
) -> list[dict[str, Any]]:
    warnings.simplefilter("ignore")
    todo, rows = list(chosen), []
    with Progress(len(todo), "calibration ") as bar:
        for suite, name in todo:
            problem = known(make(suite, name, folder), name)
            found = looked_at(problem, nr.InsuredGPUCB(), seed, every)
            rows.append({"suite": suite, "problem": name, "seed": seed, **found})
            bar.advance(name)
    return rows


@dataclass(frozen=True, slots=True)
class Row:
    """Shares of one suite or of all: values inside their band, looks at which what may be left was
    at least what was, clean runs with an alarm. times: what may be left over the spread of the
    values, the median.
    """

    suite: str
    runs: int
    values: int
    inside: float
    looks: int
    holds: float
    times: float
    alarms: float


def summary(rows: list[dict[str, Any]]) -> list[Row]:
    """Per suite, then pooled."""
    found = []
    for suite in [*dict.fromkeys(row["suite"] for row in rows), ""]:
        mine = [row for row in rows if suite in ("", row["suite"])]
        looks = [
            (bound, regret, row["spread"])
            for row in mine
            for _, bound, regret in row["looks"]
            if np.isfinite(regret)
        ]
        values = sum(row["values"] for row in mine)
        clean = [row["alarm"] for row in mine if row["suite"] != "faults"]
        found.append(
            Row(
                suite or "pooled",
                len(mine),
                values,
                sum(row["inside"] for row in mine) / max(values, 1),
                len(looks),
                _mean([left <= may * (1 + ROUNDING) + ROUNDING for may, left, _ in looks]),
                float(np.median([may / spread for may, _, spread in looks])) if looks else math.nan,
                _mean(clean),
            )
        )
    return found


def _mean(marks: list[bool]) -> float:
    return float(np.mean(marks)) if marks else math.nan


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="research.benchmarks.calibration", description="Is what the default says true?"
    )
    parser.add_argument("--side", choices=["report", "tuning"], default="report")
    parser.add_argument("--suites", nargs="+", default=list(SUITES), choices=SUITES)
    parser.add_argument("--every", type=int, default=10, help="decisions between two looks")
    parser.add_argument("--thin", type=int, default=1, help="only every so-manieth problem")
    parser.add_argument("--materials", type=Path, help="folder of that suite's tables")
    parser.add_argument("--out", type=Path, help="default: the results, on the report's side")
    options = parser.parse_args()
    report = options.side == "report"
    chosen = [
        (suite, name)
        for suite in options.suites
        if suite != "materials" or options.materials
        for name in (problems(suite, quick=False) if report else TUNING_SIDE.get(suite, []))[
            :: options.thin
        ]
    ]
    folder = None if options.materials is None else str(options.materials.resolve())
    rows = measure(chosen, 0 if report else 1000, options.every, folder)
    for row in summary(rows):
        print(
            f"{row.suite:10} {row.runs:4} runs  inside {row.inside:.1%}  left {row.holds:.1%}"
            f" ({row.times:.2g} spreads)  alarm {row.alarms:.0%}"
        )
    out = options.out or (RESULT if report else None)
    if out is not None:
        text = json.dumps({"every": options.every, "rows": rows})
        out.write_text(text.replace("}, {", "},\n{") + "\n", encoding="utf-8")
    if report and options.out is None:
        from docs.making.benchmarks import write

        write(ROOT / "docs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
