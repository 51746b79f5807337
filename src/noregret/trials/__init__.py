"""What was asked, decided and told: frozen values that storages keep and strategies read."""

from noregret.trials.decision import Decision, Kind, ModelDecision, Source
from noregret.trials.history import (
    Goal,
    History,
    Proposal,
    corrections,
    history_of,
    known_at,
    latest,
    sign_of,
)
from noregret.trials.outcome import check_noise, check_outcome, check_value, measured, number_of
from noregret.trials.trial import STATES, State, Trial, standing, utc_now

__all__ = [
    "STATES",
    "Decision",
    "Goal",
    "History",
    "Kind",
    "ModelDecision",
    "Proposal",
    "Source",
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
    "sign_of",
    "standing",
    "utc_now",
]
