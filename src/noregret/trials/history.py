"""Trials as a strategy sees them, now or at any earlier ask.

Sign, units and encoding change here and nowhere else: inside, everything is maximised on the unit
cube.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from noregret.space import Array
from noregret.trials.trial import STATES, Info, State, Trial


@dataclass(frozen=True, slots=True)
class History:
    """What a strategy may know: unit cube, to be maximised, oldest first.

    X (n, d), y (n,): evaluated points; noise_std (n,): told with the value, NaN where it was not.
    pending (m, d): asked and not told. failed (k, d). decisions: the ``info`` of the strategy's
    earlier proposals; rows: for each of them the row of X with its value, None while it is pending
    or if it failed.
    """

    X: Array
    y: Array
    noise_std: Array
    pending: Array
    failed: Array
    decisions: tuple[Info, ...] = ()
    rows: tuple[int | None, ...] = ()

    @staticmethod
    def empty(dimension: int) -> History:
        none, no_points = np.empty(0), np.empty((0, dimension))
        return History(no_points, none, none, no_points, no_points)

    @property
    def scaled_decisions(self) -> tuple[Info, ...]:
        """Earlier proposals that came from a model, not from the initial design."""
        return tuple(info for info in self.decisions if "h" in info)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A point of the unit cube and the reasons for it."""

    x: Array
    info: Info

    def __post_init__(self) -> None:
        object.__setattr__(self, "info", dict(self.info))


Encode = Callable[[Trial], Array]


def history_of(trials: Sequence[Trial], encode: Encode, dimension: int, sign: float) -> History:
    """sign: 1 if values are to be maximised, −1 if they are to be minimised. Waiting trials are as
    good as under way.
    """
    replaced_by = corrections(trials)
    of_state: dict[State, list[Trial]] = {state: [] for state in STATES}
    for trial in trials:
        if trial.number not in replaced_by:
            of_state[trial.state].append(trial)
    done, decided = of_state["complete"], [trial for trial in trials if trial.is_decision]
    row_of = {trial.number: row for row, trial in enumerate(done)}

    def points(chosen: Sequence[Trial]) -> Array:
        return np.array([encode(trial) for trial in chosen]).reshape(-1, dimension)

    return History(
        X=points(done),
        y=np.array([sign * float(trial.value or 0.0) for trial in done]),
        noise_std=np.array(
            [math.nan if trial.noise_std is None else trial.noise_std for trial in done]
        ),
        pending=points(
            sorted(of_state["waiting"] + of_state["running"], key=lambda trial: trial.number)
        ),
        failed=points(of_state["failed"]),
        decisions=tuple([trial.info for trial in decided]),
        rows=tuple([row_of.get(latest(trial.number, replaced_by)) for trial in decided]),
    )


def corrections(trials: Sequence[Trial]) -> dict[int, int]:
    """Which trial replaces which."""
    return {trial.info["corrects"]: trial.number for trial in trials if "corrects" in trial.info}


def latest(number: int, replaced_by: Mapping[int, int]) -> int:
    """The end of a chain of corrections."""
    while number in replaced_by:
        number = replaced_by[number]
    return number


def known_at(trials: Sequence[Trial], number: int) -> list[Trial]:
    """The trials as they were when number was asked for: those it lists as pending had no outcome
    yet, all others had theirs.

    A trial ends once and for ever, a correction is a trial of its own, and an ask sees every
    smaller number: so this is exact.
    """
    pending = set(trials[number].info.get("pending", ()))
    return [
        (
            replace(trial, state="running", value=None, noise_std=None)
            if trial.number in pending
            else trial
        )
        for trial in trials[:number]
    ]
