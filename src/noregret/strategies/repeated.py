"""Which repeats bound the noise is settled by the first decision of the model, and kept with it: a
repeat that is told late would make another set of the first ones. theory.md#unknown-noise
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from noregret.rkhs import first_pairs, pairs_at
from noregret.space import Array
from noregret.trials import History, Proposal

REPEATED = "repeated"  # in the memory of a decision: the points of the pairs


def kept_places(history: History, count: int) -> Array | None:
    """(count, d): the points of the pairs that the first decision of the model kept, if any did."""
    for each in history.decisions:
        places = np.array(each.memory.get(REPEATED, ()), dtype=np.float64)
        if places.shape == (count, history.X.shape[1]):
            return places
    return None


def pairs(history: History, count: int) -> list[tuple[int, int]]:
    """The rows of the repeats that bound the noise, fewer than ``count`` if there are too few."""
    places = kept_places(history, count)
    rows = [] if places is None else pairs_at(history.X, places)
    return rows if len(rows) == count else first_pairs(history.X, count)


def keeping(proposal: Proposal, history: History, count: int) -> Proposal:
    """With the points of the pairs, if it is the first of a model."""
    decision = proposal.decision
    if decision.model is None or kept_places(history, count) is not None:
        return proposal
    places = history.X[[first for first, _ in pairs(history, count)]]
    memory = {**decision.memory, REPEATED: places.tolist()}
    return replace(proposal, decision=replace(decision, memory=memory))
