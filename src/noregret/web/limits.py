"""Limits and context on the page: what keeps them, and what to do in which context."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.errors import NoRegretError
from noregret.space import Choice, named_params
from noregret.study import Study, policy_of
from noregret.trials import Trial

ROWS = 9  # of the table of a policy


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
    """The best action at some values of the first context, the others held in their middle."""
    if not study.context:
        return None
    name = study.context[0]
    parameter = study.space.parameters[name]
    if isinstance(parameter, Choice):
        values: list[Any] = list(parameter.options)
    else:
        places = np.linspace(0, 1, ROWS)
        values = list(dict.fromkeys(parameter.decode(np.array([u])) for u in places))
    made = policy_of(study, name, values=values)
    chosen = [each for each in study.space.parameters if each not in study.context]
    rows = [
        {
            "context": value,
            "actions": [named_params(study.space, each.params)[action] for action in chosen],
            "mean": each.mean,
            "std": each.std,
        }
        for value, each in zip(made.values, made.recommended, strict=True)
    ]
    return {"context": name, "actions": chosen, "rows": rows}
