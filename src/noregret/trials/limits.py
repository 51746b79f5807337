"""Outcomes that are measured beside the value, and how far each may go.

Inside, an outcome is its *margin*: how far it keeps within its limit, negative where it does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from noregret.errors import ConfigurationError, NoRegretError, TrialError
from noregret.trials.decision import is_number
from noregret.trials.trial import Ending, State, check_attributes, check_note


@dataclass(frozen=True, slots=True)
class _Limit:
    """One side of an outcome's range; ``sign`` is that of the outcome in its margin."""

    limit: float
    sign: ClassVar[float]
    symbol: ClassVar[str]

    def __post_init__(self) -> None:
        if not is_number(self.limit):
            raise ConfigurationError(f"a limit is a finite number, got {self.limit!r}")
        object.__setattr__(self, "limit", float(self.limit))

    def __str__(self) -> str:
        return f"{self.symbol} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class AtMost(_Limit):
    """An outcome that must not exceed ``limit``.

    Args:
        limit: The largest feasible value, in the outcome's unit.

    Raises:
        ConfigurationError: The limit is not a finite number.
    """

    sign, symbol = -1.0, "≤"


@dataclass(frozen=True, slots=True)
class AtLeast(_Limit):
    """An outcome that must not fall below ``limit``.

    Args:
        limit: The smallest feasible value, in the outcome's unit.

    Raises:
        ConfigurationError: The limit is not a finite number.
    """

    sign, symbol = 1.0, "≥"


Limit = AtMost | AtLeast
OWN = {"value": "the value", "noise_std": "the std of its noise"}  # in what objectives return
ENDS: tuple[State, ...] = ("complete", "failed", "withdrawn")


def margin(limit: Limit, value: float) -> float:
    """How far a value keeps within its limit."""
    return limit.sign * (value - limit.limit)


def check_limits(outcomes: Any, parameters: Mapping[str, Any]) -> dict[str, Limit]:
    """The outcomes of a study by name."""
    if outcomes is None:
        return {}
    if not isinstance(outcomes, Mapping):
        raise ConfigurationError(f"outcomes is a dict of limits by name, got {outcomes!r}")
    for name, limit in outcomes.items():
        if not isinstance(name, str) or not name.strip():
            raise ConfigurationError(f"an outcome's name is a text that is not empty, got {name!r}")
        if not isinstance(limit, Limit):
            raise ConfigurationError(f"{name!r} needs a limit, AtMost or AtLeast, got {limit!r}")
        taken = OWN.get(name, "a parameter is" if name in parameters else "")
        if taken:
            raise ConfigurationError(f"an outcome cannot be called {name!r}, as {taken}")
    return dict(outcomes)


# -- what is told --


def check_value(value: Any) -> float:
    """A measured value as a float; TrialError unless it is one finite real number."""
    array = np.asarray(value) if not isinstance(value, (str, bytes, bool, type(None))) else None
    if array is None or array.size != 1 or array.dtype.kind not in "iuf":
        raise TrialError(f"a value must be one real number, got {value!r}: nothing was recorded")
    number = float(array.reshape(()))
    if not math.isfinite(number):
        raise TrialError(f"a value must be finite, got {value!r}: nothing was recorded")
    return number


def check_noise(noise_std: Any) -> float | None:
    """The standard deviation of a value's noise; None where it is not known."""
    if noise_std is None:
        return None
    try:
        number = check_value(noise_std)
    except NoRegretError:
        number = math.nan
    if not number > 0:
        raise TrialError(f"noise_std must be a positive number, got {noise_std!r}")
    return number


def check_ending(
    limits: Mapping[str, Limit],
    value: Any = None,
    noise_std: Any = None,
    state: State = "complete",
    outcomes: Any = None,
    reason: Any = None,
    note: Any = None,
    attributes: Any = None,
    transient: Any = False,
) -> Ending:
    """How a trial ends, from what is told of it.

    Args:
        limits: The limits of the study.
        value: The value; where outcomes have limits it may be None if a limit is not kept.
        noise_std: Standard deviation of the value's noise, or None.
        state: "complete", "failed" or "withdrawn".
        outcomes: Each outcome by name: a number, or the pair (number, noise std).
        reason: Why it failed.
        note: Words to keep with it.
        attributes: JSON values by name to keep with it.
        transient: Whether the failure says nothing of the point.

    Raises:
        TrialError: Something is missing, unknown, or not a finite number.
    """
    if state not in ENDS:
        raise TrialError(f"state is one of {list(ENDS)}, got {state!r}")
    if state != "complete" and value is not None:
        raise TrialError(f"a {state} trial has no value, got {value!r}: leave it out")
    without_value = state != "complete" or (value is None and bool(limits))
    number, noise = None if without_value else check_value(value), check_noise(noise_std)
    measured, stds = _check_measured(outcomes, limits, state)
    feasible = keeps(measured, limits)
    if state == "complete" and number is None and feasible is not False:
        raise TrialError("a value may be missing only where an outcome is beyond its limit")
    if not isinstance(transient, bool):
        raise TrialError(f"transient is True or False, got {transient!r}: nothing was recorded")
    if state != "failed" and (transient or reason is not None):
        what = "transient" if transient else "a reason"
        raise TrialError(f'{what} is for a trial that failed, not for state="{state}"')
    return Ending(
        state,
        number,
        noise,
        measured,
        stds,
        feasible,
        error=check_note(reason, "a reason"),
        note=check_note(note),
        attributes=check_attributes(attributes),
        transient=transient,
    )


def _check_measured(
    outcomes: Any, limits: Mapping[str, Limit], state: State
) -> tuple[dict[str, float], dict[str, float]]:
    """The outcomes of a trial that ends in this state, all of them, and their known noise stds."""
    if outcomes and (state != "complete" or not limits):
        owner = "this study" if state == "complete" else f"a {state} trial"
        raise TrialError(f"{owner} has no outcomes, got {outcomes!r}: attributes= takes others")
    if state != "complete" or not limits:
        return {}, {}
    by_name = {} if outcomes is None else outcomes
    if not isinstance(by_name, Mapping):
        raise TrialError(f"outcomes is a dict by name, got {outcomes!r}: nothing was recorded")
    unknown = [name for name in by_name if name not in limits]
    missing = [name for name in limits if by_name.get(name) is None]
    if unknown or missing:
        raise TrialError(
            f"the outcomes of this study are {list(limits)!r}; missing {missing!r}, unknown"
            f" {unknown!r}: nothing was recorded, tell the trial again with each of them"
        )
    values, noise = {}, {}
    for name in limits:
        pair = by_name[name]
        value, std = pair if isinstance(pair, (tuple, list)) and len(pair) == 2 else (pair, None)
        try:
            values[name], noise[name] = check_value(value), check_noise(std)
        except NoRegretError as error:
            raise TrialError(f"outcome {name!r}: {error}") from None
    return values, {name: std for name, std in noise.items() if std is not None}


def keeps(values: Mapping[str, float], limits: Mapping[str, Limit]) -> bool | None:
    """Whether these outcomes are within every limit; None if there are no limits, or an outcome is
    missing.
    """
    if not limits or any(name not in values for name in limits):
        return None
    return all(margin(limit, values[name]) >= 0 for name, limit in limits.items())


def returned(result: Any, limits: Mapping[str, Limit]) -> Ending:
    """The ending of a trial, from what an objective returned.

    Args:
        result: The value, or the pair (value, noise std). Where outcomes have limits: the pair
            (value, outcomes), or a dict with ``value``, optionally ``noise_std``, and each outcome
            by name; the value may be None or missing where a limit is not kept.
        limits: The limits of the study.

    Returns:
        The ending of a complete trial, with value, noise std and outcomes.

    Raises:
        TrialError: It is anything else.
    """
    pair = isinstance(result, tuple) and len(result) == 2
    try:
        outcomes, noise = None, None
        if not limits:
            value, noise = result if pair else (result, None)
        elif isinstance(result, Mapping):
            outcomes = dict(result)
            value, noise = outcomes.pop("value", None), outcomes.pop("noise_std", None)
        elif pair and isinstance(result[1], Mapping):
            value, outcomes = result
            if isinstance(value, tuple) and len(value) == 2:
                value, noise = value
        else:
            raise TrialError("there are no outcomes in it")
        return check_ending(limits, value, noise, outcomes=outcomes)
    except NoRegretError as error:
        what = "nothing (None)" if result is None else repr(result)[:200]
        why = f" ({error})" if pair or limits else ""
        names = ", ".join(f"{name!r}: …" for name in limits)
        form = "one real number, finite, or the pair (value, noise std)"
        if limits:
            form = f"in this study (value, {{{names}}}), or a dict with value and these"
        raise TrialError(
            f"the objective returned {what}{why}: it must return {form}. Its trial has failed"
        ) from None
