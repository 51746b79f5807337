"""Functions whose optimum is known, and contracts that others can run on what they built."""

from noregret.testing.comparison import PROBLEMS, Compared, Problem, compare
from noregret.testing.kernel_contract import KernelContract
from noregret.testing.problems import RKHSFunction, bump, rkhs_sample
from noregret.testing.storage_contract import StorageContract
from noregret.testing.strategy_contract import StrategyContract

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
