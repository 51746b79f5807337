"""The methods of this library in the regret benchmark, by the name under which results are kept."""

from __future__ import annotations

from collections.abc import Callable

import noregret as nr
from noregret.strategies import Strategy

DEFAULT = "noregret"
# kept from an earlier version of the library, see docs/decisions/0032: it cannot be run again here
BEFORE = "noregret before 0024"
UNINSURED = "noregret, insurance 0"
UNPATROLLED = "noregret without patrols"
RANDOM = "random among what can be run"
INSURANCE = (0.0, 0.25, 0.5, 1.0, 2.0)  # of the curve on needle; 1 is the default's


class Unpatrolled(nr.InsuredGPUCB):
    """The default without patrols, and so without the leash."""

    def patrols(self, t: int) -> int:
        return 0


def at(level: float) -> str:
    """The method of that insurance."""
    return DEFAULT if level == nr.InsuredGPUCB().insurance else f"noregret, insurance {level:g}"


OURS: dict[str, Callable[[], Strategy]] = {
    DEFAULT: nr.InsuredGPUCB,
    UNINSURED: lambda: nr.InsuredGPUCB(0.0),
    "noregret LogEI (no widening)": nr.LogEI,
    "LB-GP-UCB": lambda: nr.LBGPUCB(noise_std=0.05),
}
# run by name only, or where they are wanted: on needle
CURVE: dict[str, Callable[[], Strategy]] = {
    at(level): lambda level=level: nr.InsuredGPUCB(level)  # type: ignore[misc]
    for level in INSURANCE
    if at(level) not in OURS
}
BY_NAME: dict[str, Callable[[], Strategy]] = {UNPATROLLED: Unpatrolled, RANDOM: nr.RandomSearch}
RUNNABLE = OURS | CURVE | BY_NAME


def is_ours(method: str) -> bool:
    return method in RUNNABLE or method.startswith(DEFAULT)  # earlier defaults, other insurances
