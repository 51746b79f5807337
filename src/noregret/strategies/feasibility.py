"""The probability that an evaluation succeeds: that it does not fail, and that it meets every
outcome constraint.

Each condition is a Gaussian process with a threshold; log P and its gradient multiply into the
acquisition (Gardner et al. 2014, Ament et al. 2023). Failures are labels 0 and 1. An outcome is its
margin y, feasible where y ≥ 0, on a scale that is fine around 0: asinh(y/s), s the median of |y|.
As smooth as y itself, unlike the bilog of Eriksson and Poloczek 2021. docs/decisions/0029
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import erfcx, expit, log_ndtr, ndtr

from noregret.gp import (
    MAP,
    Evidence,
    Fit,
    LogNormal,
    Matern,
    Posterior,
    averaged,
    condition,
    fit_inputs,
    log_evidence_gradient,
)
from noregret.search import Acquisition, argmax
from noregret.space import Array, Indices, Mask, SearchSpace
from noregret.strategies.base import Belief, OutcomeBelief, Record, records_of
from noregret.strategies.data import scaled, standard_units
from noregret.trials import History, Margins, OutcomeDecision

KERNEL = Matern(2.5)
LENGTHSCALES = LogNormal(math.sqrt(2), math.sqrt(3), dimension_scaled=True)
# One start: labels are a few dozen numbers, and the fit is made at every ask.
FAILURES = MAP(prior=LENGTHSCALES, noise_prior=LogNormal(-2.0, 2.0), starts=1)
# Fewer starts and rarer searches than for the objective: there may be many outcomes.
OUTCOMES = MAP(
    prior=LENGTHSCALES,
    noise_prior=LogNormal(-6.0, 3.0),
    ceiling=3.0,
    starts=2,
    patience=1.25,
    refresh=1.1,
)
TOLERANCE = 1e-5  # of these fits: relative gain in log posterior below which L-BFGS stops
LEAST_CHANCE = 1e-12  # floor of P(no failure), so that it has a logarithm
LEAST_SPREAD = 1e-6  # floor of the std of the transformed margins
LARGEST_LOG = 600.0  # argument beyond which sinh overflows
LEAST_GAIN = 0.1  # floor of a gain over a failure, in model units, before its logarithm
CAUTION = 0.5  # added to the exponent of P(feasible) for each consecutive violation
NOISE_RANGE = 1e-5, 1e5  # of a told noise std, in model units


@dataclass(frozen=True, slots=True)
class FailureModel:
    """P(no failure at x) = 1 − w Φ((μ(x) − ½)/√(σ²(x) + λ)) − (1 − w)·rate.

    w is the posterior probability that failures depend on x: evidence of the fitted process against
    that of a constant rate. Crashes by chance then exclude nothing; a region that fails is avoided.
    """

    posterior: Posterior
    noise_var: float
    threshold: float  # ½ in the model's units
    depends: float  # w
    rate: float  # of failures, by Laplace's rule

    @staticmethod
    def fit(succeeded: Array, failed: Array, group: Indices) -> FailureModel:
        X = np.vstack([succeeded, failed])
        label = np.append(np.zeros(len(succeeded)), np.ones(len(failed)))
        n, rate = len(label), float(label.mean())
        spread = max(math.sqrt(rate * (1 - rate)), 1e-3)
        z = (label - rate) / spread
        evidence = Evidence(
            KERNEL,
            X,
            z,
            np.full(n, np.nan),
            FAILURES.prior,
            FAILURES.noise_prior,
            kriging=True,
            group=group,
        )
        fit = fit_inputs(evidence, FAILURES, None, np.random.default_rng(0), TOLERANCE)
        noise = np.full(n, fit.noise_var)
        of_place = log_evidence_gradient(KERNEL, fit.lengthscales, X, z, noise, kriging=True)[0]
        # independent labels of variance 1 around an unknown mean
        of_chance = -0.5 * float(z @ z) - 0.5 * n * math.log(2 * math.pi)
        of_chance += 0.5 * math.log(2 * math.pi / n)
        # fitted lengthscales are charged as in the Bayesian information criterion
        odds = of_place - of_chance - 0.5 * evidence.dimension * math.log(n)
        posterior = condition(KERNEL, fit.lengthscales, X, z, noise, kriging=True)
        rate_after = (len(failed) + 1) / (n + 2)
        threshold = (0.5 - rate) / spread
        return FailureModel(posterior, fit.noise_var, threshold, float(expit(odds)), rate_after)

    def chance(self, A: Array) -> Array:
        """P(no failure) at the rows of A."""
        mean, std = self.posterior.predict(A)
        return self._success((mean - self.threshold) / np.sqrt(std**2 + self.noise_var))

    def _success(self, u: Array) -> Array:
        failure = self.depends * ndtr(u) + (1 - self.depends) * self.rate
        return np.asarray(np.maximum(1 - failure, LEAST_CHANCE))

    def log_chance(self, A: Array) -> Array:
        return np.log(self.chance(A))

    def gradients(self, A: Array) -> tuple[Array, Array]:
        """log P(no failure) and its gradient."""
        mean, std, dmean, dstd = self.posterior.predict_gradients(A)
        total = np.sqrt(std**2 + self.noise_var)
        u = (mean - self.threshold) / total
        du = dmean / total[:, None] - (u * std / total**2)[:, None] * dstd
        density = np.exp(-0.5 * u**2) / math.sqrt(2 * math.pi)
        p = self._success(u)
        return np.log(p), -self.depends * (density / p)[:, None] * du


@dataclass(frozen=True, slots=True)
class MarginScale:
    """Margins as the model sees them: z = (asinh(y/unit) − offset)/spread."""

    unit: float
    offset: float
    spread: float

    @staticmethod
    def of(y: Array) -> MarginScale:
        unit = float(np.median(np.abs(y))) or float(np.max(np.abs(y))) or 1.0
        u = np.arcsinh(y / unit)
        return MarginScale(unit, float(np.mean(u)), max(float(np.std(u)), LEAST_SPREAD))

    def forward(self, y: Array) -> Array:
        return np.asarray((np.arcsinh(y / self.unit) - self.offset) / self.spread)

    def inverse(self, z: Array) -> Array:
        u = np.clip(self.offset + self.spread * z, -LARGEST_LOG, LARGEST_LOG)
        return np.asarray(self.unit * np.sinh(u))

    def slope(self, y: Array) -> Array:
        return np.asarray(1 / (self.spread * np.hypot(self.unit, y)))

    @property
    def limit(self) -> float:
        """The margin 0 in model units."""
        return -self.offset / self.spread


@dataclass(frozen=True, slots=True)
class OutcomeModel:
    """One outcome: P(feasible) = Φ((μ − limit)/σ)."""

    margins: Margins
    scale: MarginScale
    posterior: Posterior
    fitted: Fit
    noise_var: float

    @staticmethod
    def fit(
        margins: Margins,
        unknown: Array,
        group: Indices,
        previous: Fit | None,
        rng: np.random.Generator,
    ) -> OutcomeModel:
        """unknown: pending and failed points, which count in the variance only."""
        scale = MarginScale.of(margins.y)
        z = scale.forward(margins.y)
        with np.errstate(over="ignore", under="ignore"):
            std = np.clip(margins.noise_std * scale.slope(margins.y), *NOISE_RANGE)
        told = np.where(np.isnan(margins.noise_std), np.nan, std**2)
        prior, noise_prior = OUTCOMES.prior, OUTCOMES.noise_prior
        evidence = Evidence(KERNEL, margins.X, z, told, prior, noise_prior, group=group)
        fit = fit_inputs(evidence, OUTCOMES, previous, rng, TOLERANCE)
        common = fit.noise_var if math.isfinite(fit.noise_var) else float(np.nanmedian(told))
        noise = np.where(np.isnan(told), common, told)
        posterior = condition(KERNEL, fit.lengthscales, margins.X, z, noise, unknown, common)
        return OutcomeModel(margins, scale, posterior, fit, common)

    def log_chance(self, A: Array) -> Array:
        mean, std = self.posterior.predict(A)
        return np.asarray(log_ndtr((mean - self.scale.limit) / std))

    def gradients(self, A: Array) -> tuple[Array, Array]:
        """log P(feasible) and its gradient."""
        mean, std, dmean, dstd = self.posterior.predict_gradients(A)
        u = (mean - self.scale.limit) / std
        # d log Φ/du = φ/Φ = √(2/π)/erfcx(−u/√2): no difference of large logarithms
        ratio = math.sqrt(2 / math.pi) / erfcx(-u / math.sqrt(2))
        du = (dmean - u[:, None] * dstd) / std[:, None]
        return np.asarray(log_ndtr(u)), ratio[:, None] * du

    def decision(self, x: Array) -> OutcomeDecision:
        """What is recorded of x: the forecast in the outcome's units, as median and half the
        distance between the one-sigma quantiles.
        """
        mean, std = (float(part[0]) for part in self.posterior.predict(x[None, :]))
        low, middle, high = self.scale.inverse(np.array([mean - std, mean, mean + std])).tolist()
        at_limit = float(self.scale.slope(np.zeros(1))[0])
        return OutcomeDecision(
            name=self.margins.name,
            mean=self.margins.in_values(middle),
            std=(high - low) / 2,
            chance=float(np.exp(self.log_chance(x[None, :])[0])),
            lengthscales=tuple(self.fitted.lengthscales.tolist()),
            noise_var=self.noise_var,
            noise_std=math.sqrt(self.noise_var) / at_limit,
            searched=self.fitted.searched,
            improved=self.fitted.improved,
        )

    def belief(self) -> OutcomeBelief:
        """The fitted model in the margin's own units, with a band of two standard deviations."""
        margins, theta = self.margins, self.fitted.lengthscales
        offset, scale = standard_units(margins.y)
        least = math.sqrt(self.noise_var) / float(self.scale.slope(np.zeros(1))[0])
        told = np.clip(margins.noise_std / scale, *NOISE_RANGE) ** 2
        common = float(np.clip(least / scale, *NOISE_RANGE)) ** 2
        noise_var = np.where(np.isnan(told), common, told)
        y = scaled(margins.y, offset, scale)
        posterior = condition(KERNEL, theta, margins.X, y, noise_var)
        mixture = partial(averaged, KERNEL, theta, margins.X, y, told, common, kriging=False)
        words = "a guess by the data, not proved: two standard deviations of a fitted model"
        belief = Belief(posterior, 2.0, theta, offset, scale, words, mixture=cache(mixture))
        return OutcomeBelief(margins.name, margins.limit, belief)


@dataclass(frozen=True, slots=True)
class SuccessModel:
    """The product of all conditions, taken as independent given the point. Without failures and
    outcome constraints it is 1, and ``is_certain``.
    """

    failures: FailureModel | None = None
    outcomes: tuple[OutcomeModel, ...] = ()
    consecutive_violations: int = 0  # of outcome constraints, by the last evaluations

    @staticmethod
    def fit(history: History, group: Indices, rng: np.random.Generator) -> SuccessModel:
        failures = None
        if len(history.failed) and len(history.X):
            failures = FailureModel.fit(history.X, history.failed, group)
        told = [margins for margins in history.outcomes if len(margins.y)]
        if not told:
            return SuccessModel(failures)
        unknown = np.vstack([history.pending, history.failed])
        earlier = previous_fits(history)
        models = tuple(
            OutcomeModel.fit(margins, unknown, group, earlier.get(margins.name), stream)
            for margins, stream in zip(told, rng.spawn(len(told)), strict=True)
        )
        return SuccessModel(failures, models, consecutive_violations(told))

    @property
    def is_certain(self) -> bool:
        return self.failures is None and not self.outcomes

    def chance(self, A: Array) -> Array:
        """P(success) at the rows of A."""
        return np.asarray(np.exp(self._acquisition(1.0).values(A)))

    @property
    def log(self) -> Acquisition:
        """log P(success). After each consecutive violation the outcomes weigh more: their models
        are overconfident there.
        """
        return self._acquisition(1 + CAUTION * self.consecutive_violations)

    def _acquisition(self, power: float) -> Acquisition:
        weighted: list[tuple[float, FailureModel | OutcomeModel]] = [
            (power, model) for model in self.outcomes
        ]
        if self.failures is not None:
            weighted.append((1.0, self.failures))

        def values(A: Array) -> Array:
            total = np.zeros(len(A))
            for weight, model in weighted:
                total += weight * model.log_chance(A)
            return total

        def gradients(A: Array) -> tuple[Array, Array]:
            total, slope = np.zeros(len(A)), np.zeros(A.shape)
            for weight, model in weighted:
                value, rise = model.gradients(A)
                total += weight * value
                slope += weight * rise
            return total, slope

        return Acquisition(values, gradients, is_log=True)

    def met(self, X: Array) -> Mask:
        """Where every outcome constraint is more likely met than not."""
        each = [model.log_chance(X) >= math.log(0.5) for model in self.outcomes]
        return np.all(each, axis=0) if each else np.ones(len(X), dtype=np.bool_)

    def merit(self, X: Array, mean: Array) -> Array:
        """An order of points: by their mean where the constraints are likely met, below them by
        the probability to meet them.
        """
        if not self.outcomes:
            return mean
        below = SuccessModel(outcomes=self.outcomes)._acquisition(1.0).values(X)
        return np.where(self.met(X), mean - mean.min(), below - 1)

    def least_known(self, x: Array) -> float:
        """The largest std of a margin at x, in model units; 0 without outcomes."""
        stds = [float(model.posterior.predict(x[None, :])[1][0]) for model in self.outcomes]
        return max(stds, default=0.0)

    def search(self, space: SearchSpace, rng: np.random.Generator) -> Array:
        """The most likely feasible point, for as long as no value exists."""
        X = self.outcomes[0].margins.X
        top = X[np.argsort(-self.chance(X), kind="stable")[:3]]
        theta = np.min([model.fitted.lengthscales for model in self.outcomes], axis=0)
        return argmax(self.log, space, theta, rng, top, np.empty((0, space.dimension)))

    def recorded(self, x: Array) -> dict[str, Any]:
        """What a decision for x records."""
        fields: dict[str, Any] = {}
        if self.failures is not None:
            fields["chance_of_failing"] = 1 - float(self.failures.chance(x[None, :])[0])
        if self.outcomes:
            outcomes = SuccessModel(outcomes=self.outcomes)
            fields["outcomes"] = tuple(model.decision(x) for model in self.outcomes)
            fields["chance_feasible"] = float(outcomes.chance(x[None, :])[0])
        return fields


def consecutive_violations(outcomes: Sequence[Margins]) -> int:
    """How many of the last evaluations in a row violated a constraint; 0 while none was feasible.
    A constraint added later was measured at the last points only.
    """
    least = min(len(margins.y) for margins in outcomes)
    met = np.all([margins.y[-least:] >= 0 for margins in outcomes], axis=0)
    return int(np.argmax(met[::-1])) if met.any() else 0


def previous_fits(history: History) -> Mapping[str, Fit]:
    """The last recorded fit of each outcome."""
    last = next((each.outcomes for each in records_of(Record, history) if each.outcomes), ())
    return {
        o.name: Fit(np.array(o.lengthscales), float(o.noise_var), o.searched, o.improved)
        for o in last
        if o.noise_var is not None
    }


def log_above(gain: Acquisition, worst: float) -> Acquisition:
    """log(gain − worst): what an evaluation that may fail gains over a failure, which is worth as
    little as the worst value.
    """

    def gradients(A: Array) -> tuple[Array, Array]:
        value, slope = gain.gradients(A)
        excess = np.maximum(value - worst, LEAST_GAIN)
        return np.log(excess), slope / excess[:, None]

    return Acquisition(
        lambda A: np.log(np.maximum(gain.values(A) - worst, LEAST_GAIN)), gradients, is_log=True
    )


def product_of(first: Acquisition, second: Acquisition) -> Acquisition:
    """The product of two gains whose logarithms are given."""

    def gradients(A: Array) -> tuple[Array, Array]:
        (value, slope), (other, rise) = first.gradients(A), second.gradients(A)
        return value + other, slope + rise

    return Acquisition(lambda A: first.values(A) + second.values(A), gradients, is_log=True)
