"""JSON texts of a database. A file that was damaged, or written by somebody else, may hold anything
in them: what none of ours wrote is a ValueError.
"""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 100  # levels of a document: ours have ten, and functions that walk it are recursive


def load(text: Any) -> Any:
    """The value of a JSON text."""
    if not isinstance(text, str):
        raise ValueError(f"{_shown(text)} instead of a JSON text")
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(f"a JSON text is more than {DEEPEST} levels deep") from None
    # so many brackets it needs at least: most texts are not walked
    if text.count("[") + text.count("{") > DEEPEST:
        _check_depth(value)
    return value


def load_dict(text: Any) -> dict[str, Any]:
    """The same, where it must be an object; {} for NULL and for nothing."""
    value = load(text) if text not in (None, "") else {}
    if not isinstance(value, dict):
        raise ValueError(f"{_shown(value)} instead of a JSON object")
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            item
            for each in level
            if isinstance(each, dict | list)
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise ValueError(f"a JSON text is more than {DEEPEST} levels deep")


def _shown(value: Any) -> str:
    return repr(value)[:80]
