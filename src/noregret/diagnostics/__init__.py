"""Whether the model can be trusted, from what each proposal recorded. Nothing is fitted again."""

from noregret.diagnostics.alarm_rules import Alarm, alarms
from noregret.diagnostics.forecast_checks import (
    LEVEL,
    Calibration,
    Prediction,
    check_calibration,
    effective_trials,
    predictions,
)
from noregret.diagnostics.importances import Importance, half_beliefs, importances
from noregret.diagnostics.presentation import best_so_far, check_count, values_along
from noregret.diagnostics.reasons import Convergence, Reason, track_convergence, why

__all__ = [
    "LEVEL",
    "Alarm",
    "Calibration",
    "Convergence",
    "Importance",
    "Prediction",
    "Reason",
    "alarms",
    "best_so_far",
    "check_calibration",
    "check_count",
    "effective_trials",
    "half_beliefs",
    "importances",
    "predictions",
    "track_convergence",
    "values_along",
    "why",
]
