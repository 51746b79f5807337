"""What a person may tell: which trial, its value, its noise. Anything else gets a clear error
before anything is recorded.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from noregret.errors import NoRegretError, TrialError
from noregret.trials.trial import State, Trial

ENDS: tuple[State, ...] = ("complete", "failed", "withdrawn")


def number_of(trial: Trial | int) -> int:
    if isinstance(trial, Trial):
        return trial.number
    if isinstance(trial, bool):
        raise TrialError(f"a trial is a Trial or its number, got {trial!r}")
    try:
        return operator.index(trial)
    except TypeError:
        raise TrialError(f"a trial is a Trial or its number, got {trial!r}") from None


def check_value(value: Any) -> float:
    array = np.asarray(value) if not isinstance(value, (str, bytes, bool, type(None))) else None
    if array is None or array.size != 1 or array.dtype.kind not in "iuf":
        raise TrialError(
            f"a value must be one real number, got {value!r}: nothing was recorded, tell the trial"
            " again with a number"
        )
    number = float(array.reshape(()))
    if not math.isfinite(number):
        raise TrialError(
            f"a value must be finite, got {value!r}: nothing was recorded. If the evaluation went"
            ' wrong, tell(trial, state="failed"): the region is then avoided'
        )
    return number


def check_noise(noise_std: Any) -> float | None:
    if noise_std is None:
        return None
    try:
        number = check_value(noise_std)
    except NoRegretError:
        number = math.nan
    if not number > 0:
        raise TrialError(
            f"noise_std must be a positive number, got {noise_std!r}: leave it out if the noise of"
            " this value is not known"
        )
    return number


def check_outcome(
    value: Any, noise_std: Any, state: State, *, may_miss: bool = False
) -> tuple[float | None, float | None]:
    """Value and noise of a trial that ends in this state. may_miss: there may be no value."""
    if state not in ENDS:
        raise TrialError(f"state is one of {list(ENDS)}, got {state!r}")
    if state == "complete" and not (may_miss and value is None):
        return check_value(value), check_noise(noise_std)
    if value is not None:
        raise TrialError(f"a {state} trial has no value, got {value!r}: leave it out")
    return None, check_noise(noise_std)


def measured(result: Any) -> tuple[float, float | None]:
    """What an objective returned: its value, or the pair (value, noise std)."""
    value, noise_std = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
    try:
        return check_value(value), check_noise(noise_std)
    except NoRegretError as error:
        what = "nothing (None)" if result is None else repr(result)[:200]
        why = f" ({error})" if isinstance(result, tuple) and len(result) == 2 else ""
        raise TrialError(
            f"the objective returned {what}{why}: it must return one real number, finite, or the"
            " pair (value, noise std), the std positive. Its trial has failed"
        ) from None
