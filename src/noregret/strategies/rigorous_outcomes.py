"""The rigorous strategy where outcomes have limits: the best of what may be feasible.

Each of the m outcomes and the value has its band, each with δ/(1 + m). The point is the argmax of
the value's upper end where the upper end of every margin is at least zero: CONFIG (Xu, Jiang,
Svetozarevic and Jones 2022) with the band of one radius. theory.md#limits
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from noregret.errors import ConfigurationError
from noregret.rkhs import ClassEstimate, NoiseFromReplicates, RadiusBand
from noregret.search import Acquisition, allowed, apart, argmax
from noregret.space import Array, Mask, SearchSpace, spread_points
from noregret.strategies.base import OutcomeBelief
from noregret.strategies.validation import check_class
from noregret.trials import History, Limit, Margins, OutcomeDecision

if TYPE_CHECKING:
    from noregret.strategies.rigorous import RadiusGPUCB

SAMPLE = 512  # points at which the value's upper end is looked at, to rank below it
NEAR = 64  # points of a step of the last search, along the edge of what may be feasible
WIDEST, NARROWEST = 0.3, 1e-4  # of a lengthscale: its steps


@dataclass(frozen=True, slots=True)
class OutcomeAssumptions:
    """What ``RadiusGPUCB`` assumes of an outcome, in its units and fixed before the data.

    Args:
        noise_bound: R; the noise is R-sub-Gaussian. A larger noise told with a value counts for it.
            NoiseFromReplicates(pairs, law): R is found from points that are measured twice first.
        norm_bound: B_0, where the norm ball starts.
        lengthscales: θ_0 on the unit cube; None: √d, its diameter.
        offset: a fixed prior mean; None: the limit.

    Raises:
        ConfigurationError: a setting outside its range.
    """

    noise_bound: float | NoiseFromReplicates
    norm_bound: float = 1.0
    lengthscales: float | tuple[float, ...] | None = None
    offset: float | None = None

    def __post_init__(self) -> None:
        numbers = () if isinstance(self.noise_bound, NoiseFromReplicates) else ("noise_bound",)
        check_class(self, (*numbers, "norm_bound"))


def of_outcome(strategy: RadiusGPUCB, name: str, limit: Limit) -> RadiusGPUCB:
    """The strategy of an outcome's margin: its own noise, norm and lengthscales."""
    assumed = strategy.assumed.get(name)
    if assumed is None:
        raise ConfigurationError(
            f"nothing is assumed of the outcome {name!r}, so its band has no theorem: pass"
            f" outcomes={{{name!r}: OutcomeAssumptions(noise_bound=…, norm_bound=…)}} to the"
            " strategy, or use the default strategy, which estimates everything"
        )
    offset = limit.limit if assumed.offset is None else assumed.offset
    return replace(
        strategy,
        noise_bound=assumed.noise_bound,
        norm_bound=assumed.norm_bound,
        lengthscales=assumed.lengthscales,
        offset=limit.sign * (offset - limit.limit),
        delta=strategy.share,
        outcomes=(),
        check_pairs=0,
    )


def margin_history(history: History, margins: Margins) -> History:
    """The history of a margin, which is told whenever the trial ended."""
    return replace(
        history,
        X=margins.X,
        y=margins.y,
        noise_std=margins.noise_std,
        rows=margins.rows,
        sign=1.0,
        outcomes=(),
    )


@dataclass(frozen=True, slots=True)
class ClassBand:
    """The class of the value or of a margin with its band, without and with pending points."""

    strategy: RadiusGPUCB
    estimate: ClassEstimate
    band: RadiusBand
    pending_band: RadiusBand

    @property
    def lengthscales(self) -> Array:
        return self.estimate.function_class.lengthscales

    def incumbents(self, X: Array) -> Array:
        """The three points with the highest middle of the band."""
        lower, upper = self.band.bounds(X)
        return X[np.argsort(-(lower + upper), kind="stable")[:3]]

    def forecast(self, x: Array) -> tuple[float, float]:
        """Mean and std of the Gaussian process at c = 1."""
        mean, std = self.band.posteriors[self.band.reference].predict(x[None, :])
        return float(mean[0]), float(std[0])


@dataclass(frozen=True, slots=True)
class OutcomeBand(ClassBand):
    """The class of a margin."""

    margins: Margins

    @property
    def least(self) -> float:
        """A margin of zero in the model's units."""
        return -self.strategy.offset / self.strategy.norm_bound

    def decision(self, x: Array) -> OutcomeDecision:
        mean, std = self.forecast(x)
        ends = [float(end[0]) for end in self.pending_band.bounds(x[None, :])]
        unit, offset = self.strategy.norm_bound, self.strategy.offset
        lower, upper = sorted(self.margins.in_values(offset + unit * end) for end in ends)
        return OutcomeDecision(
            name=self.margins.name,
            mean=self.margins.in_values(offset + unit * mean),
            std=unit * std,
            chance=float(ndtr((mean - self.least) / std)),
            lengthscales=tuple(self.lengthscales.tolist()),
            noise_std=self.strategy._bound,
            lower=lower,
            upper=upper,
        )


def margin_bands(
    strategy: RadiusGPUCB, space: SearchSpace, history: History, least: float = 0.0
) -> tuple[OutcomeBand, ...]:
    """The bands of all measured outcomes; the others are unconstrained."""
    made = []
    for margins in history.outcomes:
        own = of_outcome(strategy, margins.name, margins.limit)
        part = margin_history(history, margins)
        known = own.with_known_noise(part, margins.name) if len(margins.y) else None
        if known is not None:
            each = known.estimated_class(space, part, least, history.under_way)
            made.append(
                OutcomeBand(each.strategy, each.estimate, each.band, each.pending_band, margins)
            )
    return tuple(made)


def may_be_feasible(bands: Sequence[OutcomeBand], A: Array) -> Mask:
    """The optimistic set: where no limit is violated for certain."""
    kept = np.ones(len(A), dtype=np.bool_)
    for each in bands:
        kept &= each.pending_band.upper(A) >= each.least  # theory.md#limits
    return kept


def best_case_margin(bands: Sequence[OutcomeBand]) -> Acquisition:
    """The smallest upper end of a margin, in units of its norm: below zero, surely infeasible."""

    def values(A: Array) -> Array:
        return np.min([each.pending_band.upper(A) - each.least for each in bands], axis=0)

    def gradients(A: Array) -> tuple[Array, Array]:
        parts = [each.pending_band.predict_gradients(A) for each in bands]
        ends = np.stack(
            [m + h - each.least for (m, h, _, _), each in zip(parts, bands, strict=True)]
        )
        slopes = np.stack([dm + dh for _, _, dm, dh in parts])
        which, rows = np.argmin(ends, axis=0), np.arange(len(A))
        return ends[which, rows], slopes[which, rows]

    return Acquisition(values, gradients)


def optimistic(
    value: RadiusBand, bands: Sequence[OutcomeBand], space: SearchSpace, seed: int
) -> Acquisition:
    """The value's upper bound in the optimistic set; outside it lower values, decreasing with the
    violation of a limit.
    """
    if not bands:
        return Acquisition(value.upper, lambda A: _upper_gradients(value, A))
    sample = spread_points(space, np.random.default_rng(seed).random((SAMPLE, space.dimension)))
    floor = float(value.upper(sample).min()) - 1.0
    outside = best_case_margin(bands)

    def values(A: Array) -> Array:
        left = outside.values(A)
        return np.where(left >= 0, value.upper(A), floor + np.minimum(left, 0.0))

    def gradients(A: Array) -> tuple[Array, Array]:
        (left, rise), (top, slope) = outside.gradients(A), _upper_gradients(value, A)
        kept = left >= 0
        return np.where(kept, top, floor + left), np.where(kept[:, None], slope, rise)

    return Acquisition(values, gradients)


def _upper_gradients(value: RadiusBand, A: Array) -> tuple[Array, Array]:
    middle, half, d_middle, d_half = value.predict_gradients(A)
    return middle + half, d_middle + d_half


def search(
    acquisition: Acquisition,
    space: SearchSpace,
    lengthscales: Array,
    rng: np.random.Generator,
    incumbents: Array,
    history: History,
) -> Array:
    """The argmax. Random steps follow the edge of the feasible set, which gradients do not."""
    avoided = history.failed, history.given_up
    x = argmax(acquisition, space, lengthscales, rng, incumbents, *avoided)
    if space.enumeration() is not None or not space.movable.any():
        return x
    best, width = float(acquisition.values(x[None, :])[0]), WIDEST
    reach = np.minimum(lengthscales, 1.0)
    while width > NARROWEST:
        steps = width * reach * rng.standard_normal((NEAR, space.dimension))
        near = space.snap(np.clip(x + steps, 0.0, 1.0))
        kept = allowed(near, history.failed) & apart(near, history.given_up)
        values = np.where(kept, acquisition.values(near), -np.inf)
        top = int(np.argmax(values))
        if values[top] > best:
            best, x = float(values[top]), near[top]
        else:
            width /= 2
    return x


def outcome_beliefs(
    strategy: RadiusGPUCB, space: SearchSpace, history: History
) -> tuple[OutcomeBelief, ...]:
    """From observed margins only."""
    observed = history.observed
    made = []
    for margins in observed.outcomes:
        own = of_outcome(strategy, margins.name, margins.limit)
        offset = margins.in_values(own.offset)
        what = f"{margins.name} − {offset:g}"
        part = margin_history(observed, margins)
        belief = own.belief_about(what, space, part, of=margins.name)
        if belief is not None:
            made.append(OutcomeBelief(margins.name, margins.limit, belief))
    return tuple(made)
