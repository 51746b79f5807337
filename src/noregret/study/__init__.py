"""The one mutable object, and what belongs to it: running, stopping, files."""

from typing import TYPE_CHECKING

from noregret.errors import lazily
from noregret.study.isolated import Isolated, was_killed
from noregret.study.progress_bar import Progress
from noregret.study.result import (
    CHANCE,
    Certificate,
    Feasibility,
    Recommendation,
    Replay,
    Result,
    algorithms,
    policy_of,
    recommended_by_chance,
)
from noregret.study.running import CertifiedWithin, Infeasible, LeftBelow, Reached
from noregret.study.study import Callback, Study, delete_study, snapshot_of, studies

if TYPE_CHECKING:
    from noregret.study.files import IMPORT, designs, import_label, imports_of, parsed, take_back
    from noregret.study.numerals import (
        numbers,
        read_limits,
        read_measured,
        read_number,
        understood,
        units_of,
    )
    from noregret.study.one_call import last_study, maximize, minimize
    from noregret.study.remaining import Left, left_of

__all__ = [
    "CHANCE",
    "IMPORT",
    "Callback",
    "Certificate",
    "CertifiedWithin",
    "Feasibility",
    "Infeasible",
    "Isolated",
    "Left",
    "LeftBelow",
    "Progress",
    "Reached",
    "Recommendation",
    "Replay",
    "Result",
    "Study",
    "algorithms",
    "delete_study",
    "designs",
    "import_label",
    "imports_of",
    "last_study",
    "left_of",
    "maximize",
    "minimize",
    "numbers",
    "parsed",
    "policy_of",
    "read_limits",
    "read_measured",
    "read_number",
    "recommended_by_chance",
    "snapshot_of",
    "studies",
    "take_back",
    "understood",
    "units_of",
    "was_killed",
]

__getattr__ = lazily(__name__, __all__, "one_call", "numerals", "files", "remaining")
