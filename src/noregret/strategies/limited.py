"""Limits on measured outcomes, for the default: a model of each, and the chance to keep them all.

An outcome is seen as its margin y, feasible where y ≥ 0, on a scale that is fine around 0 and
coarse far from it: asinh(y/s), s the median of |y|. As smooth as y itself, unlike the bilog of
Eriksson and Poloczek 2021. What was tried: docs/decisions/0029.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr

from noregret.gp import MAP, Fit, LogNormal, Matern, Posterior, condition
from noregret.search import Acquisition, argmax, log_ei
from noregret.space import Array, Indices, Mask, SearchSpace
from noregret.strategies.compression import standard_units
from noregret.strategies.inputs import InputEvidence, fit_inputs
from noregret.strategies.strategy import Belief, OutcomeBelief
from noregret.strategies.units import scaled
from noregret.trials import History, Margins, ModelDecision, OutcomeDecision

KERNEL = Matern(2.5)
# fewer starts and rarer searches than for the value: there may be many outcomes
ESTIMATION = MAP(
    prior=LogNormal(math.sqrt(2), math.sqrt(3), dimension_scaled=True),
    noise_prior=LogNormal(-6.0, 3.0),
    ceiling=3.0,
    starts=2,
    patience=1.25,
    refresh=1.1,
)
LEAST_SPREAD = 1e-6  # of the margins on their scale
CLOSE = 1e-5  # tolerance of an estimate: of the log posterior, relative
LARGEST_LOG = 600.0  # beyond, e^u is no number
CAUTION = 0.5  # by which the chance counts more for each point in a row that broke a limit
LEAST_TOLD, MOST_TOLD = 1e-5, 1e5  # std of a told noise, in model units


@dataclass(frozen=True, slots=True)
class Scale:
    """Margins as the model sees them: z = (asinh(y/unit) − offset)/spread."""

    unit: float
    offset: float
    spread: float

    @staticmethod
    def of(y: Array) -> Scale:
        unit = float(np.median(np.abs(y))) or float(np.max(np.abs(y))) or 1.0
        u = np.arcsinh(y / unit)
        return Scale(unit, float(np.mean(u)), max(float(np.std(u)), LEAST_SPREAD))

    def forward(self, y: Array) -> Array:
        return np.asarray((np.arcsinh(y / self.unit) - self.offset) / self.spread)

    def inverse(self, z: Array) -> Array:
        u = np.clip(self.offset + self.spread * z, -LARGEST_LOG, LARGEST_LOG)
        return np.asarray(self.unit * np.sinh(u))

    def slope(self, y: Array) -> Array:
        return np.asarray(1 / (self.spread * np.hypot(self.unit, y)))

    @property
    def limit(self) -> float:
        """Where feasible begins."""
        return -self.offset / self.spread


@dataclass(frozen=True, slots=True)
class MarginModel:
    """One outcome: Φ((μ − limit)/σ) is the chance to keep it."""

    margins: Margins
    scale: Scale
    posterior: Posterior
    fit: Fit
    noise_var: float

    @staticmethod
    def fitted(
        margins: Margins,
        unknown: Array,
        group: Indices,
        previous: Fit | None,
        rng: np.random.Generator,
    ) -> MarginModel:
        """unknown: points under way, or that failed: they count in the variance only."""
        scale = Scale.of(margins.y)
        z = scale.forward(margins.y)
        with np.errstate(over="ignore", under="ignore"):
            std = np.clip(margins.noise_std * scale.slope(margins.y), LEAST_TOLD, MOST_TOLD)
        told = np.where(np.isnan(margins.noise_std), np.nan, std**2)
        prior, noise_prior = ESTIMATION.prior, ESTIMATION.noise_prior
        evidence = InputEvidence(KERNEL, margins.X, z, told, prior, noise_prior, group=group)
        fit = fit_inputs(evidence, ESTIMATION, previous, rng, CLOSE)
        common = fit.noise_var if math.isfinite(fit.noise_var) else float(np.nanmedian(told))
        noise = np.where(np.isnan(told), common, told)
        posterior = condition(KERNEL, fit.lengthscales, margins.X, z, noise, unknown, common)
        return MarginModel(margins, scale, posterior, fit, common)

    def log_chance(self, A: Array) -> Array:
        mean, std = self.posterior.predict(A)
        return np.asarray(log_ndtr((mean - self.scale.limit) / std))

    def gradients(self, A: Array) -> tuple[Array, Array]:
        mean, std, dmean, dstd = self.posterior.predict_gradients(A)
        u = (mean - self.scale.limit) / std
        value = log_ndtr(u)
        # d log Φ/du = φ/Φ = √(2/π)/erfcx(−u/√2): no difference of large logarithms
        ratio = math.sqrt(2 / math.pi) / erfcx(-u / math.sqrt(2))
        du = (dmean - u[:, None] * dstd) / std[:, None]
        return np.asarray(value), ratio[:, None] * du

    def decision(self, x: Array) -> OutcomeDecision:
        """What is recorded of a point: its forecast in the outcome's units, as median and half the
        distance of the one-sigma quantiles.
        """
        mean, std = (float(part[0]) for part in self.posterior.predict(x[None, :]))
        low, middle, high = self.scale.inverse(np.array([mean - std, mean, mean + std])).tolist()
        at_limit = float(self.scale.slope(np.zeros(1))[0])
        return OutcomeDecision(
            name=self.margins.name,
            mean=self.margins.in_values(middle),
            std=(high - low) / 2,
            chance=float(np.exp(self.log_chance(x[None, :])[0])),
            lengthscales=tuple(self.fit.lengthscales.tolist()),
            noise_var=self.noise_var,
            noise_std=math.sqrt(self.noise_var) / at_limit,
            searched=self.fit.searched,
            improved=self.fit.improved,
        )


@dataclass(frozen=True, slots=True)
class Limited:
    """All outcomes of a study, each with its own model. missed: how many of the last points in a
    row did not keep them all.
    """

    models: tuple[MarginModel, ...]
    missed: int = 0

    @staticmethod
    def learnt(history: History, group: Indices, rng: np.random.Generator) -> Limited | None:
        """None: there are no limits, or nothing was measured yet."""
        told = [margins for margins in history.outcomes if len(margins.y)]
        if not told:
            return None
        unknown = np.vstack([history.pending, history.failed])
        earlier = previous_fits(history.model_decisions)
        streams = rng.spawn(len(told))
        return Limited(
            tuple(
                MarginModel.fitted(margins, unknown, group, earlier.get(margins.name), stream)
                for margins, stream in zip(told, streams, strict=True)
            ),
            missed_in_a_row(told),
        )

    def chance(self, A: Array) -> Array:
        """That every limit is kept, outcomes taken as independent given the point."""
        return np.asarray(np.exp(sum(model.log_chance(A) for model in self.models)))

    @property
    def feasibility(self) -> Acquisition:
        """The logarithm of that chance: what is sought as long as nothing feasible is known."""

        def values(A: Array) -> Array:
            return np.asarray(sum(model.log_chance(A) for model in self.models))

        def gradients(A: Array) -> tuple[Array, Array]:
            each = [model.gradients(A) for model in self.models]
            return np.asarray(sum(v for v, _ in each)), np.asarray(sum(g for _, g in each))

        return Acquisition(values, gradients, is_log=True)

    def kept(self, X: Array) -> Mask:
        """Where all limits are rather kept than not."""
        each = [model.log_chance(X) >= math.log(0.5) for model in self.models]
        return np.asarray(np.all(each, axis=0))

    def worth(self, X: Array, mean: Array) -> Array:
        """An order of points: by their mean where all limits are rather kept, then by the chance
        to keep them.
        """
        X = X[: len(mean)]
        return np.where(self.kept(X), mean - mean.min(), self.feasibility.values(X) - 1)

    def incumbent(self, X: Array, mean: Array) -> float | None:
        """The best mean where all limits are rather kept than not; None: nowhere yet."""
        kept = self.kept(X)
        return float(mean[kept].max()) if kept.any() else None

    def acquisition(self, posterior: Posterior, mean: Array) -> Acquisition:
        """log(expected improvement over the best feasible mean × chance to keep all limits), or the
        chance alone as long as nothing feasible is known (Gardner et al. 2014, Ament et al. 2023).
        The chance counts the more the more points in a row kept it not: the models are then too
        sure of it, or the reward of a rare success too large.
        """
        best = self.incumbent(posterior.X[: len(mean)], mean)
        weight = self.feasibility
        if best is None:
            return weight
        gain, power = log_ei(posterior, best), 1 + CAUTION * self.missed

        def values(A: Array) -> Array:
            return gain.values(A) + power * weight.values(A)

        def gradients(A: Array) -> tuple[Array, Array]:
            (value, slope), (log_chance, rise) = gain.gradients(A), weight.gradients(A)
            return value + power * log_chance, slope + power * rise

        return Acquisition(values, gradients, is_log=True)

    def least_known(self, x: Array) -> float:
        """The largest std of a margin at a point, in model units."""
        return max(float(model.posterior.predict(x[None, :])[1][0]) for model in self.models)

    def search(self, space: SearchSpace, rng: np.random.Generator) -> Array:
        """Where a value is most likely to exist at all."""
        X = self.models[0].margins.X
        top = X[np.argsort(-self.chance(X), kind="stable")[:3]]
        theta = np.min([model.fit.lengthscales for model in self.models], axis=0)
        return argmax(self.feasibility, space, theta, rng, top, np.empty((0, space.dimension)))

    def recorded(self, x: Array) -> dict[str, Any]:
        """What a decision for x notes of the limits."""
        return {
            "acquisition": "limited",
            "outcomes": self.decisions(x),
            "chance_feasible": float(self.chance(x[None, :])[0]),
        }

    def decisions(self, x: Array) -> tuple[OutcomeDecision, ...]:
        return tuple(model.decision(x) for model in self.models)


def missed_in_a_row(outcomes: Sequence[Margins]) -> int:
    """How many of the last points in a row broke a limit; 0 as long as none ever kept them. A limit
    that came later was told of the last points only.
    """
    least = min(len(margins.y) for margins in outcomes)
    kept = np.all([margins.y[-least:] >= 0 for margins in outcomes], axis=0)
    return int(np.argmax(kept[::-1])) if kept.any() else 0


def previous_fits(decisions: Sequence[ModelDecision]) -> Mapping[str, Fit]:
    """The last estimate of each outcome's model that the history recorded."""
    for each in reversed(decisions):
        if each.outcomes:
            return {
                o.name: Fit(np.array(o.lengthscales), float(o.noise_var), o.searched, o.improved)
                for o in each.outcomes
                if o.noise_var is not None
            }
    return {}


def margin_beliefs(limited: Limited | None) -> tuple[OutcomeBelief, ...]:
    """The fitted models in the margins' own units, each with the band that the data suggest."""
    if limited is None:
        return ()
    return tuple(_margin_belief(model) for model in limited.models)


def _margin_belief(model: MarginModel) -> OutcomeBelief:
    margins, theta = model.margins, model.fit.lengthscales
    offset, scale = standard_units(margins.y)
    least = math.sqrt(model.noise_var) / float(model.scale.slope(np.zeros(1))[0])
    std = np.where(np.isnan(margins.noise_std), least, margins.noise_std) / scale
    noise_var = np.clip(std, LEAST_TOLD, MOST_TOLD) ** 2
    posterior = condition(KERNEL, theta, margins.X, scaled(margins.y, offset, scale), noise_var)
    condition_text = "a guess by the data, not proved: two standard deviations of a fitted model"
    belief = Belief(posterior, 2.0, theta, offset, scale, condition_text)
    return OutcomeBelief(margins.name, margins.limit, belief)
