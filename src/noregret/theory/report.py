"""The calculators' answers as plain text, for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from noregret.gp import Kernel, Matern
from noregret.rkhs import NormPower
from noregret.space import Array
from noregret.theory.bounds import capture_time, refined_capture_time
from noregret.theory.orders import (
    Setting,
    capacity_order,
    describe_curve,
    largest_exponent,
    printed_corollary,
    regret_rate,
)
from noregret.theory.sublinearity import Verdict, only_with_horizon

WIDTH = 100
COLUMN = 20


def render_check(verdict: Verdict) -> str:
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


def rate_rows(setting: Setting) -> list[tuple[str, str]]:
    """Capacity, the corollary's rate, and how fast h may grow, as (name, text)."""
    rate = regret_rate(setting)
    rows = [*_setting_rows(setting), ("regret bound", str(rate))]
    if isinstance(setting.kernel, Matern) and (setting.norm_power, setting.capacity) == (
        "paper",
        "printed",
    ):
        printed = printed_corollary(setting.kernel, setting.dimension)
        rows.append(("as misprinted", f"{printed} (substitution gives the line above)"))
    weights = {"any λ_w": None, "λ_w = 0": 0.0, "0 < λ_w < ∞": 1.0, "λ_w = ∞": math.inf}
    for label, weight in weights.items():
        limit = largest_exponent(
            setting.kernel, setting.dimension, setting.norm_power, weight, setting.capacity
        )
        answer = f"sublinear below t^{limit:.4g}" if limit > 0 else only_with_horizon(setting)
        rows.append((f"h, {label}", answer))
    return rows


def render_rates(setting: Setting) -> str:
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
        ("t_0 as printed", _steps(capture_time(g, b, lengthscale_ratios, norm_ratio))),
    ]
    powers: tuple[NormPower, ...] = ("paper", "tight")
    for power in powers:
        t_0 = refined_capture_time(kernel, g, b, lengthscale_ratios, norm_ratio, power)
        rows.append((f"needed, {power} norm", _steps(t_0)))
    return _rows(rows)


def _setting_rows(setting: Setting) -> list[tuple[str, str]]:
    power = "d" if setting.norm_power == "paper" else "(d/2)"
    kernel, d = setting.kernel, setting.dimension
    name = f"Matérn {kernel.nu:g}" if isinstance(kernel, Matern) else "squared exponential"
    gamma = capacity_order(kernel, d, setting.capacity)
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
