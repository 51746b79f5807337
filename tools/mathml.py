"""Formulas of the documentation site, without a script in the reader's browser."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def formula(source: str, *_: Any, **__: Any) -> str:
    """A block of ```math, which GitHub draws too, as MathML, which every browser draws by itself."""
    return f'<div class="formula">{convert(source, display="block")}</div>'
