"""Priors of a positive quantity, as densities of log-parameters need them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret.errors import ConfigurationError
from noregret.space import Array


@dataclass(frozen=True, slots=True)
class Gamma:
    """Gamma(shape, rate), mean shape/rate. The paper's experiments: shape 2, rate 10 on the unit
    cube (theory.md#estimation).
    """

    shape: float = 2.0
    rate: float = 10.0

    def __post_init__(self) -> None:
        if not (0 < self.shape < math.inf and 0 < self.rate < math.inf):
            raise ConfigurationError(f"Gamma needs a positive shape and rate, got {self}")

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
        """log p(v) up to a constant, of v = exp(log_value), and its gradient in log v."""
        value = np.exp(log_value)
        return (
            float(np.sum((self.shape - 1) * log_value - self.rate * value)),
            (self.shape - 1) - self.rate * value,
        )

    def draw(self, rng: np.random.Generator, size: int, dimension: int) -> Array:
        return rng.gamma(self.shape, 1 / self.rate, size)

    def center(self, dimension: int) -> float:
        return self.shape / self.rate


@dataclass(frozen=True, slots=True)
class LogNormal:
    """log v ~ N(location, scale²); with dimension_scaled the location grows by ½ log d (Hvarfner et
    al. 2024).
    """

    location: float = 0.0
    scale: float = 1.0
    dimension_scaled: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.location) and 0 < self.scale < math.inf):
            raise ConfigurationError(
                f"LogNormal needs a finite location and a positive scale, got {self}"
            )

    def _location(self, dimension: int) -> float:
        return self.location + (0.5 * math.log(dimension) if self.dimension_scaled else 0.0)

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
        """log p(v) up to a constant, of v = exp(log_value), and its gradient in log v."""
        standard = (log_value - self._location(dimension)) / self.scale
        return float(np.sum(-0.5 * standard**2 - log_value)), -standard / self.scale - 1.0

    def draw(self, rng: np.random.Generator, size: int, dimension: int) -> Array:
        return np.exp(self._location(dimension) + self.scale * rng.standard_normal(size))

    def center(self, dimension: int) -> float:
        return math.exp(self._location(dimension))


SCALES = np.geomspace(1e-4, 10.0, 41)  # of τ: the largest of a smooth curve, to a percent


@dataclass(frozen=True, slots=True)
class HalfCauchy:
    """Sparse relevance: ρ = 1/v² is half-Cauchy around τ, and τ around ``scale``, both as densities
    of their logarithms: log(ρ/τ) and log(τ/scale) have density 1/cosh up to a constant. Eriksson
    and Jankowiak 2021 sample from it; here τ is at its best for the ρ at hand.

    As densities of ρ and τ themselves the maximum would be at τ = 0: all inputs irrelevant.
    """

    scale: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.scale < math.inf:
            raise ConfigurationError(f"HalfCauchy needs a positive scale, got {self}")

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
        """log p up to a constant, of v = exp(log_value), and its gradient in log v: a maximum over
        τ, so τ's own slope does not count.
        """
        apart = -2 * log_value[None, :] - np.log(SCALES)[:, None]  # log(ρ/τ)
        value = -np.logaddexp(apart, -apart).sum(axis=1)
        own = np.log(SCALES / self.scale)
        value -= np.logaddexp(own, -own)
        at = int(np.argmax(value))
        return float(value[at]), 2 * np.tanh(apart[at])

    def draw(self, rng: np.random.Generator, size: int, dimension: int) -> Array:
        tau = self.scale * np.exp(np.clip(rng.standard_cauchy(), -3.0, 3.0))
        log_ratio = np.log(np.tan(np.pi / 2 * rng.uniform(0.01, 0.99, size)))
        return np.asarray((tau * np.exp(log_ratio)) ** -0.5)

    def center(self, dimension: int) -> float:
        return float(self.scale**-0.5)


Prior = Gamma | LogNormal | HalfCauchy
