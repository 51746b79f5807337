"""The one mutable object, and what belongs to it: running, stopping, files."""

from noregret.study.files import designs, parsed
from noregret.study.isolated import Isolated, was_killed
from noregret.study.numerals import (
    numbers,
    read_limits,
    read_number,
    read_value,
    understood,
    units_of,
)
from noregret.study.one_call import last_study, maximize, minimize
from noregret.study.progress_bar import Progress
from noregret.study.proposing import Replay, algorithms
from noregret.study.result import (
    Certificate,
    Feasibility,
    Policy,
    Recommendation,
    Result,
    policy_of,
)
from noregret.study.running import CertifiedWithin, Infeasible, Reached
from noregret.study.study import Callback, Study, delete_study, snapshot, studies

__all__ = [
    "Callback",
    "Certificate",
    "CertifiedWithin",
    "Feasibility",
    "Infeasible",
    "Isolated",
    "Policy",
    "Progress",
    "Reached",
    "Recommendation",
    "Replay",
    "Result",
    "Study",
    "algorithms",
    "delete_study",
    "designs",
    "last_study",
    "maximize",
    "minimize",
    "numbers",
    "parsed",
    "policy_of",
    "read_limits",
    "read_number",
    "read_value",
    "snapshot",
    "studies",
    "understood",
    "units_of",
    "was_killed",
]
