"""The series behind each chart: columns for the drawing (thinned if long), for the CSV file (all of
it), and a sentence for those who do not see it.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from noregret.diagnostics import LEVEL
from noregret.space import coordinate_names
from noregret.trials import ModelDecision, Trial
from noregret.web.reading import Snapshot
from noregret.web.words import counted, measured, number

DRAWN = 1000  # points per series; a CSV file has all of them


@dataclass(frozen=True, slots=True)
class Chart:
    text: str
    columns: dict[str, list[Any]]

    def drawn(self) -> bytes:
        length = len(next(iter(self.columns.values()), []))
        rows = thinned(length)
        thin = {
            name: [_finite(column[row]) for row in rows] for name, column in self.columns.items()
        }
        return json.dumps(
            {"text": self.text, "rows": length, "columns": thin}, allow_nan=False
        ).encode()

    def csv(self) -> bytes:
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow([guarded(name) for name in self.columns])
        writer.writerows(
            [guarded(value) for value in row] for row in zip(*self.columns.values(), strict=True)
        )
        return file.getvalue().encode("utf-8", "replace")


def thinned(length: int) -> Sequence[int]:
    """All rows, or evenly spaced ones and the last."""
    if length <= DRAWN:
        return range(length)
    return [*range(0, length - 1, math.ceil(length / DRAWN)), length - 1]


def guarded(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets an apostrophe in front."""
    return (
        f"'{value}"
        if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
        else value
    )


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def convergence(snapshot: Snapshot) -> Chart:
    made = snapshot.convergence
    columns: dict[str, list[Any]] = {
        "number": [trial.number for trial in snapshot.trials],
        "state": [trial.state for trial in snapshot.trials],
        "value": [trial.value for trial in snapshot.trials],
        "best": list(made.best),
        "lower": list(made.lower),
        "upper": list(made.upper),
    }
    if snapshot.best is None:
        told = "No value has been told yet." if snapshot.empty else "Nothing feasible yet."
        return Chart(told, columns)
    failed = (
        f" and {counted(snapshot.tally['failed'], 'failure')}" if snapshot.tally["failed"] else ""
    )
    text = (
        f"{counted(snapshot.tally['complete'], 'value')}{failed}. The best,"
        f" {measured(snapshot.best.value, snapshot.noise, 1)}, came with trial"
        f" {snapshot.best.number}."
    )
    if made.lower[-1] is not None and made.upper[-1] is not None:
        low, high = (measured(end, snapshot.noise) for end in (made.lower[-1], made.upper[-1]))
        text += f" Where the method itself expects the best value: between {low} and {high}."
    return Chart(text, columns)


def residuals(snapshot: Snapshot) -> Chart:
    made = [each for each in snapshot.made if each is not None and each.residual is not None]
    values = [each.residual for each in made]
    columns: dict[str, list[Any]] = {
        "number": [each.number for each in made],
        "residual": values,
        "inside": [bool(each.inside) for each in made],
    }
    if not made:
        return Chart("No value of a point that a model proposed is known yet.", columns)
    mean = sum(float(v or 0) for v in values) / len(made)
    spread = math.sqrt(sum((float(v or 0) - mean) ** 2 for v in values) / len(made))
    return Chart(
        f"Value minus prediction, in predicted standard deviations: {mean:+.2f} on average (0 is"
        f" right), spread {spread:.2f} (1 is right, more is too sure).",
        columns,
    )


def coverage(snapshot: Snapshot) -> Chart:
    found = snapshot.calibration
    columns: dict[str, list[Any]] = {
        "number": [each.number for each in found.predictions],
        "coverage": list(found.coverage),
        "least": list(found.least),
        "nominal": [LEVEL] * len(found.coverage),
    }
    if not found.predictions:
        none = "Not enough values yet: the bands of the first forecasts are the model's own guess."
        return Chart(none, columns)
    verdict = "less than chance allows" if found.failing else "within what chance allows"
    text = (
        f"{found.inside} of {len(found.predictions)} values ({found.coverage[-1]:.0%}) fell into"
        f" the band predicted for them, {LEVEL:.0%} should: {verdict}."
    )
    return Chart(text, columns)


def lengthscales(snapshot: Snapshot) -> Chart:
    """In force and fitted, per coordinate of the unit cube."""
    decided = _decided(snapshot)
    names = coordinate_names(snapshot.study.space)
    columns: dict[str, list[Any]] = {"number": [trial.number for trial in decided]}
    for index, name in enumerate(names):
        columns[f"{name} in force"] = [trial.why.lengthscales[index] for trial in decided]
        columns[f"{name} fitted"] = [
            (trial.why.fitted_lengthscales or [None] * len(names))[index] for trial in decided
        ]
    if not decided:
        return Chart("No decision of a model yet.", columns)
    last = decided[-1].why.lengthscales
    listed = sorted(zip(names, last, strict=True), key=lambda pair: pair[1])
    shown = ", ".join(f"{name} {number(value, 3)}" for name, value in listed[:6]) + (
        ", …" if len(listed) > 6 else ""
    )
    return Chart(
        f"In force now, as a share of each input's range, most sensitive first: {shown}.", columns
    )


def _series(
    keys: tuple[str, ...], text: Callable[[ModelDecision], str]
) -> Callable[[Snapshot], Chart]:
    def chart(snapshot: Snapshot) -> Chart:
        decided = _decided(snapshot)
        columns: dict[str, list[Any]] = {"number": [trial.number for trial in decided]}
        columns |= {key: [getattr(trial.why, key) for trial in decided] for key in keys}
        if not decided or all(getattr(decided[-1].why, key) is None for key in keys):
            return Chart(
                "This strategy records none." if decided else "No decision of a model yet.", columns
            )
        return Chart(text(decided[-1].why), columns)

    return chart


def _decided(snapshot: Snapshot) -> list[Trial]:
    return [trial for trial in snapshot.trials if trial.decision.model is not None]


CHARTS: dict[str, Callable[[Snapshot], Chart]] = {
    "convergence": convergence,
    "coverage": coverage,
    "residuals": residuals,
    "lengthscales": lengthscales,
    "scaling": _series(
        ("h", "g", "b"),
        lambda made: (
            f"Now h = {number(made.h, 3)}: lengthscales divided by g = {number(made.g, 3)},"
            f" norm bound times b = {number(made.b, 3)}."
        ),
    ),
    "width": _series(
        ("beta_sqrt", "norm_bound"),
        lambda made: (
            f"The band is {number(made.beta_sqrt, 3)} standard deviations wide on either side"
            + ("." if made.norm_bound is None else f"; norm bound {number(made.norm_bound, 3)}.")
        ),
    ),
    "information": _series(
        ("information_gain",),
        lambda made: (
            f"The data hold {number(made.information_gain, 4)} nats about f in the class in force."
        ),
    ),
    "noise": _series(
        ("noise_std",),
        lambda made: (
            f"The noise's standard deviation is taken to be {number(made.noise_std, 3)},"
            " in the values' units."
        ),
    ),
}
