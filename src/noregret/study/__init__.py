"""The one mutable object, and what belongs to it: running, stopping, files."""

from noregret.study.files import parsed
from noregret.study.progress_bar import Progress
from noregret.study.stopping import CertifiedWithin, Reached, certifies
from noregret.study.study import Certificate, Replay, Study, maximize, minimize

__all__ = [
    "Certificate",
    "CertifiedWithin",
    "Progress",
    "Reached",
    "Replay",
    "Study",
    "certifies",
    "maximize",
    "minimize",
    "parsed",
]
