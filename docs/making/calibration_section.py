"""The part of docs/benchmarks.md about what the default says of itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from docs.making.regret_verdicts import Promise, table
from research.benchmarks.calibration import FIRST, RESULT, Row, summary

POOLED = (0.85, 0.95)  # of the values in their 90 % bands
EACH = 0.8  # of them in each suite
LEFT = 0.9  # of the looks
ALARMS = 0.05  # of the clean runs


def promises(rows: list[dict[str, Any]]) -> list[Promise]:
    *suites, pooled = summary(rows)
    low, high = POOLED
    least = min(suites, key=lambda row: row.inside)
    clean = sum(row["suite"] != "faults" for row in rows)
    return [
        Promise(
            "all",
            f"the 90 % forecast bands hold {low:.0%} to {high:.0%} of the values",
            f"{pooled.inside:.1%} of {pooled.values}",
            low <= pooled.inside <= high,
        ),
        Promise(
            "each",
            f"and in each suite at least {EACH:.0%}",
            f"least {least.inside:.1%}, {least.suite}",
            least.inside >= EACH,
        ),
        Promise(
            "all",
            f"“how much may be left” holds in at least {LEFT:.0%} of the looks",
            f"{pooled.holds:.1%} of {pooled.looks}",
            pooled.holds >= LEFT,
        ),
        Promise(
            "all but faults",
            f"a false alarm in at most {ALARMS:.0%} of the runs",
            f"{pooled.alarms:.1%} of {clean}",
            pooled.alarms <= ALARMS,
        ),
    ]


def line(row: Row) -> str:
    alarm = "–" if np.isnan(row.alarms) else f"{row.alarms:.0%}"
    return (
        f"| {row.suite} | {row.runs} | {row.inside:.1%} | {row.looks} | {row.holds:.1%} |"
        f" {row.times:.2g} | {alarm} |"
    )


def section(source: Path = RESULT) -> str:
    if not source.exists():
        return "## Calibration\n\nNot run.\n"
    result = json.loads(source.read_text(encoding="utf-8"))
    head = [
        "suite",
        "runs",
        "values in their 90 % band",
        "looks",
        "“left” holds in",
        "“left” over the spread of the values (median)",
        "alarm went off in",
    ]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return (
        "## Calibration\n\nWritten by `make bench-calibration`: the default on every problem of the"
        f" regret benchmark, one seed each, from decision {FIRST} on. “How much may be left” is the"
        " number that the page and `study.certificate()` show, here beside the true regret of the"
        f" recommended point, every {result['every']} decisions. It is a band under a condition"
        " that the data suggest: how often it was true and how large it is, says the table. A value"
        " is in its band if it lay where the forecast before it expected 90 %. The alarm is the"
        " one of forecasts that do not come true; on faults it may be right.\n\n"
        f"{table(promises(result['rows']))}\n\n"
        + "\n".join([*lines, *map(line, summary(result["rows"]))])
        + "\n"
    )
