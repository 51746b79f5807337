"""The part of a page that a benchmark writes, between two comments."""

from __future__ import annotations

from pathlib import Path


def write_section(page: Path, begin: str, end: str, section: str) -> None:
    """Everything before and behind the comments stays as it is."""
    text = page.read_text(encoding="utf-8")
    before, after = text.split(begin)[0], text.split(end)[1]
    page.write_text(f"{before}{begin}\n{section}\n{end}{after}", encoding="utf-8")
