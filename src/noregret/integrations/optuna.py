"""noregret inside Optuna: ``optuna.create_study(sampler=NoRegretSampler())``.

The sampler keeps no state: every proposal is made from the study's trials and the ``noregret``
entry of their system attributes, so any number of processes may share a study.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from noregret.errors import ConfigurationError, MissingExtraError, SpaceError, check_count
from noregret.integrations.axes import Axes, Axis, Single, checked, ranged, seed_from
from noregret.space import ActiveWhen, Choice, Float, Int
from noregret.strategies import InsuredGPUCB, LogEI, Strategy
from noregret.study import CertifiedWithin, LeftBelow, Study
from noregret.trials import AtMost, Decision, Goal, Limit, State, Trial, keeps

try:
    import optuna
    from optuna import distributions
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import IntersectionSearchSpace
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError:
    raise MissingExtraError(
        "NoRegretSampler needs Optuna, version 4 or newer: install it with `pip install"
        " noregret[optuna]`"
    ) from None

# The user attribute by which an objective says that its failure is not the point's fault.
TRANSIENT = "noregret:transient"
CONSTRAINTS = "constraints"  # as Optuna 4 writes them; Optuna 5: "constraints:name"
# The system attribute with what the strategy recorded, and for which point of which space.
KEY = "noregret"
logger = optuna.logging.get_logger(__name__)


class NoRegretSampler(BaseSampler):
    """An Optuna sampler that proposes by a noregret strategy.

    The search space is learned from the finished trials. A parameter that only some of them have is
    modelled if the option of one categorical parameter decides it, as after ``if``: see
    ``ActiveWhen``. Any other parameter, and those of the first trial, come from
    ``independent_sampler``.

    Args:
        strategy: How points are chosen; None is the default strategy.
        seed: Of the random numbers; None: a fresh one.
        n_startup_trials: The number of complete trials that come from ``independent_sampler``
            before the strategy takes over; None leaves the start to the strategy's own design.
        independent_sampler: By default a random one.
        warn_independent_sampling: Whether to warn when a parameter comes from it.
        constraints_func: Values of a finished trial, at most 0 where it is feasible.

    Raises:
        ConfigurationError: A setting is wrong, or the strategy reads no constraints.
    """

    def __init__(
        self,
        strategy: Strategy | None = None,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
    ) -> None:
        if n_startup_trials is not None:
            check_count("n_startup_trials", n_startup_trials, at_least=0)
        chosen: Any = checked(strategy)
        if constraints_func is not None and not hasattr(chosen, "check_outcomes"):
            name = type(chosen).__name__
            raise ConfigurationError(f"{name} reads no outcomes: use the default strategy")
        self._constraints = constraints_func
        if n_startup_trials is not None and hasattr(chosen, "initial_points"):
            chosen = replace(chosen, initial_points=0)
        self._strategy = chosen
        self._startup = n_startup_trials or 0
        self._seed = seed_from(seed)
        self._independent = independent_sampler or RandomSampler(seed=seed)
        self._warns = warn_independent_sampling
        self._intersection = IntersectionSearchSpace()

    def reseed_rng(self) -> None:
        """Called per worker thread. Proposals draw by trial number, which no two workers share:
        only the independent sampler has a stream.
        """
        self._independent.reseed_rng()

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return _searched(study, self._intersection)[0]

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        _refuse_many_objectives(study)
        others = _others(study, trial)
        done = sum(other.state == TrialState.COMPLETE for other in others)
        if not search_space or done < self._startup:
            return {}
        branches = _searched(study, self._intersection)[1]
        branches = [b for b in branches if {b.name, b.choice} <= search_space.keys()]
        axes = Axes.of(search_space, _axis, branches=tuple(branches))
        fixed, is_whole = _enqueued(trial, axes)
        if is_whole:
            return {}
        space_key = _fingerprint(search_space, branches)
        goal, seed = _goal(study), seed_from([self._seed, trial.number])
        # workers in step would all take the same best point: if another proposed meanwhile, think
        # again with its point pending
        while True:
            history, limits = _history(others, axes, goal, space_key), _limits(others)
            known = Study(axes.space, goal, self._strategy, seed, trials=history, outcomes=limits)
            asked = known.ask(fixed=fixed or None)
            seen, others = _proposed(others), _others(study, trial)
            if _proposed(others) <= seen:
                break
        decision = replace(asked.decision, pending=())  # numbers of a study that is gone
        kept = {"decision": decision.to_json(), "point": asked.params, "space": space_key}
        study._storage.set_trial_system_attr(trial._trial_id, KEY, kept)
        return axes.theirs(axes.space.active(asked.params))

    def sample_independent(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        _refuse_many_objectives(study)
        if self._warns and KEY in trial.system_attrs and _is_known(study, param_name):
            logger.warning(
                f"Trial {trial.number}: {param_name!r} is sampled by"
                f" {type(self._independent).__name__}, not by the model: no categorical parameter"
                " decides which trials have it, or its range changes. Pass"
                " warn_independent_sampling=False if that is meant."
            )
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        self._independent.before_trial(study, trial)

    def after_trial(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        self._independent.after_trial(study, trial, state, values)
        if self._constraints is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            limited = [float(each) for each in self._constraints(trial)]
            if not limited or not all(map(math.isfinite, limited)):
                raise ConfigurationError(
                    f"constraints_func must return finite numbers, got {limited!r}"
                    f" for trial {trial.number}"
                )
            study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, limited)


class NoRegretStopping:
    """An Optuna callback that ends ``study.optimize`` once the best point is known well enough:
    ``study.optimize(f, callbacks=[NoRegretStopping(0.01)])``, with any sampler.

    A noregret model of the finished trials says what is left, as ``noregret.Study.left`` does, and
    the study is stopped when that is at most ``regret``. With a strategy whose certificate is
    proved the certificate decides. Pruning is as it was: ``trial.should_prune`` does not know of
    it.

    Args:
        regret: The largest regret at which the study is stopped.
        strategy: Whose bound it is; None is the default strategy, which has none that is proved.
        delta: The failure probability of the bound; None: that of the strategy, or 0.05.
        heuristic: Accept a number that is not proved, as a rule of thumb.
        at_least: The number of complete trials before the first look.
        every: The number of complete trials between two looks.

    Raises:
        ConfigurationError: A setting is wrong, or the bound is not proved and not ``heuristic``.
    """

    def __init__(
        self,
        regret: float,
        strategy: Strategy | None = None,
        *,
        delta: float | None = None,
        heuristic: bool = False,
        at_least: int = 10,
        every: int = 1,
    ) -> None:
        check_count("at_least", at_least)
        check_count("every", every)
        self._strategy = checked(strategy)
        self._rule: CertifiedWithin | LeftBelow = CertifiedWithin(regret, delta, heuristic)
        if isinstance(self._strategy, InsuredGPUCB | LogEI):
            self._rule = LeftBelow(regret, 0.95 if delta is None else 1 - delta)
        self._regret = regret
        if not (self._strategy.proved or heuristic):
            raise ConfigurationError(
                f"{type(self._strategy).__name__} has no proved bound to stop by: use"
                " AdaptiveGPUCB.rigorous(noise_bound), or heuristic=True as a rule of thumb"
            )
        self._at_least, self._every = at_least, every

    def __call__(self, study: optuna.Study, trial: FrozenTrial) -> None:
        _refuse_many_objectives(study)
        trials = study.get_trials(deepcopy=False)
        done = sum(other.state == TrialState.COMPLETE for other in trials)
        searched, branches = _searched(study, IntersectionSearchSpace())
        if done < self._at_least or (done - self._at_least) % self._every or not searched:
            return
        axes, goal = Axes.of(searched, _axis, branches=tuple(branches)), _goal(study)
        finished = [other for other in trials if other.state.is_finished()]
        history, limits = _history(finished, axes, goal, ""), _limits(finished)
        if self._rule(Study(axes.space, goal, self._strategy, trials=history, outcomes=limits)):
            logger.info(
                f"Stopped after {done} trials: the recommended point is within"
                f" {self._regret} of the optimum by the model."
            )
            study.stop()


def _goal(study: optuna.Study) -> Goal:
    return "minimize" if study.direction == StudyDirection.MINIMIZE else "maximize"


def _searched(
    study: optuna.Study, intersection: IntersectionSearchSpace
) -> tuple[dict[str, BaseDistribution], list[ActiveWhen]]:
    """The parameters that the model has, each with the same range in all trials and more than one
    value; and for those that only some trials have, which option decides it.

    Any finished trial shows where a parameter exists. Only a complete one shows where it does not:
    the others may have ended before they came to it.
    """
    searched = intersection.calculate(study)
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]
    ranges: dict[str, list[BaseDistribution]] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            ranges.setdefault(name, []).append(distribution)
    unexplained = [
        name
        for name, each in ranges.items()
        if name not in searched and all(distribution == each[0] for distribution in each)
    ]
    branches: list[ActiveWhen] = []
    is_progress = True
    while is_progress:  # the choice that decides may itself exist only for an option
        is_progress = False
        for name in unexplained:
            condition = None if name in searched else _condition(name, searched, trials)
            if condition is not None:
                searched[name], is_progress = ranges[name][0], True
                branches.append(condition)
    searched = {name: each for name, each in searched.items() if not each.single()}
    return searched, [each for each in branches if each.name in searched]


def _condition(
    name: str, choices: dict[str, BaseDistribution], trials: Sequence[FrozenTrial]
) -> ActiveWhen | None:
    """The categorical parameter whose options decide which trials have ``name``."""
    having = [trial for trial in trials if name in trial.params]
    lacking = [t for t in trials if t.state == TrialState.COMPLETE and name not in t.params]
    for choice, distribution in choices.items():
        if (
            not isinstance(distribution, distributions.CategoricalDistribution)
            or distribution.single()
            or any(trial.distributions.get(choice) != distribution for trial in having)
        ):
            continue
        options = {distribution.to_internal_repr(trial.params[choice]) for trial in having}
        others = {
            distribution.to_internal_repr(trial.params[choice])
            for trial in lacking
            if choice in trial.params
        }
        if not options & others:
            return ActiveWhen(name, choice, tuple(sorted(int(option) for option in options)))
    return None


def _is_known(study: optuna.Study, name: str) -> bool:
    """Whether a finished trial has a parameter: the first time, nothing could model it."""
    trials = study.get_trials(deepcopy=False)
    return any(trial.state.is_finished() and name in trial.params for trial in trials)


def _others(study: optuna.Study, trial: FrozenTrial) -> list[FrozenTrial]:
    return [other for other in study.get_trials(deepcopy=False) if other.number != trial.number]


def _proposed(trials: Sequence[FrozenTrial]) -> set[int]:
    """The numbers of the trials that a strategy proposed."""
    return {trial.number for trial in trials if KEY in trial.system_attrs}


def _enqueued(trial: FrozenTrial, axes: Axes) -> tuple[dict[str, Any], bool]:
    """The values that an enqueued trial prescribes, where they are points of the space, and whether
    that is all of them. The rest is chosen best for them.
    """
    given = trial.system_attrs.get("fixed_params", {})
    fixed = {}
    for name in axes.named.keys() & given.keys():
        with suppress(ValueError):
            fixed[name] = axes.named[name].ours(given[name])
    above = {name: axes.space.branching.above(name) for name in axes.named}
    for name in list(fixed):
        if any(fixed.get(each.choice) not in each.options for each in above[name]):
            del fixed[name]
    absent = {
        name
        for name, conditions in above.items()
        if any(
            each.choice in fixed and fixed[each.choice] not in each.options for each in conditions
        )
    }
    return fixed, axes.named.keys() == fixed.keys() | absent


def _refuse_many_objectives(study: optuna.Study) -> None:
    if len(study.directions) > 1:
        count = len(study.directions)
        raise ConfigurationError(
            f"NoRegretSampler optimises one objective, this study has {count}: use NSGAIISampler"
        )


def _constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """What constraints_func or trial.set_constraint said of it, by name: at most 0 is feasible."""
    found: dict[str, float] = {}
    for key, value in trial.system_attrs.items():
        if key == CONSTRAINTS and value is not None:
            found |= {f"{CONSTRAINTS}[{i}]": float(each) for i, each in enumerate(value)}
        elif key.startswith(f"{CONSTRAINTS}:"):
            found[key] = float(value)
    return found


def _limits(trials: Sequence[FrozenTrial]) -> dict[str, Limit]:
    """Every constraint that some trial was told of."""
    names = {name for trial in trials for name in _constraints_of(trial)}
    return {name: AtMost(0.0) for name in sorted(names)}


def _fingerprint(
    search_space: dict[str, BaseDistribution], branches: Sequence[ActiveWhen] = ()
) -> str:
    """Names one search space: what was recorded in another one (other lengthscales, other inputs)
    is not read in this one.
    """
    described = {name: distributions.distribution_to_json(d) for name, d in search_space.items()}
    lines = [f"{name} {each}" for name, each in described.items()]
    text = "\n".join([*lines, *map(str, branches)])
    return hashlib.blake2s(text.encode(), digest_size=8).hexdigest()


def _axis(distribution: BaseDistribution) -> Axis | Single:
    if isinstance(distribution, distributions.CategoricalDistribution):
        choices = distribution.choices
        return Axis(
            Choice(range(len(choices))),
            lambda value: int(distribution.to_internal_repr(value)),
            lambda index: choices[index],
        )
    if isinstance(distribution, (distributions.FloatDistribution, distributions.IntDistribution)):
        whole = isinstance(distribution, distributions.IntDistribution)
        kind, step = (Int if whole else Float), distribution.step
        step = None if whole and step == 1 else step
        return ranged(kind, distribution.low, distribution.high, log=distribution.log, step=step)
    raise SpaceError(
        f"NoRegretSampler knows float, int and categorical distributions, got {distribution!r}"
    )


def _history(trials: Sequence[FrozenTrial], axes: Axes, goal: Goal, space_key: str) -> list[Trial]:
    """Optuna's trials as ours. Left out: those still waiting, those that lack a parameter of this
    space, and points outside it.
    """
    complete = [_finite(trial) for trial in trials if trial.state == TrialState.COMPLETE]
    finite = [value for value in complete if value is not None]
    middle = statistics.median(finite) if finite else None
    retried = {trial.system_attrs.get("failed_trial") for trial in trials}
    retried |= {number for t in trials for number in t.system_attrs.get("retry_history", ())}
    history: list[Trial] = []
    limits, branching = _limits(trials), axes.space.branching
    for trial in trials:
        if trial.state == TrialState.WAITING:
            continue
        recorded = trial.system_attrs.get(KEY, {})
        decided = recorded if recorded.get("space") == space_key else {}
        point = decided.get("point", {})
        try:
            ours = {
                name: axis.ours(trial.params[name]) if name in trial.params else point[name]
                for name, axis in axes.named.items()
                if name in trial.params or name in point
            }
            ours = branching.filled(ours)
            ours = {name: ours[name] for name in axes.named}
        except (KeyError, ValueError):  # a SpaceError, or a category that Optuna does not know
            continue
        decision = Decision.from_json(decided.get("decision", {})) if ours == point else Decision()
        value = _value(trial, goal, middle)
        state: State = "failed" if value is None else "complete"
        if trial.state == TrialState.RUNNING:
            state, value = "running", None
        converted = Trial(len(history), ours, state, value, decision=decision)
        if state == "complete":
            outcomes = _constraints_of(trial)
            converted = replace(converted, outcomes=outcomes, feasible=keeps(outcomes, limits))
        elif state == "failed":
            converted = replace(converted, transient=_is_transient(trial, retried))
        history.append(converted)
    return history


def _is_transient(trial: FrozenTrial, retried: Collection[int | None]) -> bool:
    """Whether a failure had nothing to do with the point: Optuna itself tried it again because its
    worker had died, or the objective said so.
    """
    return trial.number in retried or trial.user_attrs.get(TRANSIENT) is True


def _value(trial: FrozenTrial, goal: Goal, middle: float | None) -> float | None:
    """What the model learns: None as from a failed trial. A pruned trial has its last intermediate
    value, but is never better than the median.
    """
    value = None if trial.state == TrialState.FAIL else _finite(trial)
    if value is None or middle is None or trial.state != TrialState.PRUNED:
        return value
    return max(value, middle) if goal == "minimize" else min(value, middle)


def _finite(trial: FrozenTrial) -> float | None:
    return trial.value if trial.value is not None and math.isfinite(trial.value) else None
