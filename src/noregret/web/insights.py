"""What a model says beyond its forecasts, in the words of the page: which inputs matter, and what
could still hide between the points.
"""

from __future__ import annotations

from typing import Any

from noregret.diagnostics import importances
from noregret.errors import NoRegretError
from noregret.search import SAYS_LITTLE_ABOVE
from noregret.strategies import Belief
from noregret.study import Study

WIDE = 0.5  # of every range: half of the space may be empty


def importance(belief: Belief | None, study: Study) -> list[dict[str, Any]] | None:
    """Which inputs matter, most important first, each with its uncertainty; None without a model or
    with one input.
    """
    if belief is None or len(study.space.parameters) < 2:
        return None
    rows = [
        {"name": each.name, "share": each.total, "spread": each.total_std}
        for each in importances(belief, study.space)
    ]
    return sorted(rows, key=lambda row: -float(row["share"] or 0.0))


def hiding(study: Study) -> str | None:
    """What could still hide between the points, in a sentence; None before the first value."""
    try:
        found = study.resolution()
    except NoRegretError:
        return None
    inputs = len(found.centre)
    if inputs > SAYS_LITTLE_ABOVE:
        return (
            f"With {inputs} inputs there is much room between the points: a narrow peak can hide."
        )
    if round(found.radius, 2) > WIDE:
        return (
            "Large parts of the space have no point near them: even a wide peak could still hide."
        )
    reach = f"{max(found.radius, 0.001):.1%}" if found.radius < 0.1 else f"{found.radius:.0%}"
    if not found.exact:
        return (
            f"Between the points a peak that reaches {reach} of every input's range from its top"
            " could still hide, or a wider one."
        )
    return (
        f"A peak that reaches {reach} of every input's range from its top, or more, cannot have"
        " been missed; a narrower one could still hide between the points."
    )
