"""What a run is asked to do, and of which study."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from noregret.errors import ConfigurationError
from noregret.storage import Storage
from noregret.trials import Limit, Trial

Reclaim = Literal["retry", "fail"]
# how often a trial is given out whose worker dies each time: the point may be what kills them
ATTEMPTS = 3


def is_number(value: Any) -> bool:
    kinds = (int, float, np.integer, np.floating)
    return isinstance(value, kinds) and not isinstance(value, bool)


def check_objective(objective: Any) -> None:
    if not callable(objective):
        raise ConfigurationError(
            f"the objective is a function of the parameters, got {objective!r}: nothing was run"
        )


def check_catch(catch: Any) -> tuple[type[Exception], ...]:
    """Exceptions as a tuple, whatever collection they came in."""
    kinds = (catch,) if isinstance(catch, type) else catch
    try:
        listed = tuple(kinds)
    except TypeError:
        listed = (kinds,)
    if not all(isinstance(each, type) and issubclass(each, Exception) for each in listed):
        raise ConfigurationError(
            f"catch is exceptions that do not stop the run, such as (ValueError,), got {catch!r}"
        )
    return listed


def check_grace(grace: Any) -> None:
    if not is_number(grace) or not 0 < grace < math.inf:
        raise ConfigurationError(f"grace is a positive number of seconds, got {grace!r}")


def check_run(
    *,
    trials: Any,
    total: Any = None,
    workers: Any = 1,
    timeout: Any = None,
    until: Any = None,
    reclaim: Any = None,
    trial_timeout: Any = None,
    callbacks: Any = (),
    executor: Any = None,
) -> None:
    if callable(callbacks) or not all(callable(each) for each in callbacks):
        raise ConfigurationError(
            f"callbacks is a list of functions of (study, trial), got {callbacks!r}"
        )
    if trial_timeout is not None and not (
        is_number(trial_timeout) and 0 < trial_timeout < math.inf
    ):
        raise ConfigurationError(
            f"trial_timeout is a positive number of seconds, got {trial_timeout!r}"
        )
    if trials is None and total is None and timeout is None and until is None:
        raise ConfigurationError("run needs an end: trials, total, timeout (in seconds) or until")
    for name, count, least in (("trials", trials, 0), ("total", total, 0), ("workers", workers, 1)):
        if count is not None and (
            isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < least
        ):
            raise ConfigurationError(
                f"{name} must be a whole number of at least {least}, got {count!r}"
            )
    if until is not None and not callable(until):
        raise ConfigurationError(
            f"until is a function of the study that says whether to stop, got {until!r}: write"
            " Reached(0.9), or lambda study: …"
        )
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise ConfigurationError(
            f"executor is one of concurrent.futures, or alike (it has submit), got {executor!r}"
        )
    if timeout is not None and not (is_number(timeout) and timeout >= 0):
        raise ConfigurationError(f"timeout is a number of seconds of at least 0, got {timeout!r}")
    if reclaim not in ("retry", "fail", None):
        raise ConfigurationError(f'reclaim is "retry", "fail" or None, got {reclaim!r}')


@dataclass(frozen=True, slots=True)
class Work:
    """What a run needs of a study. next: a trial to evaluate for this worker, None if there is none
    to start now.
    """

    name: str
    storage: Storage
    next: Callable[[str, float], Trial | None]
    note: Callable[[Trial], str]
    ended: Callable[[int], None] = lambda number: None  # after each trial of this run
    limits: Mapping[str, Limit] = field(default_factory=dict)
    # whether a waiting trial is one for this run, not one of another context
    may_take: Callable[[Trial], bool] = lambda trial: True


@dataclass(frozen=True, slots=True)
class Plan:
    """How to run and when to stop."""

    trials: float = math.inf  # started here
    total: float = math.inf  # of the study, whoever runs them
    deadline: float = math.inf
    until: Callable[[], bool] = lambda: False
    workers: int = 1
    executor: Executor | None = None  # None: one at a time, in this thread
    catch: tuple[type[Exception], ...] = ()
    grace: float = 60.0
    reclaim: Reclaim | None = "retry"

    @property
    def attempts(self) -> int:
        return ATTEMPTS if self.reclaim == "retry" else 0
