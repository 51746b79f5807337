"""What ``noregret research reproduce discussion`` found, on docs/extensions.md: its figure, its
tables and who was first, all read from the run's summary.

Usage: python -m docs.making.last_pages RESULTS, such as out/reproduction
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

import research.paper
from research.benchmarks.report import write_section
from research.paper.discussion import AGAINST_PEERS, PANELS, PEERS, SLOW

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "extensions.md"
SUMMARY = Path(str(research.paper.__file__)).parent / "discussion.json"
BEGIN, END = "<!-- discussion: written by the command -->", "<!-- discussion: end -->"
PLAIN = {"branches": "kernel of all inputs"}  # the default without the extension
LEAST = 1e-4  # regrets below are as good as none
NEAR = 1.05
COLOURS = 128  # of the picture, as many as lines on paper need

Panels = Mapping[str, Mapping[str, Mapping[str, Any]]]


def extensions_of(panel: str) -> list[str]:
    """The methods of a panel that are the extension."""
    return [m for m in PANELS[panel][2] if m not in (PLAIN.get(panel, "default"), "log-EI")]


def written(regret: float | None) -> str:
    if regret is None:
        return "–"
    return "< 0.0001" if regret < LEAST else f"{regret:.2g}"


def median(panel: Mapping[str, Mapping[str, Any]], method: str) -> float | None:
    return None if method not in panel else float(panel[method]["simple_regret"])


def row(name: str, panel: Mapping[str, Mapping[str, Any]], method: str) -> str:
    base = PLAIN.get(name, "default")
    ours = median(panel, method)
    assert ours is not None
    others = [base, "log-EI", *PEERS]
    found = [median(panel, other) for other in others]
    best = min(max(each, LEAST) for each in found if each is not None)
    first = "yes" if max(ours, LEAST) <= best * NEAR else "no"
    pairs = list(zip(panel[method]["ends"], panel[base]["ends"], strict=True))
    better = sum(max(a, LEAST) * NEAR < max(b, LEAST) for a, b in pairs)
    worse = sum(max(b, LEAST) * NEAR < max(a, LEAST) for a, b in pairs)
    cells = [f"{PANELS[name][0]}: {method}", written(ours), *(written(each) for each in found)]
    return f"| {' | '.join([*cells, f'{better}–{worse} of {len(pairs)}', first])} |"


def section(panels: Panels) -> str:
    lines = [
        "| made for: with it | regret | without | log-EI | Optuna TPE | Optuna GP | better–worse"
        " | first |",
        "|---" * 8 + "|",
    ]
    for name in AGAINST_PEERS:
        lines += [row(name, panels[name], method) for method in extensions_of(name)]
    lines += ["", "| ours among ours | regret | cumulative regret |", "|---" * 3 + "|"]
    for name in PANELS:
        if name not in AGAINST_PEERS:
            for method, found in panels[name].items():
                ends = written(found["simple_regret"]), f"{found['cumulative_regret']:.3g}"
                lines.append(f"| {PANELS[name][0]}: {method} | {' | '.join(ends)} |")
    counts = {
        found["runs"]
        for panel in panels.values()
        for method, found in panel.items()
        if method not in SLOW
    }
    slow = sorted({p[m]["runs"] for p in panels.values() for m in SLOW if m in p})
    said = f"; Optuna's GP on {slow[0]}, and not in fifty inputs" if slow else ""
    functions = "–".join(map(str, sorted(counts)))
    return (
        f"Medians of the simple regret in the end over {functions} functions of each kind"
        f"{said}. *Without*: the default without the extension; better–worse: on how many"
        " functions, against that; first: whether no other in the row has a lower median.\n\n"
        + "\n".join(lines)
    )


def main(results: Path) -> None:
    panels = json.loads((results / "discussion" / "summary.json").read_text())["panels"]
    SUMMARY.write_text(json.dumps(panels, indent=1) + "\n", encoding="utf-8")
    with Image.open(results / "discussion" / "discussion.png") as drawn:
        few = drawn.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(ROOT / "docs" / "figures" / "discussion.png", optimize=True)
    write_section(PAGE, BEGIN, END, section(panels))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
