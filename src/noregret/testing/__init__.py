"""Objectives with a known optimum, and contract suites for your own strategies, kernels and
storages.
"""

from noregret.testing.comparison import PROBLEMS, Compared, Problem, compare
from noregret.testing.contracts import KernelContract, StorageContract, StrategyContract
from noregret.testing.problems import RKHSFunction, bump, rkhs_sample

__all__ = [
    "PROBLEMS",
    "Compared",
    "KernelContract",
    "Problem",
    "RKHSFunction",
    "StorageContract",
    "StrategyContract",
    "bump",
    "compare",
    "rkhs_sample",
]
