"""What every room needs: errors, checks of a setting, and imports at first use. A message says what
is wrong, what it got and what to do.
"""

from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from numbers import Integral, Real
from typing import Any


class NoRegretError(Exception):
    """The base class of all errors of noregret."""


class SpaceError(NoRegretError, ValueError):
    """A search space or a point is invalid."""


class ConfigurationError(NoRegretError, ValueError):
    """A setting is impossible."""


class GuaranteeError(ConfigurationError):
    """The theorem of a strategy does not hold for its settings."""


def check_range(
    name: str, value: Any, interval: str, hint: str = "", *, whole: bool = False
) -> None:
    """Checks that a setting is a number in an interval, written as in ``[1, ∞)``.

    Args:
        name: The setting, for the message.
        value: What it is set to.
        interval: Two numbers in square brackets, or in round ones where the end is excluded.
        hint: What the setting is, or what to set instead.
        whole: Whether it must be an integer.

    Raises:
        ConfigurationError: The value is no such number.
    """
    low, high = (float(end.replace("∞", "inf")) for end in interval[1:-1].split(","))
    is_number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    excluded = [low] * (interval[0] == "(") + [high] * (interval[-1] == ")")
    if not (is_number and low <= value <= high and value not in excluded):
        where = {"(0, ∞)": "positive and finite", "(-∞, ∞)": "finite"}.get(
            interval, f"in {interval}"
        )
        kind, why = "a whole number " if whole else "", f": {hint}" if hint else ""
        raise ConfigurationError(f"{name} must be {kind}{where}, got {value!r}{why}")


def check_one_of(name: str, value: Any, choices: Sequence[Any], more: str = "") -> None:
    """Checks that a setting is one of some words; ``more`` names what else it may be.

    Raises:
        ConfigurationError: It is none of them.
    """
    if value not in choices:
        known = ", ".join(f'"{choice}"' for choice in choices)
        raise ConfigurationError(f"{name} is one of {known}{more}, got {value!r}")


def check_count(name: str, value: Any, at_least: int = 1) -> int:
    """Checks that an option is an integer, and returns it as an ``int``.

    Args:
        name: The option's name, for the message.
        value: What was given.
        at_least: The smallest value allowed.

    Raises:
        ConfigurationError: It is not an integer, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise ConfigurationError(
            f"{name} must be a whole number of at least {at_least}, got {value!r}"
        )
    return int(value)


DELTA_HINT = "it is a failure probability, 0.1 means that the band holds with probability 0.9"


class TrialError(NoRegretError, ValueError):
    """A trial does not exist or is finished already, or a value is impossible."""


class UnknownTrialError(TrialError):
    """There is no trial of this number."""


class KnownRowsError(TrialError):
    """``known`` of the ``rows`` of a file are in the study already."""

    def __init__(self, known: int, rows: int, advice: str) -> None:
        super().__init__(f"{known} of {rows} rows are in the study already: {advice}")
        self.known, self.rows = known, rows


class TrialTimeoutError(TrialError, TimeoutError):
    """An evaluation took longer than ``trial_timeout``."""


class TransientError(NoRegretError):
    """For objectives to raise: the evaluation failed for a reason that has nothing to do with the
    point, such as a licence server that did not answer. No strategy learns from it.
    """


class WorkerDiedError(TransientError):
    """The process that evaluated a point was killed: the trial is given out again."""


class NumericalError(NoRegretError, ArithmeticError):
    """A matrix cannot be factorised at the given noise level."""


class DeviceMemoryError(NoRegretError, MemoryError):
    """The memory of the GPU is too small for so many points; use the processor."""


class StorageError(NoRegretError):
    """Something cannot be stored, or is not in the storage."""


class UnknownStudyError(StorageError):
    """There is no study of this name."""


class StudyExistsError(StorageError):
    """A study of this name exists already."""


class UnavailableError(StorageError):
    """The storage did not answer (``passing``) or could not write. The same call may work later."""

    def __init__(self, message: str, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class MissingExtraError(NoRegretError, ImportError):
    """An optional dependency is needed and not installed."""


class GuaranteeWarning(UserWarning):
    """The settings are legal, but the confidence claim made for them in print does not hold."""


def lazily(room: str, names: Collection[str], *modules: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a room that imports some of its modules when they are first used.

    Args:
        room: Its ``__name__``.
        names: Its ``__all__``.
        modules: In which a name is looked for, in this order.
    """

    def find(name: str) -> Any:
        for module in modules if name in names else ():
            loaded = import_module(f"{room}.{module}")
            if name == module or hasattr(loaded, name):
                return loaded if name == module else getattr(loaded, name)
        raise AttributeError(f"module {room!r} has no attribute {name!r}")

    return find
