"""Studies, trials and results as text for people and as documents for machines."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from noregret.diagnostics import (
    GAUSSIAN,
    LEVEL,
    Prediction,
    effective_trials,
    outcome_forecasts,
    predictions,
)
from noregret.diagnostics.presentation import format_number, format_table, plus_minus
from noregret.errors import TrialError
from noregret.space import Candidates, Choice, Float, Int, Parameter, Space, named_params
from noregret.storage import codec
from noregret.strategies import display_name
from noregret.study import CHANCE, Study, algorithms, left_of, understood, units_of
from noregret.trials import STATES, AtLeast, AtMost, Trial, as_json, shown, standing

LONGEST = 60  # characters of a remark in a table
STATE_WORDS: dict[str, str] = {state: state for state in STATES} | {"running": "under way"}
LIMITS: dict[str, type[AtMost | AtLeast]] = {"at_most": AtMost, "at_least": AtLeast}


# -- studies --


def study_document(study: Study) -> dict[str, Any]:
    record = study.record()
    document = {
        "study": study.name,
        "goal": study.goal,
        "seed": record.seed,
        "space": codec.described(study.space),
        "strategy": codec.to_json(study.strategy),
        "strategy_name": display_name(study.strategy),
        "algorithms": [list(pair) for pair in algorithms(study.trials)],
        "theorem": study.strategy.theorem,
        "note": record.note,
        "attributes": dict(record.attributes),
    }
    if study.outcomes:
        words = {kind: word for word, kind in LIMITS.items()}
        limits = study.outcomes.items()
        document["outcomes"] = {name: {words[type(each)]: each.limit} for name, each in limits}
    if study.context:
        document["context"] = list(study.context)
    return document


def parameters_text(study: Study) -> str:
    """All parameters with their ranges, in a line."""
    if isinstance(study.space, Candidates):
        return f"one of {len(study.space)} candidates"
    ranges = [f"{name} {parameter_range(p)}" for name, p in study.space.parameters.items()]
    return "; ".join([*ranges, *map(str, (*study.space.branches, *study.space.constraints))])


def parameter_range(parameter: Parameter) -> str:
    if isinstance(parameter, Choice):
        return (" < " if parameter.ordered else ", ").join(map(str, parameter.options))
    whole = "whole numbers " if isinstance(parameter, Int) else ""
    step = parameter.resolution if isinstance(parameter, Float) else parameter.step
    text = f"{whole}{shown(parameter.low)} to {shown(parameter.high)}"
    text += ", log scale" if parameter.log else ""
    return text if step is None or (whole and step == 1) else f"{text}, in steps of {shown(step)}"


def counts(study: Study) -> dict[str, int]:
    """Trials by state; a corrected one does not count, its correction does."""
    states: list[str] = [trial.state for trial in standing(study.trials)]
    return {state: states.count(state) for state in STATES}


def counts_text(study: Study) -> str:
    """``7 trials: 5 complete, 1 under way, 1 failed``."""
    states = counts(study)
    total = sum(states.values())
    parts = [f"{states[state]} {word}" for state, word in STATE_WORDS.items() if states[state]]
    return f"{total} trial{'' if total == 1 else 's'}" + (f": {', '.join(parts)}" if parts else "")


# -- trials --


def point_text(study: Study, params: Any) -> str:
    """A point in the form that ``add`` reads."""
    point = named_params(study.space, params)
    return " ".join(shlex.quote(f"{name}={shown(value)}") for name, value in point.items())


def attributes_text(attributes: Mapping[str, Any]) -> str:
    """Attributes in the form that ``--attribute`` and ``--where`` read."""
    return " ".join(
        shlex.quote(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
        for name, value in attributes.items()
    )


def outcomes_text(study: Study, trial: Trial) -> str:
    """The measured outcomes, in a line."""
    units = units_of(study.record().attributes) if trial.outcomes else {}
    values = [
        f"{name} {understood(value, trial.outcome_noise.get(name), units.get(name, ''))}"
        for name, value in trial.outcomes.items()
    ]
    return ", ".join([*values, *(["beyond a limit"] if trial.feasible is False else [])])


def trial_document(study: Study, trial: Trial) -> dict[str, Any]:
    return {
        **trial.to_json(),
        "params": named_params(study.space, trial.params),
        "asked": None if trial.asked is None else named_params(study.space, trial.asked),
        "duration": trial.duration,
    }


def trials_document(study: Study, trials: Sequence[Trial]) -> dict[str, Any]:
    return {"study": study.name, "trials": [trial_document(study, trial) for trial in trials]}


def trial_table(study: Study, trials: Sequence[Trial], *, results: bool = True) -> str:
    """A line per trial, without empty columns; results=False leaves out what is not known yet."""
    columns: list[tuple[str, bool, list[str]]] = [  # name, aligned to the right, cells
        ("trial", True, [str(trial.number) for trial in trials])
    ]
    if results:
        replaced = {
            trial.corrects: "retried" if trial.decision.source == "retry" else "corrected"
            for trial in study.trials
        }
        measured = {name: [each.outcomes.get(name) for each in trials] for name in study.outcomes}
        values = {"value": [each.value for each in trials], "noise": [t.noise_std for t in trials]}
        within = {True: "yes", False: "no", None: ""}
        columns.append(("state", False, [_state(trial, replaced) for trial in trials]))
        for column in (values, measured):
            columns += [
                (name, True, list(map(format_number, cells))) for name, cells in column.items()
            ]
        columns.append(("within limits", False, [within[trial.feasible] for trial in trials]))
    points = [named_params(study.space, trial.params) for trial in trials]
    if isinstance(study.space, Space):  # inactive parameters are left empty
        points = [study.space.active(point) for point in points]
    for name, parameter in study.space.parameters.items():
        cells = [shown(point[name]) if name in point else "" for point in points]
        columns.append((name, not isinstance(parameter, Choice), cells))
    made = forecasts(study)
    columns.append(("why", False, [choice_text(trial, made) for trial in trials]))
    columns.append(("note", False, [_remark(trial) for trial in trials]))
    names, right, cells_of = zip(*(column for column in columns if any(column[2])), strict=True)
    rows = list(zip(*cells_of, strict=True))
    return format_table(names, rows, [index for index, aligned in enumerate(right) if aligned])


def _state(trial: Trial, replaced: Mapping[int | None, str]) -> str:
    if trial.number in replaced:
        return replaced[trial.number]
    return "failed by chance" if trial.transient else STATE_WORDS[trial.state]


def _remark(trial: Trial) -> str:
    """Why it failed, its note and its attributes, in a line."""
    parts = (_first_line(trial.error), trial.note, attributes_text(trial.attributes))
    text = "; ".join(" ".join(part.split()) for part in parts if part)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _first_line(text: str | None) -> str:
    return (text or "").partition("\n")[0]


def ends_text(low: float, high: float, joint: str) -> str:
    """Both ends of a band, to the digits that its width has."""
    return joint.join(plus_minus(end, (high - low) / 2).split()[0] for end in (low, high))


def forecasts(study: Study) -> dict[int, Prediction]:
    """By the trial's number."""
    made = predictions(effective_trials(study.trials), study.goal, study.strategy)
    return {each.number: each for each in made if each is not None}


def choice_text(trial: Trial, made: Mapping[int, Prediction]) -> str:
    """Why the point was chosen, in a few words."""
    if trial.decision.source == "retry":
        return f"trial {trial.corrects} again"
    if trial.corrects is not None:
        return f"corrects trial {trial.corrects}"
    if trial.number in made:
        kind = "survey of a wider class" if trial.why.kind == "survey" else "model"
        ends = ends_text(made[trial.number].low, made[trial.number].high, " to ")
        return f"{kind}, expects {ends} ({LEVEL:.0%})"
    return "initial design" if trial.decision.source == "initial" else trial.decision.source


def trial_text(study: Study, trial: Trial) -> str:
    """All that is recorded of one trial, and its decision."""
    rows = {
        "state": STATE_WORDS[trial.state],
        "value": format_number(trial.value),
        "noise": format_number(trial.noise_std),
        "outcomes": outcomes_text(study, trial),
        "why": choice_text(trial, forecasts(study)),
        "asked (UTC)": trial.created,
        "begun (UTC)": trial.started,
        "ended (UTC)": trial.finished,
        "took": "" if trial.duration is None else f"{trial.duration:.3g} s",
        "failed for": _first_line(trial.error),
        "note": trial.note,
        "attributes": attributes_text(trial.attributes),
        "asked for": "" if trial.asked is None else point_text(study, trial.asked),
    }
    cells = [(name, text) for name, text in rows.items() if text]
    cells += [(n, shown(value)) for n, value in named_params(study.space, trial.params).items()]
    text = format_table([f"trial {trial.number}", ""], cells)
    if trial.decision.model is None:
        return text
    explanation = study.strategy.explain(trial.decision)
    reasons = [(name, shown(value)) for name, value in as_json(trial.decision.model).items()]
    bands = outcome_forecasts(effective_trials(study.trials), study.strategy)
    for each in explanation.outcomes:
        expected = format_number(each.mean, 4)
        if (trial.number, each.name) in bands:
            expected = ends_text(*bands[trial.number, each.name], " to ")
            expected += "" if explanation.proved else f" ({LEVEL:.0%})"
        reasons.append((f"expected {each.name}", expected))
    for name, value in explanation.numbers.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        reasons.append((name, ", ".join(map(shown, values))))
    return f"{text}\n\n{explanation.rule}\n\n{format_table(['decision', ''], reasons)}"


# -- results --


def results(study: Study, delta: float | None = None, chance: float = CHANCE) -> dict[str, Any]:
    """Keys best, recommended, predicted, left, certificate; null before the first value.

    Args:
        study: The study.
        delta: Failure probability of the certificate; None: the strategy's own.
        chance: That the recommended point keeps all limits.
    """
    keys = ("best", "recommended", "predicted", "left", "certificate")
    document: dict[str, Any] = dict.fromkeys(keys)
    try:
        result = study.result(delta, chance=chance)
    except TrialError:  # no value yet
        return document
    document["best"] = trial_document(study, result.best)
    document["recommended"] = trial_document(study, result.recommended)
    if study.outcomes:
        state = study.feasibility()
        document["feasibility"] = {"state": state.state, "text": str(state)}
        document["chance"] = result.chance
    if result.prediction is not None:
        mean, std = result.prediction
        document["predicted"] = {"mean": mean, "std": std, "repeat_std": result.repeat_std}
        if result.too_few:
            document["predicted"] |= {"std": None, "repeat_std": None}
    left = left_of(study, result)
    if left is not None:
        document["left"] = {"gain": left.gain, "chance": left.chance}
    certificate = result.certificate
    if certificate is not None and certificate.proved:
        names = ("regret_bound", "condition", "refuted", "slack")
        document["certificate"] = {name: getattr(certificate, name) for name in names}
        if study.outcomes:
            document["certificate"]["violations"] = dict(certificate.violations)
    return document


def expected_text(mean: float, std: float | None, repeat_std: float | None) -> str:
    """What the model expects at the recommended point, and of a repeat there."""
    if std is None:
        about = f"the model expects about {mean:.4g}"
        return f"{about}; too few values to say how far it scatters"
    if repeat_std == 0:
        return f"{mean:.6g}, values are exact"
    text = f"the model expects {plus_minus(mean, std)}"
    if repeat_std is None:
        return text
    half = GAUSSIAN * repeat_std
    ends = ends_text(mean - half, mean + half, " and ")
    return f"{text}, {LEVEL:.0%} of repeats between {ends}"


def left_text(gain: float | None, chance: float) -> str:
    """How much better than the recommended point it may get."""
    if gain is None:
        return "how much better it could get is not known yet"
    return (
        f"at most {gain:.3g} better than the recommended point, with a chance of {chance:.0%} by"
        " the model: a rule of thumb"
    )


def labelled(rows: Mapping[str, str | None]) -> list[str]:
    """A line per row that has a text."""
    return [f"{label:<13}{text}" for label, text in rows.items() if text]


def results_text(study: Study, document: Mapping[str, Any]) -> str:
    """What ``results`` found, a line per key."""
    best, recommended = document["best"], document["recommended"]
    if best is None:
        return "\n".join(labelled({"best": "none yet: no value was told"}))

    def place(trial: Mapping[str, Any]) -> str:
        return f"trial {trial['number']}:  {point_text(study, trial['params'])}"

    rows = {"best": f"{format_number(best['value'])} at {place(best)}"}
    if "feasibility" in document:
        feasible = document["feasibility"]["state"] == "feasible"
        rows["limits" if feasible else "best"] = document["feasibility"]["text"]
    if study.context:
        rows["recommended"] = f"depends on {', '.join(study.context)}: noregret plot policy"
    elif document["predicted"] is not None:
        same = recommended["number"] == best["number"]
        where = "the same point" if same else place(recommended)
        rows["recommended"] = f"{where}  ({expected_text(**document['predicted'])})"
    if document.get("chance") is not None:
        likely = document["chance"]
        words = f"{likely:.0%}" if likely <= 0.99 else "over 99%"
        rows["keeps limits"] = f"with a chance of {words}, by the model"
    if document["left"] is not None:
        rows["left"] = left_text(**document["left"])
    certificate = document["certificate"]
    if certificate is not None and certificate["refuted"]:
        rows["certified"] = f"nothing: its condition is {certificate['condition']}"
    elif certificate is not None:
        bound = f"at most {certificate['regret_bound']:.4g} from the optimum"
        rows["certified"] = f"{bound}, {certificate['condition']}"
    if document.get("resolution") is not None:
        rows["resolution"] = document["resolution"]["text"]
    return "\n".join(labelled(rows))
