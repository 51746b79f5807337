"""A limit as people type it: toxicity<=0.3, purity >= 50 %."""

from __future__ import annotations

import re

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
