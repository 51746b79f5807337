"""What was asked, decided and told: frozen values that storages keep and strategies read."""

from noregret.trials.history import (
    History,
    Proposal,
    corrections,
    history_of,
    known_at,
    latest,
)
from noregret.trials.outcome import check_noise, check_outcome, check_value, measured, number_of
from noregret.trials.trial import STATES, Info, State, Trial, standing, utc_now

__all__ = [
    "STATES",
    "History",
    "Info",
    "Proposal",
    "State",
    "Trial",
    "check_noise",
    "check_outcome",
    "check_value",
    "corrections",
    "history_of",
    "known_at",
    "latest",
    "measured",
    "number_of",
    "standing",
    "utc_now",
]
