"""Runs in the process that fits models: opens the storage itself and keeps the last beliefs."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.errors import NoRegretError, StorageError
from noregret.space import (
    Array,
    Candidates,
    Choice,
    Int,
    Parameter,
    named_params,
    region_of,
    slice_points,
)
from noregret.storage import SQLStorage
from noregret.strategies import Belief
from noregret.study import Result, Study
from noregret.trials import Trial, sign_of
from noregret.web.insights import hiding, importance
from noregret.web.limits import feasibility_text, policy_table
from noregret.web.reading import Snapshot

RESULTS = 2  # kept: one of 5,000 trials takes 200 MB
DESIGNS = 2_000  # of a list that are drawn
LINE = 121  # points of a slice along one input
INPUTS = 24  # shown at once
GRID, COARSE_GRID = 41, 21  # of a slice along two; coarse from MANY trials on
MANY = 1000
NEAR = 1.0  # lengthscales: trials nearer than this to a slice are said to lie near it
FAINT = 3.0  # those nearer than this are drawn, the paler the farther
PREVIEWED = 500  # up to so many trials the next proposal is worked out before anybody asks

_library: dict[str, Any] = {}
_results: OrderedDict[str, tuple[Snapshot, Result | None]] = OrderedDict()
_next: dict[str, Any] = {}  # what would be proposed, where it was worked out


@dataclass(frozen=True, slots=True)
class SliceQuery:
    """Along input x, and y if given, through the point of a trial (None: the recommended one)."""

    x: str
    y: str | None = None
    through: int | None = None


def start(url: str) -> None:
    os.nice(10)  # studies that run on this machine come first
    _library["storage"] = SQLStorage(url)


def judge(name: str) -> dict[str, Any]:
    """Recommended point and certificate; an error in words instead of an exception, since it is an
    answer like others.
    """
    begun = time.perf_counter()
    answer = _judged(name)
    return answer | {"seconds": time.perf_counter() - begun}


def failure(
    error: str | None, version: str | None = None, trials: int | None = None
) -> dict[str, Any]:
    """An answer without results."""
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


def _judged(name: str) -> dict[str, Any]:
    snapshot, result = _result(name)
    answer = failure(None, snapshot.version, len(snapshot.rows))
    if isinstance(result, str):
        return answer | {"error": result}
    study = snapshot.study
    answer["feasibility"] = feasibility_text(study, snapshot.trials)
    if study.context:
        return answer | {"policy": None if result is None else _policy(study)}
    if result is not None and result.prediction is not None and result.certificate is not None:
        mean, std = result.prediction
        answer["recommended"] = {"number": result.recommended.number, "mean": mean, "std": std}
        answer["certificate"] = {
            "regret_bound": result.certificate.regret_bound,
            "condition": result.certificate.condition,
            "proved": result.certificate.proved,
            "refuted": result.certificate.refuted,
            "slack": result.certificate.slack,
        }
        answer["importance"] = importance(result.belief, snapshot.study)
        answer["resolution"] = hiding(snapshot.study)
    try:
        if len(snapshot.rows) <= PREVIEWED:
            answer["next"] = _next[name] = plain(snapshot.study.preview())
    except StorageError:
        raise
    except NoRegretError as error:
        answer["error"] = str(error)
    return answer


def _policy(study: Study) -> dict[str, Any] | None:
    try:
        return policy_table(study)
    except NoRegretError:  # no model: the strategy has none
        return None


def _result(name: str) -> tuple[Snapshot, Result | str | None]:
    """From one fit, kept until the study changes; a text: why there is none; None: no value yet."""
    study = Study.open(name, storage=_library["storage"])
    snapshot = Snapshot(study, study.trials)
    known = _results.get(name)
    if known is None or known[0].version != snapshot.version:
        _next.pop(name, None)
        _results.pop(name, None)  # before the next is made: they are large
        try:
            told = any(trial.state == "complete" for trial in snapshot.trials)
            known = (snapshot, study.result() if told else None)
        except StorageError:
            raise
        except NoRegretError as error:
            return snapshot, str(error)
        _results[name] = known
    _results.move_to_end(name)
    while len(_results) > RESULTS:
        _results.popitem(last=False)
    return known


def _identity(name: str) -> str:
    storage: SQLStorage = _library["storage"]
    return storage.key(name).identity


def plain(trial: Trial) -> dict[str, Any]:
    return trial.to_json()["params"]


# -- slices --


def cut(name: str, query: SliceQuery) -> dict[str, Any]:
    known = _results.get(name)
    if known is not None and _identity(name) != known[0].study.identity:
        known = None  # a name is not a study: another has it now
    snapshot, result = known if known is not None else _result(name)
    if isinstance(result, str):
        return {"version": snapshot.version, "error": result}
    if result is None or result.belief is None:
        none = "there is no model yet: this strategy has none, or no value was told"
        return {"version": snapshot.version, "error": none}
    study, belief = snapshot.study, result.belief
    inputs: dict[str, Parameter] = study.space.parameters
    for chosen in (query.x, query.y):
        if chosen is not None and chosen not in inputs:
            raise NoRegretError(f"there is no input {chosen!r}; there are {list(inputs)!r}")
    if query.through is None:
        base = result.recommended
    elif 0 <= query.through < len(snapshot.rows):
        base = snapshot.rows[query.through]
    else:
        raise NoRegretError(f"there is no trial {query.through}")
    sign = sign_of(study.goal)
    answer = {
        "version": snapshot.version,
        "error": None,
        "x": query.x,
        "y": query.y,
        "through": base.number,
        "kind": "line",
        "constrained": region_of(study.space) is not None,
    }
    if isinstance(study.space, Candidates):
        return answer | _listed(snapshot, belief, query, sign)
    values = named_params(study.space, base.params)
    xs = _levels(inputs[query.x], LINE)
    if query.y is None or query.y == query.x:
        points = np.array([study.space.encode(values | {query.x: x}) for x in xs])
        points, good = slice_points(study.space, points, [query.x])
        if not good.any():
            none = f"along {query.x} no point of trial {base.number} satisfies the constraints"
            return {"version": snapshot.version, "error": none}
        xs, points = [x for x, kept in zip(xs, good, strict=True) if kept], points[good]
        return answer | {
            "xs": xs,
            **_band(belief, points, sign),
            **_near(snapshot, belief, base, (query.x,)),
        }
    size = GRID if len(snapshot.rows) < MANY else COARSE_GRID
    xs, ys = _levels(inputs[query.x], size), _levels(inputs[query.y], size)
    points = np.array(
        [study.space.encode(values | {query.x: x, query.y: y}) for y in ys for x in xs]
    )
    points, good = slice_points(study.space, points, [query.x, query.y])
    surfaces = {
        key: _rows([v if kept else None for v, kept in zip(column, good, strict=True)], len(xs))
        for key, column in _band(belief, points, sign).items()
    }
    return answer | {
        "kind": "surface",
        "xs": xs,
        "ys": ys,
        **surfaces,
        **_near(snapshot, belief, base, (query.x, query.y)),
    }


def cuts(name: str, through: int | None) -> dict[str, Any]:
    """Along every input by itself, INPUTS at the most."""
    snapshot, _ = _results.get(name) or _result(name)
    found = [
        cut(name, SliceQuery(x, None, through))
        for x in list(snapshot.study.space.parameters)[:INPUTS]
    ]
    error = next((each["error"] for each in found if each["error"]), None)
    version = found[0]["version"]
    return {"version": version, "error": error, "slices": [] if error else found}


def _rows(column: list[float | None], width: int) -> list[list[float | None]]:
    return [column[i : i + width] for i in range(0, len(column), width)]


def _levels(parameter: Parameter, count: int) -> list[Any]:
    if isinstance(parameter, Choice):
        return list(parameter.options)
    if isinstance(parameter, Int) and parameter.size <= count:
        return list(range(parameter.low, parameter.high + 1))
    steps = [parameter.decode(np.array([u])) for u in np.linspace(0, 1, count)]
    return list(dict.fromkeys(steps))  # whole numbers and steps repeat


def _band(belief: Belief, points: Array, sign: float) -> dict[str, list[float]]:
    mean, std = belief.predict(points)
    low, high = (
        belief.band(points) if sign > 0 else tuple(-end for end in reversed(belief.band(points)))
    )
    return {
        "mean": (sign * mean).tolist(),
        "std": std.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }


def _near(snapshot: Snapshot, belief: Belief, base: Trial, free: tuple[str, ...]) -> dict[str, Any]:
    """The trials around the slice and the next proposal, by the inputs that it holds fixed."""
    space = snapshot.study.space
    columns, start = [], 0
    for name, parameter in space.parameters.items():
        columns += [] if name in free else list(range(start, start + parameter.width))
        start += parameter.width
    trials = _drawable(snapshot)
    points = np.array([space.encode(trial.params) for trial in trials]).reshape(-1, space.dimension)
    away = ((points - space.encode(base.params)) / belief.lengthscales)[:, columns]
    return _drawn(snapshot, trials, np.sqrt((away**2).sum(axis=1)), free)


def _drawable(snapshot: Snapshot) -> list[Trial]:
    """All with a value or without one yet, and last what would be proposed, where it is known."""
    following = _next.get(snapshot.study.name)
    trials = [trial for trial in snapshot.trials if trial.state not in ("failed", "withdrawn")]
    return trials + ([] if following is None else [Trial(-1, following)])


def _drawn(
    snapshot: Snapshot, trials: list[Trial], distance: Array, free: tuple[str, ...]
) -> dict[str, Any]:
    """Columns of the trials within ``FAINT`` lengthscales: weight is the kernel's own measure of
    how much they say about the slice.
    """
    space = snapshot.study.space
    rows = [
        {
            "number": trial.number,
            "value": trial.value,
            "weight": round(float(np.exp(-(far**2) / 2)), 3),
            **dict(
                zip("xy", (named_params(space, trial.params)[name] for name in free), strict=False)
            ),
        }
        for trial, far in zip(trials, distance, strict=True)
        if far <= FAINT
    ]
    data = [row for row in rows if row["number"] >= 0]
    keys = ("number", "value", "weight", "x", "y")
    near = [far <= NEAR for trial, far in zip(trials, distance, strict=True) if trial.number >= 0]
    return {
        "data": {key: [row.get(key) for row in data] for key in keys},
        "near": sum(map(bool, near)),
        "next": next((row for row in rows if row["number"] < 0), None),
    }


def _listed(snapshot: Snapshot, belief: Belief, query: SliceQuery, sign: float) -> dict[str, Any]:
    """Candidates have no points between them: every one of them, or DESIGNS of a long list, and
    every trial, along one column.
    """
    space = snapshot.study.space
    assert isinstance(space, Candidates)
    shown = space.spread(DESIGNS)
    points = space.enumeration()[shown]
    trials = _drawable(snapshot)
    return {
        "kind": "list",
        "y": None,
        "xs": space.columns[query.x].take(shown).tolist(),
        **_band(belief, points, sign),
        **_drawn(snapshot, trials, np.zeros(len(trials)), (query.x,)),
    }
