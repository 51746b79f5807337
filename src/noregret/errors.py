"""Every error noregret raises on purpose, in one tree.

A message says what, what it got, why it matters and what to do.
"""


class NoRegretError(Exception):
    """The root: catch this to catch all of them."""


class SpaceError(NoRegretError, ValueError):
    """A search space, or a point of one, that makes no sense."""


class ConfigurationError(NoRegretError, ValueError):
    """A strategy or a value of the mathematics with impossible settings."""


class GuaranteeError(ConfigurationError):
    """A strategy was asked for settings under which its theorem does not hold."""


class TrialError(NoRegretError, ValueError):
    """A trial that does not exist, is finished already, or a value it cannot take."""


class UnknownTrialError(TrialError):
    """There is no trial of this number."""


class TrialTimeoutError(TrialError, TimeoutError):
    """An evaluation took longer than ``trial_timeout``."""


class TransientError(NoRegretError):
    """For objectives to raise: the evaluation failed for a reason that has nothing to do with the
    point, such as a licence server that did not answer. No strategy learns from it.
    """


class WorkerDiedError(TransientError):
    """What evaluated a point was killed from outside: the trial is given out again."""


class NumericalError(NoRegretError, ArithmeticError):
    """A matrix that cannot be factorised at the given noise level."""


class DeviceMemoryError(NoRegretError, MemoryError):
    """A GPU's memory is too small for this many points; the processor's may be large enough."""


class StorageError(NoRegretError):
    """Something cannot be stored, or is not in the storage."""


class UnknownStudyError(StorageError):
    """There is no study of this name."""


class StudyExistsError(StorageError):
    """A study of this name is there already."""


class UnavailableError(StorageError):
    """The storage did not answer (``passing``) or could not write. Nothing was changed as far as is
    known: the same call may work later.
    """

    def __init__(self, message: str, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class MissingExtraError(NoRegretError, ImportError):
    """An optional dependency is needed and not installed."""


class GuaranteeWarning(UserWarning):
    """The settings are legal, but the confidence claim made for them in print does not hold."""
