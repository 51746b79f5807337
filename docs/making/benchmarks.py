"""docs/benchmarks.md from the results on disk: tables in which losses are as visible as wins, and
regret plots.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from noregret import __version__
from noregret.space import Array
from research.benchmarks.faults import base
from research.benchmarks.mixed import OFF
from research.benchmarks.regret import OURS, ROOT, SUITES, read
from research.benchmarks.speed import section as speed_section

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DEFAULT = "noregret"
TITLES = {
    "needle": (
        "Needle: smooth nearly everywhere, one narrow bump holds the maximum (d = 1, 2, 3; 50·d"
        " trials)"
    ),
    "rkhs": "RKHS: random functions of norm 4 with lengthscales from 0.05 to 0.5",
    "standard": "Standard test functions, noise-free and noisy",
    "high": "High: few active inputs among 20 and 50",
    "materials": "Materials: measured designs with repeats",
    "tuning": "Tuning: scikit-learn models on its bundled data, mixed inputs",
    "tables": "Tables: measured hyperparameter tables with repeats (100 trials)",
    "mixed": (
        "Mixed: numbers, ordered and unordered choices; in every third the best choice looks bad"
    ),
    "faults": (
        "Faults: a tenth of the space fails, 5 % crash anywhere, 2 % of the values are disastrous"
    ),
}


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

    @property
    def simple(self) -> float:
        return float(self.regret.min())

    @property
    def final(self) -> float:
        """At the recommended point where it was recorded."""
        return self.final_regret if np.isfinite(self.final_regret) else self.simple

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
        final, asks = row.get("final"), max(len(row["values"]) - row["initial"], 1)
        stuck = None if row["stuck_above"] is None else bool(regret.min() > row["stuck_above"])
        seconds = float(np.median(row["seconds"])) if row["seconds"] else 0.0
        ended = float("nan") if final is None else max(maximum - final, 0.0)
        wasted = row.get("wasted", 0) / asks
        runs.append(
            Run(
                row["problem"],
                row["method"],
                row["seed"],
                regret,
                row["initial"],
                stuck,
                seconds,
                ended,
                wasted,
            )
        )
    return runs


def ranks(runs: list[Run], quantity: str) -> dict[str, float]:
    """Mean rank over problems, by the median over a method's seeds; methods are ranked where they
    ran.
    """
    medians: dict[str, dict[str, float]] = defaultdict(dict)
    for problem in {run.problem for run in runs}:
        for method in {run.method for run in runs}:
            values = [
                getattr(run, quantity)
                for run in runs
                if run.problem == problem and run.method == method
            ]
            if values:
                medians[problem][method] = float(np.median(values))
    collected: dict[str, list[float]] = defaultdict(list)
    for row in medians.values():
        for method, value in row.items():
            better = sum(other < value * (1 - 1e-9) - 1e-12 for other in row.values())
            equal = sum(abs(other - value) <= 1e-9 * abs(value) + 1e-12 for other in row.values())
            collected[method].append(better + (equal + 1) / 2)
    return {method: float(np.mean(values)) for method, values in collected.items()}


def suite_table(runs: list[Run]) -> str:
    by_simple, by_cumulative = ranks(runs, "simple"), ranks(runs, "cumulative")
    stuck_known = any(run.stuck is not None for run in runs)
    head = [
        "method",
        "runs",
        "problems",
        "mean rank, simple",
        "mean rank, cumulative",
        *(["stuck"] if stuck_known else []),
        "median s per ask",
    ]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for method in sorted(by_simple, key=by_simple.__getitem__):
        mine = [run for run in runs if run.method == method]
        stuck = [f"{sum(bool(run.stuck) for run in mine)} of {len(mine)}"] if stuck_known else []
        name = f"**{method}**" if method == DEFAULT else method
        cells = [
            name,
            str(len(mine)),
            str(len({run.problem for run in mine})),
            f"{by_simple[method]:.2f}",
            f"{by_cumulative[method]:.2f}",
            *stuck,
            f"{np.median([run.seconds for run in mine]):.3g}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def problem_table(runs: list[Run], quantity: str) -> str:
    """Median [quartiles] per problem and method; the best in bold, and our ratio to the
    best other.
    """
    methods = sorted({run.method for run in runs}, key=lambda m: (m not in OURS, m))
    lines = [
        "| problem | " + " | ".join(methods) + " | ours / best other |",
        "|" + "---|" * (len(methods) + 2),
    ]
    for problem in sorted({run.problem for run in runs}):
        values = {
            m: np.array(
                [getattr(r, quantity) for r in runs if r.problem == problem and r.method == m]
            )
            for m in methods
        }
        medians = {m: float(np.median(v)) for m, v in values.items() if len(v)}
        best = min(medians.values())
        cells = []
        for m in methods:
            if m not in medians:
                cells.append("–")
                continue
            spread = (
                ""
                if len(values[m]) < 3
                else " [{:.2g}, {:.2g}]".format(*np.quantile(values[m], [0.25, 0.75]))
            )
            text = f"{medians[m]:.3g}{spread}"
            cells.append(f"**{text}**" if medians[m] <= best * (1 + 1e-9) else text)
        others = [v for m, v in medians.items() if m not in OURS]
        ratio = (
            "–" if not others or DEFAULT not in medians else _ratio(medians[DEFAULT], min(others))
        )
        lines.append(f"| {problem} | " + " | ".join(cells) + f" | {ratio} |")
    return "\n".join(lines)


def _ratio(ours: float, best: float) -> str:
    if best <= 1e-12:
        return "1" if ours <= 1e-12 else "∞"
    return f"{ours / best:.2g}"


def plot(suite: str, runs: list[Run], path: Path) -> None:
    """Median over problems of the simple regret relative to that after the initial points, against
    the share of trials.
    """
    grid = np.linspace(0, 1, 60)
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    every = len({run.problem for run in runs})
    ran = {
        m: len({run.problem for run in runs if run.method == m})
        for m in {run.method for run in runs}
    }
    methods = sorted(
        (m for m in ran if 2 * ran[m] >= every), key=lambda m: (m not in OURS, m)
    )  # few problems would not be comparable
    lines = ["-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (5, 2, 1, 2))]
    colors = plt.get_cmap("tab20")(np.linspace(0, 1, max(len(methods), 2)))
    for index, method in enumerate(methods):
        curves: list[Array] = []
        totals: list[Array] = []
        for run in (r for r in runs if r.method == method):
            best = np.minimum.accumulate(run.regret)[run.initial - 1 :]
            share = np.linspace(0, 1, len(best))
            start = max(best[0], 1e-12)
            curves.append(np.interp(grid, share, best / start))
            paid = np.concatenate([[0.0], np.cumsum(run.regret[run.initial :])]) / (
                start * len(best)
            )
            totals.append(np.interp(grid, share, paid))
        style: dict[str, Any] = {
            "color": "black" if method == DEFAULT else colors[index],
            "ls": "-" if method == DEFAULT else lines[1:][index % (len(lines) - 1)],
            "label": method,
        }
        style["lw"] = 2.6 if method == DEFAULT else 1.3
        axes[0].plot(grid, np.maximum(np.median(curves, axis=0), 1e-6), **style)
        axes[1].plot(grid, np.median(totals, axis=0), **style)
    axes[0].set(
        yscale="log",
        xlabel="share of the trials after the initial points",
        ylabel="simple regret / initial",
        title=f"{suite}: simple regret (median)",
    )
    axes[1].set(
        xlabel="share of the trials after the initial points",
        ylabel="cumulative regret / (initial · trials)",
        title=f"{suite}: cumulative regret (median)",
    )
    for axis in axes:
        axis.grid(alpha=0.25)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def medians(runs: list[Run], quantity: str) -> dict[str, dict[str, float]]:
    """problem → method → median over the method's seeds."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for problem, method in sorted({(run.problem, run.method) for run in runs}):
        found[problem][method] = float(
            np.median(
                [getattr(r, quantity) for r in runs if (r.problem, r.method) == (problem, method)]
            )
        )
    return found


def place(values: dict[str, float]) -> str:
    """The default's place among all methods, and by how much it misses the first."""
    order = sorted(values, key=values.__getitem__)
    mine = 1 + sum(v < values[DEFAULT] - 1e-9 for v in values.values())
    return (
        "first"
        if mine == 1
        else (
            f"{mine}. of {len(order)} ({values[DEFAULT]:.2f}; first is {order[0]} with"
            f" {values[order[0]]:.2f})"
        )
    )


def verdict_needle(runs: list[Run]) -> list[str]:
    by_method = {m: [r for r in runs if r.method == m] for m in {r.method for r in runs}}
    stuck = {m: sum(bool(r.stuck) for r in rows) for m, rows in by_method.items()}
    ours = by_method[DEFAULT]
    lines = [
        f"needle: the default is stuck in {stuck[DEFAULT]} of {len(ours)} (wanted: at most 1 of"
        " 40)."
    ]
    free = {
        m
        for m in by_method
        if m not in OURS and len(by_method[m]) == len(ours) and stuck[m] <= len(ours) / 40
    }
    if free:
        totals = {m: float(np.mean([r.cumulative for r in by_method[m]])) for m in (*free, DEFAULT)}
        best = min(free, key=totals.__getitem__)
        word = "not higher than" if totals[DEFAULT] <= totals[best] else "HIGHER than"
        lines.append(
            f"needle: mean cumulative regret {totals[DEFAULT]:.1f}, {word} that of the best peer"
            f" that is not stuck, {best}, with {totals[best]:.1f}."
        )
    else:
        full = [m for m in by_method if m not in OURS and len(by_method[m]) == len(ours)]
        if not full:
            return [*lines, "needle: no peer ran on every function."]
        least = min(full, key=lambda m: stuck[m])
        lines.append(
            "needle: no peer that ran on every function is free of stuck runs (at most 1 of 40);"
            f" the least stuck is {least}, {stuck[least]} of {len(by_method[least])}, with a mean"
            f" cumulative regret of {np.mean([r.cumulative for r in by_method[least]]):.1f} against"
            f" {np.mean([r.cumulative for r in ours]):.1f}."
        )
    return lines


def verdict_ranks(suite: str, runs: list[Run]) -> list[str]:
    lines = [
        f"{suite}: by mean rank of final simple regret {place(ranks(runs, 'simple'))}, of"
        f" cumulative regret {place(ranks(runs, 'cumulative'))}."
    ]
    behind = []
    for problem, row in medians(runs, "simple").items():
        others = {m: v for m, v in row.items() if m not in OURS}
        if DEFAULT in row and others and row[DEFAULT] > 2 * min(others.values()) + 1e-12:
            peer = min(others, key=others.__getitem__)
            behind.append(f"{problem} ({row[DEFAULT]:.2g} against {others[peer]:.2g} of {peer})")
    wanted = "more than twice the best peer's median simple regret"
    lines.append(
        f"{suite}: {wanted} on "
        + (f"{len(behind)} problems: {'; '.join(behind)}." if behind else "no problem.")
    )
    return lines


def verdict_high(runs: list[Run]) -> list[str]:
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
            for r in runs
            if r.method == m
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


def verdict_tables(runs: list[Run]) -> list[str]:
    wasted = [run.wasted for run in runs if run.method == DEFAULT]
    above = sum(share > 0.1 for share in wasted)
    return [
        *verdict_ranks("tables", runs),
        (
            "tables: by mean rank of the regret at the recommended design"
            f" {place(ranks(runs, 'final'))}."
        ),
        (
            "tables: more than 10 % of the decisions on designs measured three times already while "
            f"more than two noise-sd were left in {above} of "
            f"{len(wasted)} runs, {max(wasted):.0%} at most (wanted: none)."
        ),
    ]


def verdict_mixed(runs: list[Run]) -> list[str]:
    ours = [run for run in runs if run.method == DEFAULT]
    off, off_recommended = (
        sum(getattr(run, name) > OFF for run in ours) for name in ("simple", "final")
    )
    return [
        *verdict_ranks("mixed", runs),
        (
            f"mixed: off by more than a tenth of the range in {off} of {len(ours)} runs at the"
            f" best, in {off_recommended} at the recommended point (wanted: at most 1 of 100)."
        ),
    ]


def verdict_faults(runs: list[Run], without: dict[str, list[Run]]) -> list[str]:
    """The ratio to the same problem without faults, where that was run."""
    ratios = []
    for problem, row in medians([run for run in runs if run.method == DEFAULT], "final").items():
        clean = base(int(problem.removeprefix("faults-")))
        name = re.sub(r"^(rkhs-\d+)-d\d$", r"\1", clean.name)
        found = [
            run.final
            for run in without.get(clean.suite, [])
            if (run.problem, run.method) == (name, DEFAULT)
        ]
        if found:
            ratios.append((row[DEFAULT] + 1e-3) / (float(np.median(found)) + 1e-3))
    if not ratios:
        return [*verdict_ranks("faults", runs), "faults: the problems without faults were not run."]
    return [
        *verdict_ranks("faults", runs),
        (
            f"faults: {float(np.median(ratios)):.2g} times the final regret without faults (median "
            f"over {len(ratios)} problems, 0.001 added to both; wanted: at most 1.3)."
        ),
    ]


def verdicts(every: dict[str, list[Run]]) -> str:
    """What users ask, answered from the results: also where it is missed."""
    lines: list[str] = []
    for suite, runs in every.items():
        if not any(run.method == DEFAULT for run in runs):
            continue
        if suite == "needle":
            lines += verdict_needle(runs)
        elif suite == "high":
            lines += verdict_high(runs)
        elif suite == "tables":
            lines += verdict_tables(runs)
        elif suite == "mixed":
            lines += verdict_mixed(runs)
        elif suite == "faults":
            lines += verdict_faults(runs, every)
        else:
            lines += verdict_ranks(suite, runs)
    return "\n".join(f"- {line}" for line in lines)


# to be deleted with the first full run of today's default
EARLIER = """**Of an earlier default.** The results of `noregret` below, and its seconds, were
computed with the default before [decision 0024](decisions/0024-insured-default.md). Today's has
been run on the tuning side only (its figures are in that decision); the suites tables, mixed and
faults, and the report side of all others, are still to be run with it."""

SETTINGS = """How the peers were set, where their defaults leave a choice: told initial points count
as their own start, so Optuna's GPSampler has `n_startup_trials=1` and scikit-optimize
`n_initial_points=1`; TPE, Ax and HEBO keep their defaults; SMAC's own design is emptied. BoTorch's
UCB has the β = 0.2 of its docstring's example. bayesian-optimization's `alpha` is the noise
variance over that of the values. CMA-ES in one dimension gets a second one that does nothing.
GPSampler's `deterministic_objective` is set without noise. Peers without finite candidate lists
propose in the box, and the nearest design not measured yet is taken. HEBO's pymoo runs uncompiled
here, which makes it slower and nothing else. Seconds per ask were taken at different times on a
machine with other work on it: the comparison in seconds is the section on speed. Peers that take
long ran on fewer seeds or functions: the tables say on how many, and ranks compare a method with
those that ran on the same problem. LB-GP-UCB and "LogEI (no widening)" are strategies of this
library, beside the default."""


def versions() -> str:
    status = ROOT / ".peers" / "status.json"
    found: dict[str, str] = {"noregret": __version__, "numpy": np.__version__}
    missing = []
    if status.exists():
        for name, entry in json.loads(status.read_text(encoding="utf-8")).items():
            found |= entry.get("versions", {})
            if not entry.get("ok"):
                missing.append(
                    f"environment {name} could not be installed:"
                    f" {str(entry.get('error', '')).strip().splitlines()[-1:]}"
                )
    text = ", ".join(f"{name} {version}" for name, version in sorted(found.items()))
    return text + ("\n\n" + "\n".join(f"- {line}" for line in missing) if missing else "")


def write(docs: Path) -> None:
    (docs / "figures").mkdir(parents=True, exist_ok=True)
    parts = [
        "# Benchmarks\n\n## Regret\n\nWritten by `make bench-regret` from the raw results in"
        " research/benchmarks/results (rebuild without rerunning: `make bench-report`). Every"
        " method gets the same initial points, noise draws and budget; peers run with their own"
        " documented defaults (see each adapter in research/benchmarks/peers) in their own"
        " environments, one thread each. Regret is noise-free. The split between tuning and report"
        f" is in decisions/0010.\n\nVersions: {versions()}. Machine: {os.cpu_count()} cores,"
        f" {platform.machine()}, Python {platform.python_version()}.\n"
    ]
    every = {suite: load(suite) for suite in SUITES}
    parts.append(f"{EARLIER}\n\n{SETTINGS}\n\n### In short\n\n{verdicts(every)}\n")
    for suite, runs in every.items():
        if not runs:
            parts.append(f"### {TITLES[suite]}\n\nNot run.\n")
            continue
        plot(suite, runs, docs / "figures" / f"bench-{suite}.png")
        parts.append(
            f"### {TITLES[suite]}\n\n![{suite}](figures/bench-{suite}.png)\n\n"
            "The plot shows methods that ran on at least half of the problems.\n\n"
            f"{suite_table(runs)}\n\n"
            "<details><summary>Final simple regret per problem: median [quartiles]</summary>\n\n"
            f"{problem_table(runs, 'simple')}\n\n</details>\n\n"
            "<details><summary>Cumulative regret per problem</summary>\n\n"
            f"{problem_table(runs, 'cumulative')}\n\n</details>\n"
        )
    parts.append(speed_section(docs))
    (docs / "benchmarks.md").write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {docs / 'benchmarks.md'}")
