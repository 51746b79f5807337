"""A progress bar for long work: on a terminal and in a notebook by default, silent elsewhere."""

from __future__ import annotations

import sys
import time
from html import escape
from importlib import import_module
from typing import Any, TextIO


class Progress:
    """``with Progress(total) as bar: bar.advance("best 0.3")``. shown=None: only if the stream is a
    terminal, or in a notebook, where it is a line of the cell's output.
    """

    def __init__(
        self, total: int, label: str = "", shown: bool | None = None, stream: TextIO | None = None
    ) -> None:
        self.total, self.label, self.done = total, label, 0
        self.stream = stream or sys.stderr
        display = _notebook() if stream is None and shown is not False else None
        self.shown = (display is not None or self.stream.isatty()) if shown is None else shown
        self._display: Any = display
        self._handle: Any = None
        self._started, self._width = time.monotonic(), 0

    def __enter__(self) -> Progress:
        self._draw("")
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown and self._display is None:
            self.stream.write("\n")
            self.stream.flush()

    def advance(self, note: str = "") -> None:
        self.done += 1
        self._draw(note)

    def _draw(self, note: str) -> None:
        if not self.shown:
            return
        filled = round(24 * self.done / self.total) if self.total else 24
        seconds = time.monotonic() - self._started
        left = (
            f", {seconds / self.done * (self.total - self.done):.0f} s left"
            if 0 < self.done < self.total
            else ""
        )
        line = (
            f"{self.label}{'█' * filled}{'░' * (24 - filled)} {self.done}/{self.total}{left} "
            f" {note}"
        )
        if self._display is not None:
            self._show(line)
            return
        self.stream.write("\r" + line.ljust(self._width))
        self.stream.flush()
        self._width = len(line)

    def _show(self, line: str) -> None:
        """One line of a cell's output, written anew each time."""
        shown = {"text/plain": line, "text/html": f"<code>{escape(line)}</code>"}
        assert self._display is not None
        if self._handle is None:
            self._handle = self._display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)


def _notebook() -> Any:
    """What shows things in a Jupyter notebook; None anywhere else."""
    ipython = sys.modules.get("IPython")  # a notebook has loaded it
    shell = ipython.get_ipython() if ipython is not None else None
    if type(shell).__name__ != "ZMQInteractiveShell":
        return None
    return import_module("IPython.display").display
