"""Studies, trials and results as text for people and as documents for machines."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from noregret.errors import TrialError
from noregret.space import Choice, Float, Int, Parameter, Space, named_params
from noregret.study import Study
from noregret.trials import STATES, Trial, standing

LONGEST = 60  # characters of a remark in a table
SAID: dict[str, str] = {
    "complete": "complete",
    "running": "under way",
    "waiting": "waiting",
    "failed": "failed",
    "withdrawn": "withdrawn",
}


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def plus_minus(mean: float, std: float) -> str:
    """Two digits of the uncertainty, and the mean as far as it is known."""
    if not 1e-6 < std < 1e6:
        return f"{mean:.4g} ± {std:.2g}"
    decimals = max(0, 1 - math.floor(math.log10(std)))
    return f"{round(mean, decimals) + 0.0:.{decimals}f} ± {std:.{decimals}f}"  # no −0.00


def text_of(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Aligned columns; those numbered in ``right`` to the right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = [
        "  ".join(
            text.rjust(width) if column in right else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in [header, *rows]
    ]
    return "\n".join(line.rstrip() for line in lines)


def point_text(study: Study, params: Any) -> str:
    """As ``add`` and ``enqueue`` take it."""
    return " ".join(
        shlex.quote(f"{name}={text_of(value)}")
        for name, value in named_params(study.space, params).items()
    )


def attributes_text(attributes: Mapping[str, Any]) -> str:
    """As ``--attribute`` and ``--where`` take them."""
    return " ".join(
        shlex.quote(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
        for name, value in attributes.items()
    )


def trial_document(study: Study, trial: Trial) -> dict[str, Any]:
    return {
        **trial.to_json(),
        "params": named_params(study.space, trial.params),
        "asked": None if trial.asked is None else named_params(study.space, trial.asked),
        "duration": trial.duration,
    }


def trial_table(study: Study, trials: Sequence[Trial], *, outcomes: bool = True) -> str:
    """A line per trial; outcomes=False leaves out what a trial just asked for cannot have. Empty
    columns are left out too.
    """
    columns: list[tuple[str, bool, list[str]]] = [
        ("trial", True, [str(trial.number) for trial in trials])
    ]
    if outcomes:
        corrected = {
            trial.corrects: "retried" if trial.decision.source == "retry" else "corrected"
            for trial in study.trials
        }
        columns.append(
            (
                "state",
                False,
                [_state(trial, corrected) for trial in trials],
            )
        )
        columns.append(("value", True, [number(trial.value) for trial in trials]))
        columns.append(("noise", True, [number(trial.noise_std) for trial in trials]))
        columns += [
            (name, True, [number(trial.outcomes.get(name)) for trial in trials])
            for name in study.outcomes
        ]
        within = {True: "yes", False: "no", None: ""}
        columns.append(("within limits", False, [within[trial.feasible] for trial in trials]))
    points = [named_params(study.space, trial.params) for trial in trials]
    if isinstance(study.space, Space):  # what does not exist there is left empty
        points = [study.space.active(each) for each in points]
    for name, parameter in study.space.parameters.items():
        cells = [text_of(each[name]) if name in each else "" for each in points]
        columns.append((name, not isinstance(parameter, Choice), cells))
    columns.append(("why", False, [reason(trial) for trial in trials]))
    columns.append(("note", False, [remark(trial) for trial in trials]))
    shown = [column for column in columns if any(column[2])]
    right = [index for index, (_, to_right, _) in enumerate(shown) if to_right]
    return table(
        [name for name, _, _ in shown],
        list(zip(*(cells for _, _, cells in shown), strict=True)),
        right,
    )


def _state(trial: Trial, replaced: Mapping[int | None, str]) -> str:
    if trial.number in replaced:
        return replaced[trial.number]
    return "failed by chance" if trial.transient else SAID[trial.state]


def remark(trial: Trial) -> str:
    """Why it failed, its note and its attributes, in a line."""
    said = ((trial.error or "").partition("\n")[0], trial.note, attributes_text(trial.attributes))
    text = "; ".join(" ".join(each.split()) for each in said if each)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def reason(trial: Trial) -> str:
    """Why the point was chosen, in a few words."""
    if trial.decision.source == "retry":
        return f"trial {trial.corrects} again"
    if trial.corrects is not None:
        return f"corrects trial {trial.corrects}"
    model = trial.decision.model
    if model is not None:
        why = "survey of a wider class" if model.survey else "model"
        return f"{why}, expects {plus_minus(model.mean, model.std)}"
    return "initial design" if trial.decision.source == "initial" else trial.decision.source


def parameter_range(parameter: Parameter) -> str:
    if isinstance(parameter, Choice):
        joint = " < " if parameter.ordered else ", "
        return joint.join(str(option) for option in parameter.options)
    whole = "whole numbers " if isinstance(parameter, Int) else ""
    step = parameter.resolution if isinstance(parameter, Float) else parameter.step
    return (
        f"{whole}{text_of(parameter.low)} to {text_of(parameter.high)}"
        f"{', log scale' if parameter.log else ''}"
        f"{'' if step is None or (whole and step == 1) else f', in steps of {text_of(step)}'}"
    )


def counts(study: Study) -> dict[str, int]:
    """Trials by state; a corrected one does not count, its correction does."""
    states: list[str] = [trial.state for trial in standing(study.trials)]
    return {state: states.count(state) for state in STATES}


def counted(states: Mapping[str, int]) -> str:
    """``7 trials: 5 complete, 1 under way, 1 failed``."""
    total = sum(states.values())
    parts = ", ".join(f"{states[state]} {word}" for state, word in SAID.items() if states[state])
    return f"{total} trial{'' if total == 1 else 's'}" + (f": {parts}" if parts else "")


# -- what a study has found so far --


def results(study: Study, delta: float | None = None) -> dict[str, Any]:
    """Keys best, recommended, predicted, certificate; null where there is none yet."""
    found: dict[str, Any] = dict.fromkeys(("best", "recommended", "predicted", "certificate"))
    try:
        result = study.result(delta)
    except TrialError:  # nothing told yet
        return found
    found["best"] = trial_document(study, result.best)
    found["recommended"] = trial_document(study, result.recommended)
    if study.outcomes:
        state = study.feasibility()
        found["feasibility"] = {"state": state.state, "text": str(state)}
    if result.prediction is not None:
        found["predicted"] = dict(zip(("mean", "std"), result.prediction, strict=True))
    if result.certificate is not None and result.certificate.proved:
        found["certificate"] = {
            "regret_bound": result.certificate.regret_bound,
            "condition": result.certificate.condition,
            "refuted": result.certificate.refuted,
            "slack": result.certificate.slack,
            **({"violations": dict(result.certificate.violations)} if study.outcomes else {}),
        }
    return found


def resolution(study: Study) -> dict[str, Any] | None:
    """radius, exact and text of the largest ball without an evaluation; None before a value."""
    try:
        found = study.resolution()
    except TrialError:
        return None
    return {"radius": found.radius, "exact": found.exact, "text": str(found)}


def results_text(study: Study, found: dict[str, Any]) -> str:
    if found["best"] is None:
        return "best         none yet: no value was told"
    best, recommended = found["best"], found["recommended"]
    lines = [
        f"best         {number(best['value'])} at trial {best['number']}:"
        f"  {point_text(study, best['params'])}"
    ]
    if "feasibility" in found:
        if found["feasibility"]["state"] != "feasible":
            lines = [f"best         {found['feasibility']['text']}"]
        else:
            lines.append(f"limits       {found['feasibility']['text']}")
    if study.context:
        lines.append(f"recommended  depends on {', '.join(study.context)}: noregret plot policy")
    elif found["predicted"] is not None:
        predicted = found["predicted"]
        same = (
            "the same point"
            if recommended["number"] == best["number"]
            else f"trial {recommended['number']}:  {point_text(study, recommended['params'])}"
        )
        lines.append(f"recommended  {same}  (the model expects {plus_minus(**predicted)})")
    certificate = found["certificate"]
    if certificate is not None and certificate["refuted"]:
        lines.append(f"certified    nothing: its condition is {certificate['condition']}")
    elif certificate is not None:
        lines.append(
            f"certified    at most {certificate['regret_bound']:.4g} from the optimum,"
            f" {certificate['condition']}"
        )
    if found.get("resolution") is not None:
        lines.append(f"resolution   {found['resolution']['text']}")
    return "\n".join(lines)
