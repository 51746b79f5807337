"""Where an acquisition function is largest: a sweep of candidates, then all starts refined
together.
"""

from noregret.search.acquisition import Acquisition, log_ei, log_h, ucb
from noregret.search.maximiser import allowed, argmax, best, low_discrepancy

__all__ = [
    "Acquisition",
    "allowed",
    "argmax",
    "best",
    "log_ei",
    "log_h",
    "low_discrepancy",
    "ucb",
]
