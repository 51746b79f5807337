"""Where an acquisition function is largest, and the largest ball without an evaluation.

acquisition  UCB, log-EI      optimizer  the argmax: a sweep, then all starts refined together
resolution   what a search cannot have seen
"""

from noregret.search.acquisition import Acquisition, log_ei, ucb
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
    Resolution,
    resolution_of,
)

__all__ = [
    "Acquisition",
    "Resolution",
    "allowed",
    "apart",
    "argmax",
    "best",
    "golden_ratio",
    "log_ei",
    "low_discrepancy",
    "resolution_of",
    "ucb",
    "unlike",
]
