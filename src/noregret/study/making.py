"""What a study is made of, checked: goal, strategy, seed, earlier trials, and where it is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from noregret.errors import ConfigurationError, TrialError
from noregret.space import as_space
from noregret.storage import MemoryStorage, SQLStorage, Storage, StudyRecord
from noregret.strategies import InsuredGPUCB, Strategy
from noregret.trials import Goal, Limit, Trial, check_limits, unwritable

Place = Storage | str | os.PathLike[str] | None


def record_of(
    name: str,
    space: Any,
    goal: Goal | None,
    strategy: Strategy | None,
    seed: int,
    outcomes: Any,
    context: Any,
) -> StudyRecord:
    wanted, chosen = check_goal(goal), chosen_strategy(strategy)
    made = as_space(space)
    limits = check_limits(outcomes, made.parameters)
    check_takes(chosen, limits)
    given = check_context(context, made.parameters)
    return StudyRecord(name, made, wanted, chosen, check_seed(seed), outcomes=limits, context=given)


def check_takes(strategy: Strategy, limits: Mapping[str, Limit]) -> None:
    """That a strategy can keep these limits."""
    check = getattr(strategy, "check_outcomes", None)
    if check is None:
        if limits:
            raise ConfigurationError(
                f"{type(strategy).__name__} reads no outcomes, so it would not keep the limits of"
                f" {list(limits)!r}: use the default strategy, or AdaptiveGPUCB.rigorous(…,"
                " outcomes=…)"
            )
    else:
        check(limits)


def check_context(context: Any, parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Inputs that are given at each ask."""
    names = (context,) if isinstance(context, str) else tuple(context or ())
    unknown = [name for name in names if name not in parameters]
    if unknown:
        raise ConfigurationError(
            f"context names {unknown!r}, which this space does not have: its parameters are"
            f" {list(parameters)!r}"
        )
    if names and len(set(names)) >= len(parameters):
        raise ConfigurationError(
            f"every input is context, {list(names)!r}: there is nothing left to choose"
        )
    return tuple(dict.fromkeys(names))


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


def check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise ConfigurationError(f"a study's name is text, got {name!r}")
    odd = unwritable(name)
    if odd is not None:
        raise ConfigurationError(f"a study's name holds {odd}: choose another name")


def check_numbers(trials: Sequence[Trial]) -> None:
    if [trial.number for trial in trials] != list(range(len(trials))):
        raise TrialError(
            "trials must be numbered from 0 without gaps, got the numbers"
            f" {[trial.number for trial in trials]}"
        )
    for trial in trials:
        if trial.corrects is not None and not 0 <= trial.corrects < trial.number:
            raise TrialError(
                f"trial {trial.number} corrects trial {trial.corrects!r}: a correction comes after"
                " what it corrects"
            )


def check_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ConfigurationError(f"seed must be a whole number of at least 0, got {seed!r}")
    return int(seed)


def as_storage(storage: Place, *, must_exist: bool = True) -> Storage:
    if storage is None or isinstance(storage, (str, os.PathLike)):
        return SQLStorage(storage, must_exist=must_exist)
    return storage


def kept_in(storage: Any) -> Storage:
    """The storage of ``Study(…)``: a file's name would be guessed at, since it has no study's."""
    if isinstance(storage, (str, os.PathLike)):
        raise ConfigurationError(
            f"Study(…) is kept in memory or in a storage object, got {str(storage)!r}: to keep a"
            " study in a file or database give it a name, Study.create(name, space, goal,"
            " storage=…), and Study.open(name, storage=…) later"
        )
    return MemoryStorage() if storage is None else storage
