"""How docs/reproduction.md judges a claim: measured numbers with 95 % intervals, limits set beside
them, and one function that turns both into a verdict.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from research.paper import intervals

RULES = """## How a verdict is reached

A claim has criteria: measured quantities with limits, which are ours and were chosen with an
earlier run in view. Brackets are 95 % intervals over the seeds (Student's t for a mean, resampled
seeds for a median, Wilson's for a share; paired where methods are compared). A number without
brackets is exact or from one run. A criterion is *met* if its whole interval meets it, *refuted* if
none of it does, *open* otherwise; a count is judged as it is. A claim *holds* if every criterion is
met, *holds with a change* if every criterion of the weaker claim is met, *does not hold* if neither
and at least one criterion of each is refuted, and is *not decided* otherwise.

`research/paper/claims.md` has every criterion and every number.
"""


SHOWN = 2  # quantities of a claim, and cases of a quantity, on the page; the rest is in claims.md


class Verdict(enum.StrEnum):
    HOLDS = "holds"
    CHANGED = "holds with a change"
    FAILS = "does not hold"
    OPEN = "not decided"


@dataclass(frozen=True, slots=True)
class Measured:
    """A number and its interval; ``shown`` is how the page writes it."""

    value: float
    low: float
    high: float
    shown: str


def number(value: float, digits: int = 3) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "not in the run" if value > 0 else "–∞"
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.0e}".replace("-", "−")
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
    return text.replace("-", "−")


def _with_interval(value: float, low: float, high: float) -> Measured:
    if math.isinf(low) and math.isinf(high):
        return Measured(value, low, high, f"{number(value)} (one run, no interval)")
    return Measured(value, low, high, f"{number(value)} [{number(low)}, {number(high)}]")


NOTHING = Measured(math.nan, -math.inf, math.inf, "no such run")


def exact(value: float) -> Measured:
    return Measured(value, value, value, number(value, 4))


def mean(values: Sequence[float]) -> Measured:
    if not len(values):
        return NOTHING
    return _with_interval(float(np.mean(values)), *intervals.of_mean(values))


def geometric_mean(values: Sequence[float]) -> Measured:
    if not len(values):
        return NOTHING
    logs = np.log(np.asarray(values, dtype=np.float64))
    low, high = intervals.of_mean(logs.tolist())
    return _with_interval(float(np.exp(logs.mean())), math.exp(low), math.exp(high))


def median(values: Sequence[float]) -> Measured:
    return _with_interval(float(np.median(values)), *intervals.of_median(values))


def share(count: int, trials: int) -> Measured:
    low, high = intervals.wilson(count, trials)
    return Measured(count / trials, low, high, f"{count} of {trials} [{low:.0%}, {high:.0%}]")


def count(number_of: int, trials: int) -> Measured:
    """Judged as it is; the interval is only shown."""
    return Measured(number_of, number_of, number_of, share(number_of, trials).shown)


Relation = Literal["<", "≤", ">", "≥"]


@dataclass(frozen=True, slots=True)
class Check:
    """``what``, of the case ``of``, is to be as ``relation`` and ``limit`` say."""

    what: str
    measured: Measured
    relation: Relation
    limit: float
    of: str = ""

    @property
    def met(self) -> bool | None:
        """None: the interval has both."""
        low, high, limit = self.measured.low, self.measured.high, self.limit
        if math.isnan(low) or math.isnan(high):
            return None
        ends = {
            "<": (low < limit, high < limit),
            "≤": (low <= limit, high <= limit),
            ">": (low > limit, high > limit),
            "≥": (low >= limit, high >= limit),
        }[self.relation]
        return ends[0] if ends[0] == ends[1] else None


def between(what: str, measured: Measured, low: float, high: float, of: str = "") -> list[Check]:
    return [Check(what, measured, "≥", low, of), Check(what, measured, "≤", high, of)]


def criteria(checks: Sequence[Check]) -> str:
    """What is to be measured: each quantity once, with its limits and its cases."""
    limits: dict[tuple[str, str], list[str]] = {}  # by quantity and case
    for check in checks:
        limit = f"{check.relation} {number(check.limit, 4)}"
        limits.setdefault((check.what, check.of), []).append(limit)
    cases: dict[tuple[str, str], list[str]] = {}
    for (what, of), found in limits.items():
        cases.setdefault((what, " and ".join(dict.fromkeys(found))), []).append(of)
    return "; ".join(
        f"{what} {limit}" + (f" ({', '.join(of)})" if any(of) else "")
        for (what, limit), of in cases.items()
    )


def numbers(checks: Sequence[Check], most: int | None = None) -> str:
    """What was measured: each quantity once, case by case; of ``most`` quantities and cases."""
    cases: dict[str, dict[str, str]] = {}
    for check in checks:
        cases.setdefault(check.what, {})[check.of] = check.measured.shown
    shown = [
        f"{what}: "
        + ", ".join(f"{value} ({of})" if of else value for of, value in [*by.items()][:most])
        + (" …" if most and len(by) > most else "")
        for what, by in [*cases.items()][:most]
    ]
    return "; ".join(shown) + (" …" if most and len(cases) > most else "")


@dataclass(frozen=True, slots=True)
class Row:
    """A claim of the paper, what it takes, and a weaker one to which ``change`` turns it."""

    claim: str
    checks: Sequence[Check]
    change: str = ""
    weaker: Sequence[Check] = ()
    also: str = ""  # further numbers, not judged

    @property
    def verdict(self) -> Verdict:
        return judge(self)

    @property
    def decisive(self) -> Sequence[Check]:
        """The checks that the verdict rests on."""
        return self.weaker if self.verdict is Verdict.CHANGED else self.checks

    @property
    def judged(self) -> str:
        change = f": {self.change}" if self.decisive is self.weaker else ""
        return f"**{self.verdict}{change}**"

    @property
    def short(self) -> str:
        """The row of the page: the claim, the numbers that decide, the verdict."""
        return f"| {self.claim} | {numbers(self.decisive, SHOWN)} | {self.judged} |"

    @property
    def line(self) -> str:
        """The row in full: every criterion and every number."""
        said = criteria(self.checks)
        if self.weaker:
            said += f". Changed ({self.change}): {criteria(self.weaker)}"
        told = numbers([*self.checks, *self.weaker]) + (f". {self.also}" if self.also else "")
        return f"| {self.claim} | {said} | {told} | {self.judged} |"


def judge(row: Row) -> Verdict:
    """The only place where a verdict is made."""
    if not row.checks or bool(row.change) != bool(row.weaker):
        raise ValueError(f"no criterion for {row.claim!r}")
    claim = [check.met for check in row.checks]
    weaker = [check.met for check in row.weaker]
    if all(met is True for met in claim):
        return Verdict.HOLDS
    if weaker and all(met is True for met in weaker):
        return Verdict.CHANGED
    if False in claim and (not weaker or False in weaker):
        return Verdict.FAILS
    return Verdict.OPEN
