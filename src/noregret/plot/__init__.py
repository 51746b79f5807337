"""Pictures of a study: each function draws one thing into ``ax`` (or a new figure) and returns the
axes. Needs the extra ``plot``.

Everything is in the user's units and sign; colours differ in lightness, and every curve has a line
style or marker of its own.
"""

from noregret.plot.beliefs import slice  # noqa: A004 — called as plot.slice
from noregret.plot.decisions import calibration, lengthscales, scaling
from noregret.plot.overviews import contour, importance, parallel, slices, studies, timeline
from noregret.plot.policies import outcomes, policy
from noregret.plot.results import certificate, convergence

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
