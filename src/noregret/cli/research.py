"""Commands for research: compare strategies, and theory, the paper's bounds as tables."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from noregret.cli.objectives import load
from noregret.cli.options import FUNCTION, Target, command
from noregret.cli.results import check_picture, new_figure
from noregret.diagnostics.presentation import number, spans_decades, table
from noregret.errors import ConfigurationError
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.rkhs import BUILT_IN, Growth, LogGrowth, PowerGrowth, as_growth
from noregret.search import low_discrepancy
from noregret.strategies import Strategy, named, names
from noregret.study import Progress
from noregret.testing.comparison import PROBLEMS, Compared, Problem, compare
from noregret.theory import (
    GREEDY_SHARE,
    Setting,
    Verdict,
    capture_time,
    check_reference,
    check_scaling,
    check_schedule,
    greedy_information,
    rate_rows,
    refined_capture_time,
    regret_bound,
    render_capture,
    render_check,
    render_rates,
)

SECTION = "Research"


# -- compare --


@command(
    SECTION,
    "noregret compare --problem branin --strategies default,log-ei,gp-ucb --seeds 10,"
    " or noregret compare training loss.py:loss",
    name="compare",
    study=FUNCTION,
)
@click.argument("function", required=False, metavar="[MODULE:FUNCTION|SCRIPT.py:FUNCTION]")
@click.option("--problem", type=click.Choice(list(PROBLEMS)), help="A test problem instead.")
@click.option(
    "--strategies",
    default="default,log-ei,random",
    metavar="NAME,NAME,…",
    help="Strategies by name, or by class (LogEI); default is the study's default.",
)
@click.option("--seeds", type=click.IntRange(min=1), default=10, help="Runs per strategy.")
@click.option("--trials", type=click.IntRange(min=1), default=30, help="Trials per run.")
@click.option(
    "--noise",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Standard deviation of noise added to each value.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.png|svg|pdf",
    help="Draw the median best so far with its quartiles.",
)
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
    """Compare strategies on a test problem or your own function.

    A function of your own is evaluated in the space and for the goal of STUDY. Nothing is recorded.
    """
    if (function is None) == (problem is None):
        raise click.UsageError("name a function, such as train.py:loss, or a test --problem")
    check_picture(out)
    chosen = {name: _strategy(name) for name in map(str.strip, strategies.split(",")) if name}
    subject: Any = PROBLEMS[problem] if problem is not None else target.open()
    objective = subject.function if isinstance(subject, Problem) else load(function or "")
    with Progress(len(chosen) * seeds, shown=False if target.as_json else None) as bar:
        runs = compare(
            objective,
            subject.space,
            subject.goal,
            chosen,
            seeds=seeds,
            trials=trials,
            noise_std=noise,
            ended=lambda name, _: bar.advance(name),
        )
    optimum = subject.optimum if isinstance(subject, Problem) else None
    if out is not None:
        _draw(runs, subject.name, subject.goal, optimum).savefig(out, dpi=150)
    document = {
        "problem": subject.name,
        "goal": subject.goal,
        "optimum": optimum,
        "seeds": seeds,
        "trials": trials,
        "strategies": {
            each.name: {"final": [None if np.isnan(v) else float(v) for v in each.final]}
            for each in runs
        },
        "file": None if out is None else str(out),
    }
    known = "" if optimum is None else f", the optimum is {number(optimum)}"
    text = (
        f"{subject.name}: best value after {trials} trials ({subject.goal}), {seeds} seeds{known}"
    )
    text += f"\n\n{_ranking(runs, subject.goal)}"
    target.emit(document, text if out is None else f"{text}\n\npicture in {out}")


def _strategy(name: str) -> Strategy:
    """By its name, or by the name of its class."""
    known = names()
    plain = {each.replace("-", "").lower(): each for each in known}
    plain |= {make.__name__.lower(): each for each, make in known.items() if isinstance(make, type)}
    word = "insured" if name == "default" else plain.get(name.replace("-", "").lower(), name)
    return named(word, {})


def _ranking(runs: Sequence[Compared], goal: str) -> str:
    """A line per strategy with the quartiles of its final values, the best median first."""
    sign = -1 if goal == "maximize" else 1
    lines: list[tuple[float, list[str]]] = []
    for each in runs:
        good, middle, bad = sign * np.nanquantile(sign * each.final, [0.25, 0.5, 0.75])
        failed = sum(t.state == "failed" for study in each.studies for t in study.trials)
        cells = [each.name, *(number(float(v)) for v in (middle, good, bad)), str(failed)]
        lines.append((sign * float(middle), cells))
    header = ["strategy", "median", "best quarter", "worst quarter", "failed"]
    rows = [cells for _, cells in sorted(lines, key=lambda line: line[0])]
    return table(header, rows, (1, 2, 3, 4))


def _draw(runs: Sequence[Compared], title: str, goal: str, optimum: float | None) -> Any:
    """The median best so far with its quartiles, or its regret where the optimum is known."""
    figure = new_figure()
    from noregret.plot.canvas import by_trial, legend, series_looks

    ax = figure.subplots()
    drawn: list[float] = []
    for each, look in zip(runs, series_looks(len(runs)), strict=True):
        values = each.best if optimum is None else np.abs(each.best - optimum)
        low, middle, high = np.nanquantile(values, [0.25, 0.5, 0.75], axis=0)
        steps = np.arange(1, values.shape[1] + 1)
        ax.fill_between(steps, low, high, color=look["color"], alpha=0.18, lw=0)
        every = max(len(steps) // 8, 1)
        ax.plot(steps, middle, label=each.name, lw=1.8, ms=5, markevery=every, **look)
        drawn += [float(v) for v in (*low, *high)]
    if (optimum is not None and min(drawn) > 0) or spans_decades(drawn):
        ax.set_yscale("log")
    by_trial(ax, "trials")
    label = f"best so far ({goal}d)" if optimum is None else "distance of the best from the optimum"
    ax.set(ylabel=label, title=title)
    legend(ax)
    return figure


# -- theory --


class KernelType(click.ParamType[Kernel]):
    """``se`` or ``matern:2.5``."""

    name = "kernel"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Kernel:
        text = str(value).lower()
        if text in ("se", "rbf", "gaussian"):
            return SquaredExponential()
        family, _, smoothness = text.partition(":")
        try:
            return Matern(float(smoothness if family == "matern" else ""))
        except ValueError:
            return self.fail(
                f"{value!r} is not a kernel: write se or matern:NU, such as matern:2.5", param, ctx
            )


class CurveType(click.ParamType[Growth]):
    """``constant``, ``log``, ``log:RATE``, ``power:EXPONENT`` or ``power:SCALE:EXPONENT``."""

    name = "curve"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Growth:
        if not isinstance(value, str):
            return value
        name, *numbers = value.split(":")
        try:
            arguments = [float(each) for each in numbers]
            if name == "log" and len(arguments) == 1:
                return LogGrowth(arguments[0])
            if name == "power" and len(arguments) in (1, 2):
                return PowerGrowth(arguments[0] if len(arguments) == 2 else 1.0, arguments[-1])
            if not arguments:
                return as_growth(name)  # type: ignore[return-value]
        except (ValueError, ConfigurationError) as error:
            return self.fail(str(error), param, ctx)
        return self.fail(
            f"{value!r} is not a curve: {BUILT_IN}; write e.g. log:0.1, power:0.3 or power:2:0.3",
            param,
            ctx,
        )


CURVE = CurveType()
FORMS = "constant, log[:RATE] or power[:SCALE]:EXPONENT"
KERNEL = click.option(
    "--kernel", "-k", type=KernelType(), default="se", help="Kernel: se or matern:NU."
)
DIMENSION = click.option(
    "--dimension", "-d", type=click.IntRange(min=1), default=1, help="Number of inputs."
)
G_CURVE = click.option("--g", "g_curve", type=CURVE, default="log", help=f"g(t): {FORMS}.")
B_CURVE = click.option("--b", "b_curve", type=CURVE, default="log", help=f"b(t): {FORMS}.")
WEIGHT = click.option(
    "--weight",
    type=click.FloatRange(min=0),
    help="λ_w, the norm ball's share (inf: all of it).  [default: the worst case]",
)


@click.group(epilog="Example: noregret theory rates --kernel matern:2.5 --dimension 2")
def theory() -> None:
    """Compute the paper's bounds.

    Regret rates, capture times, and whether a widening is slow enough.
    """


def _theory(example: str) -> Callable[[Callable[..., None]], click.Command]:
    """Makes a function a command of ``theory``."""

    def declared(function: Callable[..., None]) -> click.Command:
        example_ = f"noregret theory {example}"
        made = command(SECTION, example_, study=None, storage=False)(function)
        theory.add_command(made)
        return made

    return declared


def in_setting(function: Callable[..., None]) -> Callable[..., None]:
    """The options of a ``Setting``, which becomes the second argument."""

    @KERNEL
    @DIMENSION
    @click.option(
        "--norm",
        "norm_power",
        type=click.Choice(["tight", "paper"]),
        default="tight",
        help="Power of g in B_t.",
    )
    @click.option(
        "--capacity",
        type=click.Choice(["tight", "printed"]),
        default="tight",
        help="Which bound on the capacity.",
    )
    @functools.wraps(function)
    def with_setting(
        target: Target, kernel: Kernel, dimension: int, norm_power: Any, capacity: Any, **rest: Any
    ) -> None:
        function(target, Setting(kernel, dimension, norm_power, capacity), **rest)

    return with_setting


def _emit_verdict(target: Target, verdict: Verdict) -> None:
    document = {
        "subject": verdict.subject,
        "sublinear": verdict.sublinear,
        "captures_f": verdict.unbounded,
        "holds": verdict.holds,
        "proved": verdict.proved,
        "rate": verdict.rate,
        "reason": verdict.reason,
    }
    target.emit(document, render_check(verdict))


@_theory("rates --kernel matern:2.5 --dimension 2")
@in_setting
def rates(target: Target, setting: Setting) -> None:
    """Print the capacity, the regret rate, and how fast h may grow."""
    target.emit(dict(rate_rows(setting)), render_rates(setting))


@_theory("schedule --g log --b log -d 3")
@G_CURVE
@B_CURVE
@in_setting
def schedule(target: Target, setting: Setting, g_curve: Growth, b_curve: Growth) -> None:
    """Check whether a schedule (g, b) is slow enough and captures every f."""
    _emit_verdict(target, check_schedule(setting, g_curve, b_curve))


@_theory("scaling --h power:0.4 --weight 0.1")
@click.option("--h", "h_curve", type=CURVE, required=True, help=f"h(t): {FORMS}.")
@WEIGHT
@in_setting
def scaling(target: Target, setting: Setting, h_curve: Growth, weight: float | None) -> None:
    """Check whether a scaling h(t), split by λ_w, is slow enough."""
    _emit_verdict(target, check_scaling(setting, h_curve, weight))


@_theory("reference --exponent 0.9 --weight 0.1 --cap power:2:0.3 --floor log:0.1")
@click.option(
    "--exponent",
    type=click.FloatRange(min=0, min_open=True),
    required=True,
    help="a in p(t) = c·t^a.",
)
@click.option(
    "--estimator",
    type=click.Choice(["regret_bound", "one_step"]),
    default="regret_bound",
    help="How the regret is estimated.",
)
@click.option("--cap", type=CURVE, help="Upper bound on h(t).")
@click.option("--floor", type=CURVE, help="Lower bound on h(t).")
@WEIGHT
@in_setting
def reference(
    target: Target,
    setting: Setting,
    exponent: float,
    estimator: Any,
    cap: Growth | None,
    floor: Growth | None,
    weight: float | None,
) -> None:
    """Check whether widening by a reference regret p(t) is sublinear."""
    verdict = check_reference(setting, exponent, weight, cap, floor, estimator)
    _emit_verdict(target, verdict)


@_theory("capture --g log --lengthscale-ratio 10 --norm-ratio 2")
@G_CURVE
@B_CURVE
@click.option(
    "--lengthscale-ratio",
    "ratios",
    type=float,
    multiple=True,
    required=True,
    help="θ_0/θ, once or once per input.",
)
@click.option("--norm-ratio", type=float, default=1.0, help="B/B_0.")
@KERNEL
def capture(
    target: Target,
    g_curve: Growth,
    b_curve: Growth,
    ratios: tuple[float, ...],
    norm_ratio: float,
    kernel: Kernel,
) -> None:
    """Compute t_0, the step from which the class contains f."""
    widths = list(ratios)
    times = {"printed": capture_time(g_curve, b_curve, widths, norm_ratio)}
    for power in ("paper", "tight"):
        times[f"{power}_norm"] = refined_capture_time(
            kernel, g_curve, b_curve, widths, norm_ratio, power
        )
    document = {key: t if math.isfinite(t) else None for key, t in times.items()}
    target.emit(document, render_capture(kernel, g_curve, b_curve, widths, norm_ratio))


@_theory(
    "bound -t 1000 --norm-bound 2 --beta-sqrt 5 --information 12 --regulariser 0.01"
    " --captured-at 50"
)
@click.option("-t", type=click.IntRange(min=1), required=True, help="Number of decisions.")
@click.option("--norm-bound", type=float, required=True, help="B.")
@click.option("--captured-at", type=float, default=0.0, help="t_0.")
@click.option("--beta-sqrt", type=float, required=True, help="β_t^½.")
@click.option(
    "--information", "information_gain", type=float, required=True, help="I of the data under θ_t."
)
@click.option("--regulariser", type=float, required=True, help="λ.")
def bound(target: Target, t: int, **values: float) -> None:
    """Compute Theorem 1: 2·B·t_0 + √(C_1·t·β·I)."""
    value = regret_bound(t, **values)
    text = f"R_{t} ≤ {value:.6g}, on average {value / t:.4g} per decision"
    target.emit({"t": t, "regret_bound": value}, text)


@_theory("information -t 50 --lengthscale 0.2 -d 2 --regulariser 0.01")
@click.option(
    "-t", type=click.IntRange(min=1, max=5000), required=True, help="Number of evaluations."
)
@click.option("--lengthscale", type=float, default=0.2, help="Lengthscale of every input.")
@click.option("--regulariser", type=float, default=0.01, help="λ.")
@click.option(
    "--points",
    type=click.IntRange(min=10, max=20_000),
    default=2000,
    help="Candidates on the unit cube.",
)
@KERNEL
@DIMENSION
def information(
    target: Target,
    t: int,
    lengthscale: float,
    regulariser: float,
    points: int,
    kernel: Kernel,
    dimension: int,
) -> None:
    """Bound the information capacity γ_t on the unit cube by greedy choice."""
    candidates = low_discrepancy(points, dimension, np.random.default_rng(0))
    gains = greedy_information(kernel, np.full(dimension, lengthscale), candidates, t, regulariser)
    document = {
        "t": t,
        "at_least": gains[t - 1],
        "at_most": gains[t - 1] / GREEDY_SHARE,
        "candidates": points,
    }
    shown = sorted({1, *(10**k for k in range(1, 4) if 10**k < t), t})
    lines = [
        f"{gains[count - 1]:10.4f} ≤ γ_{count} ≤ {gains[count - 1] / GREEDY_SHARE:.4f}"
        f"  (over {points} candidates)"
        for count in shown
    ]
    target.emit(document, "\n".join(lines))
