"""docs/benchmarks.md and its pictures, all computed from the runs on disk.

``python -m research.benchmarks.sweep report`` writes them. A ratio is ours over a peer's, over the
(problem, seed) pairs that both have; its error bar is one standard error of the logarithm, by
bootstrap over problems.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noregret import __version__
from research.benchmarks import calibration, speed, sweep
from research.benchmarks.paired import (
    Comparison,
    Runs,
    Summary,
    compare,
    problem_of,
    runs_of,
    summary,
)
from research.benchmarks.peers import PEERS
from research.benchmarks.players import DEFAULT, ROOT

SEEDS = 5  # a peer with fewer seeds in common with ours decides nothing
FUNCTIONS = 20  # in a suite of one seed: as many functions do instead
FEW = 5  # trials per input of "few"
SHOWN = 12  # problems listed where we lose
NAMES = {
    "random": "random",
    "optuna_tpe": "TPE",
    "optuna_gp": "Optuna GP",
    "botorch_logei": "BoTorch LogEI",
    "skopt": "scikit-optimize",
}
ABOUT = {
    "strangers": "36 problems that newcomers try first, d = 1–20",
    "bbob-2": "COCO, 24 functions, d = 2",
    "bbob-3": "COCO, d = 3",
    "bbob-5": "COCO, d = 5",
    "bbob-10": "COCO, d = 10",
    "bbob-20": "COCO, d = 20",
    "mixint-5": "COCO, mixed integers, d = 5",
    "mixint-10": "COCO, mixed integers, d = 10",
    "noisy-5": "COCO, noisy, d = 5",
    "constrained-5": "COCO, 1 or 3 outcome constraints, d = 5",
    "needle": "smooth, and one narrow bump holds the maximum, d = 1–3",
    "tables": "measured hyperparameter tables",
    "mixed": "numbers and choices, 3–10 inputs",
    "laboratory": "a noisy reaction with solvents and catalysts",
    "faults": "a tenth of the space fails, crashes, outliers",
    "limits": "outcome constraints of the literature",
    "known": "mixtures and other known constraints",
    "high": "2–6 active inputs of 20–50",
    "materials": "measured designs",
    "many": "COCO, d = 5, 500 trials",
}


@dataclass(frozen=True, slots=True)
class Duel:
    """Our default and one peer on one suite; ``enough``: whether the runs can decide."""

    peer: str
    found: Comparison
    enough: bool

    @property
    def better(self) -> bool:
        """Whether the peer is better by the error bar."""
        return math.log(self.found.simple) > self.found.simple_error


@dataclass(frozen=True, slots=True)
class Board:
    """A suite with one kind of start: our runs, and our duels with every peer that ran."""

    suite: str
    trials: str
    runs: Mapping[str, Runs]

    @property
    def ours(self) -> Summary | None:
        mine = self.runs.get(DEFAULT)
        return summary(mine) if mine else None

    def duels(self) -> list[Duel]:
        mine = self.runs.get(DEFAULT, {})
        found = []
        for peer in sweep.PUBLISHED:
            theirs = self.runs.get(peer, {})
            keys = mine.keys() & theirs.keys()
            if keys:
                seeds = len({seed for _, seed in keys})
                functions = len({problem_of(name) for name, _ in keys})
                enough = seeds >= SEEDS or (one_seed(mine) and functions >= FUNCTIONS)
                found.append(Duel(peer, compare(theirs, mine), enough))
        return found

    @property
    def verdict(self) -> str:
        if self.ours is None:
            return "not run"
        duels = self.duels()
        decided = [duel for duel in duels if duel.enough]
        if not decided:
            return "not enough runs"
        ahead = [NAMES[duel.peer] for duel in decided if duel.better]
        return f"behind {', '.join(ahead)}" if ahead else f"**first** of {len(decided) + 1}"


def one_seed(runs: Runs) -> bool:
    return len({seed for _, seed in runs}) == 1


def board(
    suite: str, start: str, rows: Sequence[Mapping[str, Any]], first: int | None = None
) -> Board:
    """``first``: only so many trials of each run, from its beginning."""
    cut = [{**row, "regret": row["regret"][:first]} for row in rows]
    by = {method: runs_of(cut, method, start) for method in (DEFAULT, *sweep.PUBLISHED)}
    lengths = {len(row["regret"]) for row in cut if row["method"] in by}
    trials = f"{min(lengths)}–{max(lengths)}" if len(lengths) > 1 else str(*lengths)
    return Board(suite, trials, {method: runs for method, runs in by.items() if runs})


def boards(start: str) -> list[Board]:
    return [
        board(suite, start, rows)
        for suite in sweep.SUITES
        if (rows := [r for r in sweep.read(sweep.RESULTS, suite) if r["start"] == start])
    ]


def few_boards() -> list[Board]:
    """The first 5·d trials of COCO's runs: no method here knows its budget."""
    found = []
    for d in sweep.TRIALS:
        rows = [r for r in sweep.read(sweep.RESULTS, f"bbob-{d}") if r["start"] == "own"]
        if rows:
            found.append(board(f"bbob-{d}", "own", rows, FEW * d))
    return found


# -- tables --


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"|{'|'.join(line)}|" for line in lines)


def ratio(value: float, error: float) -> str:
    """With the factor of one standard error: 0.5 ×/÷1.2 is 0.42 to 0.6."""
    return f"{value:.2g} ×/÷{math.exp(error):.2f}"


def verdict_table(every: Sequence[Board]) -> str:
    rows = []
    for each in every:
        mine = each.ours
        numbers = ("–", "–", "–")
        if mine is not None:
            numbers = (str(mine.runs), f"{mine.simple:.1e}", f"{mine.off:.0%}")
        rows.append((each.suite, ABOUT[each.suite], each.trials, *numbers, each.verdict))
    head = ("suite", "what", "trials", "our runs", "simple regret", "off", "by simple regret")
    return markdown(head, rows)


def duel_table(every: Sequence[Board], quantity: str) -> str:
    rows = []
    for each in every:
        cells = {duel.peer: _cell(duel, quantity) for duel in each.duels()}
        if cells:
            rows.append((each.suite, *(cells.get(peer, "–") for peer in sweep.PUBLISHED)))
    return markdown(("suite", *NAMES.values()), rows) if rows else "Not run yet."


def _cell(duel: Duel, quantity: str) -> str:
    found = duel.found
    value, error = getattr(found, quantity), getattr(found, f"{quantity}_error")
    text = ratio(value, error)
    if not duel.enough:
        return f"({text})"
    return f"**{text}**" if math.log(value) > error else text


def losses(every: Sequence[Board]) -> list[str]:
    """Problems on which our geometric mean is more than twice the best peer's, worst first."""
    found: list[tuple[float, str]] = []
    total = 0
    for each in every:
        mine = each.runs.get(DEFAULT, {})
        groups: dict[str, dict[str, list[float]]] = {}
        for method, runs in each.runs.items():
            for (name, seed), row in runs.items():
                if (name, seed) in mine:
                    simple = summary({(name, seed): row}).simple
                    groups.setdefault(problem_of(name), {}).setdefault(method, []).append(simple)
        for problem, by in groups.items():
            means = {m: float(np.exp(np.mean(np.log(v)))) for m, v in by.items()}
            full = {m: v for m, v in means.items() if len(by[m]) == len(by[DEFAULT])}
            ours = full.pop(DEFAULT)
            total += bool(full)
            best = min(full, key=full.__getitem__, default="")
            if best and ours > 2 * full[best]:
                text = f"{each.suite} {problem}: {ours:.1e}, {NAMES[best]} {full[best]:.1e}"
                found.append((ours / full[best], text))
    worst = [text for _, text in sorted(found, reverse=True)]
    head = f"More than twice the best peer's regret on {len(found)} of {total} problems"
    return [
        head + (f"; the {SHOWN} largest ratios:" if len(found) > SHOWN else ":"),
        *worst[:SHOWN],
    ]


def strangers_lines(every: Sequence[Board]) -> str:
    """Each line of strangers beside random search, paired, and beside the best peer's median."""
    runs = next((b.runs for b in every if b.suite == "strangers" and DEFAULT in b.runs), {})
    logs: dict[str, dict[str, dict[int, float]]] = {}
    for method, mine in runs.items():
        for (name, seed), row in mine.items():
            simple = summary({(name, seed): row}).simple
            logs.setdefault(problem_of(name), {}).setdefault(method, {})[seed] = math.log(simple)
    worse, far, lines = [], [], 0
    for problem, by in logs.items():
        ours = by.get(DEFAULT, {})
        gaps = [ours[seed] - v for seed, v in by.get("random", {}).items() if seed in ours]
        if len(gaps) < SEEDS:
            continue
        lines += 1
        if np.mean(gaps) > np.std(gaps, ddof=1) / math.sqrt(len(gaps)):
            worse.append(problem)
        peers = [
            np.median([*v.values()]) for m, v in by.items() if m != DEFAULT and len(v) >= SEEDS
        ]
        if np.median([*ours.values()]) > math.log(2) + min(peers):
            far.append(problem)
    if not lines:
        return ""

    def where(problems: list[str]) -> str:
        return f"{len(problems)} of {lines}" + (f" ({', '.join(problems)})" if problems else "")

    return (
        f"Strangers, line by line: worse than random search by the error bar on {where(worse)};"
        f" median above twice the best peer's on {where(far)}.\n\n"
    )


# -- the picture --


def picture(every: Sequence[Board], path: Path) -> None:
    """One panel per suite: ours over each peer, with error bars. Left of 1 ours is better."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [each for each in every if each.duels()]
    columns = 5
    rows = max(1, -(-len(shown) // columns))
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(2.6 * columns, 1.7 * rows + 0.4),
        squeeze=False,
        layout="constrained",
    )
    for axis, each in zip(axes.flat, shown, strict=False):
        for duel in each.duels():
            at, found = sweep.PUBLISHED.index(duel.peer), duel.found
            low, high = (found.simple * math.exp(k * found.simple_error) for k in (-1, 1))
            colour = "0.6" if not duel.enough else "tab:red" if duel.better else "tab:blue"
            axis.plot([low, high], [at, at], color=colour, lw=2)
            axis.plot(found.simple, at, "o", color=colour, ms=4)
        axis.axvline(1, color="0.4", lw=1)
        axis.set(xscale="log", title=each.suite, ylim=(len(NAMES) - 0.5, -0.5))
        axis.set_yticks(range(len(NAMES)), list(NAMES.values()), fontsize=7)
        axis.tick_params(axis="x", labelsize=7)
    for axis in axes.flat[len(shown) :]:
        axis.set_axis_off()
    figure.suptitle("Simple regret, ours over the peer's: left of 1 ours is better", fontsize=10)
    figure.savefig(path, dpi=110)
    plt.close(figure)


# -- the page --


def versions() -> str:
    """Of the peers, as their environments pin them."""
    found = {"noregret": __version__}
    for peer in (PEERS[name] for name in sweep.PUBLISHED if name in PEERS):
        pins = ROOT / f"research/benchmarks/peers/requirements-{peer.environment}.txt"
        pinned = dict(
            line.split("==") for line in pins.read_text(encoding="utf-8").split() if "==" in line
        )
        found[peer.distribution] = pinned[peer.distribution]
    return ", ".join(f"{name} {version}" for name, version in found.items())


def page(docs: Path) -> str:
    own, common = boards("own"), boards("common")
    picture(own, docs / "figures" / "benchmarks.png")
    parts = [
        "# Benchmarks",
        "Written by `python -m research.benchmarks.sweep report` (`make bench-regret` runs what is"
        " missing first) from the raw runs in `research/benchmarks/results/sweep`. Peers keep"
        " their documented defaults, see `research/benchmarks/peers`; one thread each.",
        "Every method gets the same problems, seeds, noise and budget, and starts by itself, as a"
        " user runs it. Regret is noise-free, a share of the distance from the median of random"
        " points to the maximum, floored at 1e-6; means are geometric. *Off*: more than a tenth"
        " away in the end (needle: half of the bump). A ratio is ours over the peer's, over the"
        f" (problem, seed) pairs that both have, with one standard error by bootstrap over"
        f" problems. *First*: no peer with at least {SEEDS} seeds (or {FUNCTIONS} functions in a"
        " suite of one seed) is better by the error bar; *of N* counts the methods that ran so"
        " often. Tuning never saw these instances"
        " ([split](decisions/0010-benchmark-split.md)).",
        "## Verdicts",
        verdict_table(own),
        "![Ratios of simple regret with error bars](figures/benchmarks.png)",
        "Red: the peer is better by the error bar. Grey: not enough runs.",
        "## Simple regret, ours over the peer's",
        "Each with the factor of one standard error; below 1 ours is better. **Bold**: the peer is"
        " better by the error bar. In brackets: not enough runs.",
        duel_table(own, "simple"),
        "## Cumulative regret",
        "The same for the mean regret per trial; failures and infeasible trials count as the whole"
        " scale.",
        duel_table(own, "cumulative"),
        f"## Few trials: simple regret after {FEW}·d",
        duel_table(few_boards(), "simple"),
        *(["## Common initial points", duel_table(common, "simple")] if common else []),
        "## What we lose",
        strangers_lines(own) + losses(own)[0],
        "\n".join(f"- {line}" for line in losses(own)[1:]),
        "## Recommended point and cost",
        cost_table(own),
        calibration.section(),
        speed.section(docs),
        f"Versions: {versions()}.",
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def cost_table(every: Sequence[Board]) -> str:
    rows = []
    for each in every:
        if (mine := each.ours) is not None:
            seconds = [
                f"{summary(each.runs[peer]).seconds:.2g}" if peer in each.runs else "–"
                for peer in sweep.PUBLISHED
            ]
            share = f"{mine.recommended / mine.simple:.2f}"
            rows.append((each.suite, share, f"{mine.seconds:.2g}", *seconds))
    head = ("suite", "regret at the recommended point over the best one", "our seconds per run")
    return markdown((*head, *NAMES.values()), rows) if rows else "Not run yet."


def write_section(path: Path, begin: str, end: str, section: str) -> None:
    """Replaces what a page has between two comments."""
    text = path.read_text(encoding="utf-8")
    before, after = text.split(begin)[0], text.split(end)[1]
    path.write_text(f"{before}{begin}\n{section}\n{end}{after}", encoding="utf-8")


def main(docs: Path = ROOT / "docs") -> int:
    (docs / "figures").mkdir(parents=True, exist_ok=True)
    (docs / "benchmarks.md").write_text(page(docs), encoding="utf-8")
    print(f"wrote {docs / 'benchmarks.md'}")
    return 0
