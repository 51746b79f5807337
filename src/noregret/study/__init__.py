"""The one mutable object, and what belongs to it: running, stopping, files."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from noregret.study.isolated import Isolated, was_killed
from noregret.study.progress_bar import Progress
from noregret.study.result import (
    CHANCE,
    Certificate,
    Feasibility,
    Policy,
    Recommendation,
    Replay,
    Result,
    algorithms,
    policy_of,
    recommended_by_chance,
)
from noregret.study.running import CertifiedWithin, Infeasible, LeftBelow, Reached
from noregret.study.study import Callback, Study, delete_study, snapshot, studies

if TYPE_CHECKING:
    from noregret.study.files import designs, parsed
    from noregret.study.numerals import (
        numbers,
        read_limits,
        read_number,
        read_value,
        understood,
        units_of,
    )
    from noregret.study.one_call import last_study, maximize, minimize
    from noregret.study.remaining import Left, left_of

__all__ = [
    "CHANCE",
    "Callback",
    "Certificate",
    "CertifiedWithin",
    "Feasibility",
    "Infeasible",
    "Isolated",
    "Left",
    "LeftBelow",
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
    "left_of",
    "maximize",
    "minimize",
    "numbers",
    "parsed",
    "policy_of",
    "read_limits",
    "read_number",
    "read_value",
    "recommended_by_chance",
    "snapshot",
    "studies",
    "understood",
    "units_of",
    "was_killed",
]
# What reads files and typed numbers, and the calls of one line, are imported when first used.
_LAZY = {
    "files": ("designs", "parsed"),
    "numerals": ("numbers", "read_limits", "read_number", "read_value", "understood", "units_of"),
    "one_call": ("last_study", "maximize", "minimize"),
    "remaining": ("Left", "left_of"),
}


def __getattr__(name: str) -> Any:
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(f"noregret.study.{module}"), name)
    raise AttributeError(f"module 'noregret.study' has no attribute {name!r}")
