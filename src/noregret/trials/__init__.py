"""What was asked, decided and told: frozen values that storages keep and strategies read."""

from noregret.trials.about import (
    About,
    check_attributes,
    check_note,
    check_transient,
    failure_text,
    merged,
)
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
from noregret.trials.markup import html_table, shown
from noregret.trials.outcome import check_noise, check_outcome, check_value, measured, number_of
from noregret.trials.trial import STATES, State, Trial, standing, utc_now

__all__ = [
    "STATES",
    "About",
    "Decision",
    "Goal",
    "History",
    "Kind",
    "ModelDecision",
    "Proposal",
    "Source",
    "State",
    "Trial",
    "check_attributes",
    "check_noise",
    "check_note",
    "check_outcome",
    "check_transient",
    "check_value",
    "corrections",
    "failure_text",
    "history_of",
    "html_table",
    "known_at",
    "latest",
    "measured",
    "merged",
    "number_of",
    "shown",
    "sign_of",
    "standing",
    "utc_now",
]
