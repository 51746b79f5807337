"""Whether the model can be trusted, from what each proposal recorded. Nothing is fitted again."""

from typing import TYPE_CHECKING

from noregret.diagnostics.presentation import best_so_far, values_along
from noregret.errors import lazily

if TYPE_CHECKING:
    from noregret.diagnostics.alarm_rules import Alarm, alarms
    from noregret.diagnostics.forecast_checks import (
        GAUSSIAN,
        LEVEL,
        Calibration,
        Prediction,
        check_calibration,
        effective_trials,
        outcome_forecasts,
        predictions,
    )
    from noregret.diagnostics.reasons import Convergence, Reason, track_convergence, why
    from noregret.diagnostics.sobol import Importance, half_beliefs, importances

__all__ = [
    "GAUSSIAN",
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
    "effective_trials",
    "half_beliefs",
    "importances",
    "outcome_forecasts",
    "predictions",
    "track_convergence",
    "values_along",
    "why",
]

__getattr__ = lazily(__name__, __all__, "forecast_checks", "alarm_rules", "sobol", "reasons")
