"""What a study has found: the best trial, the recommended point, feasibility, a certificate, and
where some inputs are context, the best action in each context.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noregret.diagnostics import values_along
from noregret.errors import ConfigurationError, TrialError
from noregret.gp import Matern, SquaredExponential
from noregret.rkhs import BoundedFunction, Cover, covered, cube_cover, searched
from noregret.search import Acquisition, argmax
from noregret.space import Array, Choice, Mask, SearchSpace, spread_points
from noregret.storage import StudyRecord
from noregret.strategies import Belief
from noregret.trials import Goal, Limit, Trial, html_table, margin, sign_of, standing

if TYPE_CHECKING:
    from noregret.study.study import Study

# Posterior stds of the difference of two means below which the told values decide. Larger: closer
# to the best value told, which under noise is partly luck.
INDISTINCT = 0.3
MOST_INDISTINCT = 256  # trials that are compared with the one of the best mean
COVER_SLACK = 0.01  # share of the norm bound up to which a cover is refined
SEARCH_POINTS = 4096  # of the search where no cover can be computed
INFEASIBLE_PENALTY = 1e6  # model units, larger than any value: for actions that break a limit
FEW = 5  # values below which scatter is not known, without told noise and without replicates
CHANCE = 0.9  # that the recommended point keeps all limits, where nothing else is asked for
# Chances by the fitted model at which an action is sought until the averaged one suffices.
STRICTER = (0.97, 0.99, 0.999, 0.99999)
POLICY_POINTS = 33  # contexts along a policy's curve


@dataclass(frozen=True, slots=True)
class Certificate:
    """An upper bound on the regret of the recommended point, under a condition and not otherwise.

    Where outcomes have limits it is the regret against the best point that keeps them.

    Args:
        params: The recommended point.
        regret_bound: The bound, in the value's unit.
        condition: What must hold.
        proved: Whether a theorem says so; if not, it is a rule of thumb.
        refuted: The data contradict the condition.
        slack: How much the bound may exceed what an exact maximum of the band would give; it is
            included.
        violations: By how much ``params`` may break each limit, in the outcome's unit; 0: by the
            band it keeps it, surely where that is proved.
    """

    params: Any
    regret_bound: float
    condition: str
    proved: bool = False
    refuted: bool = False
    slack: float = 0.0
    violations: Mapping[str, float] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        kind = "a theorem" if self.proved else "a rule of thumb, not proved"
        bound = ("regret at most", f"{self.regret_bound:.4g}")
        return html_table("certificate", [bound, ("by", kind), ("if", self.condition)])


@dataclass(frozen=True, slots=True)
class Result:
    """What a study has found, from one fit. In a study with context it is over all contexts that
    were met: see ``Study.recommend``.

    Args:
        best: The trial with the best observed value, partly luck under noise.
        recommended: The trial with the best posterior mean, or with the best lower bound where that
            is proved; ``best`` without a model.
        prediction: Posterior mean and std of f there, in the values' sign, hyperparameters averaged
            where the strategy does.
        certificate: A bound on its regret; None without a model.
        belief: The posterior; None without a model.
        feasible: Whether the model expects it to keep all limits; None: there are none.
        repeat_std: Standard deviation of a repeat there around ``prediction``, noise included; None
            without an averaged model.
        too_few: Too few values to say how far f and a repeat scatter: neither std is to be relied
            on.
        chance: That it keeps all limits, by the model; None: there are none.
    """

    best: Trial
    recommended: Trial
    prediction: tuple[float, float] | None
    certificate: Certificate | None
    belief: Belief | None
    feasible: bool | None = None
    repeat_std: float | None = None
    too_few: bool = False
    chance: float | None = None

    def __repr__(self) -> str:
        return f"<Result: best {self.best!r}, recommended {self.recommended!r}>"


@dataclass(frozen=True, slots=True)
class Feasibility:
    """What is known of the limits of a study; ``str`` says it in words.

    Args:
        state: "feasible": a trial was told within all limits. "unknown": none yet. "infeasible":
            nothing in the space keeps them, which a theorem says, under ``condition``.
        trials: Numbers of the trials within all limits.
        closest: The trial that misses the limits least; None where nothing was told.
        condition: The condition of the theorem.
    """

    state: Literal["feasible", "unknown", "infeasible"]
    trials: tuple[int, ...]
    closest: Trial | None
    condition: str = ""

    def __str__(self) -> str:
        if self.state == "feasible":
            return f"{len(self.trials)} trials are within all limits"
        near = "" if self.closest is None else f"; closest is trial {self.closest.number}"
        if self.state == "unknown":
            return f"nothing feasible yet{near}"
        return f"nothing in the space keeps all limits ({self.condition}){near}"

    def _repr_html_(self) -> str:
        return html_table("feasibility", [("state", self.state), ("in words", str(self))])


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to use, in a context or without one.

    Args:
        params: The whole point.
        context: The values of the context parameters.
        mean: Posterior mean of f there, hyperparameters averaged where the strategy does.
        std: Posterior standard deviation of f there, likewise.
        lower: Lower end of the band.
        upper: Upper end of the band.
        feasible: Whether all limits are kept with the chance that was asked for; None: there are
            none.
        chance: That all limits are kept, by the model; None: there are none.
        number: The trial with these values; None: it need not have been tried.
    """

    params: Any
    context: Mapping[str, Any]
    mean: float
    std: float
    lower: float
    upper: float
    feasible: bool | None = None
    chance: float | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The best action as a function of one context parameter, the others held.

    Args:
        name: The context parameter.
        values: Its values.
        recommended: The recommendation at each value.
    """

    name: str
    values: tuple[Any, ...]
    recommended: tuple[Recommendation, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcome of ``Study.replay``: the proposals that were derived again.

    Args:
        agreed: How many came out as recorded.
        number: The first trial that did not; None: all did.
        recorded: Its recorded point.
        derived: The point that was derived.
        skipped: Proposals by another version of the strategy, which cannot be derived.
        since: The trial from which on every proposal can be derived.
    """

    agreed: int
    number: int | None = None
    recorded: Any = None
    derived: Any = None
    skipped: int = 0
    since: int = 0


def check_chance(chance: Any) -> None:
    """ConfigurationError unless it is a probability in (0, 1)."""
    if not (isinstance(chance, (int, float)) and 0 < chance < 1):
        raise ConfigurationError(
            f"chance is a probability in (0, 1), got {chance!r}: 0.9 is nine in ten"
        )


# -- trials --


def algorithms(trials: Sequence[Trial]) -> list[tuple[int, int]]:
    """Which versions of a strategy's rule proposed the points.

    A study that an older noregret began goes on by the rule of the installed one.

    Args:
        trials: All trials of a study.

    Returns:
        Pairs of the first trial and the algorithm's number from there on.
    """
    runs: list[tuple[int, int]] = []
    for trial in trials:
        if trial.decision.chosen and (not runs or runs[-1][1] != trial.decision.algorithm):
            runs.append((trial.number, trial.decision.algorithm))
    return runs


def complete(trials: Sequence[Trial]) -> list[Trial]:
    """The complete trials, corrections in place of what they correct."""
    return [trial for trial in standing(trials) if trial.state == "complete"]


def best_of(record: StudyRecord, trials: Sequence[Trial]) -> Trial:
    """The best of those within all limits; while there is none, the one that misses them least."""
    done, limits, sign = complete(trials), record.outcomes, sign_of(record.goal)
    if not done:
        raise TrialError("no trial is complete yet: tell a value first")
    within = [t for t in done if t.value is not None and (t.feasible or not limits)]
    if not within:
        return closest(done, limits)
    return max(within, key=lambda trial: sign * float(trial.value or 0.0))


def recommended_of(
    record: StudyRecord,
    trials: Sequence[Trial],
    encode: Callable[[Trial], Array],
    belief: Belief,
    chance: float = CHANCE,
) -> tuple[Trial, float, float]:
    """The trial with the best posterior mean, and the averaged mean and std there, to be maximised.
    Where the band is proved, the one with the best lower bound: it has the smallest certificate.
    Where outcomes have limits: among those that keep them with that chance, see ``within_limits``;
    where there are none, the one with the largest chance.

    Where values are exact, the best value told, with std 0. Beside values that diverge a model is
    blind to all others. So unless the band is proved, no trial counts whose value is further below
    the median than the best is above it, and of trials that the model cannot tell apart the one
    with the best value is taken.
    """
    valued = [trial for trial in complete(trials) if trial.value is not None]
    X = np.array([encode(trial) for trial in valued])
    mean = belief.predict(X)[0]
    score = belief.band(X)[0] if belief.proved else mean
    value = sign_of(record.goal) * np.array([trial.value for trial in valued], dtype=np.float64)
    within = within_limits(belief, X, chance)
    if not within.any():
        score = chance_of_all(belief, X)
    elif belief.proved:
        score = np.where(within, score, -np.inf)
    elif belief.exact:
        score = np.where(within, value, -np.inf)
    else:
        middle = np.sort(value[within])[np.sum(within) // 2]
        with np.errstate(over="ignore"):
            within &= value >= middle - (value[within].max() - middle)
        score = np.where(_indistinct(belief, X, np.where(within, mean, -np.inf)), value, -np.inf)
    best = int(np.argmax(score))
    if belief.exact:
        return valued[best], float(value[best]), 0.0
    expected, std = belief.predict_averaged(X[[best]])
    return valued[best], float(expected[0]), float(std[0])


def too_few(belief: Belief, X: Array) -> bool:
    """Whether values at the rows of X are too few to say how far they scatter."""
    if belief.mixture is None or belief.noise_is_told or len(X) >= FEW:
        return False
    return len(np.unique(X, axis=0)) == len(X)


def _indistinct(belief: Belief, X: Array, mean: Array) -> Mask:
    """The points whose mean the model cannot tell from the best one."""
    rows = np.argsort(-mean, kind="stable")[:MOST_INDISTINCT]
    rows = rows[np.isfinite(mean[rows])]
    covariance = belief.predictor.joint(X[rows])[1]
    variance = np.diag(covariance)
    apart = np.sqrt(np.maximum(variance + variance[0] - 2 * covariance[0], 0.0))
    near = np.zeros(len(X), dtype=np.bool_)
    with np.errstate(over="ignore"):
        near[rows] = mean[rows] >= mean[rows[0]] - INDISTINCT * belief.scale * apart
    return near


def _chances(belief: Belief, X: Array) -> Array:
    """The chance that each limit is kept, shape (outcomes, points)."""
    return np.array([outcome.chance(X) for outcome in belief.outcomes]).reshape(-1, len(X))


def _margins(belief: Belief, X: Array) -> Array:
    """The band of each outcome's margin, shape (outcomes, 2, points): lower and upper bounds."""
    return np.array([outcome.margin.band(X) for outcome in belief.outcomes]).reshape(-1, 2, len(X))


def chance_of_all(belief: Belief, X: Array) -> Array:
    """The chance that all limits are kept, taken as independent given the point."""
    return np.asarray(np.prod(_chances(belief, X), axis=0))


def likely_feasible(belief: Belief, X: Array) -> Mask:
    """Where every limit is kept with a chance of at least one half."""
    return np.asarray(np.all(_chances(belief, X) >= 0.5, axis=0))


def optimistic_points(belief: Belief, X: Array) -> Mask:
    """Where no limit is surely broken."""
    return np.asarray(np.all(_margins(belief, X)[:, 1] >= 0, axis=0))


def within_limits(belief: Belief, X: Array, chance: float = CHANCE) -> Mask:
    """Where all limits are kept with that chance. By a proved band: surely, if that is anywhere, or
    else with a chance of at least one half each.
    """
    if not belief.proved:
        return chance_of_all(belief, X) >= chance
    sure = np.asarray(np.all(_margins(belief, X)[:, 0] >= 0, axis=0))
    return sure if sure.any() else likely_feasible(belief, X)


def violations(trials: Sequence[Trial], limits: Mapping[str, Limit]) -> list[float]:
    """By how much each trial misses its limits, all together; ∞ where that is not known.

    The unit of an outcome is its largest margin, either way.
    """
    total = np.zeros(len(trials))
    for name, limit in limits.items():
        values = [trial.outcomes.get(name) for trial in trials]
        margins = np.array([-math.inf if v is None else margin(limit, v) for v in values])
        largest = np.abs(margins[np.isfinite(margins)]).max(initial=0.0)
        total += np.maximum(-margins, 0.0) / (largest or 1.0)
    return [float(violation) for violation in total]


def closest(trials: Sequence[Trial], limits: Mapping[str, Limit]) -> Trial:
    """The trial that misses the limits least (Deb 2000)."""
    return trials[int(np.argmin(violations(trials, limits)))]


def result_of(
    record: StudyRecord,
    trials: Sequence[Trial],
    encode: Callable[[Trial], Array],
    belief: Belief | None,
    chance: float = CHANCE,
) -> Result:
    """What all trials of a study and its belief say."""
    best, space, certificate = best_of(record, trials), record.space, None
    if belief is None:
        return Result(best, best, None, None, None, best.feasible)
    trial, mean, std = recommended_of(record, trials, encode, belief, chance)
    x, has_limits = encode(trial), bool(belief.outcomes)
    feasible = bool(likely_feasible(belief, x[None, :])[0]) if has_limits else None
    if not record.context and not (has_limits and is_empty(space, belief)):
        certificate = certify(space, belief, trial.params, x, record.seed)
    X = np.array([encode(each) for each in complete(trials) if each.value is not None])
    noise = 0.0 if belief.exact else belief.noise_std
    return Result(
        best,
        trial,
        (sign_of(record.goal) * mean, std),
        certificate,
        belief,
        feasible,
        None if noise is None else math.hypot(std, noise),
        too_few(belief, X),
        float(chance_of_all(belief, x[None, :])[0]) if has_limits else None,
    )


# -- feasibility and certificates --


def feasibility_of(
    record: StudyRecord, trials: Sequence[Trial], belief: Belief | None
) -> Feasibility:
    """What the trials and a proved belief say of the limits."""
    done = complete(trials)
    within = tuple(trial.number for trial in done if trial.feasible)
    near = closest(done, record.outcomes) if done else None
    if within:
        return Feasibility("feasible", within, near)
    if belief is not None and belief.outcomes and is_empty(record.space, belief):
        return Feasibility("infeasible", (), near, "; ".join(_conditions(belief)[1:]))
    return Feasibility("unknown", (), near)


def is_empty(space: SearchSpace, belief: Belief) -> bool:
    """Whether a theorem says that no point of the space keeps all limits: even the optimistic set
    is empty. theory.md#limits
    """
    margins = [outcome.margin for outcome in belief.outcomes]
    if not all(m.proved and m.norm_bound is not None and not m.refuted for m in margins):
        return False
    cover = largest_feasible(space, belief)
    return cover.proved and cover.upper == -math.inf


def _conditions(belief: Belief) -> list[str]:
    """The condition of the value's band, then that of each outcome."""
    return [belief.condition, *(f"{o.name}: {o.margin.condition}" for o in belief.outcomes)]


def largest_feasible(space: SearchSpace, belief: Belief, top: Array | None = None) -> Cover:
    """An upper bound on f over all points that may be feasible, in the model's units.

    top: without limits, the point that a search found to have the largest upper bound.
    """
    every = space.enumeration()
    if every is not None:
        optimistic = every[optimistic_points(belief, every)]
        if len(optimistic) == 0:
            return Cover(-math.inf, -math.inf, every[0], len(every), proved=True)
        return _best_of(belief, optimistic, len(every), proved=True)
    parts = [belief, *(outcome.margin for outcome in belief.outcomes)]
    free, at = free_part(space)
    region, tolerance = space.region, COVER_SLACK * (belief.norm_bound or 0.0)
    has_cover = all(isinstance(b.kernel, (SquaredExponential, Matern)) for b in parts)
    if top is not None:
        largest = float(belief.optimism.values(top[None, :])[0])
        if not has_cover:
            return searched(belief.optimism.values, largest, space.dimension, region=region)
        return covered(_restricted(belief, free, at), tolerance, largest, region, top)
    if not has_cover or any(b.norm_bound is None for b in parts):
        return _searched(space, belief)
    value, *margins = (_restricted(part, free, at) for part in parts)
    cover = cube_cover(value, tolerance, margins, region=region)
    if cover.upper == -math.inf or cover.slack <= 4 * tolerance or free.sum() <= 2:
        return cover
    return _searched(space, belief)


def _best_of(belief: Belief, points: Array, count: int, *, proved: bool) -> Cover:
    upper = belief.optimism.values(points)
    top = int(np.argmax(upper))
    return Cover(float(upper[top]), float(upper[top]), points[top], count, proved=proved)


def free_part(space: SearchSpace) -> tuple[Mask, Array]:
    """Which coordinates are not held, and where the others are. What constraints leave is found
    among all.
    """
    if space.region is None:
        return ~space.held, space.at
    return np.ones(space.dimension, dtype=np.bool_), np.zeros(space.dimension)


def _restricted(belief: Belief, free: Mask, at: Array) -> BoundedFunction:
    """On the free coordinates: a restriction has no larger norm (Aronszajn 1950)."""
    upper = belief.optimism.values

    def restricted(A: Array) -> Array:
        full = np.repeat(at[None, :], len(A), axis=0)
        full[:, free] = A
        return upper(full)

    assert belief.kernel is not None
    assert belief.norm_bound is not None
    least = -belief.offset / belief.scale
    theta = belief.lengthscales[free]
    return BoundedFunction(restricted, belief.kernel, theta, belief.norm_bound, least)


def _searched(space: SearchSpace, belief: Belief) -> Cover:
    """The largest upper bound at sampled points; not a proof."""
    sample = np.random.default_rng(0).random((SEARCH_POINTS, space.dimension))
    points = spread_points(space, sample)
    optimistic = points[optimistic_points(belief, points)]
    if len(optimistic) == 0:
        return Cover(math.inf, -math.inf, points[0], SEARCH_POINTS, proved=False)
    return _best_of(belief, optimistic, SEARCH_POINTS, proved=False)


def certify(space: SearchSpace, belief: Belief, params: Any, x: Array, seed: int) -> Certificate:
    """An upper bound of f minus a lower bound at the recommended point x. theory.md#certificates

    Where the belief is proved, the upper bound comes from a cover, or from every point of a list;
    otherwise it is the largest that a search found. With limits it is taken over every point that
    may be feasible. params: the parameters of x.
    """
    top = None
    if not belief.outcomes:
        rng, none = np.random.default_rng(seed), np.empty((0, space.dimension))
        top = argmax(belief.optimism, space, belief.lengthscales, rng, x[None, :], none)
        if not belief.proved or belief.norm_bound is None:
            regret = max(belief.regret(x, top), belief.regret(x, x))  # a search may miss x itself
            return Certificate(params, regret, belief.condition, refuted=belief.refuted)
    cover, lower = largest_feasible(space, belief, top), float(belief.bounds(x[None, :])[0][0])
    bound = cover.upper  # |f| ≤ ‖f‖, as k(x, x) = 1
    bound = bound if belief.norm_bound is None else min(bound, belief.norm_bound)
    condition = "; ".join(_conditions(belief))
    if belief.proved and not cover.proved:
        condition = f"not proved (the band's maximum was searched, not covered): {condition}"
    margins = {o.name: float(o.margin.band(x[None, :])[0][0]) for o in belief.outcomes}
    return Certificate(
        params,
        belief.in_values(max(bound - lower, 0.0)),
        condition,
        belief.proved and cover.proved,
        belief.refuted or any(outcome.margin.refuted for outcome in belief.outcomes),
        belief.in_values(max(bound - cover.found, 0.0)),
        {name: max(-lowest, 0.0) for name, lowest in margins.items()},
    )


def certify_in(part: SearchSpace, belief: Belief, X: Array, seed: int) -> Certificate:
    """The certificate of the best action in the context that ``part`` holds."""
    if belief.outcomes and is_empty(part, belief):
        raise TrialError(f"no regret to certify: nothing keeps all limits in {dict(part.fixed)!r}")
    x = best_action(part, belief, X, seed)
    return certify(part, belief, part.decode(x), x, seed)


def recommended_by_chance(
    study: Study, belief: Belief, chances: Sequence[float]
) -> list[Recommendation]:
    """What to use for each chance that all limits are kept, from a fit that was made already.

    Args:
        study: A study with limits and without context.
        belief: Its belief.
        chances: As ``Study.recommend`` takes them.

    Returns:
        A recommendation for each.
    """
    record, trials, space, found = study.record(), study.trials, study.space, []
    for chance in chances:
        trial = recommended_of(record, trials, study._encode, belief, chance)[0]
        x = study._encode(trial)
        found.append(recommend(space, belief, x, study.goal, chance, trial.number))
    return found


# -- contexts --


def _score(belief: Belief, chance: float) -> Acquisition:
    """The posterior mean, or the lower end of a proved band, in the model's units; chance: that
    all limits are kept, by the fitted model.
    """
    sign = -1.0 if belief.proved else 0.0
    # a proved band may have another centre and width than the posterior
    band = belief.radius if belief.proved else None
    model, width = (belief.predictor, belief.beta_sqrt) if band is None else (band, 1.0)

    def values(A: Array) -> Array:
        centre, half = model.predict(A)
        score = np.asarray(centre + sign * width * half)
        if not belief.outcomes:
            return score
        likely = np.prod([outcome.fitted_chance(A) for outcome in belief.outcomes], axis=0)
        kept = likely >= chance
        if belief.proved:
            kept = np.all(_margins(belief, A)[:, 0] >= 0, axis=0)
        return np.where(kept, score, likely - INFEASIBLE_PENALTY)

    def gradients(A: Array) -> tuple[Array, Array]:
        centre, half, d_centre, d_half = model.predict_gradients(A)
        slope = d_centre + sign * width * d_half
        return values(A) if belief.outcomes else centre + sign * width * half, slope

    return Acquisition(values, gradients)


def best_action(
    space: SearchSpace, belief: Belief, X: Array, seed: int, chance: float = CHANCE
) -> Array:
    """Where the mean is largest, or the lower bound where that is proved; over all actions, not
    only those that were tried: a context may be new. With limits, among those that keep them with
    that chance by the averaged model, or else the surest one found. X: the evaluated points.
    """
    near = space.snap(X[np.argsort(-belief.predict(X)[0], kind="stable")[:3]])
    none, found = np.empty((0, space.dimension)), []
    for level in (chance, *(level for level in STRICTER if level > chance)):
        rng = np.random.default_rng(seed)
        x = argmax(_score(belief, level), space, belief.lengthscales, rng, near, none)
        found.append((float(chance_of_all(belief, x[None, :])[0]), x))
        if belief.proved or found[-1][0] >= chance:
            return x
    return max(found, key=lambda pair: pair[0])[1]


def recommend(
    space: SearchSpace, belief: Belief, x: Array, goal: Goal, chance: float, number: int | None
) -> Recommendation:
    """The point x with its forecast; number: its trial."""
    sign, likely = sign_of(goal), None
    (mean,), (std,) = belief.predict_averaged(x[None, :])
    lower, upper = sorted(sign * float(end[0]) for end in belief.band(x[None, :]))
    if belief.outcomes:
        likely = float(chance_of_all(belief, x[None, :])[0])
    kept = None if likely is None else bool(within_limits(belief, x[None, :], chance)[0])
    point = space.decode(x), dict(space.fixed)
    return Recommendation(
        *point, sign * float(mean), float(std), lower, upper, kept, likely, number
    )


def policy_of(
    study: Study,
    along: str | None = None,
    held: Mapping[str, Any] | None = None,
    values: Sequence[Any] | None = None,
) -> Policy:
    """The best action as a function of one context parameter, from one fit.

    Args:
        study: A study with context.
        along: The context parameter; None: the first.
        held: Values of the other context parameters; None: the middle of their ranges.
        values: Values of ``along``; None: spread evenly over its range.

    Returns:
        The values, and the recommendation at each.

    Raises:
        ConfigurationError: The study has no context, or ``along`` is not part of it.
        TrialError: There is no model yet.
    """
    name, parameters = along or next(iter(study.context), None), study.space.parameters
    if name is None or name not in study.context:
        raise ConfigurationError(f"{name!r} is no context of this study: {list(study.context)!r}")
    if values is None:
        values = values_along(parameters[name], POLICY_POINTS)
    fixed = {other: _middle(parameters[other]) for other in study.context} | dict(held or {})
    contexts = [{**fixed, name: value} for value in values]
    return Policy(name, tuple(values), tuple(study._recommend(contexts)))


def _middle(parameter: Any) -> Any:
    if isinstance(parameter, Choice):
        return parameter.options[0]
    return parameter.decode(np.array([0.5]))
