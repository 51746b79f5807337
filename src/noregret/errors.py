"""The errors of noregret. A message says what is wrong, what it got and what to do."""


class NoRegretError(Exception):
    """The base class of all errors of noregret."""


class SpaceError(NoRegretError, ValueError):
    """A search space or a point is invalid."""


class ConfigurationError(NoRegretError, ValueError):
    """A setting is impossible."""


class GuaranteeError(ConfigurationError):
    """The theorem of a strategy does not hold for its settings."""


class TrialError(NoRegretError, ValueError):
    """A trial does not exist or is finished already, or a value is impossible."""


class UnknownTrialError(TrialError):
    """There is no trial of this number."""


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
