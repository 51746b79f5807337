"""``noregret theory``: what the theorems allow, as readable tables."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.rkhs import BUILT_IN, Growth, LogGrowth, PowerGrowth, as_growth
from noregret.search import low_discrepancy
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
            arguments = [float(number) for number in numbers]
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


KERNEL, CURVE = KernelType(), CurveType()


def setting_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="For machines."),
        click.option(
            "--capacity",
            type=click.Choice(["tight", "printed"]),
            default="tight",
            show_default=True,
            help="Which bound on the capacity.",
        ),
        click.option(
            "--norm",
            "norm_power",
            type=click.Choice(["tight", "paper"]),
            default="tight",
            show_default=True,
            help="Power of g in B_t.",
        ),
        click.option(
            "--dimension",
            "-d",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Number of inputs.",
        ),
        click.option(
            "--kernel", "-k", type=KERNEL, default="se", show_default=True, help="se or matern:NU."
        ),
    ):
        function = option(function)
    return function


WEIGHT = click.option(
    "--weight",
    type=click.FloatRange(min=0),
    help="λ_w, the norm ball's share (inf: all of it). Left out: the worst case.",
)


@click.group(
    short_help="What the theorems allow",
    epilog="Example: noregret theory rates --kernel matern:2.5 --dimension 2",
)
def theory() -> None:
    """What the theorems allow: rates, capture times, and whether a widening is slow enough."""


def _show(verdict: Verdict, as_json: bool) -> None:
    if as_json:
        row = {
            "subject": verdict.subject,
            "sublinear": verdict.sublinear,
            "captures_f": verdict.unbounded,
            "holds": verdict.holds,
            "proved": verdict.proved,
            "rate": verdict.rate,
            "reason": verdict.reason,
        }
        click.echo(json.dumps(row, indent=2))
    else:
        click.echo(render_check(verdict))


@theory.command(epilog="Example: noregret theory rates --kernel matern:2.5 --dimension 2")
@setting_options
def rates(kernel: Kernel, dimension: int, norm_power: Any, capacity: Any, as_json: bool) -> None:
    """Capacity, the corollary's regret rate, and how fast h may grow."""
    setting = Setting(kernel, dimension, norm_power, capacity)
    click.echo(
        json.dumps(dict(rate_rows(setting)), indent=2, ensure_ascii=False)
        if as_json
        else render_rates(setting)
    )


@theory.command(epilog="Example: noregret theory schedule --g log --b log -d 3")
@click.option(
    "--g",
    "g_curve",
    type=CURVE,
    default="log",
    show_default=True,
    help="g(t): constant, log[:RATE], power[:SCALE]:EXPONENT.",
)
@click.option(
    "--b", "b_curve", type=CURVE, default="log", show_default=True, help="b(t), likewise."
)
@setting_options
def schedule(
    g_curve: Growth,
    b_curve: Growth,
    kernel: Kernel,
    dimension: int,
    norm_power: Any,
    capacity: Any,
    as_json: bool,
) -> None:
    """Is a fixed schedule (g, b) slow enough, and does it capture every f?"""
    _show(
        check_schedule(Setting(kernel, dimension, norm_power, capacity), g_curve, b_curve), as_json
    )


@theory.command(epilog="Example: noregret theory scaling --h power:0.4 --weight 0.1")
@click.option(
    "--h",
    "h_curve",
    type=CURVE,
    required=True,
    help="h(t): constant, log[:RATE], power[:SCALE]:EXPONENT.",
)
@WEIGHT
@setting_options
def scaling(
    h_curve: Growth,
    weight: float | None,
    kernel: Kernel,
    dimension: int,
    norm_power: Any,
    capacity: Any,
    as_json: bool,
) -> None:
    """Is an overall scaling h(t), split by λ_w, slow enough?"""
    _show(check_scaling(Setting(kernel, dimension, norm_power, capacity), h_curve, weight), as_json)


@theory.command(
    epilog=(
        "Example: noregret theory reference --exponent 0.9 --weight 0.1"
        " --cap power:2:0.3 --floor log:0.1"
    )
)
@click.option(
    "--exponent",
    type=click.FloatRange(min=0, min_open=True),
    required=True,
    help="a of p(t) = c·t^a.",
)
@click.option(
    "--estimator",
    type=click.Choice(["regret_bound", "one_step"]),
    default="regret_bound",
    show_default=True,
)
@click.option("--cap", type=CURVE, help="Upper bound on h(t).")
@click.option("--floor", type=CURVE, help="Lower bound on h(t).")
@WEIGHT
@setting_options
def reference(
    exponent: float,
    estimator: Any,
    cap: Growth | None,
    floor: Growth | None,
    weight: float | None,
    kernel: Kernel,
    dimension: int,
    norm_power: Any,
    capacity: Any,
    as_json: bool,
) -> None:
    """Does widening by a reference regret p(t) keep the promise?"""
    _show(
        check_reference(
            Setting(kernel, dimension, norm_power, capacity),
            exponent,
            weight,
            cap,
            floor,
            estimator,
        ),
        as_json,
    )


@theory.command(
    epilog="Example: noregret theory capture --g log --lengthscale-ratio 10 --norm-ratio 2"
)
@click.option("--g", "g_curve", type=CURVE, default="log", show_default=True)
@click.option("--b", "b_curve", type=CURVE, default="log", show_default=True)
@click.option(
    "--lengthscale-ratio",
    "ratios",
    type=float,
    multiple=True,
    required=True,
    help="θ_0/θ, once or once per input.",
)
@click.option("--norm-ratio", type=float, default=1.0, show_default=True, help="B/B_0.")
@click.option("--kernel", "-k", type=KERNEL, default="se", show_default=True)
@click.option("--json", "as_json", is_flag=True)
def capture(
    g_curve: Growth,
    b_curve: Growth,
    ratios: tuple[float, ...],
    norm_ratio: float,
    kernel: Kernel,
    as_json: bool,
) -> None:
    """t_0: the step from which the class contains f."""
    if as_json:
        times = {
            "printed": capture_time(g_curve, b_curve, list(ratios), norm_ratio),
            "paper_norm": refined_capture_time(
                kernel, g_curve, b_curve, list(ratios), norm_ratio, "paper"
            ),
            "tight_norm": refined_capture_time(
                kernel, g_curve, b_curve, list(ratios), norm_ratio, "tight"
            ),
        }
        click.echo(
            json.dumps({key: t if math.isfinite(t) else None for key, t in times.items()}, indent=2)
        )
    else:
        click.echo(render_capture(kernel, g_curve, b_curve, list(ratios), norm_ratio))


@theory.command(
    epilog=(
        "Example: noregret theory bound -t 1000 --norm-bound 2 --beta-sqrt 5 --information 12"
        " --regulariser 0.01 --captured-at 50"
    )
)
@click.option("-t", type=click.IntRange(min=1), required=True, help="Number of decisions.")
@click.option("--norm-bound", type=float, required=True, help="B.")
@click.option("--captured-at", type=float, default=0.0, show_default=True, help="t_0.")
@click.option("--beta-sqrt", type=float, required=True, help="β_t^½.")
@click.option("--information", type=float, required=True, help="I of the data under θ_t.")
@click.option("--regulariser", type=float, required=True, help="λ.")
@click.option("--json", "as_json", is_flag=True, help="For machines.")
def bound(
    t: int,
    norm_bound: float,
    captured_at: float,
    beta_sqrt: float,
    information: float,
    regulariser: float,
    as_json: bool,
) -> None:
    """Theorem 1 in numbers: 2·B·t_0 + √(C_1·t·β·I)."""
    value = regret_bound(t, norm_bound, captured_at, beta_sqrt, information, regulariser)
    text = f"R_{t} ≤ {value:.6g}, on average {value / t:.4g} per decision"
    click.echo(json.dumps({"t": t, "regret_bound": value}, indent=2) if as_json else text)


@theory.command(
    epilog="Example: noregret theory information -t 50 --lengthscale 0.2 -d 2 --regulariser 0.01"
)
@click.option(
    "-t", type=click.IntRange(min=1, max=5000), required=True, help="Number of evaluations."
)
@click.option("--lengthscale", type=float, default=0.2, show_default=True)
@click.option("--regulariser", type=float, default=0.01, show_default=True, help="λ.")
@click.option(
    "--points",
    type=click.IntRange(min=10, max=20_000),
    default=2000,
    show_default=True,
    help="Candidates on the unit cube.",
)
@click.option("--kernel", "-k", type=KERNEL, default="se", show_default=True)
@click.option("--dimension", "-d", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="For machines.")
def information(
    t: int,
    lengthscale: float,
    regulariser: float,
    points: int,
    kernel: Kernel,
    dimension: int,
    as_json: bool,
) -> None:
    """The information capacity γ_t of points in the unit cube, from below and above by greedy
    choice.
    """
    candidates = low_discrepancy(points, dimension, np.random.default_rng(0))
    gains = greedy_information(kernel, np.full(dimension, lengthscale), candidates, t, regulariser)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "t": t,
                    "at_least": gains[t - 1],
                    "at_most": gains[t - 1] / GREEDY_SHARE,
                    "candidates": points,
                },
                indent=2,
            )
        )
        return
    for count in sorted({1, *(10**k for k in range(1, 4) if 10**k < t), t}):
        click.echo(
            f"{gains[count - 1]:10.4f} ≤ γ_{count} ≤ {gains[count - 1] / GREEDY_SHARE:.4f}"
            f"  (over {points} candidates)"
        )
