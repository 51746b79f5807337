"""The calculators' answers as plain text, for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from noregret.gp import Kernel, Matern
from noregret.rkhs import as_growth
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
from noregret.theory.sublinearity import Verdict

WIDTH = 100
COLUMN = 20


def render_check(verdict: Verdict) -> str:
    """One verdict in full."""
    rows = [
        ("widening", verdict.subject),
        *_setting_rows(verdict.setting),
        ("regret bound", verdict.rate),
        ("sublinear", _yes(verdict.sublinear)),
        ("captures every f", _yes(verdict.unbounded)),
        ("theorem holds", _answer(verdict)),
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
    for label, weight in (
        ("any λ_w", None),
        ("λ_w = 0", 0.0),
        ("0 < λ_w < ∞", 1.0),
        ("λ_w = ∞", math.inf),
    ):
        limit = largest_exponent(
            setting.kernel, setting.dimension, setting.norm_power, weight, setting.capacity
        )
        rows.append(
            (
                f"h, {label}",
                f"sublinear below t^{limit:.4g}" if limit > 0 else "no growing h is slow enough",
            )
        )
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
        ("widening", f"g = {describe_curve(as_growth(g))}, b = {describe_curve(as_growth(b))}"),
        ("θ_0/θ, B/B_0", f"{np.atleast_1d(lengthscale_ratios).tolist()}, {norm_ratio:g}"),
        ("t_0 as printed", _steps(capture_time(g, b, lengthscale_ratios, norm_ratio))),
        (
            "needed, paper norm",
            _steps(refined_capture_time(kernel, g, b, lengthscale_ratios, norm_ratio, "paper")),
        ),
        (
            "needed, tight norm",
            _steps(refined_capture_time(kernel, g, b, lengthscale_ratios, norm_ratio, "tight")),
        ),
    ]
    return _rows(rows)


def _setting_rows(setting: Setting) -> list[tuple[str, str]]:
    power = "d" if setting.norm_power == "paper" else "(d/2)"
    return [
        (
            "kernel",
            (
                f"{_kernel(setting.kernel)}, {setting.dimension}"
                f" input{'s' if setting.dimension > 1 else ''}"
            ),
        ),
        ("norm bound", f"B_t = b·g^{power}·B_0 ({setting.norm_power})"),
        (
            "capacity",
            (
                f"{capacity_order(setting.kernel, setting.dimension, setting.capacity)}"
                f" ({setting.capacity})"
            ),
        ),
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


def _kernel(kernel: Kernel) -> str:
    return f"Matérn {kernel.nu:g}" if isinstance(kernel, Matern) else "squared exponential"


def _steps(t: float) -> str:
    if t == math.inf:
        return "never"
    return f"{t:,.0f} steps" if t < 1e15 else f"{t:.3g} steps"


def _answer(verdict: Verdict) -> str:
    if not verdict.holds:
        return "no, not guaranteed"
    return "yes, proved" if verdict.proved else "so it seems: numerical evidence, not a proof"


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"
