"""What a study has found so far: the best value, the point to use, and what is certified
about it.
"""

from __future__ import annotations

from typing import Any

from noregret.cli.output import number, plus_minus, point_text, trial_document
from noregret.errors import TrialError
from noregret.study import Study


def results(study: Study, delta: float | None = None) -> dict[str, Any]:
    """Keys best, recommended, predicted, certificate; null where there is none yet."""
    found: dict[str, Any] = dict.fromkeys(("best", "recommended", "predicted", "certificate"))
    try:
        result = study.result(delta)
    except TrialError:  # nothing told yet
        return found
    found["best"] = trial_document(study, result.best)
    found["recommended"] = trial_document(study, result.recommended)
    if result.prediction is not None:
        found["predicted"] = dict(zip(("mean", "std"), result.prediction, strict=True))
    if result.certificate is not None and result.certificate.proved:
        found["certificate"] = {
            "regret_bound": result.certificate.regret_bound,
            "condition": result.certificate.condition,
        }
    return found


def results_text(study: Study, found: dict[str, Any]) -> str:
    if found["best"] is None:
        return "best         none yet: no value was told"
    best, recommended = found["best"], found["recommended"]
    lines = [
        f"best         {number(best['value'])} at trial {best['number']}: "
        f" {point_text(study, best['params'])}"
    ]
    if found["predicted"] is not None:
        predicted = found["predicted"]
        same = (
            "the same point"
            if recommended["number"] == best["number"]
            else f"trial {recommended['number']}:  {point_text(study, recommended['params'])}"
        )
        lines.append(f"recommended  {same}  (the model expects {plus_minus(**predicted)})")
    if found["certificate"] is not None:
        lines.append(
            f"certified    at most {found['certificate']['regret_bound']:.4g} from the optimum,"
            f" {found['certificate']['condition']}"
        )
    return "\n".join(lines)
