"""Commands for research: compare strategies, and theory, the paper's bounds as tables."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import click
import numpy as np

from noregret import theory as bounds
from noregret.cli import options
from noregret.cli.results import prepare_picture
from noregret.cli.running import load_function
from noregret.diagnostics.presentation import format_number, format_table, spans_decades
from noregret.errors import ConfigurationError
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.plot import canvas
from noregret.rkhs import BUILT_IN, Growth, LogGrowth, NormPower, PowerGrowth, as_growth
from noregret.rkhs.confidence import horizon_exponent
from noregret.search import low_discrepancy
from noregret.space import Array
from noregret.strategies import Strategy, named, names
from noregret.study import Progress
from noregret.testing.comparison import PROBLEMS, Compared, Problem
from noregret.testing.comparison import compare as compare_strategies
from noregret.theory.orders import describe_curve, horizon_rate

WIDTH, COLUMN = 100, 20  # characters of a table of theory, and of its first column

# -- compare --


@options.command
def compare_command(
    target: options.Target,
    function: options.FunctionName = None,
    *,
    problem: Annotated[str | None, click.Choice(list(PROBLEMS))] = None,
    strategies: Annotated[str, "NAME,NAME,…"] = "default,log-ei,random",
    seeds: options.Count = 10,
    trials: options.Count = 30,
    noise: options.NotNegative = 0.0,
    out: options.PictureFile = None,
) -> None:
    """Compare strategies on a test problem or your own function.

    A function of your own is evaluated in the space and for the goal of STUDY. Nothing is recorded.

    Args:
        problem: A test problem instead.
        strategies: Strategies by name, or by class (LogEI); default is the study's default.
        seeds: Runs per strategy.
        trials: Trials per run.
        noise: Standard deviation of noise added to each value.
        out: Draw the median best so far with its quartiles.

    Example:
        noregret research compare --problem branin --strategies default,log-ei,gp-ucb --seeds 10, or
        noregret research compare training loss.py:loss
    """
    if (function is None) == (problem is None):
        raise click.UsageError("name a function, such as train.py:loss, or a test --problem")
    prepare_picture(out)
    chosen = {name: _strategy(name) for name in map(str.strip, strategies.split(",")) if name}
    subject: Any = PROBLEMS[problem] if problem is not None else target.open()
    test = subject if isinstance(subject, Problem) else None
    objective = load_function(function or "") if test is None else test.function
    with Progress(len(chosen) * seeds, shown=False if target.as_json else None) as bar:
        runs = compare_strategies(
            objective,
            subject.space,
            subject.goal,
            chosen,
            seeds=seeds,
            trials=trials,
            noise_std=noise,
            ended=lambda name, _: bar.advance(name),
        )
    optimum = None if test is None else test.optimum
    if out is not None:
        canvas.save(_draw(runs, subject.name, subject.goal, optimum), out)
    finals = {each.name: [None if np.isnan(v) else float(v) for v in each.final] for each in runs}
    document = {
        "problem": subject.name,
        "goal": subject.goal,
        "optimum": optimum,
        "seeds": seeds,
        "trials": trials,
        "strategies": {name: {"final": values} for name, values in finals.items()},
        "file": None if out is None else str(out),
    }
    text = f"{subject.name}: best value after {trials} trials ({subject.goal}), {seeds} seeds"
    text += "" if optimum is None else f", the optimum is {format_number(optimum)}"
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
    rows: list[tuple[float, list[str]]] = []
    for each in runs:
        quartiles = sign * np.nanquantile(sign * each.final, [0.5, 0.25, 0.75])
        failed = sum(t.state == "failed" for study in each.studies for t in study.trials)
        cells = [each.name, *(format_number(float(v)) for v in quartiles), str(failed)]
        rows.append((sign * float(quartiles[0]), cells))
    header = ["strategy", "median", "best quarter", "worst quarter", "failed"]
    ranked = [cells for _, cells in sorted(rows, key=lambda row: row[0])]
    return format_table(header, ranked, (1, 2, 3, 4))


def _draw(runs: Sequence[Compared], title: str, goal: str, optimum: float | None) -> Any:
    """The median best so far with its quartiles, or its regret where the optimum is known."""
    ax = canvas.new_axes(None)
    drawn: list[float] = []
    for each, look in zip(runs, canvas.series_looks(len(runs)), strict=True):
        values = each.best if optimum is None else np.abs(each.best - optimum)
        low, middle, high = np.nanquantile(values, [0.25, 0.5, 0.75], axis=0)
        steps = np.arange(1, values.shape[1] + 1)
        ax.fill_between(steps, low, high, color=look["color"], alpha=0.18, lw=0)
        every = max(len(steps) // 8, 1)
        ax.plot(steps, middle, label=each.name, lw=1.8, ms=5, markevery=every, **look)
        drawn += [float(v) for v in (*low, *high)]
    if (optimum is not None and min(drawn) > 0) or spans_decades(drawn):
        ax.set_yscale("log")
    label = f"best so far ({goal}d)" if optimum is None else "distance of the best from the optimum"
    return canvas.finish(ax, title, trials="trials", ylabel=label).figure


# -- theory --


def read_kernel(text: str) -> Kernel:
    """``se`` or ``matern:2.5``."""
    if text.lower() in ("se", "rbf", "gaussian"):
        return SquaredExponential()
    family, _, smoothness = text.lower().partition(":")
    try:
        return Matern(float(smoothness if family == "matern" else ""))
    except ValueError:
        raise ConfigurationError(
            f"{text!r} is not a kernel: write se or matern:NU, such as matern:2.5"
        ) from None


def read_growth(text: str) -> Growth:
    """``constant``, ``log``, ``log:RATE``, ``power:EXPONENT`` or ``power:SCALE:EXPONENT``."""
    name, *numbers = text.split(":")
    try:
        values = [float(each) for each in numbers]
        if name == "log" and len(values) == 1:
            return LogGrowth(values[0])
        if name == "power" and len(values) in (1, 2):
            return PowerGrowth(values[0] if len(values) == 2 else 1.0, values[-1])
        if not values:
            return as_growth(name)  # type: ignore[return-value]
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    raise ConfigurationError(
        f"{text!r} is not a curve: {BUILT_IN}; write e.g. log:0.1, power:0.3 or power:2:0.3"
    )


def render_check(verdict: bounds.Verdict) -> str:
    """One verdict in full."""
    rows = [
        ("widening", verdict.subject),
        *_setting_rows(verdict.setting),
        ("regret bound", verdict.rate),
        ("sublinear", "yes" if verdict.sublinear else "no"),
        ("captures every f", "yes" if verdict.unbounded else "no"),
        ("theorem holds", "yes, proved" if verdict.holds else "no, not guaranteed"),
        ("because", verdict.reason),
    ]
    return _rows(rows)


def rate_rows(setting: bounds.Setting) -> list[tuple[str, str]]:
    """Capacity, the corollary's rate, and how fast h may grow, as (name, text)."""
    rate = bounds.regret_rate(setting)
    rows = [*_setting_rows(setting), ("regret bound", str(rate))]
    if isinstance(setting.kernel, Matern) and (setting.norm_power, setting.capacity) == (
        "paper",
        "printed",
    ):
        printed = bounds.printed_corollary(setting.kernel, setting.dimension)
        rows.append(("as misprinted", f"{printed} (substitution gives the line above)"))
    weights = {"any λ_w": None, "λ_w = 0": 0.0, "0 < λ_w < ∞": 1.0, "λ_w = ∞": math.inf}
    for label, weight in weights.items():
        limit = bounds.largest_exponent(setting, weight)
        none = "no growing h is slow enough with a fixed λ"
        rows.append((f"h, {label}", f"sublinear below t^{limit:.4g}" if limit > 0 else none))
    if isinstance(setting.kernel, Matern):
        a = horizon_exponent(setting.kernel.nu, setting.dimension)
        order = horizon_rate(setting.kernel, setting.dimension)
        rows.append(
            (f"λ = T^{a:.4g}", f"{order} up to logarithms on a fixed class: GPUCB(horizon=T)")
        )
    return rows


def render_rates(setting: bounds.Setting) -> str:
    """The same as a table."""
    return _rows(rate_rows(setting))


def render_capture(
    kernel: Kernel,
    g: Any,
    b: Any,
    lengthscale_ratios: Sequence[float] | Array | float,
    norm_ratio: float,
) -> str:
    """The printed t_0 and the refined ones. Refuses what ``capture_time`` refuses."""
    rows = [
        ("widening", f"g = {describe_curve(g)}, b = {describe_curve(b)}"),
        ("θ_0/θ, B/B_0", f"{np.atleast_1d(lengthscale_ratios).tolist()}, {norm_ratio:g}"),
        ("t_0 as printed", _steps(bounds.capture_time(g, b, lengthscale_ratios, norm_ratio))),
    ]
    powers: tuple[NormPower, ...] = ("paper", "tight")
    for power in powers:
        t_0 = bounds.refined_capture_time(kernel, g, b, lengthscale_ratios, norm_ratio, power)
        rows.append((f"needed, {power} norm", _steps(t_0)))
    return _rows(rows)


def _setting_rows(setting: bounds.Setting) -> list[tuple[str, str]]:
    power = "d" if setting.norm_power == "paper" else "(d/2)"
    kernel, d = setting.kernel, setting.dimension
    name = f"Matérn {kernel.nu:g}" if isinstance(kernel, Matern) else "squared exponential"
    gamma = bounds.capacity_order(kernel, d, setting.capacity)
    return [
        ("kernel", f"{name}, {d} input{'s' if d > 1 else ''}"),
        ("norm bound", f"B_t = b·g^{power}·B_0 ({setting.norm_power})"),
        ("capacity", f"{gamma} ({setting.capacity})"),
    ]


def _rows(rows: Sequence[tuple[str, str]]) -> str:
    indent = " " * COLUMN
    kept = "log\N{NO-BREAK SPACE}t"  # not to be broken across lines
    filled = "\n".join(
        textwrap.fill(
            text.replace("log t", kept),
            WIDTH,
            initial_indent=label.ljust(COLUMN),
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        for label, text in rows
    )
    return filled.replace(kept, "log t")


def _steps(t: float) -> str:
    if t == math.inf:
        return "never"
    return f"{t:,.0f} steps" if t < 1e15 else f"{t:.3g} steps"


KernelName = Annotated[str, "--kernel", "-k"]


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What a rate depends on besides the growth curves.

    Args:
        kernel: Kernel: se or matern:NU.
        dimension: Number of inputs.
        norm: Power of g in B_t.
        capacity: Which bound on the capacity.
    """

    kernel: KernelName = "se"
    dimension: Annotated[options.Count, "--dimension", "-d"] = 1
    norm: Literal["tight", "paper"] = "tight"
    capacity: Literal["tight", "printed"] = "tight"

    @property
    def setting(self) -> bounds.Setting:
        return bounds.Setting(read_kernel(self.kernel), self.dimension, self.norm, self.capacity)


def _emit_verdict(target: options.Printer, verdict: bounds.Verdict) -> None:
    names = ("subject", "sublinear", "holds", "rate", "reason")
    document = {name: getattr(verdict, name) for name in names}
    document["captures_f"] = verdict.unbounded
    target.emit(document, render_check(verdict))


@options.command
def rates_command(target: options.Printer, *, situation: Situation) -> None:
    """Print the capacity, the regret rate, and how fast h may grow.

    Example:
        noregret research theory rates --kernel matern:2.5 --dimension 2
    """
    target.emit(dict(rate_rows(situation.setting)), render_rates(situation.setting))


@options.command
def schedule_command(
    target: options.Printer, *, g: str = "log", b: str = "log", situation: Situation
) -> None:
    """Check whether a schedule (g, b) is slow enough and captures every f.

    Args:
        g: g(t): constant, log[:RATE] or power[:SCALE]:EXPONENT.
        b: b(t): constant, log[:RATE] or power[:SCALE]:EXPONENT.

    Example:
        noregret research theory schedule --g log --b log -d 3
    """
    _emit_verdict(target, bounds.check_schedule(situation.setting, read_growth(g), read_growth(b)))


@options.command
def scaling_command(
    target: options.Printer,
    *,
    h: str,
    weight: options.NotNegative | None = None,
    situation: Situation,
) -> None:
    """Check whether a scaling h(t), split by λ_w, is slow enough.

    Args:
        h: h(t): constant, log[:RATE] or power[:SCALE]:EXPONENT.
        weight: λ_w, the norm ball's share (inf: all of it). [default: the worst case]

    Example:
        noregret research theory scaling --h power:0.4 --weight 0.1
    """
    _emit_verdict(target, bounds.check_scaling(situation.setting, read_growth(h), weight))


@options.command
def reference_command(
    target: options.Printer,
    *,
    exponent: options.Positive,
    estimator: Literal["regret_bound", "one_step"] = "regret_bound",
    cap: str | None = None,
    floor: str | None = None,
    weight: options.NotNegative | None = None,
    situation: Situation,
) -> None:
    """Check whether widening by a reference regret p(t) is sublinear.

    Args:
        exponent: a in p(t) = c·t^a.
        estimator: How the regret is estimated.
        cap: Upper bound on h(t).
        floor: Lower bound on h(t).
        weight: λ_w, the norm ball's share (inf: all of it). [default: the worst case]

    Example:
        noregret research theory reference --exponent 0.9 --weight 0.1 --cap power:2:0.3
        --floor log:0.1
    """
    above, below = (None if text is None else read_growth(text) for text in (cap, floor))
    verdict = bounds.check_reference(situation.setting, exponent, weight, above, below, estimator)
    _emit_verdict(target, verdict)


@options.command
def capture_command(
    target: options.Printer,
    *,
    g: str = "log",
    b: str = "log",
    ratios: Annotated[tuple[float, ...], "--lengthscale-ratio"],
    norm_ratio: float = 1.0,
    kernel: KernelName = "se",
) -> None:
    """Compute t_0, the step from which the class contains f.

    Args:
        g: g(t): constant, log[:RATE] or power[:SCALE]:EXPONENT.
        b: b(t): constant, log[:RATE] or power[:SCALE]:EXPONENT.
        ratios: θ_0/θ, once or once per input.
        norm_ratio: B/B_0.
        kernel: Kernel: se or matern:NU.

    Example:
        noregret research theory capture --g log --lengthscale-ratio 10 --norm-ratio 2
    """
    curves, of = (read_growth(g), read_growth(b)), read_kernel(kernel)
    times = {"printed": bounds.capture_time(*curves, ratios, norm_ratio)}
    for power in ("paper", "tight"):
        times[f"{power}_norm"] = bounds.refined_capture_time(of, *curves, ratios, norm_ratio, power)
    document = {key: t if math.isfinite(t) else None for key, t in times.items()}
    target.emit(document, render_capture(of, *curves, ratios, norm_ratio))


@options.command
def bound_command(
    target: options.Printer,
    *,
    t: Annotated[options.Count, "-t"],
    norm_bound: float,
    captured_at: float = 0.0,
    beta_sqrt: float,
    information: float,
    regulariser: float,
) -> None:
    """Compute Theorem 1: 2·B·t_0 + √(C_1·t·β·I).

    Args:
        t: Number of decisions.
        norm_bound: B.
        captured_at: t_0.
        beta_sqrt: β_t^½.
        information: I of the data under θ_t.
        regulariser: λ.

    Example:
        noregret research theory bound -t 1000 --norm-bound 2 --beta-sqrt 5 --information 12
        --regulariser 0.01 --captured-at 50
    """
    value = bounds.regret_bound(t, norm_bound, captured_at, beta_sqrt, information, regulariser)
    text = f"R_{t} ≤ {value:.6g}, on average {value / t:.4g} per decision"
    target.emit({"t": t, "regret_bound": value}, text)


@options.command
def information_command(
    target: options.Printer,
    *,
    t: Annotated[int, click.IntRange(min=1, max=5000), "-t"],
    lengthscale: float = 0.2,
    regulariser: float = 0.01,
    points: Annotated[int, click.IntRange(min=10, max=20_000)] = 2000,
    kernel: KernelName = "se",
    dimension: Annotated[options.Count, "--dimension", "-d"] = 1,
) -> None:
    """Bound the information capacity γ_t on the unit cube by greedy choice.

    Args:
        t: Number of evaluations.
        lengthscale: Lengthscale of every input.
        regulariser: λ.
        points: Candidates on the unit cube.
        kernel: Kernel: se or matern:NU.
        dimension: Number of inputs.

    Example:
        noregret research theory information -t 50 --lengthscale 0.2 -d 2 --regulariser 0.01
    """
    candidates = low_discrepancy(points, dimension, np.random.default_rng(0))
    scales = np.full(dimension, lengthscale)
    gains = bounds.greedy_information(read_kernel(kernel), scales, candidates, t, regulariser)
    document = {
        "t": t,
        "at_least": gains[t - 1],
        "at_most": gains[t - 1] / bounds.GREEDY_SHARE,
        "candidates": points,
    }
    counts = sorted({1, *(10**k for k in range(1, 4) if 10**k < t), t})
    bounded = [(gains[n - 1], n, gains[n - 1] / bounds.GREEDY_SHARE) for n in counts]
    over = f"  (over {points} candidates)"
    lines = [f"{low:10.4f} ≤ γ_{n} ≤ {high:.4f}{over}" for low, n, high in bounded]
    target.emit(document, "\n".join(lines))


theory = click.Group(
    "theory",
    [
        *(rates_command, schedule_command, scaling_command, reference_command),
        *(capture_command, bound_command, information_command),
    ],
    help="Compute the paper's bounds.\n\nRates, capture times, and which widening is slow enough.",
    epilog="Example: noregret research theory rates --kernel matern:2.5 --dimension 2",
)
