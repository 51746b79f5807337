"""What a study is made of, checked: goal, strategy, seed, earlier trials, and where it is kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from noregret.errors import ConfigurationError, TrialError
from noregret.space import as_space
from noregret.storage import SQLStorage, Storage, StudyRecord
from noregret.strategies import InsuredGPUCB, Strategy
from noregret.trials import Goal, Trial

Place = Storage | str | os.PathLike[str] | None


def record_of(
    name: str, space: Any, goal: Goal | None, strategy: Strategy | None, seed: int
) -> StudyRecord:
    wanted, chosen = check_goal(goal), chosen_strategy(strategy)
    return StudyRecord(name, as_space(space), wanted, chosen, check_seed(seed))


def check_goal(goal: Goal | None) -> Goal:
    if goal is None or goal not in ("maximize", "minimize"):
        raise ConfigurationError(
            'say what is wanted: goal is "maximize" or "minimize", such as Study(space,'
            f' "minimize") for a loss{"" if goal is None else f"; got {goal!r}"}'
        )
    return goal


def chosen_strategy(strategy: Any) -> Strategy:
    chosen = InsuredGPUCB() if strategy is None else strategy
    if isinstance(chosen, type) or not isinstance(chosen, Strategy):
        raise ConfigurationError(
            f"strategy must be a strategy value such as InsuredGPUCB(), got {chosen!r}"
        )
    return chosen


def check_numbers(trials: Sequence[Trial]) -> None:
    if [trial.number for trial in trials] != list(range(len(trials))):
        raise TrialError(
            "trials must be numbered from 0 without gaps, got the numbers"
            f" {[trial.number for trial in trials]}"
        )


def check_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ConfigurationError(f"seed must be a whole number of at least 0, got {seed!r}")
    return int(seed)


def as_storage(storage: Place, *, must_exist: bool = True) -> Storage:
    if storage is None or isinstance(storage, (str, os.PathLike)):
        return SQLStorage(storage, must_exist=must_exist)
    return storage
