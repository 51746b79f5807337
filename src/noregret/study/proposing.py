"""Asks a study's strategy: from trials to a proposal, and every earlier proposal derived again."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noregret.errors import ConfigurationError, StorageError
from noregret.space import Array, Candidates, FixedInputs, SearchSpace, Space, fix
from noregret.storage import StudyRecord
from noregret.strategies import algorithm_of, display_name
from noregret.trials import History, Trial, history_of, known_at, sign_of, utc_now

log = logging.getLogger("noregret")
SAME_POINT = (
    1e-3  # distance in every unit-cube coordinate below which two workers' points are equal
)


@dataclass(frozen=True, slots=True)
class Replay:
    """How many proposals were derived again, and the first that came out differently. Proposals
    by another version of the strategy's rule cannot be derived and are skipped.
    """

    agreed: int
    number: int | None = None
    recorded: Any = None
    derived: Any = None
    skipped: int = 0  #: proposals by another algorithm than the strategy's of today
    since: int = 0  #: the trial from which on every proposal can be derived


def algorithms(trials: Sequence[Trial]) -> list[tuple[int, int]]:
    """Which versions of a strategy's rule proposed the points.

    A study that an older noregret began goes on by the rule of the installed one.

    Args:
        trials: All trials of a study.

    Returns:
        Pairs of the first trial and the algorithm's number from there on.
    """
    runs: list[tuple[int, int]] = []
    for trial in trials:
        if trial.decision.chosen and (not runs or runs[-1][1] != trial.decision.algorithm):
            runs.append((trial.number, trial.decision.algorithm))
    return runs


class Proposer:
    """What a study's strategy is asked. It reads trials and stores nothing but encoded points."""

    def __init__(self, record: StudyRecord) -> None:
        self.record, self.space = record, record.space
        # a cache: a trial's point may change when it ends, if another point was run
        self._encoded: dict[tuple[int, bool], Array] = {}

    def encode(self, trial: Trial) -> Array:
        """The point of a trial in the unit cube."""
        key = trial.number, trial.is_finished
        if key not in self._encoded:
            self._encoded[key] = self.space.encode(trial.params)
        return self._encoded[key]

    def check(self, trials: Sequence[Trial]) -> None:
        """StorageError if a stored point is not in the space."""
        for trial in trials:
            if (trial.number, trial.is_finished) in self._encoded:
                continue
            try:
                self.encode(trial)
                if trial.asked is not None:
                    self.space.encode(trial.asked)
            except (ValueError, TypeError, KeyError, OverflowError) as error:
                raise StorageError(
                    f"trial {trial.number} of study {self.record.name!r} is damaged: its point is"
                    f" none of the study's space ({error}). `noregret recover` exports it with all"
                    " others"
                ) from None

    def history(self, trials: Sequence[Trial]) -> History:
        """The trials as the strategy sees them."""
        sign, limits = sign_of(self.record.goal), self.record.outcomes
        return history_of(trials, self.encode, self.space.dimension, sign, limits)

    def part(
        self, fixed: Mapping[str, Any] | None, context: Mapping[str, Any] | None
    ) -> Space | Candidates | FixedInputs:
        """The part of the space that is searched: in this context, with these values fixed."""
        names = self.record.context
        if not names:
            if context is not None:
                raise ConfigurationError(
                    f"this study has no context, got {context!r}: name the inputs that are not"
                    " chosen when it is made, Study(…, context=(…)); for one ask use fixed="
                )
            return self.space if fixed is None else fix(self.space, fixed)
        wanted = ", ".join(f"{name!r}: …" for name in names)
        if not isinstance(context, Mapping):
            got = "" if context is None else f", got {context!r}"
            raise ConfigurationError(
                f"{', '.join(names)} is context here: say what it is now, context={{{wanted}}}{got}"
            )
        missing = [name for name in names if name not in context]
        unknown = [name for name in context if name not in names]
        if missing or unknown:
            raise ConfigurationError(
                f"the context of this study is {list(names)!r}; missing {missing!r}, unknown"
                f" {unknown!r}: give context={{{wanted}}}"
            )
        twice = [name for name in fixed or {} if name in names]
        if twice:
            raise ConfigurationError(f"{twice!r} are context: give them in context=, not in fixed=")
        values = {name: context[name] for name in names}
        return fix(self.space, {**values, **(fixed or {})}, is_context=True)

    def waiting(self, trials: Sequence[Trial], part: SearchSpace) -> Trial | None:
        """The first waiting trial in a part of the space; without context, the first of all."""
        for trial in trials:
            if trial.state == "waiting" and (not self.record.context or self.is_in(trial, part)):
                return trial
        return None

    def is_in(self, trial: Trial, part: SearchSpace) -> bool:
        """Whether a trial lies in a part of the space."""
        return bool(np.array_equal(self.encode(trial)[part.held], part.at[part.held]))

    def is_near(self, trial: Trial, others: Sequence[Trial]) -> bool:
        """Whether one of the others has the same point, up to SAME_POINT."""
        x = self.space.encode(trial.params)
        return any(np.abs(self.encode(other) - x).max() < SAME_POINT for other in others)

    def propose(self, part: SearchSpace, trials: Sequence[Trial], draw: int | None = None) -> Trial:
        """The next trial, with everything needed to derive it again.

        Args:
            part: The part of the space that is searched.
            trials: All trials so far.
            draw: Another stream of random numbers, for a second attempt; None: the first.
        """
        entropy = [self.record.seed, len(trials), *([] if draw is None else [draw])]
        proposal = self.record.strategy.propose(
            part, self.history(trials), np.random.default_rng(entropy)
        )
        decision = replace(
            proposal.decision.signed(sign_of(self.record.goal)),
            pending=tuple([trial.number for trial in trials if not trial.is_finished]),
            fixed=part.fixed or None,
            draw=draw,
            algorithm=algorithm_of(self.record.strategy),
        )
        return Trial(len(trials), part.decode(proposal.x), decision=decision, created=utc_now())

    def warn_if_changed(self, trials: Sequence[Trial]) -> None:
        """Warns that another algorithm decides from here on. Its decisions carry its number, so
        that a study warns once.
        """
        earlier = next((each.decision for each in reversed(trials) if each.decision.chosen), None)
        today = algorithm_of(self.record.strategy)
        if earlier is not None and earlier.algorithm != today:
            log.warning(
                "study %r: its earlier trials were proposed by algorithm %d of %s, from trial %d on"
                " algorithm %d decides, of the installed noregret; replay can derive proposals from"
                " there on",
                self.record.name,
                earlier.algorithm,
                display_name(self.record.strategy),
                len(trials),
                today,
            )

    def replay(self, trials: Sequence[Trial], tolerance: float) -> Replay:
        """Derives every proposal again from the trials before it."""
        if not tolerance >= 0:
            raise ConfigurationError(f"tolerance must be at least 0, got {tolerance!r}")
        today, agreed = algorithm_of(self.record.strategy), 0
        proposed = [trial for trial in trials if trial.decision.chosen]
        others = [trial.number for trial in proposed if trial.decision.algorithm != today]
        skipped, since = len(others), others[-1] + 1 if others else 0
        for trial in proposed:
            decision = trial.decision
            if decision.algorithm != today:
                continue
            part: Space | Candidates | FixedInputs = self.space
            if decision.fixed is not None:
                part = fix(self.space, decision.fixed, is_context=bool(self.record.context))
            derived = self.propose(part, known_at(trials, trial.number), decision.draw).params
            recorded = self.space.encode(trial.proposed)
            if np.abs(self.space.encode(derived) - recorded).max() > tolerance:
                return Replay(agreed, trial.number, trial.proposed, derived, skipped, since)
            agreed += 1
        return Replay(agreed, skipped=skipped, since=since)
