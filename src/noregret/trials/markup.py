"""A small table for notebooks; everything in it is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

CELL = "text-align:left;padding:1px 10px 1px 0;vertical-align:top"


def html_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A title and a line per row; rows without a text are left out."""
    lines = "".join(
        f'<tr><th style="{CELL};font-weight:normal;opacity:.7">{escape(name)}</th>'
        f'<td style="{CELL}">{escape(text)}</td></tr>'
        for name, text in rows
        if text
    )
    return f"<div><b>{escape(title)}</b><table>{lines}</table></div>"


def shown(value: object) -> str:
    """A number with six digits, anything else as text."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
