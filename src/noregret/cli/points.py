"""Points typed as ``name=value``: each value read as its parameter needs it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noregret.errors import SpaceError
from noregret.study import Study, parsed


def pairs(words: Iterable[str]) -> dict[str, str]:
    """``["a=1", "b=x"]`` as a dict of texts."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise SpaceError(f"write NAME=VALUE, such as temperature=40; got {word!r}")
        if name in found:
            raise SpaceError(f"{name} is given twice")
        found[name] = text
    return found


def parse_point(study: Study, words: Iterable[str]) -> dict[str, Any]:
    """The values named, read by the study's space; which names must be there is the
    study's to say.
    """
    parameters = study.space.parameters
    point = {}
    for name, text in pairs(words).items():
        if name not in parameters:
            raise SpaceError(
                f"there is no parameter {name!r}: this study has {', '.join(parameters)}"
            )
        point[name] = parsed(text, name, parameters[name])
    return point
