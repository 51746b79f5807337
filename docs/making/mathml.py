"""Formulas of the documentation site, drawn by the browser itself: no script.

A block of ```math becomes MathML. In the text θ_t and g^(d/2) get a subscript and a superscript;
docstrings and files stay readable as they are.
"""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.postprocessors import Postprocessor

END = r"(?![A-Za-z0-9_])"
NESTED = r"\((?:[^()<>]|\((?:[^()<>]|\([^()<>]*\))*\))*\)"
BASE = r"((?:(?<![A-Za-z0-9_.])[A-Za-zŵ]|[Α-ω∏Σ‖\]²])'?)"
SUBSCRIPT = re.compile(
    BASE + r"_(\{[^{}<>]*\}|[0-9A-Za-zα-ω]{1,2}(?:,[0-9a-z]|')?(?![A-Za-z0-9_]))"
)
SUPERSCRIPT = re.compile(
    r"(?<=[\w\])‖>])\^("
    + NESTED
    + r"|[−-]?[½⅓⅔¼]|[−-]?(?:[0-9]+(?:\.[0-9]+)?|[A-Za-zα-ω]{1,3})"
    + END
    + ")"
)
VERBATIM = ("code", "pre", "math", "script", "style", "title")


def formula(source: str, *_: Any, **__: Any) -> str:
    """A block of ```math, which GitHub draws too."""
    return f'<div class="formula">{convert(source, display="block")}</div>'


def raised(text: str) -> str:
    """Sub- and superscripts in a piece of text without tags."""
    text = SUBSCRIPT.sub(lambda found: f"{found[1]}<sub>{raised(found[2].strip('{}'))}</sub>", text)
    return SUPERSCRIPT.sub(
        lambda found: f"<sup>{found[1][1:-1] if found[1].startswith('(') else found[1]}</sup>", text
    )


class Scripts(Postprocessor):  # type: ignore[misc]
    def run(self, text: str) -> str:
        pieces, depth = re.split(r"(<[^>]*>)", text), 0
        for index, piece in enumerate(pieces):
            if piece.startswith("<"):
                name = piece.strip("</>").split(" ")[0].lower()
                if name in VERBATIM and not piece.endswith("/>"):
                    depth += -1 if piece.startswith("</") else 1
            elif depth == 0:
                pieces[index] = raised(piece)
        return "".join(pieces)


class Formulas(Extension):  # type: ignore[misc]
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.postprocessors.register(
            Scripts(md), "scripts", 5
        )  # after the tags themselves are in place


def makeExtension(**settings: Any) -> Formulas:  # noqa: N802
    return Formulas(**settings)
