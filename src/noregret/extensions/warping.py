"""Inputs bent so that f looks stationary: Kumaraswamy's function in each number, its two shapes
estimated with the lengthscales (Snoek et al. 2014, which JMLR sec. 4.2 says the widening can be
combined with: here surveys widen the class of the bent inputs).

w(x) = 1 − (1 − x^a)^b maps [0, 1] onto itself, is x at a = b = 1, and stretches one end where a or
b is small. Snoek et al. use the distribution function of the Beta distribution, which looks the
same and has no closed form. A kernel of w(x) is stationary there and not in x.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from noregret.errors import check_range
from noregret.gp import (
    Covariance,
    Evidence,
    Fit,
    Prior,
    composed,
    covariance,
    evidence_weights,
    linalg,
    refit,
)
from noregret.space import Array, Indices
from noregret.strategies.surrogate import FitRequest, Surrogate

WIDEST = 8.0  # shapes lie between 1/8 and 8
# slopes are taken this far inside [0, 1]: for a < 1 or b < 1 they are infinite at the ends
EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class Warped:
    """A kernel of the bent inputs; a, b: one per coordinate."""

    kernel: Covariance
    a: tuple[float, ...]
    b: tuple[float, ...]

    def __post_init__(self) -> None:
        linalg.check_all_positive("a and b", np.array([self.a, self.b]))

    def bent(self, A: Array) -> Array:
        return 1 - (1 - A ** np.array(self.a)) ** np.array(self.b)

    def slope(self, A: Array) -> Array:
        """dw/dx."""
        a, b = np.array(self.a), np.array(self.b)
        x = np.clip(A, EDGE, 1 - EDGE)
        return np.asarray(a * b * x ** (a - 1) * (1 - x**a) ** (b - 1))

    def shape_slopes(self, A: Array) -> tuple[Array, Array]:
        """dw/dlog a and dw/dlog b."""
        a, b = np.array(self.a), np.array(self.b)
        x = np.clip(A, EDGE, 1 - EDGE)
        rest = 1 - x**a
        by_a = b * rest ** (b - 1) * x**a * np.log(x) * a
        by_b = -(rest**b) * np.log(rest) * b
        return np.asarray(by_a), np.asarray(by_b)

    def covariance(self, lengthscales: Array, A: Array, B: Array) -> Array:
        return covariance(self.kernel, lengthscales, self.bent(A), self.bent(B))

    def input_gradient(self, lengthscales: Array, A: Array, B: Array, C: Array) -> Array:
        inner = composed(self.kernel, len(self.a))
        slopes = inner.input_gradient(lengthscales, self.bent(A), self.bent(B), C)
        return slopes * self.slope(A)

    def scale_gradient(self, lengthscales: Array, X: Array, C: Array) -> Array:
        return composed(self.kernel, len(self.a)).scale_gradient(lengthscales, self.bent(X), C)

    def shape_gradient(self, lengthscales: Array, X: Array, C: Array) -> tuple[Array, Array]:
        """Σ_jk C_jk ∂k(X_j, X_k)/∂log a and ∂log b, C symmetric."""
        bent = self.bent(X)
        inner = 2 * composed(self.kernel, len(self.a)).input_gradient(lengthscales, bent, bent, C)
        by_a, by_b = self.shape_slopes(X)
        return (inner * by_a).sum(axis=0), (inner * by_b).sum(axis=0)


@dataclass(frozen=True, slots=True)
class Warping:
    """Inputs bent so that f looks stationary, for ``surrogate=`` of the default.

    Args:
        spread: prior standard deviation of the logarithm of a shape; a shape of 1 is no bend.

    Raises:
        ConfigurationError: a spread that is not positive and finite.
    """

    skip_compression: ClassVar[bool] = True

    spread: float = 0.75

    def __post_init__(self) -> None:
        check_range("spread", self.spread, "(0, ∞)")

    def fit(self, request: FitRequest) -> Surrogate:
        inputs = int(request.inputs.group[-1]) + 1
        bends = np.flatnonzero(~request.inputs.of_choices)  # the coordinates of numbers
        rule = replace(request.rule, prior=ShapePrior(request.rule.prior, inputs, self.spread))
        evidence = WarpedEvidence.of(request.evidence(request.kernel, rule.prior), bends)
        wide, flat = np.full(inputs, np.sqrt(inputs)), np.ones(2 * len(bends))
        lower = np.append(rule.truncation * wide, flat / WIDEST)
        upper = np.append(rule.ceiling * wide, flat * WIDEST)
        fit = refit(evidence, rule, lower, upper, self._last(request, bends), request.rng)
        kernel = Warped(request.kernel, *evidence.shapes(np.log(fit.lengthscales)))
        theta, shapes = fit.lengthscales[:inputs][request.inputs.group], fit.lengthscales[inputs:]
        return Surrogate(kernel, replace(fit, lengthscales=theta), {"shapes": shapes.tolist()})

    def _last(self, request: FitRequest, bends: Indices) -> Fit | None:
        shapes, previous = request.memory.get("shapes"), request.previous
        if previous is None or shapes is None or len(shapes) != 2 * len(bends):
            return None
        first = np.unique(request.inputs.group, return_index=True)[1]
        values = np.concatenate([previous.lengthscales[first], np.array(shapes)])
        return replace(previous, lengthscales=values)


@dataclass(frozen=True, slots=True)
class ShapePrior:
    """The lengthscales' prior for the first ``inputs`` parameters; for shapes log-normal around no
    bend at all.
    """

    prior: Prior
    inputs: int
    spread: float

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
        d = self.inputs
        value, gradient = self.prior.log_density(log_value[:d], d)
        bent = log_value[d:] / self.spread
        return value - 0.5 * float(bent @ bent), np.append(gradient, -bent / self.spread)

    def draw(self, rng: np.random.Generator, size: int, dimension: int) -> Array:
        theta = self.prior.draw(rng, self.inputs, self.inputs)
        shapes = np.exp(self.spread * rng.standard_normal(size - self.inputs))
        return np.append(theta, shapes)

    def center(self, dimension: int) -> Array:
        theta = np.full(self.inputs, self.prior.center(self.inputs))
        return np.append(theta, np.ones(dimension - self.inputs))


@dataclass(frozen=True, slots=True)
class WarpedEvidence(Evidence):
    """φ: log θ per input, log a and log b per bent coordinate, then log λ if it is unknown."""

    group: Indices = None  # type: ignore[assignment]  # a field after one without default
    bends: Indices = None  # type: ignore[assignment]

    @staticmethod
    def of(plain: Evidence, bends: Indices) -> WarpedEvidence:
        shared = {each.name: getattr(plain, each.name) for each in fields(Evidence)}
        return WarpedEvidence(**shared, bends=bends)

    @property
    def inputs(self) -> int:
        return int(self.group[-1]) + 1

    @property
    def dimension(self) -> int:
        return self.inputs + 2 * len(self.bends)

    def shapes(self, phi: Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """a and b of every coordinate."""
        both = np.ones((2, self.X.shape[1]))
        both[:, self.bends] = np.exp(phi[self.inputs : self.dimension]).reshape(2, -1)
        return tuple(both[0].tolist()), tuple(both[1].tolist())

    def log_evidence(self, phi: Array, noise_var: Array) -> tuple[float, Array, Array]:
        d = self.inputs
        kernel, theta = Warped(self.kernel, *self.shapes(phi)), np.exp(phi[:d])[self.group]
        value, W, by_noise = evidence_weights(
            kernel, theta, self.X, self.y, noise_var, kriging=self.kriging
        )
        by_theta = np.bincount(self.group, kernel.scale_gradient(theta, self.X, W), d)
        by_shape = np.stack(kernel.shape_gradient(theta, self.X, W))[:, self.bends].ravel()
        return value, np.append(by_theta, by_shape), by_noise
