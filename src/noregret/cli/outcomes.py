"""Limits and outcomes as they are typed: ``toxicity<=0.3`` when a study is made, and
``toxicity=0.21`` or ``toxicity=0.21±0.02`` when a trial is told. And context.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from noregret.cli.options import pairs, parse_point
from noregret.errors import ConfigurationError, TrialError
from noregret.study import Study, read_value, understood, units_of
from noregret.study import read_limits as read_typed
from noregret.trials import AtLeast, AtMost, Limit, Trial, returned

LIMITS_OPTION = click.option(
    "--outcome",
    "outcomes",
    multiple=True,
    metavar="NAME<=LIMIT",
    help="What is measured beside the value and how far it may go: 'toxicity<=0.3', 'purity>=50'.",
)
CONTEXT_NAMES = click.option(
    "--context",
    "context",
    multiple=True,
    metavar="NAME",
    help="A parameter that is given at each ask instead of chosen.",
)
OUTCOME = click.option(
    "--outcome",
    "outcomes",
    multiple=True,
    metavar="NAME=VALUE",
    help="An outcome that has a limit: toxicity=0.21, with its noise toxicity=0.21±0.02.",
)
CONTEXT = click.option(
    "--context",
    "context",
    multiple=True,
    metavar="NAME=VALUE",
    help="What an input is now that nobody chooses.",
)


def read_limits(words: Iterable[str], written: Any = None) -> dict[str, Limit]:
    """Typed, or as a file has them: ``{"toxicity": {"at_most": 0.3}}``."""
    known: list[tuple[str, Limit]] = []
    if written is not None and not isinstance(written, Mapping):
        raise ConfigurationError(
            f"outcomes must be a table such as toxicity = {{at_most = 0.3}}, got {written!r}"
        )
    for name, table in (written or {}).items():
        kinds: dict[str, type[AtMost] | type[AtLeast]] = {"at_most": AtMost, "at_least": AtLeast}
        if not isinstance(table, Mapping) or len(table) != 1 or next(iter(table)) not in kinds:
            raise ConfigurationError(
                f"the outcome {name!r} needs {{at_most = …}} or {{at_least = …}}, got {table!r}"
            )
        ((kind, value),) = table.items()
        known.append((name, kinds[kind](value)))
    limits = read_typed(words, known)
    for name in limits:
        if "=" in name or not name.isprintable():
            raise ConfigurationError(
                f"an outcome called {name!r} cannot be typed as NAME=VALUE: call it something"
                " without = and control characters"
            )
    return limits


def read_outcomes(study: Study, words: Iterable[str]) -> dict[str, Any] | None:
    """What was typed of a trial; which must be there is the study's to say."""
    told: dict[str, Any] = {}
    units = units_of(study.record().attributes)
    for name, text in pairs(words).items():
        if name not in study.outcomes:
            raise TrialError(
                f"there is no outcome {name!r}: this study has"
                f" {', '.join(study.outcomes) or 'none'}; nothing was recorded"
            )
        value, noise, _ = read_value(text, f"outcome {name!r}", units.get(name, ""))
        told[name] = value if noise is None else (value, noise)
    return told or None


def read_context(study: Study, words: tuple[str, ...]) -> dict[str, Any] | None:
    """What was typed; None: nothing."""
    return parse_point(study, words) if words else None


def limits_text(study: Study) -> str:
    return "; ".join(f"{name} {limit}" for name, limit in study.outcomes.items())


def limits_document(study: Study) -> dict[str, Any]:
    """Keys outcomes and context, where there are any."""
    document: dict[str, Any] = {}
    if study.outcomes:
        kinds = {AtMost: "at_most", AtLeast: "at_least"}
        document["outcomes"] = {
            name: {kinds[type(limit)]: limit.limit} for name, limit in study.outcomes.items()
        }
    if study.context:
        document["context"] = list(study.context)
    return document


def outcomes_text(study: Study, trial: Trial) -> str:
    """What was measured beside the value, in a line."""
    units = units_of(study.record().attributes)
    told = [
        f"{name} {understood(value, trial.outcome_noise.get(name), units.get(name, ''))}"
        for name, value in trial.outcomes.items()
    ]
    beyond = ["beyond a limit"] if trial.feasible is False else []
    return ", ".join([*told, *beyond])


def said_of(study: Study, result: Any) -> Any:
    """What an objective returned, checked, in a form that the study takes."""
    value, noise, told = returned(result, study.outcomes)
    if not study.outcomes:
        return value, noise
    noisy = {name: (v, told.outcome_noise.get(name)) for name, v in told.outcomes.items()}
    return {"value": value, "noise_std": noise, **noisy}
