"""Fits for all viewers: one process of low priority computes each once per version of a study.

The server's own process only reads and writes. The fitting process opens the storage itself, uses
one thread and keeps its last results.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from noregret.diagnostics import values_along
from noregret.diagnostics.presentation import distances_to_slice, model_slice
from noregret.errors import NoRegretError, StorageError
from noregret.space import Candidates, named_params
from noregret.storage import SQLStorage
from noregret.strategies import Belief
from noregret.study import Result, Study, left_of, policy_of, recommended_by_chance
from noregret.trials import Trial, standing
from noregret.web.library import Library, Snapshot
from noregret.web.security import outward

T = TypeVar("T")

log = logging.getLogger("noregret.web")

RETRY_SECONDS = 2.0  # assumed duration of a fit that failed
PATIENCE = 9.0  # pause after a fit, in durations of that fit: fitting takes a tenth of the time
RESULTS = 2  # number of results kept; one of 5,000 trials takes 200 MB
LINE = 121  # points of a slice along one input
INPUTS = 24  # largest number of inputs with a slice on the page
GRID = 41  # points per side of a surface
COARSE_GRID = 21  # points per side of a surface from MANY trials on
MANY = 1000
NEAR = 1.0  # distance in lengthscales below which a trial counts as near a slice
FAINT = 3.0  # distance in lengthscales above which a trial is not drawn beside a slice
PREVIEWED = 500  # largest number of trials for which the next proposal is computed in advance
SURE = (0.5, 0.8, 0.9, 0.95, 0.99)  # chances that all limits are kept, of the page's table
POLICY_ROWS = 9  # values of the context in the table of a policy
POLICY_CURVES = 12  # largest number of inputs with a curve
POLICY_TRIALS = 1000  # number of latest trials drawn beside the curves
COLUMNS = ("number", "value", "weight", "x", "y")  # of the trials beside a slice
NULL = np.array(None)  # where a constraint does not hold
NO_MODEL = "there is no model yet: this strategy has none, or there is no value"


@dataclass(slots=True)
class Summary:
    """What a fit says about a study. An error is part of it, as text.

    Args:
        version: The version of the study that was fitted; None: the fit failed.
        trials: Its number of trials.
        error: What went wrong.
        recommended: Number of the recommended trial, with the mean, the standard deviation of f and
            that of a repeat there; null where too few values say how far they scatter.
        sure: With limits: what is recommended for each chance that all are kept.
        left: How much better it could get, null while that is not known, and with which chance.
        certificate: The proved bound on its regret, with the condition, where nothing says what is
            left.
        next: The next proposal.
        importance: Total-effect Sobol indices, the largest first.
        importance_is_stable: Whether halves of the data agree on them.
        resolution: What could have been missed, in a sentence.
        policy: The best action by context.
        feasibility: How close the study is to a feasible point, in a sentence.
        seconds: The duration of the fit.
        fitting: Whether a newer fit is being computed.
    """

    version: str | None = None
    trials: int | None = None
    error: str | None = None
    recommended: dict[str, Any] | None = None
    sure: list[dict[str, Any]] | None = None
    left: dict[str, Any] | None = None
    certificate: dict[str, Any] | None = None
    next: dict[str, Any] | list[float] | None = None
    importance: list[dict[str, Any]] | None = None
    importance_is_stable: bool = True
    resolution: str | None = None
    policy: dict[str, Any] | None = None
    feasibility: str | None = None
    seconds: float = 0.0
    fitting: bool = False


# -- in the fitting process --


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
        if result is not None and result.prediction and result.certificate and result.belief:
            mean, std = result.prediction
            stds = {"std": std, "repeat_std": result.repeat_std}
            summary.recommended = {"number": result.recommended.number, "mean": mean, **stds}
            if result.too_few:
                summary.recommended |= dict.fromkeys(stds)
            if result.chance is not None and not result.belief.proved:
                found = recommended_by_chance(study, result.belief, SURE)
                keys = ("number", "mean", "std", "chance", "feasible")
                summary.sure = [
                    {"asked": asked, **{key: getattr(each, key) for key in keys}}
                    for asked, each in zip(SURE, found, strict=True)
                ]
            left = left_of(study, result)
            if left is not None:
                summary.left = {"gain": left.gain, "chance": left.chance}
            elif result.certificate.proved:
                names = ("regret_bound", "condition", "refuted", "slack")
                summary.certificate = {key: getattr(result.certificate, key) for key in names}
            resolution = _or_error(study.resolution)
            summary.resolution = None if isinstance(resolution, str) else str(resolution)
            if len(study.space.parameters) > 1:
                indices = study.importances(result.belief)
                summary.importance_is_stable = indices[0].stable
                summary.importance = [
                    {"name": index.name, "share": index.total, "spread": index.total_std}
                    for index in sorted(indices, key=lambda index: -index.total)
                ]
        if len(snapshot.rows) <= PREVIEWED:
            following = _or_error(lambda: study.preview().to_json()["params"])
            if isinstance(following, str):
                summary.error = following
            else:
                summary.next = self._next[study.name] = following

    def _result(self, name: str) -> tuple[Snapshot, Result | str | None]:
        """The study and what its fit gave: None before the first value, a text on an error."""
        snapshot, last = self._library.snapshot(name), self._results.get(name)
        if last is None or last[0].version != snapshot.version:
            self._next.pop(name, None)
            self._results.pop(name, None)  # before the next one is computed: they are large
            result = None if snapshot.empty else _or_error(snapshot.study.result)
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
        snapshot, _ = self._last_result(name)
        names = list(snapshot.record.space.parameters)[:INPUTS]
        slices = [self.slice(name, x, None, through) for x in names]
        error = next((row["error"] for row in slices if row["error"]), None)
        return {"version": snapshot.version, "error": error, "slices": [] if error else slices}

    def slice(
        self, name: str, x: str, y: str | None = None, through: int | None = None
    ) -> dict[str, Any]:
        """The model along one input or two, through the point of a trial.

        Args:
            name: The study.
            x: The first input.
            y: The second input, or None.
            through: The trial's number; None: the recommended one.

        Raises:
            NoRegretError: There is no such input or trial.
        """
        snapshot, result = self._last_result(name)
        space, goal = snapshot.record.space, snapshot.record.goal
        if not isinstance(result, Result) or result.belief is None:
            error = result if isinstance(result, str) else NO_MODEL
            return {"version": snapshot.version, "error": error}
        for wanted in filter(None, (x, y)):
            if wanted not in space.parameters:
                inputs = ", ".join(space.parameters)
                raise NoRegretError(f"there is no input {wanted!r}: choose one of {inputs}")
        if through is not None and through >= len(snapshot.rows):
            raise NoRegretError(f"there is no trial {through}")
        base = result.recommended if through is None else snapshot.rows[through]
        kind = "list" if isinstance(space, Candidates) else "line" if y in (None, x) else "surface"
        size = LINE if kind != "surface" else GRID if len(snapshot.rows) < MANY else COARSE_GRID
        names = [x, str(y)] if kind == "surface" else [x]
        model = model_slice(result.belief, space, goal, base.params, dict.fromkeys(names, size))
        if not model.values[0]:
            error = f"along {x} no point of trial {base.number} satisfies the constraints"
            return {"version": snapshot.version, "error": error}
        surfaces = {"mean": model.mean, "std": model.std, "low": model.lower, "high": model.upper}
        return {
            "version": snapshot.version,
            "error": None,
            "x": x,
            "y": None if kind == "list" else y,
            "through": base.number,
            "kind": kind,
            "constrained": space.region is not None,
            **dict(zip(("xs", "ys"), model.values, strict=False)),
            **{key: np.where(np.isfinite(v), v, NULL).tolist() for key, v in surfaces.items()},
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


def _or_error(compute: Callable[[], T]) -> T | str:
    """What it computes, or the text of its error; errors of the storage are raised."""
    try:
        return compute()
    except StorageError:
        raise
    except NoRegretError as error:
        return str(error)


_fitter: list[Fitter] = []  # of this process


def start(url: str) -> None:
    """Make this the process that fits the models of a storage."""
    if hasattr(os, "nice"):  # not on Windows
        os.nice(10)  # studies that run on this machine come first
    _fitter[:] = [Fitter(url)]


def call(method: Callable[..., Any], *arguments: Any) -> Any:
    """Call a method of this process's fitter."""
    return method(_fitter[0], *arguments)


# -- what a model says beyond its predictions --


def feasibility_text(study: Study, trials: list[Trial]) -> str | None:
    """How close the study is to a feasible point; None without limits or with a feasible trial."""
    if not study.outcomes or any(trial.feasible for trial in trials):
        return None
    return str(_or_error(study.feasibility))


def policy_table(study: Study) -> dict[str, Any] | None:
    """The best action along the first context input, the others in the middle of their range.

    Returns:
        A table, and a curve per action with the trials; None without context or without a model.
    """
    policy = _or_error(lambda: policy_of(study)) if study.context else ""
    if isinstance(policy, str):  # no context, or no model
        return None
    in_table = values_along(study.space.parameters[policy.name], POLICY_ROWS)
    actions = [action for action in study.space.parameters if action not in study.context]
    best = [named_params(study.space, point.params) for point in policy.recommended]
    rows = [
        {
            "context": value,
            "actions": [params[action] for action in actions],
            "mean": point.mean,
            "std": point.std,
        }
        for value, point, params in zip(policy.values, policy.recommended, best, strict=True)
        if value in in_table
    ]
    trials = [trial for trial in standing(study.trials) if trial.value is not None]
    trials = trials[-POLICY_TRIALS:]
    points = [named_params(study.space, trial.params) for trial in trials]
    curves = [
        {
            "context": policy.name,
            "action": action,
            "values": list(policy.values),
            "best": [params[action] for params in best],
            "tried": {
                "number": [trial.number for trial in trials],
                "context": [point[policy.name] for point in points],
                "action": [point[action] for point in points],
            },
        }
        for action in actions[:POLICY_CURVES]
    ]
    return {
        "context": policy.name,
        "actions": actions,
        "rows": rows,
        "curves": curves,
        "others": [name for name in study.context if name != policy.name],
    }


# -- in the server's process --


@dataclass(slots=True)
class _State:
    """The last summary of a study, and the task that computes the next one."""

    identity: str
    summary: Summary | None = None
    finished: float = 0.0
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class Models:
    """The models of a storage's studies. It lives on the event loop and computes nothing."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: ProcessPoolExecutor | None = None
        self._states: dict[str, _State] = {}

    def last(self, name: str, identity: str) -> Summary | None:
        """The last summary of the study with this name and identity; starts nothing."""
        state = self._states.get(name)
        return state.summary if state is not None and state.identity == identity else None

    def look(self, name: str, identity: str, version: str) -> Summary:
        """The last summary, of this version or an older one; a newer fit starts if one is due."""
        state = self._states.get(name)
        if state is None or state.identity != identity:  # a new study of that name starts anew
            state = self._states[name] = _State(identity)
        last = state.summary or Summary()
        fitting = state.task is not None or last.version != version
        pause = PATIENCE * last.seconds
        if fitting and state.task is None and time.monotonic() - state.finished >= pause:
            state.task = asyncio.create_task(self._fit(name, state))
        return replace(last, fitting=fitting)

    async def _fit(self, name: str, state: _State) -> None:
        try:
            state.summary = await self.call(Fitter.summarise, name)
        except Exception as error:  # nothing awaits this task: an error becomes the summary
            if not isinstance(error, NoRegretError):
                log.exception("the model of %r could not be fitted", name)
            text = f"the model could not be fitted: {outward(error, self._url)}"
            state.summary = Summary(error=text, seconds=RETRY_SECONDS)
        finally:
            state.finished, state.task = time.monotonic(), None

    async def call(self, method: Callable[..., T], name: str, *arguments: Any) -> T:
        """Call a method of the fitter in its process."""
        if self._pool is None:
            for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
                # only the new process reads these: NumPy is loaded here already
                os.environ.setdefault(variable, "1")
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, start, (self._url,))
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._pool, call, method, name, *arguments
            )
        except BrokenProcessPool:
            self._pool = None
            raise NoRegretError(
                "the process that fits models died, perhaps out of memory: the next request starts"
                " it again"
            ) from None

    def close(self) -> None:
        """End the fitting process."""
        if self._pool is not None:
            for process in list(self._pool._processes.values()):
                process.terminate()  # a fit may take minutes, and its viewers are gone
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
