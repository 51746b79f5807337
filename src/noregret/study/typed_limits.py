"""A limit as people type it: toxicity<=0.3, purity >= 50 %."""

from __future__ import annotations

import re
from collections.abc import Iterable

from noregret.errors import ConfigurationError
from noregret.study.numerals import read_number
from noregret.trials import AtLeast, AtMost, Limit

LIMIT = re.compile(r"^\s*(?P<name>.+?)\s*(?P<how><=|>=|≤|≥)\s*(?P<limit>\S.*?)\s*$")


def read_limit(text: str) -> tuple[str, Limit]:
    """The outcome's name, and its limit."""
    found = LIMIT.match(text)
    if found is None:
        raise ConfigurationError(
            f"write an outcome's limit as 'toxicity<=0.3' or 'purity>=50', got {text!r}"
        )
    value = read_number(found["limit"], f"the limit of {found['name']}")
    assert value is not None
    kind = AtMost if found["how"] in ("<=", "≤") else AtLeast
    return found["name"], kind(value)


def read_limits(texts: Iterable[str], known: Iterable[tuple[str, Limit]] = ()) -> dict[str, Limit]:
    """All limits of a study by their outcome; an outcome has one."""
    limits: dict[str, Limit] = {}
    for name, limit in (*known, *map(read_limit, texts)):
        if name in limits:
            raise ConfigurationError(
                f"{name} has two limits, {limits[name]} and {limit}, and an outcome has one:"
                f" for a limit on either side make two outcomes of it, such as {name}_low and"
                f" {name}_high, and tell the same number as both"
            )
        limits[name] = limit
    return limits
