"""What is read from a study: a result from one fit, importances, a text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noregret.diagnostics import Importance, importances
from noregret.errors import ConfigurationError, TrialError
from noregret.search import Resolution, largest_empty_ball
from noregret.strategies import Belief
from noregret.study.feasibility import is_empty
from noregret.study.result import Certificate, Result, best_of, certify, recommended_of
from noregret.trials import STATES, Trial, html_table, sign_of, standing

if TYPE_CHECKING:
    from noregret.study.study import Study


def depends_on_context(study: Study, what: str) -> ConfigurationError:
    named = ", ".join(f"{name!r}: …" for name in study.context)
    return ConfigurationError(
        f"{what} depends on the context here: ask study.{what}_for({{{named}}})"
    )


def complete(study: Study) -> list[Trial]:
    return [trial for trial in standing(study.trials) if trial.state == "complete"]


def result_of(study: Study, delta: float | None) -> Result:
    done = complete(study)
    best, belief = best_of(done, study.goal, study.outcomes), study.belief(delta)
    if belief is None:
        return Result(best, best, None, None, None, best.feasible)
    recommended, mean, std = recommended_of(done, study._encode, belief, study.goal)
    x, certificate, feasible = study._encode(recommended), None, None
    if belief.outcomes:
        feasible = all(each.chance(x[None, :])[0] >= 0.5 for each in belief.outcomes)
    if not study.context and not (belief.outcomes and is_empty(study.space, belief)):
        certificate = certify(study.space, belief, recommended.params, x, study.seed)
    prediction = (sign_of(study.goal) * mean, std)
    return Result(best, recommended, prediction, certificate, belief, feasible)


def recommended(study: Study) -> Trial:
    if study.context:
        raise depends_on_context(study, "recommended")
    belief = study.belief()
    if belief is None:
        return study.best
    return recommended_of(complete(study), study._encode, belief, study.goal)[0]


def belief_of(study: Study, delta: float | None) -> Belief | None:
    if delta is not None and not 0 < delta < 1:
        raise ConfigurationError(f"delta is a failure probability in (0, 1), got {delta!r}")
    return study.strategy.belief(study.space, study._history(study.trials).observed, delta)


def certificate_of(study: Study, delta: float | None) -> Certificate:
    if study.context:
        raise depends_on_context(study, "certificate")
    result = study.result(delta) if complete(study) else None
    certificate = None if result is None else result.certificate
    if certificate is None and result is not None and result.belief is not None:
        raise TrialError(
            "there is no regret to certify: nothing in the space keeps all limits, see"
            " study.feasibility()"
        )
    if certificate is None:
        raise TrialError("a certificate needs a strategy with a model and at least one value")
    return certificate


def resolution_of(study: Study) -> Resolution:
    done = complete(study)
    if not done:
        raise TrialError("the resolution needs at least one value")
    points = np.array([study._encode(trial) for trial in done])
    return largest_empty_ball(points, study.space.region)


def importances_of(study: Study) -> list[Importance]:
    belief = study.belief() if complete(study) else None
    if belief is None:
        raise TrialError("importances need a strategy with a model and at least one value")
    return importances(belief, study.space)


def text_of(study: Study) -> str:
    trials = study.trials
    done = [trial for trial in standing(trials) if trial.state == "complete"]
    text = f"<Study {study.name!r}: {study.goal}, {len(done)} of {len(trials)} trials complete"
    if not done:
        return text + ">"
    best = study.best
    if best.feasible is False or best.value is None:
        return text + ", nothing feasible yet>"
    return text + f", best {best.value:.6g} at {best.params}>"


def html_of(study: Study) -> str:
    trials = standing(study.trials)
    done = [trial for trial in trials if trial.state == "complete"]
    counts = [
        f"{sum(trial.state == state for trial in trials)} {state}"
        for state in STATES
        if any(trial.state == state for trial in trials)
    ]
    rows = [
        ("goal", study.goal),
        ("inputs", ", ".join(study.space.parameters)),
        ("strategy", type(study.strategy).__name__),
        ("trials", ", ".join(counts) or "none yet"),
        ("limits", ", ".join(f"{name} {limit}" for name, limit in study.outcomes.items())),
        ("context", ", ".join(study.context)),
        ("best", repr(best_of(done, study.goal, study.outcomes))[1:-1] if done else ""),
        ("note", study.note or ""),
    ]
    return html_table(f"study {study.name}", rows)
