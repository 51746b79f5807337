"""Limits and context on the page: what keeps them, and what to do in which context."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.errors import NoRegretError
from noregret.space import Choice, named_params
from noregret.study import Study, policy_of
from noregret.trials import Trial, standing

ROWS = 9  # of the table of a policy
FINE = 4  # times as many values along its curves
CURVES = 12  # actions that are drawn
TRIED = 1000  # trials beside them: the last ones


def limits_of(study: Study) -> list[dict[str, Any]]:
    """Each outcome with its limit, in words."""
    return [{"name": name, "limit": str(limit)} for name, limit in study.outcomes.items()]


def feasibility_text(study: Study, rows: list[Trial]) -> str | None:
    """None: there are no limits, or something was told within them."""
    if not study.outcomes or any(trial.feasible for trial in rows):
        return None
    try:
        return str(study.feasibility())
    except NoRegretError as error:
        return str(error)


def policy_table(study: Study) -> dict[str, Any] | None:
    """The best action along the first context, the others held in their middle: some values of it
    as rows of a table, more of them as a curve for each action, beside what was tried.
    """
    if not study.context:
        return None
    name = study.context[0]
    values, shown = _along(study.space.parameters[name])
    made = policy_of(study, name, values=values)
    chosen = [each for each in study.space.parameters if each not in study.context]
    best = [named_params(study.space, each.params) for each in made.recommended]
    rows = [
        {
            "context": value,
            "actions": [params[action] for action in chosen],
            "mean": each.mean,
            "std": each.std,
        }
        for value, each, params in zip(values, made.recommended, best, strict=True)
        if value in shown
    ]
    tried = [
        (trial.number, named_params(study.space, trial.params))
        for trial in standing(study.trials)
        if trial.value is not None
    ][-TRIED:]
    curves = [
        {
            "context": name,
            "action": action,
            "values": values,
            "best": [params[action] for params in best],
            "tried": {
                "number": [number for number, _ in tried],
                "context": [params[name] for _, params in tried],
                "action": [params[action] for _, params in tried],
            },
        }
        for action in chosen[:CURVES]
    ]
    others = [each for each in study.context if each != name]
    return {"context": name, "actions": chosen, "rows": rows, "curves": curves, "others": others}


def _along(parameter: Any) -> tuple[list[Any], set[Any]]:
    """The values of a context at which the curve is computed, and those that the table has."""
    if isinstance(parameter, Choice):
        return list(parameter.options), set(parameter.options)

    def spread(count: int) -> list[Any]:
        places = np.linspace(0, 1, count)
        return list(dict.fromkeys(parameter.decode(np.array([u])) for u in places))

    return spread(FINE * (ROWS - 1) + 1), set(spread(ROWS))
