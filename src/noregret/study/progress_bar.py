"""A progress bar for long work: on a terminal by default, silent elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """``with Progress(total) as bar: bar.advance("best 0.3")``. shown=None: only if the stream is a
    terminal.
    """

    def __init__(
        self, total: int, label: str = "", shown: bool | None = None, stream: TextIO | None = None
    ) -> None:
        self.total, self.label, self.done = total, label, 0
        self.stream = stream or sys.stderr
        self.shown = self.stream.isatty() if shown is None else shown
        self._started, self._width = time.monotonic(), 0

    def __enter__(self) -> Progress:
        self._draw("")
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
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
        self.stream.write("\r" + line.ljust(self._width))
        self.stream.flush()
        self._width = len(line)
