"""What a study has found so far: the best value, the point to use, and what is certified
about it.
"""

from __future__ import annotations

from typing import Any

from noregret.cli.output import number, plus_minus, point_text, trial_document
from noregret.errors import TrialError
from noregret.study import Study, certifies


def results(study: Study, delta: float | None = None) -> dict[str, Any]:
    """Keys best, recommended, predicted, certificate; null where there is none yet."""
    found: dict[str, Any] = dict.fromkeys(("best", "recommended", "predicted", "certificate"))
    try:
        best, recommended = study.best, study.recommended
    except TrialError:  # nothing told yet
        return found
    found["best"], found["recommended"] = (
        trial_document(study, best),
        trial_document(study, recommended),
    )
    belief = study.belief(delta)
    if belief is None:
        return found
    mean, std = belief.predict(study.space.encode(recommended.params)[None, :])
    found["predicted"] = {
        "mean": (1.0 if study.goal == "maximize" else -1.0) * float(mean[0]),
        "std": float(std[0]),
    }
    if certifies(study.strategy):
        certificate = study.certificate(delta)
        found["certificate"] = {
            "regret_bound": certificate.regret_bound,
            "condition": certificate.condition,
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
