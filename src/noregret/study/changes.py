"""One study and another: whether they are the same, and one derived from the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.errors import ConfigurationError, SpaceError, StorageError
from noregret.space import Candidates, Constraint, Parameter, Space, as_space, named_params
from noregret.storage import StudyRecord, codec
from noregret.strategies import Strategy
from noregret.study.making import check_context, check_seed, check_takes, chosen_strategy
from noregret.trials import (
    Decision,
    Goal,
    Limit,
    Trial,
    check_limits,
    check_note,
    keeps,
    standing,
)

if TYPE_CHECKING:
    from noregret.study.study import Study


def same_study(study: Study, given: StudyRecord, strategy: Any) -> None:
    """That a stored study is the one described; strategy None: any."""
    space, goal = given.space, given.goal
    differing = {
        "limits": (study.outcomes, given.outcomes, study.outcomes == given.outcomes),
        "context": (study.context, given.context, study.context == given.context),
        "space": (study.space, space, study.space == space),
        "goal": (study.goal, goal, study.goal == goal),
        "strategy": (study.strategy, strategy, strategy in (None, study.strategy)),
    }
    for what, (there, wanted, same) in differing.items():
        if not same:
            raise ConfigurationError(
                f"study {study.name!r} exists with another {what}, {there!r}, and {wanted!r} was"
                " given: take another name, or make a new study from it with study.derived(…)"
            )


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be different in a study made from another; None: as it was."""

    name: str
    parameters: Mapping[str, Parameter] | None = None
    space: Any = None
    goal: Goal | None = None
    strategy: Strategy | None = None
    seed: int | None = None
    note: str | None = None
    constraints: Sequence[Constraint] | None = None
    outcomes: Mapping[str, Limit] | None = None
    context: Sequence[str] | None = None


def derived(
    old: StudyRecord, change: Change, trials: Sequence[Trial], past: Mapping[str, Any]
) -> tuple[StudyRecord, list[Trial]]:
    """The record of a study made from another, and the trials that go along."""
    given = None if change.space is None else as_space(change.space)
    seed = None if change.seed is None else check_seed(change.seed)
    note = check_note(change.note)
    if given is not None and (change.parameters is not None or change.constraints is not None):
        raise ConfigurationError(
            "derived takes space, or parameters and constraints that change, not both"
        )
    if change.goal not in ("maximize", "minimize", None):
        raise ConfigurationError(f'goal is "maximize" or "minimize", got {change.goal!r}')
    new = replace(
        old,
        name=change.name,
        space=given or _changed_space(old.space, change),
        goal=change.goal or old.goal,
        strategy=old.strategy if change.strategy is None else chosen_strategy(change.strategy),
        seed=old.seed if seed is None else seed,
        note=note or old.note,
    )
    outcomes = old.outcomes if change.outcomes is None else change.outcomes
    context = old.context if change.context is None else change.context
    new = replace(
        new,
        outcomes=check_limits(outcomes, new.space.parameters),
        context=check_context(context, new.space.parameters),
    )
    check_takes(new.strategy, new.outcomes)
    return carried(old, new, trials, past)


def _changed_space(old: Space | Candidates, change: Change) -> Space | Candidates:
    """The space with some parameters exchanged and some added at its end, its constraints or
    others.
    """
    if not change.parameters and change.constraints is None:
        return old
    if isinstance(old, Candidates):
        raise ConfigurationError(
            "a list of candidates has no ranges to change and no constraints: give the new list as"
            " space=Candidates(…)"
        )
    kept = old.constraints if change.constraints is None else change.constraints
    every = {**old.parameters, **(change.parameters or {})}
    return Space(every, old.vector, kept, old.branches)


DEFINING = ("space", "goal", "strategy", "seed", "outcomes", "context")


def carried(
    old: StudyRecord, new: StudyRecord, trials: Sequence[Trial], past: Mapping[str, Any]
) -> tuple[StudyRecord, list[Trial]]:
    """The new record with its origin, and the trials that go along: all of them as they are where
    only the name is new, else the outcomes as data.
    """
    was = {
        name: getattr(old, name) for name in DEFINING if getattr(old, name) != getattr(new, name)
    }
    if was:
        kept, numbers = _outcomes(trials, old.space, new.space, past)
        kept = [_measured(trial, new.outcomes) for trial in kept]
    else:
        _check_past(old.space, new.space, past)
        kept, numbers = [_given_back(trial) for trial in trials], list(range(len(trials)))
    origin = {
        "study": old.name,
        "was": {name: _stored(value) for name, value in was.items()},
        "numbers": numbers,  # of the old study, in the order of the new one's trials
        "origin": old.origin,
    }
    return replace(new, origin=origin), kept


def _stored(value: Any) -> Any:
    """As JSON; of a strategy that cannot be stored, what it prints."""
    try:
        return codec.to_json(value)
    except StorageError:
        return repr(value)


def _measured(trial: Trial, limits: Mapping[str, Limit]) -> Trial:
    """With the outcomes that the new study knows, by its limits. Without a value and beyond none
    of them any more, nothing is left of a trial but that it failed.
    """
    kept = {name: value for name, value in trial.outcomes.items() if name in limits}
    noise = {name: std for name, std in trial.outcome_noise.items() if name in limits}
    feasible = keeps(kept, limits) if trial.state == "complete" else None
    changed = replace(trial, outcomes=kept, outcome_noise=noise, feasible=feasible)
    if trial.state == "complete" and trial.value is None and feasible is not False:
        return replace(changed, state="failed", error="it had no value, a limit was not kept")
    return changed


def _given_back(trial: Trial) -> Trial:
    """Nobody evaluates a copy: what is under way waits there."""
    if trial.state != "running":
        return trial
    return replace(trial, state="waiting", worker=None, started=None)


def _outcomes(
    trials: Sequence[Trial],
    old: Space | Candidates,
    new: Space | Candidates,
    past: Mapping[str, Any],
) -> tuple[list[Trial], list[int]]:
    """The outcomes that stand, as data of the new space, and their old numbers. Decisions stay
    behind: they were made in another space or by another strategy. Trials under way stay behind
    too, those that wait go along.
    """
    _check_past(old, new, past)
    kept: list[Trial] = []
    numbers: list[int] = []
    for trial in standing(trials):
        if trial.state == "running":
            continue
        named = {**named_params(old, trial.params), **past}
        point = np.array(list(named.values())) if _is_vector(new) else named
        try:
            params = new.canonical(point)
        except SpaceError as error:
            raise SpaceError(
                f"trial {trial.number} does not fit the new space: {error}. A derived study takes"
                " all of its trials along: keep the range as wide as what was run"
            ) from None
        source = Decision("enqueued") if trial.state == "waiting" else Decision()
        numbers.append(trial.number)
        kept.append(
            replace(
                trial,
                number=len(kept),
                params=params,
                asked=None,
                corrects=None,
                decision=source,
                worker=None,
            )
        )
    return kept, numbers


def _is_vector(space: Space | Candidates) -> bool:
    return not isinstance(space.decode(np.zeros(space.dimension)), Mapping)


def _check_past(old: Space | Candidates, new: Space | Candidates, past: Mapping[str, Any]) -> None:
    gone = [name for name in old.parameters if name not in new.parameters]
    if gone:
        raise ConfigurationError(
            f"the new space lacks {gone!r}, in which the old trials differ: keep it; an input that"
            " shall vary no more is held with ask(fixed=…)"
        )
    added = [name for name in new.parameters if name not in old.parameters]
    missing = [name for name in added if name not in past]
    if missing:
        raise ConfigurationError(
            f"the new inputs {missing!r} had some value in the old trials: say which, past="
            f"{{{missing[0]!r}: …}}"
        )
    strange = [name for name in past if name not in added]
    if strange:
        raise ConfigurationError(
            f"past gives values to {strange!r}, which are no new inputs: those are {added!r}"
        )
