"""``noregret compare``: strategies against each other on a test problem or one's own function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from noregret.cli.objectives import load
from noregret.cli.options import Target, on_study
from noregret.cli.output import number, table
from noregret.cli.views import ENDINGS
from noregret.errors import ConfigurationError, MissingExtraError
from noregret.strategies import Strategy, named, names
from noregret.study import Progress
from noregret.testing.comparison import PROBLEMS, Compared, Problem, compare


@click.command(
    "compare",
    short_help="Strategies against each other",
    epilog=(
        "Example: noregret compare --problem branin --strategies default,log-ei,gp-ucb --seeds 10,"
        " or noregret compare loss.py:loss --study training"
    ),
)
@click.argument("function", required=False, metavar="[MODULE:FUNCTION|SCRIPT.py:FUNCTION]")
@click.option("--problem", type=click.Choice(list(PROBLEMS)), help="A test problem instead.")
@click.option(
    "--strategies",
    default="default,log-ei,random",
    show_default=True,
    metavar="NAME,NAME,…",
    help="By name, or by class (LogEI); default is the study's default.",
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=10, show_default=True, help="Runs of each."
)
@click.option(
    "--trials", type=click.IntRange(min=1), default=30, show_default=True, help="Of each run."
)
@click.option(
    "--noise", type=click.FloatRange(min=0), default=0.0, help="Added to each value, as its std."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.png|svg|pdf",
    help="A picture of the best so far, with the middle half of the seeds.",
)
@on_study
def compare_(
    target: Target,
    function: str | None,
    problem: str | None,
    strategies: str,
    seeds: int,
    trials: int,
    noise: float,
    out: Path | None,
) -> None:
    """Run several strategies with several seeds on one problem, and say how far they came. A
    function of your own is taken with the space and the goal of the study; nothing is recorded.
    """
    if (function is None) == (problem is None):
        raise click.UsageError("name a function, such as train.py:loss, or a test --problem")
    if out is not None and out.suffix[1:].lower() not in ENDINGS:
        raise ConfigurationError(f"{out} must end in .png, .svg or .pdf")
    chosen = {name: _strategy(name) for name in map(str.strip, strategies.split(",")) if name}
    what: Any = PROBLEMS[problem] if problem is not None else target.open()
    run = what.function if isinstance(what, Problem) else load(function or "")
    shown = False if target.as_json else None
    with Progress(len(chosen) * seeds, shown=shown) as bar:
        found = compare(
            run,
            what.space,
            what.goal,
            chosen,
            seeds=seeds,
            trials=trials,
            noise_std=noise,
            ended=lambda name, _: bar.advance(name),
        )
    optimum = what.optimum if isinstance(what, Problem) else None
    if out is not None:
        draw(found, what.name, what.goal, optimum).savefig(out, dpi=150)
    rows = [_row(each) for each in sorted(found, key=lambda each: _rank(each, what.goal))]
    document = {
        "problem": what.name,
        "goal": what.goal,
        "optimum": optimum,
        "seeds": seeds,
        "trials": trials,
        "strategies": {
            each.name: {"final": [None if np.isnan(v) else float(v) for v in each.final]}
            for each in found
        },
        "file": None if out is None else str(out),
    }
    known = "" if optimum is None else f", the optimum is {number(optimum)}"
    head = f"{what.name}: best value after {trials} trials ({what.goal}), {seeds} seeds{known}"
    body = table(
        ["strategy", "median", "best quarter", "worst quarter", "failed"], rows, (1, 2, 3, 4)
    )
    target.emit(document, f"{head}\n\n{body}" + ("" if out is None else f"\n\npicture in {out}"))


def _strategy(name: str) -> Strategy:
    """By its name, or by its class's as in Python."""
    known = names()
    plain = {each.replace("-", "").lower(): each for each in known}
    plain |= {make.__name__.lower(): each for each, make in known.items() if isinstance(make, type)}
    wanted = "insured" if name == "default" else plain.get(name.replace("-", "").lower(), name)
    return named(wanted, {})


def _rank(each: Compared, goal: str) -> float:
    median = float(np.nanmedian(each.final))
    return -median if goal == "maximize" else median


def _row(each: Compared) -> list[str]:
    goal = each.studies[0].goal
    quarters = np.nanquantile(each.final, [0.25, 0.5, 0.75])
    good, bad = (quarters[2], quarters[0]) if goal == "maximize" else (quarters[0], quarters[2])
    failed = sum(t.state == "failed" for study in each.studies for t in study.trials)
    return [each.name, *(number(float(v)) for v in (quarters[1], good, bad)), str(failed)]


def draw(found: list[Compared], title: str, goal: str, optimum: float | None) -> Any:
    """The median of the best so far with the middle half of the seeds; regret if it is known."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib: install it with `pip install noregret[plot]`"
        ) from None
    from noregret.plot.canvas import by_trial, legend, series_looks, spans_decades

    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    ax = figure.subplots()
    everything = []
    for each, look in zip(found, series_looks(len(found)), strict=True):
        values = each.best if optimum is None else np.abs(each.best - optimum)
        low, middle, high = np.nanquantile(values, [0.25, 0.5, 0.75], axis=0)
        steps = np.arange(1, values.shape[1] + 1)
        ax.fill_between(steps, low, high, color=look["color"], alpha=0.18, lw=0)
        ax.plot(
            steps, middle, label=each.name, lw=1.8, ms=5, markevery=max(len(steps) // 8, 1), **look
        )
        everything += [float(v) for v in (*low, *high)]
    positive = [value for value in everything if value > 0]
    if (optimum is not None and len(positive) == len(everything)) or spans_decades(everything):
        ax.set_yscale("log")
    by_trial(ax, "trials")
    said = f"best so far ({goal}d)" if optimum is None else "distance of the best from the optimum"
    ax.set(ylabel=said, title=title)
    legend(ax)
    return figure
