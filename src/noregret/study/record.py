"""What defines a study besides its trials: its settings checked, compared, and derived anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from noregret.errors import ConfigurationError, SpaceError, StorageError, TrialError, check_count
from noregret.space import Candidates, Constraint, Parameter, Space, as_space, named_params
from noregret.storage import StudyRecord
from noregret.strategies import InsuredGPUCB, Strategy
from noregret.trials import Decision, Trial, check_limits, keeps, standing, unwritable

# the fields whose change makes a derived study another problem
DEFINING = ("space", "goal", "strategy", "seed", "outcomes", "context")


def new_record(
    name: Any, space: Any, goal: Any, strategy: Any, seed: Any, outcomes: Any, context: Any
) -> StudyRecord:
    """The record of a new study; ConfigurationError if a setting makes no sense."""
    if not isinstance(name, str):
        raise ConfigurationError(f"a study's name is text, got {name!r}")
    odd = unwritable(name)
    if odd is not None:
        raise ConfigurationError(f"a study's name holds {odd}: choose another name")
    if goal not in ("maximize", "minimize"):
        message = 'say what is wanted: goal is "maximize" or "minimize"'
        raise ConfigurationError(f"{message}, got {goal!r}")
    proposer = InsuredGPUCB() if strategy is None else strategy
    if isinstance(proposer, type) or not isinstance(proposer, Strategy):
        raise ConfigurationError(f"strategy must be a strategy value, not a class: {proposer!r}")
    checked = as_space(space)
    limits = check_limits(outcomes, checked.parameters)
    check = getattr(proposer, "check_outcomes", None)
    if check is not None:
        check(limits)
    elif limits:
        raise ConfigurationError(
            f"{type(proposer).__name__} reads no outcomes, got limits of {list(limits)!r}: use the"
            " default strategy, or AdaptiveGPUCB.rigorous(…, outcomes=…)"
        )
    names = _context(context, checked.parameters)
    start = check_count("seed", seed, 0)
    return StudyRecord(name, checked, goal, proposer, start, outcomes=limits, context=names)


def _context(context: Any, parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the context parameters, each once."""
    names = (context,) if isinstance(context, str) else tuple(context or ())
    unknown = [name for name in names if name not in parameters]
    if unknown:
        raise ConfigurationError(f"context names {unknown!r}, which this space does not have")
    if names and len(set(names)) >= len(parameters):
        raise ConfigurationError(f"every input is context, nothing left to choose: {list(names)!r}")
    return tuple(dict.fromkeys(names))


def point_run(space: Space | Candidates, trial: Trial, params: Any) -> Any:
    """The point that was run, from the values that differed; None if it is the one asked."""
    if params is None:
        return None
    if isinstance(params, Mapping):
        asked = named_params(space, trial.params)
        unknown = [name for name in params if name not in asked]
        if unknown:
            raise TrialError(f"params names {unknown!r}, which this study does not have")
        params = {**asked, **params}
    point = space.canonical(params)
    return None if is_same(point, trial.params) else point


def is_same(one: Any, other: Any) -> bool:
    """Whether two points have the same values."""
    return np.array_equal(np.asarray(one, object), np.asarray(other, object))


def check_numbers(trials: Sequence[Trial]) -> None:
    """TrialError unless trials are numbered from 0 and correct earlier ones only."""
    numbers = [trial.number for trial in trials]
    if numbers != list(range(len(trials))):
        raise TrialError(f"trials must be numbered from 0 without gaps, got the numbers {numbers}")
    for trial in trials:
        if trial.corrects is not None and not 0 <= trial.corrects < trial.number:
            raise TrialError(f"trial {trial.number} corrects trial {trial.corrects!r}: not earlier")


def check_same(stored: StudyRecord, wanted: StudyRecord, strategy: Any) -> None:
    """ConfigurationError unless a stored study is the one described; strategy None: any."""
    for name in ("outcomes", "context", "space", "goal", "strategy"):
        there, here = getattr(stored, name), getattr(wanted, name)
        if there != here and not (name == "strategy" and strategy is None):
            what = "limits" if name == "outcomes" else name
            raise ConfigurationError(
                f"study {stored.name!r} exists with another {what}, {there!r} and not {here!r}:"
                " take another name, or use study.derived(…)"
            )


# -- a study made from another --


def derived_from(
    old: StudyRecord, trials: Sequence[Trial], new: StudyRecord, past: Mapping[str, Any]
) -> tuple[StudyRecord, list[Trial]]:
    """The new record with its origin, and the trials it starts with.

    If only the name changes, every trial goes along with its decision; otherwise the outcomes do,
    as data.

    Args:
        old: The record of the study that the new one is made from.
        trials: All trials of the old study.
        new: The settings of the new study.
        past: The value that each new input had in the old trials.
    """
    _check_past(old.space, new.space, past)
    names = (name for name in DEFINING if getattr(old, name) != getattr(new, name))
    changed = {name: getattr(old, name) for name in names}
    if changed:
        copies = [trial for trial in standing(trials) if trial.state != "running"]
        numbers = [trial.number for trial in copies]
        copies = [_as_data(trial, i, old.space, new, past) for i, trial in enumerate(copies)]
    else:
        numbers = list(range(len(trials)))
        # a running trial waits in the copy: its worker evaluates the original
        unclaimed: dict[str, Any] = {"state": "waiting", "worker": None, "started": None}
        copies = [replace(t, **unclaimed) if t.state == "running" else t for t in trials]
    origin = {
        "study": old.name,
        "was": {field: _stored(value) for field, value in changed.items()},
        "numbers": numbers,  # of the old study, in the order of the new one's trials
        "origin": old.origin,
    }
    return replace(new, origin=origin), copies


def changed_space(
    old: Space | Candidates,
    parameters: Mapping[str, Parameter] | None,
    constraints: Sequence[Constraint] | None,
) -> Space | Candidates:
    """The space with some parameters replaced, others added at its end, or other constraints."""
    if not parameters and constraints is None:
        return old
    if isinstance(old, Candidates):
        raise ConfigurationError("candidates have no ranges to change: give the new ones as space=")
    merged = {**old.parameters, **(parameters or {})}
    rules = old.constraints if constraints is None else constraints
    return Space(merged, old.vector, rules, old.branches)


def _check_past(old: Space | Candidates, new: Space | Candidates, past: Mapping[str, Any]) -> None:
    gone = [name for name in old.parameters if name not in new.parameters]
    if gone:
        raise ConfigurationError(f"the new space lacks {gone!r}: keep it, and use ask(fixed=…)")
    added = [name for name in new.parameters if name not in old.parameters]
    missing = [name for name in added if name not in past]
    if missing:
        raise ConfigurationError(f"new inputs had values: say which, past={{{missing[0]!r}: …}}")
    strange = [name for name in past if name not in added]
    if strange:
        raise ConfigurationError(f"past names {strange!r}, which are no new inputs: {added!r}")


def _as_data(
    trial: Trial, number: int, old: Space | Candidates, new: StudyRecord, past: Mapping[str, Any]
) -> Trial:
    """A trial as data of the new study. Its decision stays behind: it was made in another space or
    by another strategy.
    """
    named = {**named_params(old, trial.params), **past}
    try:
        params = new.space.canonical(np.array(list(named.values())) if new.space.vector else named)
    except SpaceError as error:
        raise SpaceError(f"trial {trial.number} does not fit the new space: {error}") from None
    done = trial.state == "complete"
    outcomes = {name: value for name, value in trial.outcomes.items() if name in new.outcomes}
    noise = {name: std for name, std in trial.outcome_noise.items() if name in new.outcomes}
    data = replace(
        trial,
        number=number,
        params=params,
        asked=None,
        corrects=None,
        decision=Decision("enqueued") if trial.state == "waiting" else Decision(),
        worker=None,
        outcomes=outcomes,
        outcome_noise=noise,
        feasible=keeps(outcomes, new.outcomes) if done else None,
    )
    if done and trial.value is None and data.feasible is not False:
        # without a value and within the new limits, all that is left is that it failed
        return replace(data, state="failed", error="it had no value, a limit was not kept")
    return data


def _stored(value: Any) -> Any:
    """As JSON; the ``repr`` of a strategy that cannot be stored."""
    from noregret.storage import codec

    try:
        return codec.to_json(value)
    except StorageError:
        return repr(value)
