"""Where an acquisition function is largest: a sweep of candidates, then all starts refined
together. And what a search cannot tell: how large f can be anywhere (cover), and the largest ball
without an evaluation (resolution).
"""

from noregret.search.acquisition import Acquisition, log_ei, log_h, remembering, ucb
from noregret.search.cover import Bounded, Cover, covered, cube_cover, searched
from noregret.search.maximiser import (
    allowed,
    apart,
    argmax,
    best,
    golden_ratio,
    low_discrepancy,
    unlike,
)
from noregret.search.resolution import SAYS_LITTLE_ABOVE, Resolution, largest_empty_ball

__all__ = [
    "SAYS_LITTLE_ABOVE",
    "Acquisition",
    "Bounded",
    "Cover",
    "Resolution",
    "allowed",
    "apart",
    "argmax",
    "best",
    "covered",
    "cube_cover",
    "golden_ratio",
    "largest_empty_ball",
    "log_ei",
    "log_h",
    "low_discrepancy",
    "remembering",
    "searched",
    "ucb",
    "unlike",
]
