"""Pictures of a study. Each function draws into ``ax``, or a new figure, and returns the axes. They
need the extra ``plot``.

Values have the user's units and sign. Colours differ in lightness, and curves in line style or
marker, so that a grey copy can be read.
"""

from noregret.plot.beliefs import slice  # noqa: A004 — called as plot.slice
from noregret.plot.decisions import calibration, lengthscales, scaling
from noregret.plot.overviews import contour, importance, parallel, slices, studies, timeline
from noregret.plot.results import certificate, convergence, outcomes, policy

__all__ = [
    "calibration",
    "certificate",
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
    "studies",
    "timeline",
]
