"""Paired comparisons of runs: what both have, nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from noregret.space import Array, Indices
from research.benchmarks import sweep

FLOOR = 1e-6  # of the scale: regrets below it count as equal
OFF = 0.1  # of the scale: a run that ends farther away is off
INFEASIBLE = 10.0  # times the scale: simple regret of a run without a feasible value
RESAMPLES = 2000
Runs = Mapping[tuple[str, int], Mapping[str, Any]]  # (problem, seed) → row


@dataclass(frozen=True, slots=True)
class Summary:
    """Of some runs: geometric mean of simple regret as a share of the scale, at the best value and
    at the recommended point; share of runs that are off; mean regret per trial; seconds.
    """

    runs: int
    simple: float
    recommended: float
    off: float
    cumulative: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Second over first on the runs that both have; ``error``: one standard error of the logarithm,
    by bootstrap over problems. ``sign``: two-sided sign test of simple regret.
    """

    runs: int
    simple: float
    simple_error: float
    cumulative: float
    cumulative_error: float
    wins: int
    losses: int
    sign: float


def runs_of(rows: Sequence[Mapping[str, Any]], method: str, start: str) -> Runs:
    return {
        (row["problem"], row["seed"]): row
        for row in rows
        if row["method"] == method and row["start"] == start
    }


def regret_of(row: Mapping[str, Any]) -> Array:
    """Shares of the scale; NaN where a trial failed."""
    return np.array([math.nan if r is None else r for r in row["regret"]]) / row["scale"]


def simple_of(row: Mapping[str, Any]) -> float:
    regret = regret_of(row)
    return INFEASIBLE if np.isnan(regret).all() else max(float(np.nanmin(regret)), 0.0)


def cumulative_of(row: Mapping[str, Any]) -> float:
    """Mean regret per trial, each at most the scale: a loss of 1e9 and a failure count alike."""
    return float(np.mean(np.minimum(np.nan_to_num(regret_of(row), nan=1.0), 1.0)))


def recommended_of(row: Mapping[str, Any]) -> float:
    """Regret of the recommended point; the whole scale where none is feasible."""
    regret = row["recommended"]
    return 1.0 if regret is None else max(regret / row["scale"], 0.0)


def is_off(row: Mapping[str, Any]) -> bool:
    limit = row["stuck_above"]
    return simple_of(row) > (OFF if limit is None else limit / row["scale"])


def _log(values: Sequence[float]) -> Array:
    return np.log(np.clip(np.array(values), FLOOR, 1e3))


def summary(runs: Runs) -> Summary:
    rows = list(runs.values())
    final = [recommended_of(row) for row in rows]
    return Summary(
        len(rows),
        float(np.exp(np.mean(_log([simple_of(row) for row in rows])))),
        float(np.exp(np.mean(_log(final)))),
        float(np.mean([is_off(row) for row in rows])),
        float(np.mean([cumulative_of(row) for row in rows])),
        float(np.mean([row["seconds"] for row in rows])),
    )


def compare(first: Runs, second: Runs) -> Comparison:
    keys = sorted(first.keys() & second.keys())
    simple = _log([simple_of(second[k]) for k in keys]) - _log([simple_of(first[k]) for k in keys])
    total = np.array(
        [math.log(max(cumulative_of(runs[k]), FLOOR)) for runs in (second, first) for k in keys]
    ).reshape(2, -1)
    total = total[0] - total[1]
    problems = np.unique([problem_of(k[0]) for k in keys], return_inverse=True)[1]
    wins, losses = int((simple < -1e-3).sum()), int((simple > 1e-3).sum())
    sign = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return Comparison(
        len(keys),
        float(np.exp(simple.mean())),
        _error(simple, problems),
        float(np.exp(total.mean())),
        _error(total, problems),
        wins,
        losses,
        sign,
    )


def problem_of(name: str) -> str:
    """Without the instance: strangers' ``bowl-8/3`` and COCO's ``f7-i21``."""
    base, _, instance = name.rpartition("/" if "/" in name else "-i")
    return base if instance.isdigit() else name


def _error(values: Array, groups: Indices) -> float:
    """Standard error of the mean by resampling whole groups: seeds of one problem are no
    independent evidence.
    """
    sums = np.bincount(groups, weights=values)
    counts = np.bincount(groups)
    rng = np.random.default_rng(0)
    picked = rng.integers(len(sums), size=(RESAMPLES, len(sums)))
    return float(np.std(sums[picked].sum(axis=1) / counts[picked].sum(axis=1)))


def describe(name: str, s: Summary) -> str:
    return (
        f"{name:34s} {s.runs:4d}  {s.simple:8.2e}  {s.recommended:8.2e}  {s.off:5.2f}"
        f"  {s.cumulative:6.4f}  {s.seconds:7.2f}"
    )


def describe_pair(name: str, c: Comparison) -> str:
    return (
        f"{name:34s} {c.runs:4d}  simple ×{c.simple:6.3f} (±{c.simple_error:4.2f})"
        f"  cumulative ×{c.cumulative:6.3f} (±{c.cumulative_error:4.2f})"
        f"  +{c.wins} −{c.losses} p={c.sign:.3f}"
    )


def main(options: Any) -> int:
    if options.command == "compare":
        return _compare(options)
    return _table(options)


def _compare(options: Any) -> int:
    """Labels: the same method in two folders; an item LABEL:METHOD names another method."""
    (a, method_a), (b, method_b) = (_named(each, options) for each in options.labels)
    for suite in options.suites:
        for start in options.starts:
            first = runs_of(sweep.read(sweep.folder_of(a), suite), method_a, start)
            second = runs_of(sweep.read(sweep.folder_of(b), suite), method_b, start)
            if shared := first.keys() & second.keys():
                print(f"{suite}, {start} start: runs, simple, recommended, off, cumulative, s")
                for name, runs in ((options.labels[0], first), (options.labels[1], second)):
                    print(describe(name, summary({k: runs[k] for k in shared})))
                print(describe_pair("second/first", compare(first, second)))
    return 0


def _named(text: str, options: Any) -> tuple[str | None, str]:
    label, _, method = text.partition(":")
    return (None if label == "report" else label), method or options.methods[0]


def _table(options: Any) -> int:
    folder = sweep.folder_of(options.label)
    for suite in options.suites:
        rows = sweep.read(folder, suite)
        for start in options.starts:
            methods = sorted({row["method"] for row in rows if row["start"] == start})
            if methods:
                print(f"{suite}, {start} start: runs, simple, recommended, off, cumulative, s")
            for method in methods:
                print(describe(method, summary(runs_of(rows, method, start))))
    return 0
