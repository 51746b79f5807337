"""The quickstart and two walkthroughs as notebooks to download. Text, code and outputs are those of
the page, which the tests run and compare.

``python -m docs.making.notebooks`` writes docs/notebooks.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from docs.making.printed import BLOCK

DOCS = Path(__file__).parents[1]
FOLDER = DOCS / "notebooks"
PAGES = ("quickstart.md", "tutorials/tuning.md", "tutorials/research.md")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")  # to a page or a picture of ours
SITE = "https://github.com/noregret/noregret/blob/main/docs"


def notebook(page: str) -> str:
    """A page as a notebook (nbformat 4.5); its links lead to the repository."""
    text, cells = (DOCS / page).read_text(encoding="utf-8"), list[dict[str, Any]]()

    def add(kind: str, source: str, **more: Any) -> None:
        if source.strip():
            lines = source.strip().splitlines(keepends=True)
            cell = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": lines}
            cells.append(cell | more)

    folder, end = (DOCS / page).parent, 0

    def absolute(found: re.Match[str]) -> str:
        target = (folder / found[1]).resolve().relative_to(DOCS.resolve())
        return f"]({SITE}/{target.as_posix()}{found[2] or ''})"

    for block in BLOCK.finditer(text):
        add("markdown", LINK.sub(absolute, text[end : block.start()]))
        printed = (block["output"] or "").splitlines(keepends=True)
        stream = {"name": "stdout", "output_type": "stream", "text": printed}
        add("code", block["code"], execution_count=None, outputs=[stream] if printed else [])
        end = block.end()
    add("markdown", LINK.sub(absolute, text[end:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def path_of(page: str) -> Path:
    return FOLDER / f"{Path(page).stem}.ipynb"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in PAGES:
        path_of(each).write_text(notebook(each), encoding="utf-8")
