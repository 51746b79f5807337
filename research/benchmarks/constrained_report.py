"""The table of docs/constraints.md from the results of the suite constrained.

python -m research.benchmarks.constrained_report
"""

from __future__ import annotations

from typing import Any

from research.benchmarks.constrained import KNOWN, PEERS
from research.benchmarks.methods import DEFAULT, RANDOM
from research.benchmarks.outcomes import block
from research.benchmarks.regret import ROOT, pack, read
from research.benchmarks.sections import write_section

SUITE = "constrained"
BEGIN, END = "<!-- constrained: begin -->", "<!-- constrained: end -->"


def section(rows: list[dict[str, Any]]) -> str:
    """Medians of the simple regret at the end, of a range of 1, and ranks."""
    scored = [
        {**{key: row[key] for key in ("problem", "method", "seed")}, "score": _left(row)}
        for row in rows
    ]
    methods = [DEFAULT, *PEERS, RANDOM]
    there = [m for m in methods if any(row["method"] == m for row in rows)]
    counts = ", ".join(f"{m} {sum(row['method'] == m for row in rows)}" for m in there)
    return f"Runs that ended: {counts}.\n\n{block(scored, 'known', list(KNOWN), there)}"


def _left(row: dict[str, Any]) -> float:
    """Below the resolution of the recorded values it is none."""
    return max(float(f"{row['maximum'] - row['best']:.3g}"), 1e-6)


def main() -> None:
    pack(SUITE)
    write_section(ROOT / "docs" / "constraints.md", BEGIN, END, section(read(SUITE)))


if __name__ == "__main__":
    main()
