"""What was wanted of the default beside what was measured; every verdict is computed here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from docs.making.regret_pictures import bought, curve, is_below
from docs.making.regret_runs import Run, medians, of, place
from research.benchmarks.faults import base
from research.benchmarks.methods import BEFORE, DEFAULT, UNINSURED, UNPATROLLED, is_ours
from research.benchmarks.mixed import OFF

STUCK = 1 / 42  # share of the needles that may end stuck
OF_BEFORE = 0.7  # of the mean cumulative regret before 0024
WASTED = 0.1  # of the decisions
OFF_SHARE = 1 / 100  # of the runs that may end off
FAULTS = 1.3  # times the regret without faults
ADDED = 1e-3  # to both regrets of a ratio: below it they are equally good
PATROLS = 0.03  # by which the regret with patrols may differ
ADVERB = {"best": "at the best value told", "final": "at the recommended point"}


@dataclass(frozen=True, slots=True)
class Promise:
    """``kept``: None where it was not measured."""

    suite: str
    wanted: str
    measured: str
    kept: bool | None

    @property
    def line(self) -> str:
        verdict = {True: "kept", False: "**missed**", None: "not measured"}[self.kept]
        return f"| {self.suite} | {self.wanted} | {self.measured} | {verdict} |"


def table(rows: Sequence[Promise]) -> str:
    return "\n".join(
        ["| suite | wanted | measured | |", "|---|---|---|---|"] + [r.line for r in rows]
    )


def ranked(suite: str, runs: list[Run], quantity: str, what: str, within: int = 1) -> Promise:
    found = place(runs, quantity)
    wanted = "first" if within == 1 else f"among the first {within}"
    return Promise(suite, f"{wanted} by mean rank of {what}", str(found), found.number <= within)


def promise_needle(runs: list[Run]) -> list[Promise]:
    ours = of(runs, DEFAULT)
    stuck = sum(bool(run.stuck) for run in ours)
    total = float(np.mean([run.cumulative for run in ours]))
    rows = [
        Promise(
            "needle", "at most 1 of 42 stuck", f"{stuck} of {len(ours)}", stuck <= STUCK * len(ours)
        )
    ]
    if of(runs, BEFORE):
        before = float(np.mean([run.cumulative for run in of(runs, BEFORE)]))
        rows.append(
            Promise(
                "needle",
                f"mean cumulative regret at most {OF_BEFORE} of that before 0024",
                f"{total:.1f} against {before:.1f}, × {total / before:.2f}",
                total <= OF_BEFORE * before,
            )
        )
    points = bought(runs)
    peers = {m: point for m, point in points.items() if not is_ours(m)}
    if not peers:
        return [
            *rows,
            Promise("needle", "no peer below our curve", "no peer ran on every one", None),
        ]
    free = {m: point for m, point in peers.items() if point[1] <= STUCK}
    if free:
        least = min(free, key=lambda m: free[m][0])
        shown = f"{total:.1f} against {free[least][0]:.1f} of {least}"
    else:
        least = min(peers, key=lambda m: peers[m][1])
        shown = (
            f"no peer is; least {least}, {peers[least][1]:.0%} stuck, {peers[least][0]:.1f} against"
            f" {total:.1f}"
        )
    rows.append(
        Promise(
            "needle",
            "mean cumulative regret not above that of any peer that is not stuck",
            shown,
            not free or total <= free[least][0],
        )
    )
    line = curve(points)
    below = [m for m, point in peers.items() if is_below(point, line)]
    said = "; ".join(f"{m} ({peers[m][0]:.1f}, {peers[m][1]:.0%})" for m in sorted(below))
    rows.append(
        Promise(
            "needle",
            "no peer lies below our curve over insurance (cumulative regret, stuck)",
            (f"below: {said}" if below else f"none of {len(peers)} does")
            + "; ours "
            + ", ".join(f"({x:.1f}, {y:.0%})" for x, y in line),
            not below if len(line) > 1 else None,
        )
    )
    return rows


def promise_ranks(suite: str, runs: list[Run]) -> list[Promise]:
    rows = [
        ranked(suite, runs, "simple", "simple regret"),
        ranked(suite, runs, "cumulative", "cumulative regret", within=3),
    ]
    if of(runs, UNINSURED):
        found = place(runs, "cumulative", UNINSURED)
        what = "with insurance 0 first by mean rank of cumulative regret"
        rows.append(Promise(suite, what, str(found), found.number == 1))
    return rows


def promise_tables(runs: list[Run]) -> list[Promise]:
    wasted = [run.wasted for run in of(runs, DEFAULT)]
    above = sum(share > WASTED for share in wasted)
    return [
        *(ranked("tables", runs, q, f"regret {ADVERB[q]}") for q in ("best", "final")),
        Promise(
            "tables",
            "in no run more than 10 % of the decisions on designs measured three times already"
            " while more than two noise-sd are left",
            f"in {above} of {len(wasted)} runs; {max(wasted):.0%} at most",
            above == 0,
        ),
    ]


def promise_mixed(runs: list[Run]) -> list[Promise]:
    ours = of(runs, DEFAULT)
    rows = [ranked("mixed", runs, q, f"regret {ADVERB[q]}") for q in ("best", "final")]
    for quantity in ("best", "final"):
        off = sum(getattr(run, quantity) > OFF for run in ours)
        rows.append(
            Promise(
                "mixed",
                "off by more than a tenth of the range in at most 1 of 100 runs,"
                f" {ADVERB[quantity]}",
                f"{off} of {len(ours)}; {_others_off(runs, quantity)}",
                off <= OFF_SHARE * len(ours),
            )
        )
    return rows


def _others_off(runs: list[Run], quantity: str) -> str:
    """The best peer by that count, of those with at least as many problems."""
    every = len({run.problem for run in runs})
    shares = {
        m: float(np.mean([getattr(run, quantity) > OFF for run in of(runs, m)]))
        for m in sorted({run.method for run in runs if not is_ours(run.method)})
        if len({run.problem for run in of(runs, m)}) == every
    }
    if not shares:
        return "no peer ran on every problem"
    least = min(shares, key=shares.__getitem__)
    return f"best peer {least}, {shares[least]:.0%} of its runs"


def promise_faults(runs: list[Run], without: dict[str, list[Run]]) -> list[Promise]:
    """The ratio to the same problem without faults, where that was run."""
    rows = [ranked("faults", runs, q, f"regret {ADVERB[q]}") for q in ("best", "final")]
    ratios = []
    for problem, row in medians(of(runs, DEFAULT), "final").items():
        clean = base(int(problem.removeprefix("faults-")))
        name = re.sub(r"^(rkhs-\d+)-d\d$", r"\1", clean.name)
        found = [
            run.final for run in of(without.get(clean.suite, []), DEFAULT) if run.problem == name
        ]
        if found:
            ratios.append((row[DEFAULT] + ADDED) / (float(np.median(found)) + ADDED))
    wanted = f"at most {FAULTS} times the regret without faults {ADVERB['final']} (median)"
    if not ratios:
        return [*rows, Promise("faults", wanted, "the problems without faults were not run", None)]
    middle = float(np.median(ratios))
    shown = f"× {middle:.2f} over {len(ratios)} problems, {ADDED} added to both"
    return [*rows, Promise("faults", wanted, shown, middle <= FAULTS)]


def promise_patrols(suite: str, runs: list[Run]) -> list[Promise]:
    """Cumulative regret with patrols over that without, on the runs that both have."""
    without = {(run.problem, run.seed): run for run in of(runs, UNPATROLLED)}
    pairs = [
        (run, without[run.problem, run.seed])
        for run in of(runs, DEFAULT)
        if (run.problem, run.seed) in without
    ]
    if not pairs:
        return []
    logs = np.array([np.log((a.cumulative + ADDED) / (b.cumulative + ADDED)) for a, b in pairs])
    ratio = float(np.exp(logs.mean()))
    error = float(np.exp(logs.std(ddof=1) / np.sqrt(len(logs)))) if len(logs) > 1 else np.inf
    simple = sum(a.simple <= b.simple for a, b in pairs)
    return [
        Promise(
            suite,
            "cumulative regret with patrols within 3 % of that without",
            f"× {ratio:.3f}, standard error a factor {error:.3f} ({len(pairs)} runs, geometric"
            f" mean); simple regret not above in {simple}",
            ratio <= 1 + PATROLS,
        )
    ]


def promises(every: dict[str, list[Run]]) -> list[Promise]:
    rows: list[Promise] = []
    of_suite: dict[str, Callable[[list[Run]], list[Promise]]] = {
        "needle": promise_needle,
        "tables": promise_tables,
        "mixed": promise_mixed,
        "faults": lambda runs: promise_faults(runs, every),
    }
    for suite, runs in every.items():
        if of(runs, DEFAULT):
            made = of_suite.get(suite)
            rows += promise_ranks(suite, runs) if made is None else made(runs)
            rows += promise_patrols(suite, runs)
    return rows


# -- losses --


def losses(suite: str, runs: list[Run]) -> list[str]:
    behind = []
    each = medians(runs, "simple")
    for problem, row in each.items():
        others = {m: v for m, v in row.items() if not is_ours(m)}
        if DEFAULT in row and others and row[DEFAULT] > 2 * min(others.values()) + 1e-12:
            peer = min(others, key=others.__getitem__)
            behind.append(f"{problem} ({row[DEFAULT]:.2g} against {others[peer]:.2g} of {peer})")
    wanted = f"{suite}: more than twice the best peer's median simple regret on"
    if not behind:
        return [f"{wanted} no problem."]
    return [f"{wanted} {len(behind)} of {len(each)} problems: {'; '.join(behind)}."]


def beside_botorch(runs: list[Run]) -> list[str]:
    rows = {
        p: row
        for p, row in medians(runs, "simple").items()
        if {"botorch_logei", DEFAULT} <= row.keys()
    }
    if not rows:
        return ["high: BoTorch did not run."]
    pairs = "; ".join(
        f"{p}: {row[DEFAULT]:.3g} against {row['botorch_logei']:.3g}" for p, row in rows.items()
    )
    ahead = sum(row[DEFAULT] <= row["botorch_logei"] for row in rows.values())
    left = {
        m: {
            (r.problem, r.seed): r.simple / float(r.regret[: max(r.initial, 1)].min())
            for r in of(runs, m)
        }
        for m in (DEFAULT, "botorch_logei")
    }
    common = (
        left[DEFAULT].keys() & left["botorch_logei"].keys()
    )  # the same problem, initial points and noise
    ours, theirs = (
        float(np.median([left[m][key] for key in common])) for m in (DEFAULT, "botorch_logei")
    )
    return [
        (
            f"high: not behind BoTorch's LogEI on {ahead} of {len(rows)} problems (median simple"
            f" regret; {pairs})."
        ),
        (
            f"high: over the {len(common)} runs that both have, the median of the simple regret"
            f" relative to that of the initial points is {ours:.2g} against {theirs:.2g}."
        ),
    ]


def verdicts(every: dict[str, list[Run]]) -> str:
    """What was wanted and is measured, then the losses one by one."""
    lines: list[str] = []
    for suite, runs in every.items():
        if of(runs, DEFAULT):
            lines += losses(suite, runs) + (beside_botorch(runs) if suite == "high" else [])
    return table(promises(every)) + "\n\nLosses:\n\n" + "\n".join(f"- {line}" for line in lines)
