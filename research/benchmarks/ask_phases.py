"""Where an ask's time goes: reading the trials, thinking, getting a number. For processes of
research.benchmarks.workers, each of which measures its own asks; and what their page says of it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from noregret.storage import SQLStorage
from noregret.study import asking

GOAL = 3.0  # the longest ask over the median
CALLS: tuple[tuple[Any, str, str], ...] = (
    (SQLStorage, "trials", "reading"),
    (asking, "think", "thinking"),
    (SQLStorage, "insert", "numbering"),
    (SQLStorage, "append", "numbering"),
)


class Watch:
    """Measures the asks of this process, from its making on."""

    def __init__(self) -> None:
        self.asks: list[dict[str, float]] = []
        self._now: dict[str, float] = {}
        for owner, name, phase in CALLS:
            setattr(owner, name, self._timed(getattr(owner, name), phase))

    def _timed(self, call: Callable[..., Any], phase: str) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            start = time.monotonic()
            try:
                return call(*args, **options)
            finally:
                self._add(phase, time.monotonic() - start)
                if phase == "thinking":
                    self._add("thoughts", 1)

        return timed

    def _add(self, what: str, amount: float) -> None:
        self._now[what] = self._now.get(what, 0.0) + amount

    @contextmanager
    def ask(self) -> Iterator[None]:
        self._now = {}
        clock, processor = time.monotonic(), time.process_time()
        yield
        self._add("processor", time.process_time() - processor)
        self.asks.append(self._now | {"seconds": time.monotonic() - clock})


def summary(asks: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Of all processes together."""
    processor = [each["processor"] for each in asks]
    middle = statistics.median(processor)
    return {
        "processor": sum(processor) / len(asks),
        "ask": statistics.median([each["seconds"] for each in asks]),
        "slowest": max(each["seconds"] for each in asks),
        "dearest": max(processor) / middle if middle else 1.0,
        "longest": dict(max(asks, key=lambda each: each["seconds"])),
    }


def listed(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else ", ".join(values[:-1]) + " and " + values[-1]


def fairness(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sentences for the page, all from what was measured."""
    own = [row for row in rows if row["how"] == "processes" and "longest" in row]
    kinds = {
        kind: [row for row in own if row["strategy"] == kind] for kind in ("default", "random")
    }
    lines = []
    for kind, name in (("default", "Where each worker thinks"), ("random", "Without a model")):
        if not kinds[kind]:
            continue
        found = kinds[kind]
        trials = [row["trials"] for row in found]
        best = [max(trials[: index + 1]) for index in range(len(trials))]
        least = min(t / b for t, b in zip(trials, best, strict=True))
        fell = "never fell" if least == 1 else f"fell to {least:.2f} of the best at worst"
        ratios = [row["slowest"] / row["ask"] for row in found]
        within = [str(row["workers"]) for row, r in zip(found, ratios, strict=True) if r < GOAL]
        dearest = [f"{row['dearest']:.1f}" for row in found]
        which = f"with {listed(within)}" if within else "with none of them"
        lines.append(
            f"{name}, {listed([str(row['workers']) for row in found])} processes made"
            f" {listed([f'{t:,}' for t in trials])} trials: more of them {fell}. The longest ask"
            f" took {listed([f'{r:.1f}' for r in ratios])} times the median (below {GOAL:g}"
            f" {which}), and the dearest"
            f" {listed(dearest)} times the median's processor"
            " time: what is beyond that is waiting for a core, or for its turn in the storage."
        )
    shares = [
        f"{row['workers']} process{'es' if row['workers'] > 1 else ''}:"
        f" {1000 * row['slowest']:.0f} ms, of which"
        f" {1000 * each['thinking']:.0f} ms in {each['thoughts']:.0f}"
        f" thought{'s' if each['thoughts'] > 1 else ''}, {1000 * each['reading']:.0f} ms reading,"
        f" {1000 * each['numbering']:.0f} ms until it had a number; processor"
        f" {1000 * each['processor']:.0f} ms"
        for row in kinds["default"]
        for each in (row["longest"],)
    ]
    return lines + (["The longest ask of " + "; of ".join(shares) + "."] if shares else [])
