"""docs/benchmarks.md from the results on disk: tables in which losses are as visible as wins, and
regret plots.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path

import numpy as np

from docs.making.calibration_section import section as calibration_section
from docs.making.regret_pictures import bought, curve, plot, plot_insurance
from docs.making.regret_runs import Run, load, of, ranks
from docs.making.regret_verdicts import WASTED, verdicts
from noregret import __version__
from research.benchmarks.methods import DEFAULT, is_ours
from research.benchmarks.mixed import OFF
from research.benchmarks.regret import ROOT, SUITES
from research.benchmarks.speed import section as speed_section

ENDED = ("tables", "mixed", "faults")  # suites whose runs record what they end with
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
    "constrained": "Constrained: shares that sum to one, and sums with limits, known beforehand",
}

WITHDRAWN = (
    "**Withdrawn.** The ranks below are of the default before [decision "
    "0032](decisions/0032-the-default-in-one-file.md). They rank medians of five of our seeds "
    'beside fewer runs of some peers, and all methods had the same initial points. No "first" '
    "below is a claim any more. The paired benchmark that takes their place (equal seeds, own "
    "and common starts, COCO, what strangers try first: `python -m "
    "research.benchmarks.sweep`) has begun; what it shows is in decision 0032."
)


def suite_table(suite: str, runs: list[Run]) -> str:
    """Mean ranks and what else is asked of a suite, method by method."""
    quantities = {"simple": "mean rank, simple"}
    if suite in ENDED:
        quantities |= {"best": "at the best told", "final": "at the recommended"}
    quantities |= {"cumulative": "mean rank, cumulative"}
    by = {quantity: ranks(runs, quantity) for quantity in quantities}
    counts: dict[str, Callable[[Run], bool]] = {}
    if suite == "needle":
        counts["stuck"] = lambda run: bool(run.stuck)
    if suite == "mixed":
        counts["off, best told"] = lambda run: run.best > OFF
        counts["off, recommended"] = lambda run: run.final > OFF
    if suite == "tables":
        counts["more than 10 % wasted"] = lambda run: run.wasted > WASTED
    head = ["method", "runs", "problems", *quantities.values(), *counts, "median s per ask"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for method in sorted(by["simple"], key=by["simple"].__getitem__):
        mine = of(runs, method)
        cells = [
            f"**{method}**" if method == DEFAULT else method,
            str(len(mine)),
            str(len({run.problem for run in mine})),
            *(f"{by[quantity][method]:.2f}" for quantity in quantities),
            *(f"{sum(map(counted, mine))} of {len(mine)}" for counted in counts.values()),
            f"{np.median([run.seconds for run in mine]):.3g}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def problem_table(runs: list[Run], quantity: str) -> str:
    """Median [quartiles] per problem and method; the best in bold, and our ratio to the
    best other.
    """
    methods = sorted({run.method for run in runs}, key=lambda m: (not is_ours(m), m))
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
        others = [v for m, v in medians.items() if not is_ours(m)]
        ratio = (
            "–" if not others or DEFAULT not in medians else _ratio(medians[DEFAULT], min(others))
        )
        lines.append(f"| {problem} | " + " | ".join(cells) + f" | {ratio} |")
    return "\n".join(lines)


def _ratio(ours: float, best: float) -> str:
    if best <= 1e-12:
        return "1" if ours <= 1e-12 else "∞"
    return f"{ours / best:.2g}"


SETTINGS = """How the peers were set, where their defaults leave a choice: told initial points count
as their own start, so Optuna's GPSampler has `n_startup_trials=1` and scikit-optimize
`n_initial_points=1`; TPE, Ax and HEBO keep their defaults; SMAC's own design is emptied. BoTorch's
UCB has the β = 0.2 of its docstring's example. bayesian-optimization's `alpha` is the noise
variance over that of the values. CMA-ES in one dimension gets a second one that does nothing.
GPSampler's `deterministic_objective` is set without noise. Peers without finite candidate lists
propose in the box, and the nearest design not measured yet is taken. HEBO's pymoo runs uncompiled
here, which makes it slower and nothing else; on `tables` it ran compiled, and its search for equal
designs looked them up instead of comparing all pairs: its proposals were the same in a trial of
twelve asks, its seconds are fewer. Seconds per ask were taken at different times on a
machine with other work on it: the comparison in seconds is the section on speed. Peers that take
long ran on fewer seeds or functions: the tables say on how many, and ranks compare a method with
those that ran on the same problem. Each of our own methods is ranked among the peers without our
others; the peers are ranked among themselves and the default. "noregret before 0024" is the default
before 16 November 2026, its runs kept. LB-GP-UCB and "LogEI (no
widening)" are strategies of this library, beside the default. "first" below means that no peer has
a lower mean rank on the problems on which it ran."""


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


def insurance_section(docs: Path, runs: list[Run]) -> str:
    points = bought(runs)
    if len(curve(points)) < 2:
        return ""
    plot_insurance(points, docs / "figures" / "bench-insurance.png")
    return (
        "![What insurance buys](figures/bench-insurance.png)\n\nThe share of stuck runs against"
        " the mean cumulative regret, ours over insurance 0, 0.25, 0.5, 1 (the default) and 2,"
        " every peer that ran on all needles a point.\n\n"
    )


def suite_section(suite: str, runs: list[Run], docs: Path) -> str:
    if not runs:
        return f"### {TITLES[suite]}\n\nNot run.\n"
    plot(suite, runs, docs / "figures" / f"bench-{suite}.png")
    details = {
        "simple": "Final simple regret per problem: median [quartiles]",
        **({"final": "Final regret at the recommended point"} if suite in ENDED else {}),
        "cumulative": "Cumulative regret per problem",
    }
    return (
        f"### {TITLES[suite]}\n\n![{suite}](figures/bench-{suite}.png)\n\n"
        "The plot shows methods that ran on at least half of the problems.\n\n"
        + (insurance_section(docs, runs) if suite == "needle" else "")
        + f"{suite_table(suite, runs)}\n\n"
        + "\n".join(
            f"<details><summary>{title}</summary>\n\n{problem_table(runs, quantity)}\n\n"
            "</details>\n"
            for quantity, title in details.items()
        )
    )


def write(docs: Path) -> None:
    (docs / "figures").mkdir(parents=True, exist_ok=True)
    parts = [
        f"# Benchmarks\n\n## Regret\n\n{WITHDRAWN}\n\n"
        "Written by `make bench-regret` from the raw results in"
        " research/benchmarks/results (rebuild without rerunning: `make bench-report`). Every"
        " method gets the same initial points, noise draws and budget; peers run with their own"
        " documented defaults (see each adapter in research/benchmarks/peers) in their own"
        " environments, one thread each. Regret is noise-free. The split between tuning and report"
        f" is in decisions/0010.\n\nVersions: {versions()}. Machine: {os.cpu_count()} cores,"
        f" {platform.machine()}, Python {platform.python_version()}.\n"
    ]
    every = {suite: load(suite) for suite in SUITES}
    parts.append(f"{SETTINGS}\n\n### In short\n\n{verdicts(every)}\n")
    parts += [suite_section(suite, runs, docs) for suite, runs in every.items()]
    parts.append(calibration_section())
    parts.append(speed_section(docs))
    (docs / "benchmarks.md").write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {docs / 'benchmarks.md'}")
