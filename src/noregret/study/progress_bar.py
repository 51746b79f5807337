"""A progress bar for long work: on a terminal and in a notebook by default, silent elsewhere."""

from __future__ import annotations

import sys
import time
from html import escape
from importlib import import_module
from typing import Any

WIDTH = 24  # characters of the bar


class Progress:
    """``with Progress(total) as bar: bar.advance("best 0.3")``.

    Args:
        total: How often ``advance`` will be called.
        label: Text before the bar.
        shown: Whether the bar is drawn; None: only on a terminal, or in a notebook, where it is a
            line of the cell's output.
    """

    def __init__(self, total: int, label: str = "", shown: bool | None = None) -> None:
        self.total, self.label, self.done = total, label, 0
        self._display = None if shown is False else _notebook()
        on_terminal = self._display is not None or sys.stderr.isatty()
        self.shown = on_terminal if shown is None else shown
        self._handle: Any = None
        self._started, self._width = time.monotonic(), 0

    def __enter__(self) -> Progress:
        self._draw("")
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown and self._display is None:
            print(file=sys.stderr, flush=True)

    def advance(self, note: str = "") -> None:
        """Counts one more, and shows a note beside the bar."""
        self.done += 1
        self._draw(note)

    def _draw(self, note: str) -> None:
        if not self.shown:
            return
        filled = round(WIDTH * self.done / self.total) if self.total else WIDTH
        bar, left = "█" * filled + "░" * (WIDTH - filled), ""
        if 0 < self.done < self.total:
            seconds = (time.monotonic() - self._started) / self.done * (self.total - self.done)
            left = f", {seconds:.0f} s left"
        line = f"{self.label}{bar} {self.done}/{self.total}{left}  {note}"
        if self._display is None:
            print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
            self._width = len(line)
            return
        # one line of the cell's output, written anew each time
        data = {"text/plain": line, "text/html": f"<code>{escape(line)}</code>"}
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def _notebook() -> Any:
    """What shows things in a Jupyter notebook; None anywhere else."""
    ipython = sys.modules.get("IPython")  # a notebook has loaded it
    shell = ipython.get_ipython() if ipython is not None else None
    if type(shell).__name__ != "ZMQInteractiveShell":
        return None
    return import_module("IPython.display").display
