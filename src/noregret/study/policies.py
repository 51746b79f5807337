"""Where some inputs are context: what to use in each, how good that is, and the whole policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.errors import ConfigurationError, TrialError
from noregret.search import Acquisition, argmax
from noregret.space import Array, Choice, Float, Int, SearchSpace
from noregret.strategies import Belief
from noregret.study.asking import searched
from noregret.study.feasibility import is_empty
from noregret.study.result import Certificate, certify
from noregret.trials import sign_of

if TYPE_CHECKING:
    from noregret.study.study import Study

AFAR = 1e6  # below every value, in the model's units: actions that break a limit
COUNT = 33  # contexts of a policy's curve


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to use in a context. params: the whole point; mean, std: the forecast of f there;
    lower, upper: its band. feasible: whether all limits are rather kept than not; None: no limits.
    """

    params: Any
    context: Mapping[str, Any]
    mean: float
    std: float
    lower: float
    upper: float
    feasible: bool | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The best action as a function of one input that is context, the others held."""

    name: str
    values: tuple[Any, ...]
    recommended: tuple[Recommendation, ...]


def _model(study: Study, delta: float | None = None) -> Belief:
    if not study.context:
        raise ConfigurationError(
            "this study has no context: study.recommended and study.certificate() speak of all of"
            " it"
        )
    belief = study.belief(delta)
    if belief is None:
        raise TrialError(
            "what to use in a context needs a strategy with a model and at least one value"
        )
    return belief


def recommended_for(study: Study, context: Mapping[str, Any]) -> Recommendation:
    space = searched(study, None, context)
    return _recommended(study, _model(study), space)


def certificate_for(study: Study, context: Mapping[str, Any], delta: float | None) -> Certificate:
    space, belief = searched(study, None, context), _model(study, delta)
    if belief.outcomes and is_empty(space, belief):
        raise TrialError(
            f"there is no regret to certify: in the context {dict(context)!r} nothing keeps all"
            " limits"
        )
    x = _best_action(study, belief, space)
    return certify(space, belief, space.decode(x), x, study.seed)


def _best_action(study: Study, belief: Belief, space: SearchSpace) -> Array:
    """Where the mean is largest, or the lower bound where that is proved; over all actions, not
    those that were tried: a context may be new.
    """
    rng, nothing = np.random.default_rng(study.seed), np.empty((0, space.dimension))
    known = study._history(study.trials).X
    near = space.snap(known[np.argsort(-belief.predict(known)[0], kind="stable")[:3]])
    return argmax(_score(belief), space, belief.lengthscales, rng, near, nothing)


def _score(belief: Belief) -> Acquisition:
    sign = -1.0 if belief.proved else 0.0

    def plain(A: Array) -> Array:
        middle, half = _parts(belief, A)
        return np.asarray(middle + sign * half)

    def values(A: Array) -> Array:
        score = plain(A)
        if not belief.outcomes:
            return score
        chances = np.array([each.chance(A) for each in belief.outcomes])
        lower = [each.margin.band(A)[0] for each in belief.outcomes]
        kept = np.min(lower, axis=0) >= 0 if belief.proved else np.all(chances >= 0.5, axis=0)
        return np.where(kept, score, np.prod(chances, axis=0) - AFAR)

    def gradients(A: Array) -> tuple[Array, Array]:
        band = belief.radius if belief.proved else None
        model = belief.predictor if band is None else band
        middle, half, d_middle, d_half = model.predict_gradients(A)
        width = belief.beta_sqrt if band is None else 1.0
        slope = d_middle + sign * width * d_half
        if not belief.outcomes:
            return middle + sign * width * half, slope
        return values(A), slope

    return Acquisition(values, gradients)


def _parts(belief: Belief, A: Array) -> tuple[Array, Array]:
    """Mean, or the middle of a proved band, and half its width, in the model's units."""
    if belief.proved and belief.radius is not None:
        return belief.radius.predict(A)
    mean, std = belief.predictor.predict(A)
    return mean, belief.beta_sqrt * std


def _recommended(study: Study, belief: Belief, space: SearchSpace) -> Recommendation:
    x = _best_action(study, belief, space)
    sign = sign_of(study.goal)
    (mean,), (std,) = belief.predict(x[None, :])
    lower, upper = sorted(sign * float(end[0]) for end in belief.band(x[None, :]))
    feasible = None
    if belief.outcomes:
        feasible = all(each.chance(x[None, :])[0] >= 0.5 for each in belief.outcomes)
    given, forecast = dict(space.fixed), (sign * float(mean), float(std))
    return Recommendation(space.decode(x), given, *forecast, lower, upper, feasible)


def policy_of(
    study: Study,
    along: str | None = None,
    held: Mapping[str, Any] | None = None,
    values: Sequence[Any] | None = None,
) -> Policy:
    """The policy along one input that is context, by default the first, with the others held; from
    one fit.
    """
    belief = _model(study)
    name = along or study.context[0]
    if name not in study.context:
        raise ConfigurationError(
            f"{name!r} is no context of this study: its context is {list(study.context)!r}"
        )
    parameter = study.space.parameters[name]
    if values is None:
        values = _levels(parameter)
    others = {each: _middle(study.space.parameters[each]) for each in study.context}
    others |= dict(held or {})
    made = tuple(
        _recommended(study, belief, searched(study, None, {**others, name: value}))
        for value in values
    )
    return Policy(name, tuple(values), made)


def _levels(parameter: Any) -> Sequence[Any]:
    """Values along an input, evenly spread."""
    if isinstance(parameter, Choice):
        return list(parameter.options)
    if isinstance(parameter, Int) and parameter.high - parameter.low < COUNT:
        return list(range(parameter.low, parameter.high + 1))
    return [parameter.decode(np.array([u])) for u in np.linspace(0, 1, COUNT)]


def _middle(parameter: Any) -> Any:
    if isinstance(parameter, Choice):
        return parameter.options[0]
    assert isinstance(parameter, (Float, Int))
    return parameter.decode(np.array([0.5]))
