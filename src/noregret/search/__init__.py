"""Where an acquisition function is largest, and the largest ball without an evaluation.

acquisition  UCB, log-EI      optimizer  the argmax: a sweep, then all starts refined together
resolution   what a search cannot have seen
"""

from noregret.search.acquisition import Acquisition, log_ei, log_h, ucb
from noregret.search.optimizer import (
    allowed,
    apart,
    argmax,
    best,
    golden_ratio,
    low_discrepancy,
    unlike,
)
from noregret.search.resolution import (
    SAYS_LITTLE_ABOVE,
    Resolution,
    largest_empty_ball,
    resolution_of,
)

__all__ = [
    "SAYS_LITTLE_ABOVE",
    "Acquisition",
    "Resolution",
    "allowed",
    "apart",
    "argmax",
    "best",
    "golden_ratio",
    "largest_empty_ball",
    "log_ei",
    "log_h",
    "low_discrepancy",
    "resolution_of",
    "ucb",
    "unlike",
]
