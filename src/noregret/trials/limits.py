"""Outcomes that are measured beside the value, and how far each may go.

Inside, an outcome is its *margin*: how far it keeps within its limit, negative where it does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.errors import ConfigurationError, NoRegretError, TrialError
from noregret.trials.outcome import check_noise, check_value, measured
from noregret.trials.trial import State, Trial


@dataclass(frozen=True, slots=True)
class AtMost:
    """An outcome that must not exceed ``limit``."""

    limit: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", _finite(self.limit, "AtMost"))

    @property
    def sign(self) -> float:
        """Of the outcome in its margin."""
        return -1.0

    def __str__(self) -> str:
        return f"≤ {self.limit:g}"


@dataclass(frozen=True, slots=True)
class AtLeast:
    """An outcome that must not fall below ``limit``."""

    limit: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", _finite(self.limit, "AtLeast"))

    @property
    def sign(self) -> float:
        """Of the outcome in its margin."""
        return 1.0

    def __str__(self) -> str:
        return f"≥ {self.limit:g}"


Limit = AtMost | AtLeast
OWN = {"value": "the value", "noise_std": "the std of its noise"}  # in what objectives return
LIMITS: tuple[type, ...] = (AtMost, AtLeast)  # what can be stored


def _finite(limit: Any, kind: str) -> float:
    number = isinstance(limit, (int, float, np.integer, np.floating))
    if isinstance(limit, bool) or not number or not math.isfinite(limit):
        raise ConfigurationError(
            f"a limit is a finite number, got {limit!r}: write {kind}(0.3), in the outcome's unit"
        )
    return float(limit)


def margin(limit: Limit, value: float) -> float:
    """How far a value keeps within its limit."""
    return limit.sign * (value - limit.limit)


def check_limits(outcomes: Any, parameters: Mapping[str, Any]) -> dict[str, Limit]:
    """The outcomes of a study by name."""
    if outcomes is None:
        return {}
    if not isinstance(outcomes, Mapping):
        raise ConfigurationError(
            'outcomes is a dict from names to limits, such as {"toxicity": AtMost(0.3)}, got'
            f" {outcomes!r}"
        )
    for name, limit in outcomes.items():
        if not isinstance(name, str) or not name.strip():
            raise ConfigurationError(f"an outcome's name is a text that is not empty, got {name!r}")
        if not isinstance(limit, LIMITS):
            raise ConfigurationError(
                f"the outcome {name!r} needs a limit, AtMost(number) or AtLeast(number), got"
                f" {limit!r}: what has none is an attribute, tell(trial, value, attributes=…)"
            )
        taken = OWN.get(name, "a parameter is" if name in parameters else "")
        if taken:
            raise ConfigurationError(
                f"an outcome cannot be called {name!r}, as {taken}: take another name"
            )
    return dict(outcomes)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured beside a value: outcomes by name, the noise's std where it was told."""

    values: Mapping[str, float]
    noise: Mapping[str, float]
    feasible: bool | None  # within every limit; None: there are no limits

    @staticmethod
    def of(trial: Trial) -> Measured:
        return Measured(trial.outcomes, trial.outcome_noise, trial.feasible)


NOTHING = Measured({}, {}, None)


def check_measured(outcomes: Any, limits: Mapping[str, Limit], state: State) -> Measured:
    """What was told of the outcomes of a trial that ends in this state: all of them, each a number
    or the pair (number, noise std).
    """
    if state != "complete" or not (limits or outcomes):
        if outcomes:
            raise TrialError(
                f"a {state} trial has no outcomes, got {outcomes!r}: nothing was recorded; tell it"
                " without a value and without state= where only a limit was not kept"
            )
        return NOTHING
    if not limits:
        raise TrialError(
            f"this study has no outcomes, got {outcomes!r}: nothing was recorded. Give limits when"
            ' it is made, Study(…, outcomes={"name": AtMost(1)}), or use attributes='
        )
    told = {} if outcomes is None else outcomes
    if not isinstance(told, Mapping):
        raise TrialError(
            f"outcomes is a dict such as {{{next(iter(limits))!r}: 0.2}}, got {outcomes!r}:"
            " nothing was recorded"
        )
    unknown = [name for name in told if name not in limits]
    missing = [name for name in limits if told.get(name) is None]
    if unknown or missing:
        raise TrialError(
            f"the outcomes of this study are {list(limits)!r}; missing {missing!r}, unknown"
            f" {unknown!r}: nothing was recorded, tell the trial again with each of them"
        )
    values, noise = {}, {}
    for name in limits:
        each = told[name]
        value, std = each if isinstance(each, (tuple, list)) and len(each) == 2 else (each, None)
        try:
            values[name] = check_value(value)
            given = check_noise(std)
        except NoRegretError as error:
            raise TrialError(f"outcome {name!r}: {error}") from None
        if given is not None:
            noise[name] = given
    return Measured(values, noise, keeps(values, limits))


def keeps(values: Mapping[str, float], limits: Mapping[str, Limit]) -> bool | None:
    """Whether these outcomes are within every limit; None: there are no limits, or one is not
    known.
    """
    if not limits or any(name not in values for name in limits):
        return None
    return all(margin(limit, values[name]) >= 0 for name, limit in limits.items())


def check_valued(value: float | None, told: Measured, state: State) -> None:
    """A value may be missing only where a limit was not kept."""
    if state == "complete" and value is None and told.feasible is not False:
        raise TrialError(
            "a value may be missing only where an outcome is beyond its limit, and here none is:"
            ' nothing was recorded; tell the value, or state="failed" if there is none'
        )


def returned(
    result: Any, limits: Mapping[str, Limit]
) -> tuple[float | None, float | None, Measured]:
    """What an objective returned, where outcomes have limits: the pair (value, outcomes), or a dict
    with ``value``, ``noise_std`` if you like, and each outcome by its name. Where a limit was not
    kept the value may be None, or left out.
    """
    if not limits:
        return *measured(result), NOTHING
    try:
        if isinstance(result, Mapping):
            told = dict(result)
            value, noise = told.pop("value", None), told.pop("noise_std", None)
        elif isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping):
            (value, told), noise = result, None
            if isinstance(value, tuple) and len(value) == 2:
                value, noise = value
        else:
            raise TrialError("there are no outcomes in it")
        checked = None if value is None else check_value(value)
        outcomes = check_measured(told, limits, "complete")
        check_valued(checked, outcomes, "complete")
        return checked, check_noise(noise), outcomes
    except NoRegretError as error:
        what = "nothing (None)" if result is None else repr(result)[:200]
        names = ", ".join(f"{name!r}: …" for name in limits)
        raise TrialError(
            f"the objective returned {what} ({error}): in this study it must return (value,"
            f" {{{names}}}), or a dict with value and these. Its trial has failed"
        ) from None
