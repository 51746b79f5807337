"""The series behind each chart, thinned for the drawing and in full as a CSV file, with a text that
describes it to those who do not see it.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from string import Formatter
from typing import Any

import numpy as np

from noregret.diagnostics import LEVEL
from noregret.space import coordinate_names, named_params
from noregret.study.files import guarded
from noregret.trials import margin
from noregret.web.library import Snapshot
from noregret.web.words import format_measured, format_value

DRAWN = 1000  # largest number of points drawn per series
NO_MODEL = "The model has proposed no point yet."
NOT_RECORDED = "This strategy does not record this."


@dataclass(frozen=True, slots=True)
class Chart:
    """A text, and equally long columns by name."""

    text: str
    columns: dict[str, list[Any]]

    def to_json(self) -> bytes:
        """The thinned columns; null for values that are not finite."""
        length = len(next(iter(self.columns.values()), []))
        rows = [*range(0, length - 1, math.ceil(length / DRAWN) or 1), *range(length)[-1:]]
        columns = {
            name: [_finite(column[row]) for row in rows] for name, column in self.columns.items()
        }
        content = {"text": self.text, "rows": length, "columns": columns}
        return json.dumps(content, allow_nan=False).encode()

    def to_csv(self) -> bytes:
        """All rows."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow([guarded(name) for name in self.columns])
        writer.writerows(zip(*self.columns.values(), strict=True))
        return file.getvalue().encode("utf-8", "replace")


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _convergence(snapshot: Snapshot) -> Chart:
    bounds, best, noise = snapshot.convergence, snapshot.best, snapshot.noise
    columns = {
        name: [getattr(trial, name) for trial in snapshot.trials]
        for name in ("number", "state", "value", "feasible")
    } | {name: list(getattr(bounds, name)) for name in ("best", "lower", "upper")}
    if snapshot.record.context:  # values of different contexts cannot be compared
        columns |= {name: [None] * len(snapshot.trials) for name in ("best", "lower", "upper")}
        return Chart(f"{snapshot.tally['complete']} values, under different conditions.", columns)
    if best is None:
        text = "No value yet." if snapshot.empty else "Nothing feasible yet."
        return Chart(text, columns)
    values, failures = snapshot.tally["complete"], snapshot.tally["failed"]
    failed = f" and {failures} failure{'s' * (failures > 1)}" if failures else ""
    text = (
        f"{values} value{'s' * (values > 1)}{failed}. The best,"
        f" {format_measured(best.value, noise, 1)}, came with trial {best.number}."
    )
    low, high = bounds.lower[-1], bounds.upper[-1]
    if low is not None and high is not None:
        text += (
            " The method itself expects the best value between"
            f" {format_measured(low, noise)} and {format_measured(high, noise)}."
        )
    return Chart(text, columns)


def _outcomes(snapshot: Snapshot) -> Chart:
    """Every outcome that has a limit, by trial."""
    trials = [trial for trial in snapshot.trials if trial.outcomes]
    columns: dict[str, list[Any]] = {"number": [trial.number for trial in trials]}
    texts = []
    for name, limit in snapshot.record.outcomes.items():
        columns[f"outcome {name}"] = values = [trial.outcomes.get(name) for trial in trials]
        beyond = sum(value is not None and margin(limit, value) < 0 for value in values)
        texts.append(f"{beyond} of {len(trials)} beyond {name} {limit}")
    return Chart(f"{'; '.join(texts) or 'This study has no limits'}.", columns)


def _parallel(snapshot: Snapshot) -> Chart:
    """Where each trial with a value crosses the axis of each input, from 0 to 1."""
    space, trials = snapshot.record.space, [t for t in snapshot.trials if t.value is not None]
    points = [named_params(space, trial.params) for trial in trials]
    columns: dict[str, list[Any]] = {
        name: [getattr(trial, name) for trial in trials] for name in ("number", "value", "feasible")
    }
    for name, parameter in space.parameters.items():
        options = getattr(parameter, "options", None)
        columns[f"input {name}"] = [
            (options.index(point[name]) / max(1, len(options) - 1))
            if options
            else parameter.encode(point[name])[0]
            for point in points
        ]
    return Chart(
        "Each line is a trial, from its inputs to its value. Dark lines are good.", columns
    )


def _timeline(snapshot: Snapshot) -> Chart:
    """When each trial was asked for and when it ended."""
    names = ("number", "state", "created", "finished")
    columns = {name: [getattr(trial, name) for trial in snapshot.rows] for name in names}
    return Chart("From asking for each experiment to its result.", columns)


def _residuals(snapshot: Snapshot) -> Chart:
    checked = snapshot.checked
    columns: dict[str, list[Any]] = {
        name: [getattr(prediction, name) for prediction in checked]
        for name in ("number", "residual", "inside")
    }
    if not checked:
        return Chart("No point that the model proposed has a value yet.", columns)
    mean, std = np.mean(columns["residual"]), np.std(columns["residual"])
    return Chart(
        f"Value minus prediction, in predicted standard deviations: mean {mean:+.2f} (0 is right),"
        f" standard deviation {std:.2f} (1 is right, more is overconfident).",
        columns,
    )


def _coverage(snapshot: Snapshot) -> Chart:
    checked = snapshot.calibration
    columns: dict[str, list[Any]] = {
        "number": [prediction.number for prediction in checked.predictions],
        "coverage": list(checked.coverage),
        "least": list(checked.least),
        "nominal": [LEVEL] * len(checked.coverage),
    }
    if not checked.predictions:
        return Chart("Not enough values yet to check the forecasts.", columns)
    verdict = "less than chance allows" if checked.failing else "within what chance allows"
    text = (
        f"{checked.inside} of {len(checked.predictions)} values ({checked.coverage[-1]:.0%}) fell"
        f" into the band predicted for them, {LEVEL:.0%} should: {verdict}."
    )
    return Chart(text, columns)


def _lengthscales(snapshot: Snapshot) -> Chart:
    """In force and fitted, per coordinate of the unit cube."""
    names = coordinate_names(snapshot.record.space)
    columns = _recorded(snapshot, ("lengthscales", "fitted_lengthscales"))
    numbers, in_force, fitted = columns.values()
    columns = {"number": numbers}
    for index, name in enumerate(names):
        for words, rows in (("in force", in_force), ("fitted", fitted)):
            columns[f"{name} {words}"] = [None if row is None else row[index] for row in rows]
    if not numbers or in_force[-1] is None:
        return Chart(NOT_RECORDED if numbers else NO_MODEL, columns)
    listed = sorted(zip(names, in_force[-1], strict=True), key=lambda pair: pair[1])
    texts = [f"{name} {format_value(value, 3)}" for name, value in listed[:6]]
    texts += ["…"] if len(listed) > 6 else []
    text = "In force now, as a share of each input's range, most sensitive first: "
    return Chart(f"{text}{', '.join(texts)}.", columns)


def _recorded(snapshot: Snapshot, names: Sequence[str]) -> dict[str, list[Any]]:
    """Numbers that the decisions of a model recorded; None where one did not."""
    decided = [made for made in snapshot.predictions if made is not None]
    columns = {name: [made.explanation.numbers.get(name) for made in decided] for name in names}
    return {"number": [made.number for made in decided], **columns}


def _described(snapshot: Snapshot, text: str) -> Chart:
    """The numbers that the text names; it is filled in with those of the last decision."""
    columns = _recorded(snapshot, [name for _, name, _, _ in Formatter().parse(text) if name])
    if not columns["number"]:
        return Chart(NO_MODEL, columns)
    last = {name: column[-1] for name, column in columns.items() if name != "number"}
    if all(value is None for value in last.values()):
        return Chart(NOT_RECORDED, columns)
    texts = {name: format_value(value, 4) for name, value in last.items()}
    return Chart(text.format_map(texts), columns)


DESCRIBED = {
    "scaling": "Now h = {h}: lengthscales divided by g = {g}, norm bound times b = {b}.",
    "width": (
        "The band is {beta_sqrt} standard deviations wide on either side; norm bound {norm_bound}."
    ),
    "information": "The data hold {information_gain} nats about f in the class in force.",
    "noise": "The estimated standard deviation of the noise is {noise_std}, in the values' units.",
}
CHARTS: dict[str, Callable[[Snapshot], Chart]] = {
    "convergence": _convergence,
    "outcomes": _outcomes,
    "parallel": _parallel,
    "timeline": _timeline,
    "coverage": _coverage,
    "residuals": _residuals,
    "lengthscales": _lengthscales,
    **{name: partial(_described, text=text) for name, text in DESCRIBED.items()},
}
ChartName = StrEnum("ChartName", list(CHARTS))  # type: ignore[misc]
