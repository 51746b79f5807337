"""The protocol of a strategy, its belief about f, its record of a decision, the initial design."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from noregret.errors import check_range
from noregret.gp import Fit, JointPredictor, Kernel, PosteriorMixture
from noregret.rkhs import RadiusBand
from noregret.search import Acquisition, allowed, ucb, unlike
from noregret.space import Array, SearchSpace, spread_points
from noregret.strategies.data import ModelData
from noregret.trials import (
    Decision,
    Explanation,
    History,
    Kind,
    Limit,
    ModelDecision,
    OutcomeDecision,
    Proposal,
    as_json,
    html_table,
    payload_as,
)

Design = Literal["uniform", "spread"]
TRIES = 100  # draws of a random point before one near a failed point is accepted


@runtime_checkable
class Strategy(Protocol):
    """The protocol of a strategy. ``propose`` is pure: equal arguments give an equal proposal."""

    @property
    def theorem(self) -> str:
        """The theorem it obeys and its conditions, or that it has none."""

    @property
    def proved(self) -> bool:
        """Whether its band is that theorem's: then certificates are proved under its conditions."""

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        """The next point of the unit cube and the decision to record, from the history alone."""

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        """The posterior and band of f now, without a new decision; None: no model, or no data."""

    def explain(self, decision: Decision) -> Explanation:
        """A decision of its model in words and numbers, from what it recorded in the payload."""


def shared_settings(settings: Any, kind: type) -> dict[str, Any]:
    """The settings of a strategy that another kind of strategy has too."""
    names = (each.name for each in fields(kind))
    return {name: getattr(settings, name) for name in names if hasattr(settings, name)}


class Delegating(ABC):
    """A strategy that uses the model and the decisions of another one."""

    __slots__ = ()

    @abstractmethod
    def inner(self, inputs: int) -> Strategy:
        """The other strategy, for that many inputs."""

    @property
    def proved(self) -> bool:
        return self.inner(1).proved

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        return self.inner(space.dimension).propose(space, history, rng)

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        return self.inner(space.dimension).belief(space, history, delta)

    def explain(self, decision: Decision) -> Explanation:
        return self.inner(len(decision.payload.get("lengthscales", (1,)))).explain(decision)


@dataclass(frozen=True, slots=True, repr=False)
class Belief:
    """A posterior with its width, in the model's units; value = offset + scale · model value.

    Only observed values enter: pending points neither narrow nor widen it.
    """

    predictor: JointPredictor
    beta_sqrt: float
    lengthscales: Array
    offset: float
    scale: float
    condition: str  # under which the band holds, in words
    proved: bool = False  # whether it then does, by a theorem
    kernel: Kernel | None = None  # of the class in the condition, with ``lengthscales``
    norm_bound: float | None = None  # of that class, in the model's units
    radius: RadiusBand | None = None  # a narrower band than width times std, in the model's units
    refuted: bool = False  # the data contradict the condition
    outcomes: tuple[OutcomeBelief, ...] = ()  # where there are limits
    # the posterior with its hyperparameters averaged out, computed when it is asked for
    mixture: Callable[[], PosteriorMixture] | None = None
    exact: bool = False  # values have no noise: the best one told is the best point known

    def __repr__(self) -> str:
        return f"<Belief: {', '.join(f'{name} {text}' for name, text in self._rows())}>"

    def _repr_html_(self) -> str:
        return html_table("belief", [*self._rows(), ("holds", self.condition)])

    def _rows(self) -> list[tuple[str, str]]:
        lengthscales = ", ".join(f"{each:.3g}" for each in self.lengthscales[:8])
        more = ", …" if len(self.lengthscales) > 8 else ""
        return [
            ("lengthscales", f"{lengthscales}{more}"),
            ("width", f"{self.beta_sqrt:.3g} std"),
            ("proved", "yes" if self.proved else "no"),
        ]

    def predict(self, A: Array) -> tuple[Array, Array]:
        """Latent mean and std of the (maximised) objective."""
        mean, std = self.predictor.predict(A)
        with np.errstate(over="ignore"):
            return _numbers(self.offset + self.scale * mean), _numbers(self.scale * std)

    @property
    def averaged(self) -> JointPredictor:
        """The mixture over hyperparameters; without one the fitted model."""
        return self.predictor if self.mixture is None else self.mixture()

    def predict_averaged(self, A: Array) -> tuple[Array, Array]:
        """``predict`` with the uncertainty of the hyperparameters."""
        mean, std = self.averaged.predict(A)
        with np.errstate(over="ignore"):
            return _numbers(self.offset + self.scale * mean), _numbers(self.scale * std)

    @property
    def noise_std(self) -> float | None:
        """Standard deviation of a value to come around f; None: not averaged."""
        return None if self.mixture is None else self.in_values(self.mixture().noise_std)

    @property
    def noise_is_told(self) -> bool:
        """Whether the noise is known, by all members of the mixture alike."""
        return self.mixture is not None and bool(np.ptp(self.mixture().noise_var) == 0)

    def regret(self, x: Array, top: Array) -> float:
        """By how much f(top) may exceed f(x), in the values' units. Offset and scale come last: a
        difference of two large values would round to 0.
        """
        ends = np.stack([x, top])
        if self.radius is not None:
            lower, upper = self.bounds(ends)
            return self.in_values(float(upper[1] - lower[0]))
        mean, std = self.predictor.predict(ends)
        return self.in_values(float(mean[1] - mean[0] + self.beta_sqrt * (std[0] + std[1])))

    def in_values(self, difference: float) -> float:
        """A difference of two model values, in the values' units."""
        return min(self.scale * difference, sys.float_info.max)

    def bounds(self, A: Array) -> tuple[Array, Array]:
        """Lower and upper confidence bound, in the model's units."""
        if self.radius is not None:
            return self.radius.bounds(A)
        mean, std = self.predictor.predict(A)
        return mean - self.beta_sqrt * std, mean + self.beta_sqrt * std

    def band(self, A: Array) -> tuple[Array, Array]:
        """Lower and upper confidence bound."""
        lower, upper = self.bounds(A)
        with np.errstate(over="ignore"):
            ends = self.offset + self.scale * lower, self.offset + self.scale * upper
        return _numbers(ends[0]), _numbers(ends[1])

    @property
    def optimism(self) -> Acquisition:
        """The upper bound in the model's units, as an acquisition."""
        return ucb(self.predictor, self.beta_sqrt) if self.radius is None else ucb(self.radius, 1.0)


@dataclass(frozen=True, slots=True)
class OutcomeBelief:
    """The belief about an outcome: one about its margin, feasible where that is ≥ 0."""

    name: str
    limit: Limit
    margin: Belief

    def predict(self, A: Array) -> tuple[Array, Array]:
        """Mean and std of the outcome, in its own units."""
        mean, std = self.margin.predict(A)
        return self.limit.limit + self.limit.sign * mean, std

    def band(self, A: Array) -> tuple[Array, Array]:
        """Lower and upper confidence bound of the outcome, in its own units, hyperparameters
        averaged where the model does.
        """
        band, margin = self.margin.band(A), self.margin
        if margin.mixture is not None:
            mean, std = margin.predict_averaged(A)
            band = mean - margin.beta_sqrt * std, mean + margin.beta_sqrt * std
        ends = [self.limit.limit + self.limit.sign * end for end in band]
        return np.minimum(*ends), np.maximum(*ends)

    def chance(self, A: Array) -> Array:
        """That its limit is kept, hyperparameters averaged where the model does."""
        margin = self.margin
        if margin.mixture is not None:
            return margin.mixture().chance_above(A, -margin.offset / margin.scale)
        return self.fitted_chance(A)

    def fitted_chance(self, A: Array) -> Array:
        """The same by the fitted model alone, which is faster."""
        mean, std = self.margin.predict(A)
        return np.asarray(ndtr(mean / np.maximum(std, TINY)))


# -- what a decision records --


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The payload of a strategy with a Gaussian process; strategies add fields. Values are in model
    units unless stated otherwise.
    """

    lengthscales: tuple[float, ...]  #: θ_t of the class in force, on the unit cube
    fitted_lengthscales: tuple[float, ...] | None = None  #: the estimate, None if none was made
    searched: int = 0  #: points at the last search from all starts
    improved: int = 0  #: points at the last improvement of the estimate
    noise_var: float | None = None  #: of a value to come
    noise_std: float = 0.0  #: the same in the values' units
    information_gain: float | None = None  #: I_t in nats
    latent_std: float | None = None  #: of f at the point
    beta_sqrt: float | None = None  #: what multiplied it; None: no band decided
    exploration: float | None = None  #: the part of it that UCB used; None: UCB did not choose
    recommended_bound: float | None = None  #: safe end of the band, in the units of f
    proved: bool = False  #: whether the width is a theorem's, under the strategy's condition
    offset: float = 0.0  #: of the values
    scale: float = 1.0  #: of the values
    compression: tuple[tuple[float, float], ...] = ()  #: (mean, std) of each pass
    outcomes: tuple[OutcomeDecision, ...] = ()  #: of a study with limits
    chance_feasible: float | None = None  #: that all are within their limits

    @property
    def fit(self) -> Fit | None:
        """The estimate, from which the next fit starts."""
        if self.fitted_lengthscales is None or self.noise_var is None:
            return None
        fitted = np.array(self.fitted_lengthscales)
        return Fit(fitted, float(self.noise_var), self.searched, self.improved)

    def explanation(
        self, decision: Decision, rule: str, active: str | None, **numbers: float
    ) -> Explanation:
        """The decision in the words of ``RULES`` and ``ACTIVE``, or in others. numbers: what
        follows from the record and is shown beside it.
        """
        recorded = {**decision.payload, **numbers}
        return Explanation(
            RULES.get(rule, rule),
            None if active is None else ACTIVE.get(active, active),
            **{name: getattr(self, name) for name in SHARED},
            numbers={
                name: value
                for name, value in recorded.items()
                if name not in ("outcomes", "memory") and value not in (None, [])
            },
        )


# what the edges compute with, and a record therefore has as fields
SHARED = {each.name for each in fields(Explanation)} & {each.name for each in fields(Record)}


def decision_of(
    record: Callable[..., Record],
    data: ModelData,
    t: int,
    mean: float,
    std: float,
    fit: Fit | None,
    kind: Kind = "promise",
    **own: Any,
) -> Decision:
    """The last station: what is expected at the point that was chosen, and the payload.

    Args:
        record: The type of the payload.
        data: The data as the model saw them.
        t: Counts the model's decisions from 1.
        mean: The posterior mean at the point, in model units.
        std: The posterior std of f there.
        fit: The estimate; None if there is none.
        kind: What the decision was for.
        **own: The other fields of the payload.
    """
    noise_var = data.known_noise(math.nan if fit is None else fit.noise_var)[1]
    estimate: dict[str, Any] = {}
    if fit is not None:
        estimate = {"searched": fit.searched, "improved": fit.improved}
        estimate["fitted_lengthscales"] = tuple(fit.lengthscales.tolist())
    units: dict[str, Any] = {"offset": data.offset, "scale": data.scale}
    units["compression"] = tuple((float(m), float(s)) for m, s in data.compression.passes)
    noise = {"noise_var": noise_var, "noise_std": data.noise_in_values(noise_var)}
    payload = as_json(record(latent_std=std, **{**estimate, **units, **noise, **own}))
    return Decision("model", ModelDecision(t, *data.in_values(mean, std), kind), payload=payload)


def with_payload(proposal: Proposal, notes: Mapping[str, Any]) -> Proposal:
    """The proposal with notes added to its payload, replacing those of the same name."""
    decision = proposal.decision
    return replace(proposal, decision=replace(decision, payload={**decision.payload, **notes}))


R = TypeVar("R", bound=Record)


def records_of(kind: type[R], history: History) -> Iterator[R]:
    """The records of model decisions, newest first, without those of other strategies or of another
    number of inputs.
    """
    for decision in reversed(history.decisions):
        record = None if decision.model is None else payload_as(kind, decision)
        if record is not None and len(record.lengthscales) == history.X.shape[1]:
            yield record


RULES = {
    "ucb": (
        "What is expected here and what might be here, taken together, promised the most of all"
        " points: its confidence bound was the best."
    ),
    "log_ei": "Expected improvement is largest here.",
    "limited": (
        "Expected improvement, times the chance to keep all limits, is largest here; as long as"
        " nothing feasible is known, the chance alone."
    ),
    "optimistic": (
        "Of all points that may keep the limits this one promised the most: its confidence bound"
        " was the best."
    ),
    "infeasible": "No point seems to keep all limits: this one comes closest, at best.",
    "survey": (
        "A survey, a look around: the search had stopped learning, so this point was chosen for"
        " what it can teach, not for its value."
    ),
    "patrol": (
        "A patrol: the next point of a fixed sequence that comes everywhere in time, whatever the"
        " data say."
    ),
}
ACTIVE = {
    "fit": "The lengthscales estimated from the data are in force.",
    "schedule": (
        "The widening schedule is in force: it asks for shorter lengthscales than the data suggest."
    ),
    "both": "Both are in force: lengthscales estimated from the data, shortened by the widening.",
}
# of a payload that is not the strategy's own, or damaged
UNEXPLAINED = Explanation("A model chose this point; what it recorded is of another strategy.")


TINY = 1e-300


def _numbers(values: Array) -> Array:
    """The values clipped to the range of floats."""
    return np.clip(values, -sys.float_info.max, sys.float_info.max)


def check_positive(name: str, value: float | None) -> None:
    """Checks that a setting is a positive number, or None."""
    if value is not None:
        exact = "with exact observations pass a small value such as 1e-3 × the range of y"
        hint = exact if name in ("noise_std", "noise_bound") else ""
        check_range(name, value, "(0, ∞)", hint)


def check_noise_std(value: float | None) -> None:
    """ConfigurationError unless it is None, 0 for exact values, or positive."""
    if not (isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0):
        check_positive("noise_std", value)


def check_initial_points(count: int | None) -> None:
    if count is not None:
        check_range("initial_points", count, "[0, ∞)", "None is the default", whole=True)


def default_initial_points(dimension: int, design: Design) -> int:
    """Uniform: 2^d as in JMLR sec. 5 up to d = 4, then 4d: 2^50 points would be no
    optimisation. Spread: 2d, from 3 to 12.
    """
    if design == "spread":
        return min(max(2 * dimension, 3), 12)
    return min(2**dimension, 4 * dimension) if dimension > 4 else 2**dimension


def initial_proposal(
    space: SearchSpace,
    history: History,
    rng: np.random.Generator,
    count: int | None,
    design: Design,
) -> Proposal | None:
    """The next point of the initial design, or None once enough points are evaluated or under way.
    Failures do not count.
    """
    wanted = default_initial_points(space.dimension, design) if count is None else count
    done = len(history.X) + len(history.without_value)
    if done > 0 and done + len(history.pending) >= wanted:
        return None
    known = np.vstack([history.X, history.pending, history.failed, history.without_value])
    if design == "uniform" or len(known) == 0:
        return Proposal(random_point(space, rng, history.failed), Decision("initial"))
    cloud = random_points(space, rng, 32 * space.dimension)
    gap = cdist(cloud, known, "sqeuclidean").min(axis=1)
    gap = np.where(
        allowed(cloud, history.failed, radius=0.0), gap, -1.0
    )  # a finite space may have no new point left
    return Proposal(cloud[int(np.argmax(gap))], Decision("initial"))


def random_point(space: SearchSpace, rng: np.random.Generator, failed: Array) -> Array:
    """A uniform point that has not failed, if there is one."""
    every = space.enumeration()
    if every is not None:
        left = np.flatnonzero(unlike(space, every, failed))
        left = left if len(left) else np.arange(len(every))
        return every[left[rng.integers(len(left))]]
    for _ in range(TRIES):
        point = random_points(space, rng, 1)
        if allowed(point, failed).all():
            break
    return point[0]


def random_points(space: SearchSpace, rng: np.random.Generator, count: int) -> Array:
    """Uniform points of the cube, of its feasible part, or of a short list."""
    every = space.enumeration()
    if every is not None:
        return every[rng.integers(len(every), size=count)]
    return spread_points(space, rng.random((count, space.dimension)))
