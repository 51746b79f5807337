"""What the documentation site does beyond MkDocs: formulas without a script, and every decision in the navigation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

FOLDER = "decisions/"


def on_config(config: Any) -> Any:
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [{"name": "math", "class": "math", "format": formula}]
    config.nav = listed(config.nav, Path(config.docs_dir))
    return config


def formula(source: str, *_: Any, **__: Any) -> str:
    """A block of ```math, which GitHub draws too, as MathML, which every browser draws by itself."""
    return f'<div class="formula">{convert(source, display="block")}</div>'


def listed(nav: list[dict[str, list[Any]]], docs: Path) -> list[Any]:
    """The navigation with the folder of decisions written out, so that a new one is listed by being there."""
    names = sorted(path.name for path in (docs / FOLDER).glob("*.md") if path.name != "index.md")
    decisions = {"Decisions": [FOLDER + name for name in ["index.md", *names]]}
    return [{section: [decisions if page == FOLDER else page for page in pages]} for group in nav for section, pages in group.items()]
