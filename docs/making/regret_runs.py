"""The regret benchmark's results as runs, and how methods are ranked on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from noregret.space import Array
from research.benchmarks.methods import DEFAULT, is_ours
from research.benchmarks.regret import read


@dataclass(frozen=True, slots=True)
class Run:
    """Instantaneous regret of every trial, the shared initial points first."""

    problem: str
    method: str
    seed: int
    regret: Array
    initial: int
    stuck: bool | None
    seconds: float
    final_regret: float = float("nan")  # of what is recommended in the end
    # share of the decisions on designs known already while more than two noise stds were left
    wasted: float = 0.0
    best_regret: float = float("nan")  # of the best value told

    @property
    def simple(self) -> float:
        return float(self.regret.min())

    @property
    def final(self) -> float:
        """At the recommended point where it was recorded."""
        return self.final_regret if np.isfinite(self.final_regret) else self.simple

    @property
    def best(self) -> float:
        """At the best value told where it was recorded."""
        return self.best_regret if np.isfinite(self.best_regret) else self.simple

    @property
    def cumulative(self) -> float:
        return float(self.regret[self.initial :].sum())


def load(suite: str) -> list[Run]:
    rows = read(suite)
    best: dict[str, float] = defaultdict(lambda: -np.inf)
    for row in rows:  # where the maximum is not known: the best any run found
        best[row["problem"]] = max(best[row["problem"]], float(np.nanmax(row["values"])))
    runs = []
    for row in rows:
        maximum = row["maximum"] if np.isfinite(row["maximum"]) else best[row["problem"]]
        regret = np.maximum(maximum - np.array(row["values"]), 0.0)
        regret = np.where(
            np.isnan(regret), np.nanmax(regret[: max(row["initial"], 1)]), regret
        )  # failed: as bad as the start
        asks = max(len(row["values"]) - row["initial"], 1)
        # what is recommended by a peer is the best value told
        told = row.get("best", None if is_ours(row["method"]) else row.get("final"))
        final, told = (
            float("nan") if value is None else max(maximum - value, 0.0)
            for value in (row.get("final"), told)
        )
        runs.append(
            Run(
                row["problem"],
                row["method"],
                row["seed"],
                regret,
                row["initial"],
                None if row["stuck_above"] is None else bool(regret.min() > row["stuck_above"]),
                float(np.median(row["seconds"])) if row["seconds"] else 0.0,
                final,
                row.get("wasted", 0) / asks,
                told,
            )
        )
    return runs


def of(runs: list[Run], method: str) -> list[Run]:
    return [run for run in runs if run.method == method]


def medians(runs: list[Run], quantity: str) -> dict[str, dict[str, float]]:
    """problem → method → median over the method's seeds."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in runs:
        values[run.problem, run.method].append(getattr(run, quantity))
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for problem, method in sorted(values):
        found[problem][method] = float(np.median(values[problem, method]))
    return found


def field(methods: Iterable[str], method: str = DEFAULT) -> set[str]:
    """Those with whom a method is ranked: every peer, and of ours only itself."""
    ours = method if is_ours(method) else DEFAULT
    return {m for m in methods if m == ours or not is_ours(m)}


def problem_ranks(row: dict[str, float]) -> dict[str, float]:
    """Ties share the mean of their places."""
    return {
        method: sum(other < value * (1 - 1e-9) - 1e-12 for other in row.values())
        + (sum(abs(v - value) <= 1e-9 * abs(value) + 1e-12 for v in row.values()) + 1) / 2
        for method, value in row.items()
    }


def ranks(runs: list[Run], quantity: str) -> dict[str, float]:
    """Mean rank over the problems on which a method ran."""
    table = medians(runs, quantity)
    found: dict[str, float] = {}
    for method in sorted({run.method for run in runs}):
        places = []
        for row in table.values():
            if method in row:
                among = {m: row[m] for m in field(row, method)}
                places.append(problem_ranks(among)[method])
        found[method] = float(np.mean(places))
    return found


@dataclass(frozen=True, slots=True)
class Place:
    """``ahead``: peer → its mean rank and ours, both over the problems on which the peer ran, and
    how many these are.
    """

    number: int
    methods: int
    mean_rank: float
    problems: int
    ahead: dict[str, tuple[float, float, int]]

    def __str__(self) -> str:
        if self.number == 1:
            return f"first of {self.methods} ({self.mean_rank:.2f})"
        better = "; ".join(
            f"{peer} {theirs:.2f} against {ours:.2f}"
            + (f" on {ran} of {self.problems} problems" if ran < self.problems else "")
            for peer, (theirs, ours, ran) in sorted(self.ahead.items(), key=lambda item: item[1][0])
        )
        return f"{self.number}. of {self.methods} ({self.mean_rank:.2f}); ahead: {better}"


def place(runs: list[Run], quantity: str, method: str = DEFAULT) -> Place:
    """A method of ours among the peers. A peer that ran on some problems only is compared with it
    on those.
    """
    rows = [
        problem_ranks({m: row[m] for m in field(row, method)})
        for row in medians(runs, quantity).values()
        if method in row
    ]
    peers = {m for row in rows for m in row if m != method}
    ahead = {}
    for peer in sorted(peers):  # equal ones by name
        both = [(row[peer], row[method]) for row in rows if peer in row]
        theirs, ours = (float(np.mean([pair[i] for pair in both])) for i in (0, 1))
        if theirs < ours - 1e-9:
            ahead[peer] = (theirs, ours, len(both))
    mine = float(np.mean([row[method] for row in rows]))
    return Place(1 + len(ahead), 1 + len(peers), mine, len(rows), ahead)
