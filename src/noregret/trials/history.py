"""Trials as a strategy sees them, now or at any earlier ask.

Sign and encoding change here: inside, everything is maximised on the unit cube. Units are a
strategy's own affair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from noregret.space import Array
from noregret.trials.decision import Decision, ModelDecision
from noregret.trials.limits import Limit, margin
from noregret.trials.trial import STATES, Ending, State, Trial


@dataclass(frozen=True, slots=True)
class Margins:
    """One outcome as a strategy sees it: y (n,) is how far it kept within its limit, so that
    feasible is y ≥ 0. X, noise_std and rows as in ``History``.
    """

    name: str
    limit: Limit
    X: Array
    y: Array
    noise_std: Array
    rows: tuple[int | None, ...] = ()

    def in_values(self, mean: float) -> float:
        """A margin in the outcome's own units."""
        return self.limit.limit + self.limit.sign * mean


@dataclass(frozen=True, slots=True)
class History:
    """What a strategy may know: unit cube, to be maximised, oldest first.

    X (n, d), y (n,): evaluated points; noise_std (n,): told with the value, NaN where it was not.
    pending (m, d): asked and not told; withdrawn: which of its rows nobody is going to run.
    failed (k, d). decisions: the strategy's earlier ones as
    they were recorded, their forecasts in the values' sign; rows: for each of them the row of X
    with its value, None while it is pending, if it failed, or if another point was run. sign: −1 if
    the values were told to be minimised, so that y is −value.
    """

    X: Array
    y: Array
    noise_std: Array
    pending: Array
    failed: Array
    decisions: tuple[Decision, ...] = ()
    rows: tuple[int | None, ...] = ()
    sign: float = 1.0
    outcomes: tuple[Margins, ...] = ()  # of a study with limits, in its order
    valueless: Array | None = None  # (j, d): evaluated without a value, a limit was not kept
    withdrawn: tuple[int, ...] = ()

    @staticmethod
    def empty(dimension: int) -> History:
        none, no_points = np.empty(0), np.empty((0, dimension))
        return History(no_points, none, none, no_points, no_points)

    @property
    def model_decisions(self) -> tuple[ModelDecision, ...]:
        """Earlier decisions that came from a model, not from the initial design."""
        return tuple([decision.model for decision in self.decisions if decision.model is not None])

    @property
    def observed(self) -> History:
        """Without the points under way, which say nothing about f yet."""
        return replace(self, pending=self.pending[:0], withdrawn=())

    @property
    def under_way(self) -> Array:
        """(m, d): points whose value is to come."""
        return np.delete(self.pending, self.withdrawn, axis=0)

    @property
    def given_up(self) -> Array:
        """(m, d): points that were chosen and withdrawn: no value comes, and none is known."""
        return self.pending[list(self.withdrawn)]

    @property
    def without_value(self) -> Array:
        """(j, d): evaluated, but a limit was not kept and there was no value."""
        return self.X[:0] if self.valueless is None else self.valueless


@dataclass(frozen=True, slots=True)
class Proposal:
    """A point of the unit cube and the reasons for it; a forecast in them is to be maximised."""

    x: Array
    decision: Decision = field(default_factory=lambda: Decision("model"))


Goal = Literal["maximize", "minimize"]


def sign_of(goal: Goal) -> float:
    """1 if values are to be maximised, −1 if they are to be minimised."""
    return 1.0 if goal == "maximize" else -1.0


Encode = Callable[[Trial], Array]


def history_of(
    trials: Sequence[Trial],
    encode: Encode,
    dimension: int,
    sign: float,
    limits: Mapping[str, Limit] | None = None,
) -> History:
    """sign: see ``sign_of``. Waiting trials are as good as under way, and so for ever are those
    that a strategy chose and a person withdrew, which are marked: nothing is known there, nor
    proposed again. A failure that had nothing to do with the point is not there at all, as long as
    the trial is not given out again.
    """
    replaced_by = corrections(trials)
    of_state: dict[State, list[Trial]] = {state: [] for state in STATES}
    nothing = set()
    for trial in trials:
        if trial.transient and trial.number not in replaced_by:
            nothing.add(trial.number)
        elif trial.number not in replaced_by:
            of_state[trial.state].append(trial)
    ended = of_state["complete"]
    done = [trial for trial in ended if trial.value is not None]
    chosen = (trial for trial in trials if trial.decision.chosen)
    decided = [trial for trial in chosen if latest(trial.number, replaced_by) not in nothing]

    withdrawn = [trial for trial in of_state["withdrawn"] if trial.decision.chosen]
    coming = of_state["waiting"] + of_state["running"] + withdrawn
    coming.sort(key=lambda trial: trial.number)

    def points(chosen: Sequence[Trial]) -> Array:
        return np.array([encode(trial) for trial in chosen]).reshape(-1, dimension)

    def rows(measured: Sequence[Trial]) -> tuple[int | None, ...]:
        """For each decision the row of its value."""
        row_of = {trial.number: row for row, trial in enumerate(measured) if trial.asked is None}
        return tuple([row_of.get(latest(trial.number, replaced_by)) for trial in decided])

    def margins(name: str, limit: Limit) -> Margins:
        measured = [trial for trial in ended if name in trial.outcomes]
        y = np.array([margin(limit, trial.outcomes[name]) for trial in measured])
        noise = [trial.outcome_noise.get(name, math.nan) for trial in measured]
        noise_std = np.array(noise, dtype=np.float64)
        return Margins(name, limit, points(measured), y, noise_std, rows(measured))

    return History(
        X=points(done),
        y=np.array([sign * float(trial.value or 0.0) for trial in done]),
        noise_std=np.array([trial.noise_std for trial in done], dtype=np.float64),  # None: NaN
        pending=points(coming),
        failed=points(of_state["failed"]),
        decisions=tuple([trial.decision for trial in decided]),
        rows=rows(done),
        sign=sign,
        outcomes=tuple([margins(name, limit) for name, limit in (limits or {}).items()]),
        valueless=points([trial for trial in ended if trial.value is None]) if limits else None,
        withdrawn=tuple([row for row, trial in enumerate(coming) if trial.state == "withdrawn"]),
    )


def corrections(trials: Sequence[Trial]) -> dict[int, int]:
    """Which trial replaces which."""
    return {trial.corrects: trial.number for trial in trials if trial.corrects is not None}


def latest(number: int, replaced_by: Mapping[int, int]) -> int:
    """The end of a chain of corrections."""
    while number in replaced_by:
        number = replaced_by[number]
    return number


def known_at(trials: Sequence[Trial], number: int) -> list[Trial]:
    """The trials as they were when number was thought about: so many as it has ``seen``, of which
    those it lists as pending had no outcome yet and all others had theirs.

    A trial ends once and for ever, a correction is a trial of its own, and who sees a trial sees
    every smaller number: so this is exact.
    """
    decision = trials[number].decision
    pending, seen = set(decision.pending), number if decision.seen is None else decision.seen
    return [
        replace(trial.ended(Ending("running")), params=trial.proposed, asked=None, finished=None)
        if trial.number in pending
        else trial
        for trial in trials[:seen]
    ]
