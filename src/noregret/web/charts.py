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

from noregret.diagnostics import LEVEL, Prediction
from noregret.space import coordinate_names
from noregret.study.files import guarded
from noregret.web.library import Snapshot
from noregret.web.words import counted, measured, number

DRAWN = 1000  # largest number of points drawn per series
NO_MODEL = "No decision of a model yet."
NOT_RECORDED = "This strategy records none."


@dataclass(frozen=True, slots=True)
class Chart:
    """A text, and equally long columns by name."""

    text: str
    columns: dict[str, list[Any]]

    def to_json(self) -> bytes:
        """The thinned columns; null for values that are not finite."""
        length = len(next(iter(self.columns.values()), []))
        rows = _thinned(length)
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


def _thinned(length: int) -> Sequence[int]:
    """All rows, or evenly spaced ones and the last."""
    if length <= DRAWN:
        return range(length)
    return [*range(0, length - 1, math.ceil(length / DRAWN)), length - 1]


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def convergence(snapshot: Snapshot) -> Chart:
    bounds = snapshot.convergence
    columns: dict[str, list[Any]] = {
        "number": [trial.number for trial in snapshot.trials],
        "state": [trial.state for trial in snapshot.trials],
        "value": [trial.value for trial in snapshot.trials],
        "best": list(bounds.best),
        "lower": list(bounds.lower),
        "upper": list(bounds.upper),
    }
    if snapshot.best is None:
        text = "No value has been told yet." if snapshot.empty else "Nothing feasible yet."
        return Chart(text, columns)
    count = snapshot.tally["failed"]
    failed = f" and {counted(count, 'failure')}" if count else ""
    text = (
        f"{counted(snapshot.tally['complete'], 'value')}{failed}. The best,"
        f" {measured(snapshot.best.value, snapshot.noise, 1)}, came with trial"
        f" {snapshot.best.number}."
    )
    ends = bounds.lower[-1], bounds.upper[-1]
    if None not in ends:
        low, high = (measured(end, snapshot.noise) for end in ends)
        text += f" Where the method itself expects the best value: between {low} and {high}."
    return Chart(text, columns)


def residuals(snapshot: Snapshot) -> Chart:
    checked = snapshot.checked
    values = [float(prediction.residual or 0.0) for prediction in checked]
    columns: dict[str, list[Any]] = {
        "number": [prediction.number for prediction in checked],
        "residual": values,
        "inside": [bool(prediction.inside) for prediction in checked],
    }
    if not checked:
        return Chart("No value of a point that a model proposed is known yet.", columns)
    mean, spread = np.mean(values), np.std(values)
    return Chart(
        f"Value minus prediction, in predicted standard deviations: {mean:+.2f} on average (0 is"
        f" right), spread {spread:.2f} (1 is right, more is too sure).",
        columns,
    )


def coverage(snapshot: Snapshot) -> Chart:
    checked = snapshot.calibration
    columns: dict[str, list[Any]] = {
        "number": [prediction.number for prediction in checked.predictions],
        "coverage": list(checked.coverage),
        "least": list(checked.least),
        "nominal": [LEVEL] * len(checked.coverage),
    }
    if not checked.predictions:
        none = "Not enough values yet: the bands of the first forecasts are the model's own guess."
        return Chart(none, columns)
    verdict = "less than chance allows" if checked.failing else "within what chance allows"
    text = (
        f"{checked.inside} of {len(checked.predictions)} values ({checked.coverage[-1]:.0%}) fell"
        f" into the band predicted for them, {LEVEL:.0%} should: {verdict}."
    )
    return Chart(text, columns)


def lengthscales(snapshot: Snapshot) -> Chart:
    """In force and fitted, per coordinate of the unit cube."""
    decided = [(made.number, made.explanation.numbers) for made in _decided(snapshot)]
    names = coordinate_names(snapshot.record.space)
    none = [None] * len(names)
    columns: dict[str, list[Any]] = {"number": [trial for trial, _ in decided]}
    for index, name in enumerate(names):
        for words, key in (("in force", "lengthscales"), ("fitted", "fitted_lengthscales")):
            columns[f"{name} {words}"] = [each.get(key, none)[index] for _, each in decided]
    if not decided:
        return Chart(NO_MODEL, columns)
    last = decided[-1][1].get("lengthscales")
    if last is None:
        return Chart(NOT_RECORDED, columns)
    listed = sorted(zip(names, last, strict=True), key=lambda pair: pair[1])
    shown = [f"{name} {number(value, 3)}" for name, value in listed[:6]]
    shown += ["…"] if len(listed) > 6 else []
    text = "In force now, as a share of each input's range, most sensitive first: "
    return Chart(f"{text}{', '.join(shown)}.", columns)


def _decided(snapshot: Snapshot) -> list[Prediction]:
    return [made for made in snapshot.predictions if made is not None]


def recorded(snapshot: Snapshot, text: str) -> Chart:
    """The numbers of the decisions that the text names; it is filled in with those of the last."""
    names = [name for _, name, _, _ in Formatter().parse(text) if name]
    decided = _decided(snapshot)
    columns: dict[str, list[Any]] = {"number": [made.number for made in decided]}
    columns |= {name: [made.explanation.numbers.get(name) for made in decided] for name in names}
    if not decided:
        return Chart(NO_MODEL, columns)
    last = {name: columns[name][-1] for name in names}
    if all(value is None for value in last.values()):
        return Chart(NOT_RECORDED, columns)
    return Chart(text.format_map({name: number(value, 4) for name, value in last.items()}), columns)


RECORDED = {
    "scaling": ("Now h = {h}: lengthscales divided by g = {g}, norm bound times b = {b}."),
    "width": (
        "The band is {beta_sqrt} standard deviations wide on either side; norm bound {norm_bound}."
    ),
    "information": "The data hold {information_gain} nats about f in the class in force.",
    "noise": ("The noise's standard deviation is taken to be {noise_std}, in the values' units."),
}
CHARTS: dict[str, Callable[[Snapshot], Chart]] = {
    "convergence": convergence,
    "coverage": coverage,
    "residuals": residuals,
    "lengthscales": lengthscales,
    **{name: partial(recorded, text=text) for name, text in RECORDED.items()},
}
ChartName = StrEnum("ChartName", list(CHARTS))  # type: ignore[misc]
