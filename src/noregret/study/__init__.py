"""The one mutable object, and what belongs to it: running, stopping, files."""

from noregret.study.asking import Replay
from noregret.study.feasibility import Feasibility
from noregret.study.importing import designs, parsed
from noregret.study.isolated import Isolated, was_killed
from noregret.study.numerals import numbers, read_number, read_value, understood, units_of
from noregret.study.one_call import last_study, maximize, minimize
from noregret.study.policies import Policy, Recommendation, policy_of
from noregret.study.progress_bar import Progress
from noregret.study.result import Certificate, Result
from noregret.study.stopping import CertifiedWithin, Infeasible, Reached
from noregret.study.study import Callback, Study
from noregret.study.typed_limits import read_limits

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
    "understood",
    "units_of",
    "was_killed",
]
