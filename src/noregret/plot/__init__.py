"""Pictures of a study. Each function draws into ``ax``, or a new figure, and returns the axes. They
need the extra ``plot``.

Values have the user's units and sign. Colours differ in lightness, and curves in line style or
marker, so that a grey copy can be read.
"""

from noregret.plot.model import (
    calibration,
    certificate,
    contour,
    importance,
    lengthscales,
    policy,
    scaling,
    slice,  # noqa: A004 — called as plot.slice
    slices,
)
from noregret.plot.trials import comparison, convergence, outcomes, parallel, timeline

__all__ = [
    "calibration",
    "certificate",
    "comparison",
    "contour",
    "convergence",
    "importance",
    "lengthscales",
    "outcomes",
    "parallel",
    "policy",
    "scaling",
    "slice",
    "slices",
    "timeline",
]
