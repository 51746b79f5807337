"""Whether what the default says is true: forecasts, alarms, what is left, and the prediction at the
recommended point.

python -m research.benchmarks.calibration [--side report] [--every 10] [--materials DIR]; results in
research/benchmarks/results/calibration.json, the section in docs/benchmarks.md.

One run per problem of the regret benchmark, with the common start. Every few decisions from the
tenth on: is what may be left at least the regret of the recommended point? Is f there within two
stated stds, and how many of twenty repeats are within theirs? Which alarms stand? In the end: how
many values lay in their 90 % forecast band, and did the alarm go off?

``--planted N`` runs N studies per planted fault and N clean twins: is it found, is there a false
alarm?
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.diagnostics import Alarm, alarms, check_calibration, effective_trials, predictions
from noregret.strategies import Strategy
from noregret.study import Progress, left_of
from noregret.testing.problems import rkhs_sample
from research.benchmarks import sweep
from research.benchmarks.problem import Problem

RESULT = Path(__file__).resolve().parent / "results" / "calibration.json"
FIRST = 10  # the decision from which on it counts
ROUNDING = 1e-6  # of the range of the values
FARTHEST = 1e6  # stds
SUITES = ("needle", "strangers", "bbob-2", "bbob-5", "tables", "mixed", "laboratory", "faults")
# what is promised
POOLED = (0.85, 0.95)  # share of the values in their 90 % bands
EACH = 0.8  # share of them in each suite, at least
LEFT = 0.88  # share of the looks at which what is left holds, where it is known, at least
LARGEST = 0.1  # median of what is left over the range of the values, at most
RECOMMENDED = 0.9  # share of the looks at which f is within two stds, at least
REPEATED = (0.85, 0.98)  # share of the repeats within two stds, where there is noise
REPEATS = 20  # at each look
ALARMS = 0.05  # share of the clean runs with an alarm of coverage, at most
DOUBTS = ("slip", "surprise", "range", "stuck", "jump", "noise bound")  # alarms that accuse
FALSE = 0.02  # share of the clean runs with each of these, at most
FOUND = 0.9  # share of the planted faults that are found, at least
# planted faults
RANGE = 60.0  # of the values of f
AFTER = 32  # trials before the fault
LATER = 14  # trials after it
SHIFT = 50.0  # of a wrong value


def look_at(problem: Problem, strategy: Strategy, seed: int, every: int) -> dict[str, Any]:
    """One run: its looks, how many values lay in their band, and whether the alarm of wrong
    forecasts went off at any look. A look is the decision, then what ``_look`` returns.
    """
    study = nr.Study(problem.space, "maximize", strategy, seed)
    looks, decided, kinds = [], 0, set[str]()
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
            look = _look(problem, study, seed)
            rounded = [None if number is None else float(f"{number:.4g}") for number in look]
            looks.append([decided, *rounded])
            kinds |= {kind_of(each) for each in alarms_of(study)}
    made = predictions(effective_trials(study.trials), study.goal, study.strategy)
    late = [each for each in made if each is not None][FIRST - 1 :]
    checked = check_calibration(made)
    below = zip(checked.coverage, checked.least, strict=True)
    return {
        "looks": looks,
        "spread": float(f"{np.ptp([t.value for t in study.trials if t.value is not None]):.4g}"),
        "inside": sum(bool(each.inside) for each in late),
        "values": sum(each.residual is not None for each in late),
        "alarm": any(coverage < least for coverage, least in below),
        "kinds": sorted(kinds),
    }


def _look(problem: Problem, study: nr.Study, seed: int) -> tuple[float | None, ...]:
    """What is left or None, regret, range of the values so far, error of the prediction in its
    stds, and share of the repeats within two stds, None without noise.
    """
    found = study.result()
    left = left_of(study, found)
    assert left is not None
    assert found.prediction is not None
    assert found.repeat_std is not None
    point = found.recommended.params
    truth, (mean, std) = problem.value(point), found.prediction
    told = [trial.value for trial in study.trials if trial.value is not None]
    spread, inside = float(np.ptp(told)), None
    if problem.noisy:
        first = 10_000 + REPEATS * len(study.trials)  # none of the draws of the run
        again = [problem.measure(point, first + i, seed) for i in range(REPEATS)]
        inside = float(np.mean(np.abs(np.array(again) - mean) <= 2 * found.repeat_std))
    error = max(abs(truth - mean) - ROUNDING * spread, 0.0) / max(std, sys.float_info.min)
    return left.gain, problem.maximum - truth, spread, min(error, FARTHEST), inside


def alarms_of(study: nr.Study) -> list[Alarm]:
    """The alarms that the page shows."""
    trials = effective_trials(study.trials)
    made = predictions(trials, study.goal, study.strategy)
    return alarms(study.space, trials, made, study.goal, study.strategy)


def kind_of(alarm: Alarm) -> str:
    """A jump of the fitted noise has a kind of its own here."""
    return "jump" if "jumped" in alarm.what else alarm.kind


# -- planted faults --

FAULTS: dict[str, tuple[str, float]] = {  # the alarm, and the noise std
    "a slip among repeats": ("slip", 1.2),
    "a slip at a new point": ("surprise", 1.2),
    "noise 25 times as large": ("jump", 0.6),
    "R half the noise, 16 pairs": ("noise bound", 2.0),
    "R a third, 8 pairs": ("noise bound", 2.0),
    "R a tenth, 3 pairs": ("noise bound", 2.0),
}


def bound_of(fault: str, noise: float, faulty: bool) -> Strategy:
    """The default, or the rigorous strategy with R and planned pairs."""
    times, pairs = {"R h": (2, 16), "R a third": (3, 8), "R a tenth": (10, 3)}.get(
        next((s for s in ("R h", "R a third", "R a tenth") if fault.startswith(s)), ""), (0, 0)
    )
    if not times:
        return nr.InsuredGPUCB()
    bound = noise / times if faulty else noise
    return nr.AdaptiveGPUCB.rigorous(bound, norm_bound=RANGE, check_pairs=pairs)


def with_fault(fault: str, seed: int, faulty: bool) -> bool:
    """Whether the alarm of a fault stands at any look; of a clean twin, where it must not."""
    alarm, noise = FAULTS[fault]
    rng = np.random.default_rng([seed, 77])
    d = 1 + seed % 3
    f = rkhs_sample(seed, dimension=d, lengthscale=(0.2, 0.3, 0.5)[d - 1], norm=2.0)
    sample = f(rng.random((4000, d)))
    low, span = float(sample.min()), float(np.ptp(sample))
    study = nr.Study([(0, 1)] * d, "maximize", bound_of(fault, noise, faulty), seed)
    done: int | None = None
    while done is None or len(study.trials) < done + LATER:
        number = len(study.trials)
        if alarm == "slip" and number == AFTER:
            study.enqueue(study.trials[int(rng.integers(AFTER))].params)
        trial = study.ask()
        value = (float(f(np.asarray(trial.params))) - low) / span * RANGE
        loud = 25.0 if alarm == "jump" and faulty and done is not None else 1.0
        measured = value + loud * noise * float(rng.standard_normal())
        due = number >= AFTER and done is None
        if alarm == "surprise":  # where the model knows the value
            model = trial.decision.model
            due = due and model is not None and model.std < SHIFT / 20
        if due:
            done = number
            if faulty and alarm in ("slip", "surprise"):
                measured += SHIFT if measured < RANGE / 2 else -SHIFT
        study.tell(trial, measured)
        if number > 2 * AFTER + LATER and done is None:
            done = number  # it never knew
        if done is not None and any(
            kind_of(each) in (alarm, "slip" if alarm == "surprise" else alarm)  # at a known point
            and (alarm not in ("slip", "surprise") or not faulty or str(done) in each.what)
            for each in alarms_of(study)
        ):
            return True
    return False


def plant(count: int) -> list[dict[str, Any]]:
    """Per fault: how many of ``count`` were found, and how many of as many clean twins accused."""
    rows = []
    with Progress(2 * count * len(FAULTS), "planted ") as bar:
        for fault, (alarm, _) in FAULTS.items():
            hits = {True: 0, False: 0}
            for seed in range(count):
                for faulty in hits:
                    hits[faulty] += with_fault(fault, seed, faulty)
                    bar.advance(fault)
            rows.append(
                {"fault": fault, "alarm": alarm, "runs": count}
                | {"found": hits[True], "false": hits[False]}
            )
    return rows


def measure(
    chosen: Iterable[tuple[str, str, int]], every: int, folder: str | None
) -> list[dict[str, Any]]:
    """One row per (suite, problem, seed)."""
    warnings.simplefilter("ignore")
    todo, rows = list(chosen), []
    with Progress(len(todo), "calibration ") as bar:
        for suite, name, seed in todo:
            row = look_at(sweep.make(suite, name, folder), nr.InsuredGPUCB(), seed, every)
            rows.append({"suite": suite, "problem": name, "seed": seed, **row})
            bar.advance(name)
    return rows


@dataclass(frozen=True, slots=True)
class Row:
    """Shares of one suite or of all: values inside their band; looks at which what is left is
    known, and of those the ones at which it holds; predictions and repeats within two stds; clean
    runs with an alarm. times: median of what is left over the range of the values.
    """

    suite: str
    runs: int
    values: int
    inside: float
    looks: int
    known: float
    holds: float
    times: float
    recommended: float
    repeated: float
    alarms: float


def summary(rows: list[dict[str, Any]]) -> list[Row]:
    """Per suite, then pooled."""
    found = []
    for suite in [*dict.fromkeys(row["suite"] for row in rows), ""]:
        mine = [row for row in rows if suite in ("", row["suite"])]
        looks = [  # results of before what was left had three columns
            look[1:]
            for row in mine
            for look in row["looks"]
            if len(look) > 3 and np.isfinite(look[2])
        ]
        known = [look for look in looks if look[0] is not None]
        values = sum(row["values"] for row in mine)
        clean = [row["alarm"] for row in mine if row["suite"] != "faults"]
        found.append(
            Row(
                suite or "pooled",
                len(mine),
                values,
                sum(row["inside"] for row in mine) / max(values, 1),
                len(looks),
                _mean([look[0] is not None for look in looks]),
                _mean([regret <= left + ROUNDING * spread for left, regret, spread, *_ in known]),
                float(np.median([look[0] / look[2] for look in known])) if known else math.nan,
                _mean([look[3] <= 2 for look in looks]),
                _mean([look[4] for look in looks if look[4] is not None]),
                _mean(clean),
            )
        )
    return found


def _mean(marks: list[Any]) -> float:
    return float(np.mean(marks)) if marks else math.nan


def promises(rows: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    """What is promised, what was measured, and whether it is kept; what was not measured is left
    out.
    """
    return [row for row in _promises(rows) if "nan%" not in row[1]]


def _promises(rows: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    *suites, pooled = summary(rows)
    low, high = POOLED
    least = min(suites, key=lambda row: row.inside)
    return [
        (
            f"90 % bands hold {low:.0%} to {high:.0%} of the values",
            f"{pooled.inside:.1%} of {pooled.values}",
            low <= pooled.inside <= high,
        ),
        (
            f"in each suite at least {EACH:.0%}",
            f"{least.inside:.1%} in {least.suite}",
            least.inside >= EACH,
        ),
        (
            f"what is left holds in at least {LEFT:.0%} of the looks, where it is known",
            f"{pooled.holds:.1%} of {pooled.known:.0%} of {pooled.looks}",
            pooled.holds >= LEFT,
        ),
        (
            f"and is at most {LARGEST:.0%} of the range of the values (median)",
            f"{pooled.times:.1%}",
            pooled.times <= LARGEST,
        ),
        (
            f"f at the recommended point is within two stds in at least {RECOMMENDED:.0%}",
            f"{pooled.recommended:.1%}",
            pooled.recommended >= RECOMMENDED,
        ),
        (
            f"of noisy repeats there {REPEATED[0]:.0%} to {REPEATED[1]:.0%} are within theirs",
            f"{pooled.repeated:.1%}",
            REPEATED[0] <= pooled.repeated <= REPEATED[1],
        ),
        (
            f"false alarms in at most {ALARMS:.0%} of the runs",
            f"{pooled.alarms:.1%}",
            pooled.alarms <= ALARMS,
        ),
    ]


def doubts(rows: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    """How many clean runs raise each alarm that accuses, at any look."""
    clean = [row["kinds"] for row in rows if row["suite"] != "faults" and "kinds" in row]
    shares = {kind: _mean([kind in kinds for kinds in clean]) for kind in DOUBTS if clean}
    return [
        (f"false alarms of {kind} in at most {FALSE:.0%} of the runs", f"{s:.1%}", s <= FALSE)
        for kind, s in shares.items()
    ]


def planted_promises(rows: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    """Of each planted fault: found, and false alarms of the clean twins."""
    return [
        (
            f"{row['fault']} is found in at least {FOUND:.0%}, falsely in at most {FALSE:.0%}",
            f"{row['found']} and {row['false']} of {row['runs']}",
            row["found"] >= FOUND * row["runs"] and row["false"] <= FALSE * row["runs"],
        )
        for row in rows
    ]


def section(source: Path = RESULT) -> str:
    """The part of docs/benchmarks.md about calibration."""
    if not source.exists():
        return "## Calibration\n\nNot run."
    result = json.loads(source.read_text(encoding="utf-8"))
    rows = [
        f"| {promise} | {measured} | {'kept' if kept else '**missed**'} |"
        for promise, measured, kept in [
            *promises(result["rows"]),
            *doubts(result["rows"]),
            *planted_promises(result.get("planted", [])),
        ]
    ]
    default = result.get(
        "default", "before [decision 0032](decisions/0032-the-default-in-one-file.md)"
    )
    return "\n".join(
        [
            "## Calibration\n\nWritten by `make bench-calibration`: the default "
            f"{default}, {len(result['rows'])} runs, one per problem, from decision {FIRST} on,"
            f" looks every {result['every']} decisions.\n",
            "| promised | measured | |\n|---|---|---|",
            *rows,
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="research.benchmarks.calibration", description="Are the default's statements true?"
    )
    parser.add_argument("--side", choices=["report", "tune"], default="report")
    parser.add_argument("--suites", nargs="+", default=list(SUITES), choices=sweep.SUITES)
    parser.add_argument("--every", type=int, default=10, help="decisions between two looks")
    parser.add_argument("--thin", type=int, default=1, help="run every THIN-th problem only")
    parser.add_argument("--materials", type=Path, help="folder of that suite's tables")
    parser.add_argument("--planted", type=int, default=0, metavar="N", help="studies per fault")
    parser.add_argument("--out", type=Path, help="default: the results, on the report's side")
    options = parser.parse_args()
    chosen = [
        (suite, name, seed)
        for suite in options.suites
        if suite != "materials" or options.materials
        for seed, name in list(sweep.instances(suite, options.side, 1))[:: options.thin]
    ]
    folder = None if options.materials is None else str(options.materials.resolve())
    faults = plant(options.planted)
    for promise, measured, _ in planted_promises(faults):
        print(f"{measured:20} {promise}")
    rows = measure(chosen, options.every, folder)
    for promise, measured, _ in doubts(rows):
        print(f"{measured:20} {promise}")
    for row in summary(rows):
        print(
            f"{row.suite:10} {row.runs:4} runs  inside {row.inside:.1%}"
            f"  left known {row.known:.0%}, holds {row.holds:.1%} ({row.times:.2g} ranges)"
            f"  recommended {row.recommended:.1%} repeats {row.repeated:.1%}"
            f"  alarm {row.alarms:.0%}"
        )
    out = options.out or (RESULT if options.side == "report" else None)
    if out is not None:
        default = "of this version"
        found = {"every": options.every, "default": default, "planted": faults, "rows": rows}
        text = json.dumps(found)
        out.write_text(text.replace("}, {", "},\n{") + "\n", encoding="utf-8")
    if out == RESULT:
        from research.benchmarks import report

        return report.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
