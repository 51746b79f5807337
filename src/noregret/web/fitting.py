"""Results that need a fit. This runs in a process of its own, which opens the storage itself and
keeps the last results.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from noregret.diagnostics import importances, values_along
from noregret.errors import NoRegretError, StorageError
from noregret.search import SAYS_LITTLE_ABOVE
from noregret.space import (
    Array,
    Candidates,
    named_params,
    slice_points,
)
from noregret.storage import SQLStorage
from noregret.strategies import Belief
from noregret.study import Result, Study, policy_of
from noregret.trials import Trial, sign_of, standing
from noregret.web.library import Snapshot

RESULTS = 2  # results kept; one of 5,000 trials takes 200 MB
DESIGNS = 2_000  # largest number of designs of a list that are drawn
LINE = 121  # points of a slice along one parameter
INPUTS = 24  # largest number of parameters with a slice on the page
GRID, COARSE_GRID = 41, 21  # points per side of a surface; the coarse one from MANY trials on
MANY = 1000
NEAR = 1.0  # lengthscales within which a trial counts as near a slice
FAINT = 3.0  # lengthscales within which a trial is drawn, paler with the distance
PREVIEWED = 500  # largest number of trials for which the next proposal is computed in advance
POLICY_ROWS = 9  # values of the context in the table of a policy
POLICY_POINTS = 33  # values of the context along its curves
POLICY_CURVES = 12  # largest number of parameters with a curve
POLICY_TRIALS = 1000  # latest trials drawn beside the curves
WIDE = 0.5  # radius of the largest empty ball, as a share of every range, above which half of the
# space may be unexplored


def failure(
    error: str | None, version: str | None = None, trials: int | None = None
) -> dict[str, Any]:
    """A summary without results."""
    return {
        "version": version,
        "trials": trials,
        "error": error,
        "recommended": None,
        "certificate": None,
        "next": None,
        "importance": None,
        "resolution": None,
        "policy": None,
        "feasibility": None,
    }


class Fitter:
    """The last results of a storage's studies, each from one fit."""

    def __init__(self, url: str) -> None:
        self._storage = SQLStorage(url)
        self._results: OrderedDict[str, tuple[Snapshot, Result | None]] = OrderedDict()
        self._next: dict[str, Any] = {}  # the next proposal by study, where it was computed

    def summarise(self, name: str) -> dict[str, Any]:
        """The recommended point, its certificate and what goes with them. An error is part of the
        summary, in words.
        """
        begun = time.perf_counter()
        summary = self._summary(name)
        return summary | {"seconds": time.perf_counter() - begun}

    def _summary(self, name: str) -> dict[str, Any]:
        snapshot, result = self._result(name)
        summary = failure(None, snapshot.version, len(snapshot.rows))
        if isinstance(result, str):
            return summary | {"error": result}
        study = snapshot.study
        summary["feasibility"] = feasibility_text(study, snapshot.trials)
        if study.context:
            return summary | {"policy": None if result is None else _policy(study)}
        if result is not None and result.prediction is not None and result.certificate is not None:
            mean, std = result.prediction
            summary["recommended"] = {"number": result.recommended.number, "mean": mean, "std": std}
            summary["certificate"] = {
                key: getattr(result.certificate, key)
                for key in ("regret_bound", "condition", "proved", "refuted", "slack")
            }
            summary["importance"] = importance(result.belief, study)
            summary["resolution"] = resolution_text(study)
        try:
            if len(snapshot.rows) <= PREVIEWED:
                self._next[name] = study.preview().to_json()["params"]
                summary["next"] = self._next[name]
        except StorageError:
            raise
        except NoRegretError as error:
            summary["error"] = str(error)
        return summary

    def _result(self, name: str) -> tuple[Snapshot, Result | str | None]:
        """From one fit, kept until the study changes. A text says why there is none; None: there is
        no value yet.
        """
        study = Study.open(name, storage=self._storage)
        snapshot = Snapshot(study, self._storage.open(name), study.trials)
        last = self._results.get(name)
        if last is None or last[0].version != snapshot.version:
            self._next.pop(name, None)
            self._results.pop(name, None)  # before the next one is computed: they are large
            try:
                last = snapshot, None if snapshot.empty else study.result()
            except StorageError:
                raise
            except NoRegretError as error:
                return snapshot, str(error)
            self._results[name] = last
        self._results.move_to_end(name)
        while len(self._results) > RESULTS:
            self._results.popitem(last=False)
        return last

    def _last_result(self, name: str) -> tuple[Snapshot, Result | str | None]:
        """The last one, also if the study has changed since; not that of a deleted study."""
        last = self._results.get(name)
        if last is None or self._storage.key(name).identity != last[0].identity:
            return self._result(name)
        return last

    def slices(self, name: str, through: int | None) -> dict[str, Any]:
        """A slice along every parameter by itself, INPUTS at most."""
        snapshot, result = self._last_result(name)
        names = list(snapshot.record.space.parameters)[:INPUTS]
        slices = [self._slice(snapshot, result, x, None, through) for x in names]
        error = next((each["error"] for each in slices if each["error"]), None)
        return {"version": snapshot.version, "error": error, "slices": [] if error else slices}

    def slice(
        self, name: str, x: str, y: str | None = None, through: int | None = None
    ) -> dict[str, Any]:
        """The model along parameter x, and y if given, through the point of a trial (None: the
        recommended one).
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
        version, space = snapshot.version, snapshot.record.space
        if isinstance(result, str):
            return {"version": version, "error": result}
        if result is None or result.belief is None:
            none = "there is no model yet: this strategy has none, or no value was told"
            return {"version": version, "error": none}
        belief, inputs = result.belief, space.parameters
        for input_name in (x, y):
            if input_name is not None and input_name not in inputs:
                raise NoRegretError(f"there is no input {input_name!r}; there are {list(inputs)!r}")
        if through is not None and through >= len(snapshot.rows):
            raise NoRegretError(f"there is no trial {through}")
        base = result.recommended if through is None else snapshot.rows[through]
        answer = {
            "version": version,
            "error": None,
            "x": x,
            "y": y,
            "through": base.number,
            "kind": "line",
            "constrained": space.region is not None,
        }
        if isinstance(space, Candidates):
            return answer | self._designs(snapshot, belief, x)
        free = (x,) if y is None or y == x else (x, y)
        size = LINE if len(free) == 1 else GRID if len(snapshot.rows) < MANY else COARSE_GRID
        levels = [values_along(inputs[each], size) for each in free]
        values = named_params(space, base.params)
        points = [
            space.encode(values | dict(zip(free, reversed(at), strict=True)))
            for at in itertools.product(*reversed(levels))
        ]
        encoded, mask = slice_points(space, np.array(points), list(free))
        near = self._near(snapshot, belief, base, free)
        if len(free) == 2:
            width = len(levels[0])
            surfaces = {
                key: _rows([v if ok else None for v, ok in zip(column, mask, strict=True)], width)
                for key, column in _band(belief, encoded, snapshot).items()
            }
            return answer | {"kind": "surface", "xs": levels[0], "ys": levels[1]} | surfaces | near
        if not mask.any():
            none = f"along {x} no point of trial {base.number} satisfies the constraints"
            return {"version": version, "error": none}
        xs = [value for value, ok in zip(levels[0], mask, strict=True) if ok]
        return answer | {"xs": xs} | _band(belief, encoded[mask], snapshot) | near

    def _designs(self, snapshot: Snapshot, belief: Belief, x: str) -> dict[str, Any]:
        """The designs of a list along one column: all of them, or DESIGNS of a long list. There is
        nothing between them.
        """
        space = snapshot.record.space
        assert isinstance(space, Candidates)
        rows = space.spread(DESIGNS)
        trials = self._drawable(snapshot)
        return {
            "kind": "list",
            "y": None,
            "xs": space.columns[x].take(rows).tolist(),
            **_band(belief, space.enumeration()[rows], snapshot),
            **_drawn(snapshot, trials, np.zeros(len(trials)), (x,)),
        }

    def _near(
        self, snapshot: Snapshot, belief: Belief, base: Trial, free: tuple[str, ...]
    ) -> dict[str, Any]:
        """The trials around a slice and the next proposal, by the parameters that it holds."""
        space = snapshot.record.space
        held = [
            np.full(parameter.width, name not in free)
            for name, parameter in space.parameters.items()
        ]
        trials = self._drawable(snapshot)
        points = np.array([space.encode(trial.params) for trial in trials])
        away = (points.reshape(-1, space.dimension) - space.encode(base.params)) / (
            belief.lengthscales
        )
        distance = np.linalg.norm(away[:, np.concatenate(held)], axis=1)
        return _drawn(snapshot, trials, distance, free)

    def _drawable(self, snapshot: Snapshot) -> list[Trial]:
        """Trials with a value or without one yet, and last the next proposal as trial −1."""
        proposal = self._next.get(snapshot.record.name)
        trials = [trial for trial in snapshot.trials if trial.state not in ("failed", "withdrawn")]
        return trials + ([] if proposal is None else [Trial(-1, proposal)])


_fitter: list[Fitter] = []  # of this process


def start(url: str) -> None:
    """Make this the process that fits the models of a storage."""
    os.nice(10)  # studies that run on this machine come first
    _fitter[:] = [Fitter(url)]


def call(method: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Call a method of this process's fitter."""
    return method(_fitter[0], *arguments)


# -- slices --

_COLUMNS = ("number", "value", "weight", "x", "y")


def _rows(column: list[float | None], width: int) -> list[list[float | None]]:
    return [column[i : i + width] for i in range(0, len(column), width)]


def _band(belief: Belief, points: Array, snapshot: Snapshot) -> dict[str, list[float]]:
    sign = sign_of(snapshot.record.goal)
    mean, std = belief.predict(points)
    low, high = np.sort(sign * np.array(belief.band(points)), axis=0)
    return {
        "mean": (sign * mean).tolist(),
        "std": std.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }


def _drawn(
    snapshot: Snapshot, trials: list[Trial], distance: Array, free: tuple[str, ...]
) -> dict[str, Any]:
    """Columns of the trials within FAINT lengthscales of a slice. The weight is the kernel's
    measure of how much they say about it.
    """
    space = snapshot.record.space

    def row(trial: Trial, far: float) -> dict[str, Any]:
        point = named_params(space, trial.params)
        weight = round(float(np.exp(-(far**2) / 2)), 3)
        values = {"number": trial.number, "value": trial.value, "weight": weight}
        return values | {axis: point[name] for axis, name in zip("xy", free, strict=False)}

    around = [(trial, far) for trial, far in zip(trials, distance, strict=True) if far <= FAINT]
    rows = [row(trial, far) for trial, far in around]
    data = [row for row in rows if row["number"] >= 0]
    return {
        "data": {key: [row.get(key) for row in data] for key in _COLUMNS},
        "near": sum(trial.number >= 0 for trial, far in around if far <= NEAR),
        "next": next((row for row in rows if row["number"] < 0), None),
    }


# -- what a model says beyond its predictions --


def importance(belief: Belief | None, study: Study) -> list[dict[str, Any]] | None:
    """Importance of the parameters, the largest first, each with its uncertainty; None without a
    model or with one parameter.
    """
    if belief is None or len(study.space.parameters) < 2:
        return None
    rows = [
        {"name": each.name, "share": each.total, "spread": each.total_std}
        for each in importances(belief, study.space)
    ]
    return sorted(rows, key=lambda row: -float(row["share"] or 0.0))


def resolution_text(study: Study) -> str | None:
    """The width of a peak that the points may have missed, in a sentence; None before the first
    value.
    """
    try:
        resolution = study.resolution()
    except NoRegretError:
        return None
    inputs, radius = len(resolution.centre), resolution.radius
    if inputs > SAYS_LITTLE_ABOVE:
        return (
            f"With {inputs} inputs there is much room between the points: a narrow peak can hide."
        )
    if round(radius, 2) > WIDE:
        return (
            "Large parts of the space have no point near them: even a wide peak could still hide."
        )
    reach = f"{max(radius, 0.001):.1%}" if radius < 0.1 else f"{radius:.0%}"
    if not resolution.exact:
        return (
            f"Between the points a peak that reaches {reach} of every input's range from its top"
            " could still hide, or a wider one."
        )
    return (
        f"A peak that reaches {reach} of every input's range from its top, or more, cannot have"
        " been missed; a narrower one could still hide between the points."
    )


def feasibility_text(study: Study, trials: list[Trial]) -> str | None:
    """How close the study is to a feasible point; None without limits or with a feasible trial."""
    if not study.outcomes or any(trial.feasible for trial in trials):
        return None
    try:
        return str(study.feasibility())
    except NoRegretError as error:
        return str(error)


def _policy(study: Study) -> dict[str, Any] | None:
    try:
        return policy_table(study)
    except NoRegretError:  # the strategy has no model
        return None


def policy_table(study: Study) -> dict[str, Any] | None:
    """The best action along the first context parameter, the others held in their middle: a table,
    and a curve per action beside the trials. None without context.
    """
    if not study.context:
        return None
    name, *others = study.context
    parameter = study.space.parameters[name]
    values, in_table = (values_along(parameter, n) for n in (POLICY_POINTS, POLICY_ROWS))
    recommended = policy_of(study, name, values=values).recommended
    actions = [each for each in study.space.parameters if each not in study.context]
    best = [named_params(study.space, each.params) for each in recommended]
    rows = [
        {
            "context": value,
            "actions": [params[action] for action in actions],
            "mean": each.mean,
            "std": each.std,
        }
        for value, each, params in zip(values, recommended, best, strict=True)
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
