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

Each row states what would have to be measured, then what was measured. Brackets are 95 % intervals
over the seeds: Student's t for a mean, resampled seeds for a median, Wilson's for a share; seeds
are paired where two methods are compared. A number without brackets is computed exactly or comes
from one run. A criterion is *met* if its whole interval meets it, *refuted* if none of it does, and
*open* otherwise; a count ("in no start") is judged as it is, since one counterexample refutes
"always".

| verdict | reached if |
|---|---|
| holds | every criterion of the claim is met |
| holds with a change | not so, but every criterion of the weaker claim is met |
| does not hold | neither, and of both claims one criterion at least is refuted |
| not decided | otherwise: more seeds would be needed |

The limits are ours, for the paper gives none, and were chosen with an earlier run in view.
"""


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
        return "never" if value > 0 else "–∞"
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


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
    what: str
    measured: Measured
    relation: Relation
    limit: float

    @property
    def criterion(self) -> str:
        return f"{self.what} {self.relation} {number(self.limit, 4)}"

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


def between(what: str, measured: Measured, low: float, high: float) -> list[Check]:
    return [Check(what, measured, "≥", low), Check(what, measured, "≤", high)]


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
    def line(self) -> str:
        said = "; ".join(_unique([c.criterion for c in self.checks]))
        if self.weaker:
            said += f". With a change ({self.change}): " + "; ".join(
                _unique([c.criterion for c in self.weaker])
            )
        told = "; ".join(
            _unique([f"{c.what}: {c.measured.shown}" for c in [*self.checks, *self.weaker]])
        )
        judged = str(self.verdict)
        if self.verdict is Verdict.CHANGED:
            judged += f": {self.change}"
        also = f". {self.also}" if self.also else ""
        return f"| {self.claim} | {said} | {told}{also} | **{judged}** |"


def _unique(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(texts))


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
