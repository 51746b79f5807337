"""The one mutable object, and what belongs to it: running, stopping, files."""

from noregret.study.asking import Replay
from noregret.study.files import parsed, table
from noregret.study.isolated import Isolated, was_killed
from noregret.study.numerals import numbers, read_number
from noregret.study.one_call import last_study, maximize, minimize
from noregret.study.progress_bar import Progress
from noregret.study.result import Certificate, Result
from noregret.study.stopping import CertifiedWithin, Reached
from noregret.study.study import Callback, Study

__all__ = [
    "Callback",
    "Certificate",
    "CertifiedWithin",
    "Isolated",
    "Progress",
    "Reached",
    "Replay",
    "Result",
    "Study",
    "last_study",
    "maximize",
    "minimize",
    "numbers",
    "parsed",
    "read_number",
    "table",
    "was_killed",
]
