"""docs/benchmarks.md from the results on disk: tables in which losses are as visible as wins, and regret plots."""

from __future__ import annotations

import json
import os
import platform
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from benchmarks.regret import OURS, ROOT, SUITES, read
from noregret import __version__
from noregret.array import Array

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DEFAULT = "noregret"
TITLES = {
    "needle": "Needle: smooth nearly everywhere, one narrow bump holds the maximum (d = 1, 2, 3; 50·d trials)",
    "rkhs": "RKHS: random functions of norm 4 with lengthscales from 0.05 to 0.5",
    "standard": "Standard test functions, noise-free and noisy",
    "high": "High: few active inputs among 20 and 50",
    "materials": "Materials: measured designs with repeats",
    "tuning": "Tuning: scikit-learn models on its bundled data, mixed inputs",
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

    @property
    def simple(self) -> float:
        return float(self.regret.min())

    @property
    def cumulative(self) -> float:
        return float(self.regret[self.initial :].sum())


def load(suite: str) -> list[Run]:
    rows = read(suite)
    best: dict[str, float] = defaultdict(lambda: -np.inf)
    for row in rows:  # where the maximum is not known: the best any run found
        best[row["problem"]] = max(best[row["problem"]], max(row["values"]))
    runs = []
    for row in rows:
        maximum = row["maximum"] if np.isfinite(row["maximum"]) else best[row["problem"]]
        regret = np.maximum(maximum - np.array(row["values"]), 0.0)
        stuck = None if row["stuck_above"] is None else bool(regret.min() > row["stuck_above"])
        seconds = float(np.median(row["seconds"])) if row["seconds"] else 0.0
        runs.append(Run(row["problem"], row["method"], row["seed"], regret, row["initial"], stuck, seconds))
    return runs


def ranks(runs: list[Run], quantity: str) -> dict[str, float]:
    """Mean rank over problems, by the median over a method's seeds; methods are ranked where they ran."""
    medians: dict[str, dict[str, float]] = defaultdict(dict)
    for problem in {run.problem for run in runs}:
        for method in {run.method for run in runs}:
            values = [getattr(run, quantity) for run in runs if run.problem == problem and run.method == method]
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
        cells = [name, str(len(mine)), str(len({run.problem for run in mine})), f"{by_simple[method]:.2f}", f"{by_cumulative[method]:.2f}", *stuck,
                 f"{np.median([run.seconds for run in mine]):.3g}"]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def problem_table(runs: list[Run], quantity: str) -> str:
    """Median [quartiles] per problem and method; the best in bold, and our ratio to the best other."""
    methods = sorted({run.method for run in runs}, key=lambda m: (m not in OURS, m))
    lines = ["| problem | " + " | ".join(methods) + " | ours / best other |", "|" + "---|" * (len(methods) + 2)]
    for problem in sorted({run.problem for run in runs}):
        values = {m: np.array([getattr(r, quantity) for r in runs if r.problem == problem and r.method == m]) for m in methods}
        medians = {m: float(np.median(v)) for m, v in values.items() if len(v)}
        best = min(medians.values())
        cells = []
        for m in methods:
            if m not in medians:
                cells.append("–")
                continue
            spread = "" if len(values[m]) < 3 else " [{:.2g}, {:.2g}]".format(*np.quantile(values[m], [0.25, 0.75]))
            text = f"{medians[m]:.3g}{spread}"
            cells.append(f"**{text}**" if medians[m] <= best * (1 + 1e-9) else text)
        others = [v for m, v in medians.items() if m not in OURS]
        ratio = "–" if not others or DEFAULT not in medians else _ratio(medians[DEFAULT], min(others))
        lines.append(f"| {problem} | " + " | ".join(cells) + f" | {ratio} |")
    return "\n".join(lines)


def _ratio(ours: float, best: float) -> str:
    if best <= 1e-12:
        return "1" if ours <= 1e-12 else "∞"
    return f"{ours / best:.2g}"


def plot(suite: str, runs: list[Run], path: Path) -> None:
    """Median over problems of the simple regret relative to that after the initial points, against the share of trials."""
    grid = np.linspace(0, 1, 60)
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    methods = sorted({run.method for run in runs}, key=lambda m: (m not in OURS, m))
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
            paid = np.concatenate([[0.0], np.cumsum(run.regret[run.initial :])]) / (start * len(best))
            totals.append(np.interp(grid, share, paid))
        style: dict[str, Any] = {"color": "black" if method == DEFAULT else colors[index], "ls": lines[index % len(lines)], "label": method}
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


def versions() -> str:
    status = ROOT / ".peers" / "status.json"
    found: dict[str, str] = {"noregret": __version__, "numpy": np.__version__}
    missing = []
    if status.exists():
        for name, entry in json.loads(status.read_text(encoding="utf-8")).items():
            found |= entry.get("versions", {})
            if not entry.get("ok"):
                missing.append(f"environment {name} could not be installed: {str(entry.get('error', '')).strip().splitlines()[-1:]}")
    text = ", ".join(f"{name} {version}" for name, version in sorted(found.items()))
    return text + ("\n\n" + "\n".join(f"- {line}" for line in missing) if missing else "")


def write(docs: Path) -> None:
    (docs / "figures").mkdir(parents=True, exist_ok=True)
    parts = [
        "# Benchmarks\n\n## Regret\n\nWritten by `make bench-regret` from the raw results in benchmarks/results (rebuild without rerunning: `make bench-report`). Every method "
        "gets the same initial points, noise draws and budget; peers run with their own documented defaults (see each adapter in benchmarks/peers) in their own environments, one "
        f"thread each. Regret is noise-free. The split between tuning and report is in decisions/0010.\n\nVersions: {versions()}. Machine: {os.cpu_count()} cores, "
        f"{platform.machine()}, Python {platform.python_version()}.\n"
    ]
    for suite in SUITES:
        runs = load(suite)
        if not runs:
            parts.append(f"### {TITLES[suite]}\n\nNot run.\n")
            continue
        plot(suite, runs, docs / "figures" / f"bench-{suite}.png")
        parts.append(
            f"### {TITLES[suite]}\n\n![{suite}](figures/bench-{suite}.png)\n\n{suite_table(runs)}\n\n<details><summary>Final simple regret per problem: median [quartiles]"
            f"</summary>\n\n{problem_table(runs, 'simple')}\n\n</details>\n\n<details><summary>Cumulative regret per problem</summary>\n\n{problem_table(runs, 'cumulative')}\n\n</details>\n"
        )
    (docs / "benchmarks.md").write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {docs / 'benchmarks.md'}")
