"""noregret inside Ray Tune: ``tune.TuneConfig(search_alg=NoRegretSearch(), metric="loss",
mode="min")``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats

from noregret.errors import ConfigurationError, MissingExtraError, SpaceError
from noregret.integrations import axes as spaces
from noregret.integrations.axes import Axes, Axis, Single, Suggestions, as_is, checked, seed_from
from noregret.space import ActiveWhen, Branch, Choice, Constraint, Float, Int, Space
from noregret.strategies import Strategy
from noregret.study import Study
from noregret.trials import Decision, Goal, State, Trial

try:
    from ray import cloudpickle
    from ray.tune.result import DEFAULT_METRIC
    from ray.tune.search import Searcher, sample
    from ray.tune.utils.util import flatten_dict, unflatten_dict
except ImportError:
    raise MissingExtraError(
        "NoRegretSearch needs Ray Tune: install it with `pip install noregret[ray]`"
    ) from None


@dataclass(slots=True)
class _Run:
    """A trial: its flat parameters in Tune's values, what a space function declared of them, and
    what the strategy recorded for which parameters.
    """

    params: dict[str, Any]
    state: State = "running"
    value: float | None = None
    declared: dict[str, Axis] = field(default_factory=dict)
    decision: Decision = field(default_factory=Decision)
    decided: tuple[Any, ...] = ()


class NoRegretSearch(Searcher):  # type: ignore[misc]
    """A Ray Tune search algorithm that proposes by a noregret strategy.

    Trials under way are taken into account. Trials that failed or reported no finite metric count
    as failed, those that a scheduler stopped count with their last result.

    Args:
        space: A dict (nested, if you like) of Tune's own domains, noregret parameters and
            constants, or a function that calls ``trial.suggest_float``, ``suggest_int`` and
            ``suggest_categorical``; None: the Tuner's ``param_space``.
        metric: The name of the value that is optimised; None: the one that Tune names.
        mode: "min" or "max"; None: the one that Tune names.
        strategy: How points are chosen; None is the default strategy.
        seed: Of the random numbers; None: a fresh one.
        points_to_evaluate: Configurations to begin with.
        evaluated_rewards: Their values, if they are known.

    Raises:
        ConfigurationError: There are several metrics, or values for other points.
        SpaceError: The space cannot be modelled.
    """

    def __init__(
        self,
        space: Any = None,
        metric: str | None = None,
        mode: str | None = None,
        *,
        strategy: Strategy | None = None,
        seed: int | None = None,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float] | None = None,
    ) -> None:
        _check_metric(metric, mode)
        super().__init__(metric=metric, mode=mode)
        self._metric: str | None = metric or (DEFAULT_METRIC if mode else None)
        self._mode: str | None = mode
        self._strategy = checked(strategy)
        self._seed = seed_from(seed)
        self._runs: dict[str, _Run] = {}
        self._first = [dict(point) for point in points_to_evaluate or ()]
        self._rewards = None if evaluated_rewards is None else list(evaluated_rewards)
        if self._rewards is not None and len(self._rewards) != len(self._first):
            given = (
                f"{len(self._rewards)} evaluated_rewards for {len(self._first)} points_to_evaluate"
            )
            raise ConfigurationError(f"{given}: give one each")
        self._space: Any = None
        if space:
            self._use(space)

    # -- the space --

    def _use(self, space: Any) -> None:
        self._space = space
        if not callable(space):
            self._axes()  # a space that cannot be used is said now, not when the first trial starts
        if self._rewards is not None:
            for point, reward in zip(self._first, self._rewards, strict=True):
                self.add_evaluated_point(point, reward)
            self._first, self._rewards = [], None
        for point in self._first:
            self._check(point)

    def _axes(self) -> tuple[Axes, tuple[Any, ...]]:
        """What is modelled now, and a name for it: decisions made on other axes are not read."""
        if callable(self._space):
            axes = Axes(
                spaces.common([run.declared for run in self._runs.values() if run.declared])
            )
        else:
            axes = _dict_axes(self._space)
            _ = axes.space
        return axes, tuple((name, axis.parameter) for name, axis in axes.named.items())

    def _check(self, point: Mapping[str, Any]) -> dict[str, Any]:
        flat = _flat(point)
        if not callable(self._space):
            axes, _ = self._axes()
            axes.space.canonical(axes.ours(flat))
        return flat

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any
    ) -> bool:
        _check_metric(metric, mode)
        if self._space is not None and _dict_axes(config or {}).named:
            return False  # a second space
        self._metric = metric or self._metric or (DEFAULT_METRIC if mode else None)
        self._mode = mode or self._mode
        if self._space is None and config:
            self._use(config)
        return True

    # -- trials --

    def suggest(self, trial_id: str) -> dict[str, Any] | None:
        self._ready()
        if trial_id not in self._runs:
            first = _Run(self._check(self._first.pop(0))) if self._first else None
            self._runs[trial_id] = first or self._proposed()
        return dict(unflatten_dict(self._runs[trial_id].params))

    def _proposed(self) -> _Run:
        """A trial at a point that the strategy proposes."""
        axes, decided = self._axes()
        run = _Run({}, decided=decided)
        if axes.named:
            goal: Goal = "minimize" if self._mode == "min" else "maximize"
            trials = self._history(axes, decided)
            asked = Study(axes.space, goal, self._strategy, self._seed, trials=trials).ask()
            run.params = axes.theirs(asked.params)
            run.decision = replace(asked.decision, pending=())  # numbers of a study that is gone
        if callable(self._space):
            rng = np.random.default_rng([self._seed, len(self._runs), 1])
            suggestions = Suggestions(run.params, axes.named, rng)
            run.params = spaces.evaluate(self._space, suggestions)
            run.declared = suggestions.declared
        return run

    def _history(self, axes: Axes, decided: tuple[Any, ...]) -> list[Trial]:
        history: list[Trial] = []
        for run in self._runs.values():
            try:
                ours = axes.ours(run.params)
            except SpaceError:  # of another branch of a space function
                continue
            decision = run.decision if run.decided == decided else Decision()
            history.append(Trial(len(history), ours, run.state, run.value, decision=decision))
        return history

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        run = self._runs.get(trial_id)
        if run is not None and run.state == "running":
            value = None if error or not result else result.get(self._metric or "")
            run.state, run.value = _outcome(value)

    def add_evaluated_point(
        self,
        parameters: dict[str, Any],
        value: float | None,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """A point evaluated elsewhere: data, not a decision. A pruned one counts with its value, or
        else with its last intermediate value.
        """
        if self._space is None:
            raise ConfigurationError("NoRegretSearch has no space yet: give it one first")
        if value is None and pruned and intermediate_values:
            value = intermediate_values[-1]
        state, known = _outcome(None if error else value)
        self._runs[f"added-{len(self._runs)}"] = _Run(self._check(parameters), state, known)

    def _ready(self) -> None:
        if self._space is None:
            raise ConfigurationError(
                "NoRegretSearch has no space: pass space= to it, or param_space= to the Tuner"
            )
        if not self._metric or not self._mode:
            raise ConfigurationError(
                "NoRegretSearch needs metric and mode: pass them to it or to tune.TuneConfig"
            )

    # -- save and restore --

    def save(self, checkpoint_path: str) -> None:
        Path(checkpoint_path).write_bytes(cloudpickle.dumps(vars(self)))

    def restore(self, checkpoint_path: str) -> None:
        self.__dict__.update(cloudpickle.loads(Path(checkpoint_path).read_bytes()))


def _check_metric(metric: Any, mode: Any) -> None:
    if mode not in (None, "min", "max") or not isinstance(metric, (str, type(None))):
        got = f"got metric={metric!r}, mode={mode!r}"
        raise ConfigurationError(f'NoRegretSearch needs one metric, and mode "min" or "max", {got}')


def _outcome(value: Any) -> tuple[State, float | None]:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    return ("complete", number) if math.isfinite(number) else ("failed", None)


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    return dict(flatten_dict(dict(config)))


def _dict_axes(space: Any) -> Axes:
    constraints: tuple[Constraint, ...] = ()
    branches: tuple[ActiveWhen, ...] = ()
    if isinstance(space, Space) and not space.vector:
        constraints, branches, space = space.constraints, space.branches, space.parameters
    if not isinstance(space, Mapping):
        raise SpaceError(
            f"a space is a dict of domains or parameters, or a function of a trial, got {space!r}"
        )
    specs: dict[str, Any] = {}
    for name, spec in _flat(space).items():
        if name.endswith("/grid_search") or name == "grid_search":
            where = name.rpartition("/")[0]
            raise SpaceError(f"parameter {where!r}: a grid search is no space: use tune.choice")
        added: Mapping[str, Any] = {name: spec}
        if isinstance(spec, Branch):
            inner = Space(added)
            added, branches = inner.parameters, branches + inner.branches
        for each in [each for each in added if each in specs]:
            raise SpaceError(f"{each!r} is given twice: by itself, and as an input of a Branch")
        specs |= added
    return Axes.of(specs, _axis, constraints, branches)


def _axis(spec: Any) -> Axis | Single:
    """One of Tune's domains, a parameter of ours, or a constant."""
    if isinstance(spec, (Float, Int, Choice)):
        return as_is(spec)
    if not isinstance(spec, sample.Domain):
        return Single(spec)
    if isinstance(spec, sample.Categorical):
        return spaces.listed(spec.categories)
    sampler: Any = spec.get_sampler()
    step: Any = None
    if isinstance(sampler, sample.Quantized):
        sampler, step = sampler.sampler, sampler.q
    if isinstance(sampler, sample.Normal):
        mean, reach = sampler.mean, 3 * sampler.sd
        if step is None:
            return spaces.quantiles(scipy.stats.norm(mean, sampler.sd))
        return spaces.multiples(mean - reach, mean + reach, step, log=False)
    log, whole = isinstance(sampler, sample.LogUniform), isinstance(spec, sample.Integer)
    if not whole and not isinstance(spec, sample.Float):
        raise SpaceError(
            f"{spec!r} (tune.sample_from) cannot be modelled: give a function of a trial as space"
        )
    if step is not None and not (whole and step == 1):
        return spaces.multiples(spec.lower, spec.upper, step, log=log)
    # Tune's upper end of whole numbers is exclusive, except in steps
    kind, upper = (Int, spec.upper - 1) if whole else (Float, spec.upper)
    return as_is(kind(spec.lower, upper, log))
