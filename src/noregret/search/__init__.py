"""Where an acquisition function is largest: a sweep of candidates, then all starts refined
together. And what a search cannot tell: how large f can be anywhere (cover), and the largest ball
without an evaluation (resolution).
"""

from noregret.search.acquisition import Acquisition, log_ei, log_h, ucb
from noregret.search.cover import Cover, cover, covered, searched
from noregret.search.maximiser import allowed, argmax, best, low_discrepancy
from noregret.search.resolution import Resolution, resolution

__all__ = [
    "Acquisition",
    "Cover",
    "Resolution",
    "allowed",
    "argmax",
    "best",
    "cover",
    "covered",
    "log_ei",
    "log_h",
    "low_discrepancy",
    "resolution",
    "searched",
    "ucb",
]
