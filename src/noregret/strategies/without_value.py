"""The default while no value is known, since no limit was ever kept.

Patrols go on, and rule out what they rule out: theory.md#limits-default needs both from the first
decision on. There is no model of the value, so a decision notes in its memory what it was for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from noregret.space import SearchSpace
from noregret.strategies import surveys
from noregret.strategies.inputs import Inputs
from noregret.strategies.limited import Limited
from noregret.strategies.plausible import Plausible, patrol_point
from noregret.trials import WITHOUT_VALUE, Decision, History, Proposal

if TYPE_CHECKING:
    from noregret.strategies.insured_gp_ucb import InsuredGPUCB


def decisions_made(decisions: Sequence[Decision]) -> int:
    """Those after the initial design, with a model of the value or before there was one."""
    return sum(each.model is not None or WITHOUT_VALUE in each.memory for each in decisions)


def propose_without_value(
    strategy: InsuredGPUCB, space: SearchSpace, history: History, rng: np.random.Generator
) -> Proposal:
    """A patrol where one is due; else where a value is most likely to exist at all."""
    inputs, every = Inputs.of(space), space.enumeration()
    limited = Limited.learnt(history, inputs.group, rng)
    assert limited is not None
    t, listed = decisions_made(history.decisions) + 1, every is not None
    number = math.floor(strategy.patrols(t, inputs, listed))
    if number > math.floor(strategy.patrols(t - 1, inputs, listed)):
        noted = {WITHOUT_VALUE: "patrol"}
        return Proposal(patrol_point(space, every, number), Decision("initial", memory=noted))
    x = limited.search(space, rng)
    left = Plausible.of(space, history, None if every is None else len(every))
    if left is not None:
        x = left.best(x, limited.feasibility, surveys.cloud_of(space, int(rng.integers(2**63))))
    return Proposal(x, Decision("initial", memory={WITHOUT_VALUE: "limits"}))
