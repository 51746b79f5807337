"""Results that need a fit, computed in a process of its own.

It opens the storage itself and keeps the last results.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.diagnostics import importances, values_along
from noregret.diagnostics.presentation import distances_to_slice, model_slice
from noregret.errors import NoRegretError, StorageError
from noregret.search import SAYS_LITTLE_ABOVE
from noregret.space import Array, Candidates, named_params
from noregret.storage import SQLStorage
from noregret.strategies import Belief
from noregret.study import Result, Study, policy_of
from noregret.trials import Trial, standing
from noregret.web.library import Library, Snapshot

RESULTS = 2  # results kept; one of 5,000 trials takes 200 MB
LINE = 121  # points of a slice along one input
INPUTS = 24  # largest number of inputs with a slice on the page
GRID = 41  # points per side of a surface
COARSE_GRID = 21  # points per side of a surface from MANY trials on
MANY = 1000
NEAR = 1.0  # lengthscales within which a trial counts as near a slice
FAINT = 3.0  # lengthscales within which a trial is drawn, paler with the distance
PREVIEWED = 500  # largest number of trials for which the next proposal is computed in advance
POLICY_ROWS = 9  # values of the context in the table of a policy
POLICY_POINTS = 33  # values of the context along its curves
POLICY_CURVES = 12  # largest number of inputs with a curve
POLICY_TRIALS = 1000  # latest trials drawn beside the curves
COLUMNS = ("number", "value", "weight", "x", "y")  # of the trials beside a slice
WIDE = 0.5  # radius of the largest empty ball (share of every range) above which it is only "large"


@dataclass(slots=True)
class Summary:
    """What a fit says about a study. An error is part of it, as text.

    Args:
        version: The version of the study that was fitted; None: the fit failed.
        trials: Its number of trials.
        error: What went wrong.
        recommended: Number of the recommended trial, with mean and standard deviation there.
        certificate: The bound on its regret, with the condition.
        next: The next proposal.
        importance: Total-effect Sobol indices, the largest first.
        resolution: What could have been missed, in a sentence.
        policy: The best action by context.
        feasibility: How close the study is to a feasible point, in a sentence.
        seconds: The duration of the fit.
    """

    version: str | None = None
    trials: int | None = None
    error: str | None = None
    recommended: dict[str, Any] | None = None
    certificate: dict[str, Any] | None = None
    next: dict[str, Any] | list[float] | None = None
    importance: list[dict[str, Any]] | None = None
    resolution: str | None = None
    policy: dict[str, Any] | None = None
    feasibility: str | None = None
    seconds: float = 0.0


class Fitter:
    """The last results of a storage's studies, each from one fit."""

    def __init__(self, url: str) -> None:
        self._library = Library(SQLStorage(url), fresh_seconds=0.0)
        self._results: OrderedDict[str, tuple[Snapshot, Result | str | None]] = OrderedDict()
        self._next: dict[str, Any] = {}  # the next proposal by study, where it was computed

    def summarise(self, name: str) -> Summary:
        """Fit a study, unless it has not changed, and say what follows."""
        start = time.perf_counter()
        snapshot, result = self._result(name)
        summary = Summary(snapshot.version, len(snapshot.rows))
        if isinstance(result, str):
            summary.error = result
        else:
            self._fill(summary, snapshot, result)
        summary.seconds = time.perf_counter() - start
        return summary

    def _fill(self, summary: Summary, snapshot: Snapshot, result: Result | None) -> None:
        study = snapshot.study
        summary.feasibility = feasibility_text(study, snapshot.trials)
        if study.context:
            summary.policy = None if result is None else policy_table(study)
            return
        if result is not None and result.prediction is not None and result.certificate is not None:
            mean, std = result.prediction
            summary.recommended = {"number": result.recommended.number, "mean": mean, "std": std}
            summary.certificate = {
                key: getattr(result.certificate, key)
                for key in ("regret_bound", "condition", "proved", "refuted", "slack")
            }
            summary.importance = importance(result.belief, study)
            summary.resolution = resolution_text(study)
        try:
            if len(snapshot.rows) <= PREVIEWED:
                summary.next = study.preview().to_json()["params"]
                self._next[study.name] = summary.next
        except StorageError:
            raise
        except NoRegretError as error:
            summary.error = str(error)

    def _result(self, name: str) -> tuple[Snapshot, Result | str | None]:
        """The study and what its fit gave: None before the first value, a text on an error."""
        snapshot, last = self._library.snapshot(name), self._results.get(name)
        if last is None or last[0].version != snapshot.version:
            self._next.pop(name, None)
            self._results.pop(name, None)  # before the next one is computed: they are large
            try:
                result: Result | str | None = None if snapshot.empty else snapshot.study.result()
            except StorageError:
                raise
            except NoRegretError as error:
                result = str(error)
            last = self._results[name] = snapshot, result
        self._results.move_to_end(name)
        while len(self._results) > RESULTS:
            self._results.popitem(last=False)
        return last

    def _last_result(self, name: str) -> tuple[Snapshot, Result | str | None]:
        """The last one, also if the study has changed since; not that of a deleted study."""
        last = self._results.get(name)
        if last is None or self._library.storage.key(name).identity != last[0].identity:
            return self._result(name)
        return last

    def slices(self, name: str, through: int | None) -> dict[str, Any]:
        """A slice along every input, INPUTS at most."""
        snapshot, result = self._last_result(name)
        names = list(snapshot.record.space.parameters)[:INPUTS]
        slices = [self._slice(snapshot, result, x, None, through) for x in names]
        error = next((row["error"] for row in slices if row["error"]), None)
        return {"version": snapshot.version, "error": error, "slices": [] if error else slices}

    def slice(
        self, name: str, x: str, y: str | None = None, through: int | None = None
    ) -> dict[str, Any]:
        """The model along input x, and y if given, through the point of a trial.

        Args:
            name: The study.
            x: The first input.
            y: The second input, or None.
            through: The trial's number; None: the recommended one.
        """
        return self._slice(*self._last_result(name), x, y, through)

    def _slice(
        self,
        snapshot: Snapshot,
        result: Result | str | None,
        x: str,
        y: str | None,
        through: int | None,
    ) -> dict[str, Any]:
        version, space, goal = snapshot.version, snapshot.record.space, snapshot.record.goal
        if isinstance(result, str):
            return {"version": version, "error": result}
        if result is None or result.belief is None:
            none = "there is no model yet: this strategy has none, or no value was told"
            return {"version": version, "error": none}
        for name in (x, y):
            if name is not None and name not in space.parameters:
                inputs = list(space.parameters)
                raise NoRegretError(f"there is no input {name!r}; there are {inputs!r}")
        if through is not None and through >= len(snapshot.rows):
            raise NoRegretError(f"there is no trial {through}")
        base = result.recommended if through is None else snapshot.rows[through]
        kind = "list" if isinstance(space, Candidates) else "line" if y in (None, x) else "surface"
        size = LINE if kind != "surface" else GRID if len(snapshot.rows) < MANY else COARSE_GRID
        names = [x, str(y)] if kind == "surface" else [x]
        model = model_slice(result.belief, space, goal, base.params, dict.fromkeys(names, size))
        if not model.values[0]:
            none = f"along {x} no point of trial {base.number} satisfies the constraints"
            return {"version": version, "error": none}
        surfaces = {"mean": model.mean, "std": model.std, "low": model.lower, "high": model.upper}
        return {
            "version": version,
            "error": None,
            "x": x,
            "y": None if kind == "list" else y,
            "through": base.number,
            "kind": kind,
            "constrained": space.region is not None,
            **dict(zip(("xs", "ys"), model.values, strict=False)),
            **{key: _finite(values) for key, values in surfaces.items()},
            **self._trials(snapshot, result.belief, base, names),
        }

    def _trials(
        self, snapshot: Snapshot, belief: Belief, base: Trial, names: list[str]
    ) -> dict[str, Any]:
        """Columns of the trials within FAINT lengthscales of a slice, and the next proposal.

        The weight is the kernel's measure of how much a trial says about the slice.
        """
        space, proposal = snapshot.record.space, self._next.get(snapshot.record.name)
        trials = [trial for trial in snapshot.trials if trial.state not in ("failed", "withdrawn")]
        count = len(trials)
        trials += [] if proposal is None else [Trial(-1, proposal)]
        points = [trial.params for trial in trials]
        distances = distances_to_slice(belief, space, base.params, names, points)
        rows: list[dict[str, Any]] = []
        for trial, distance in zip(trials, distances, strict=True):
            if distance <= FAINT:
                weight = round(float(np.exp(-(distance**2) / 2)), 3)
                row = {"number": trial.number, "value": trial.value, "weight": weight, "y": None}
                point = named_params(space, trial.params)
                rows.append(row | dict(zip("xy", (point[name] for name in names), strict=False)))
        proposed = rows.pop() if rows and rows[-1]["number"] < 0 else None
        return {
            "data": {key: [row[key] for row in rows] for key in COLUMNS},
            "near": int(np.sum(distances[:count] <= NEAR)),
            "next": proposed,
        }


def _finite(values: Array) -> Any:
    """As lists, with None for values that are not finite."""
    rows = values.astype(object)
    rows[~np.isfinite(values)] = None
    return rows.tolist()


_fitter: list[Fitter] = []  # of this process


def start(url: str) -> None:
    """Make this the process that fits the models of a storage."""
    os.nice(10)  # studies that run on this machine come first
    _fitter[:] = [Fitter(url)]


def call(method: Callable[..., Any], *arguments: Any) -> Any:
    """Call a method of this process's fitter."""
    return method(_fitter[0], *arguments)


# -- what a model says beyond its predictions --


def importance(belief: Belief | None, study: Study) -> list[dict[str, Any]] | None:
    """Importance of the inputs, the largest first; None without a model or with one input."""
    if belief is None or len(study.space.parameters) < 2:
        return None
    indices = sorted(importances(belief, study.space), key=lambda index: -index.total)
    return [
        {"name": index.name, "share": index.total, "spread": index.total_std} for index in indices
    ]


def resolution_text(study: Study) -> str | None:
    """The width of a peak that the points may have missed; None before the first value."""
    try:
        resolution = study.resolution()
    except NoRegretError:
        return None
    inputs, radius = len(resolution.centre), resolution.radius
    if inputs > SAYS_LITTLE_ABOVE or round(radius, 2) > WIDE:
        return "There is much room between the points: even a wide peak could still hide."
    reach = f"{max(radius, 0.001):.1%}" if radius < 0.1 else f"{radius:.0%}"
    wider = "a wider one cannot" if resolution.exact else "perhaps a wider one too"
    return (
        f"A peak that reaches {reach} of every input's range from its top could still hide between"
        f" the points; {wider}."
    )


def feasibility_text(study: Study, trials: list[Trial]) -> str | None:
    """How close the study is to a feasible point; None without limits or with a feasible trial."""
    if not study.outcomes or any(trial.feasible for trial in trials):
        return None
    try:
        return str(study.feasibility())
    except NoRegretError as error:
        return str(error)


def policy_table(study: Study) -> dict[str, Any] | None:
    """The best action along the first context input, the others in the middle of their range.

    Returns:
        A table, and a curve per action with the trials; None without context or without a model.
    """
    if not study.context:
        return None
    name, *others = study.context
    parameter = study.space.parameters[name]
    values, in_table = (values_along(parameter, n) for n in (POLICY_POINTS, POLICY_ROWS))
    try:
        recommended = policy_of(study, name, values=values).recommended
    except NoRegretError:  # the strategy has no model
        return None
    actions = [action for action in study.space.parameters if action not in study.context]
    best = [named_params(study.space, point.params) for point in recommended]
    rows = [
        {
            "context": value,
            "actions": [params[action] for action in actions],
            "mean": point.mean,
            "std": point.std,
        }
        for value, point, params in zip(values, recommended, best, strict=True)
        if value in in_table
    ]
    trials = [trial for trial in standing(study.trials) if trial.value is not None]
    trials = trials[-POLICY_TRIALS:]
    points = [named_params(study.space, trial.params) for trial in trials]
    curves = [
        {
            "context": name,
            "action": action,
            "values": values,
            "best": [params[action] for params in best],
            "tried": {
                "number": [trial.number for trial in trials],
                "context": [point[name] for point in points],
                "action": [point[action] for point in points],
            },
        }
        for action in actions[:POLICY_CURVES]
    ]
    return {"context": name, "actions": actions, "rows": rows, "curves": curves, "others": others}
