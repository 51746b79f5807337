"""Priors of a positive quantity, as densities of log-parameters need them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from noregret.errors import check_range
from noregret.space import Array


class Prior(Protocol):
    """Of ``dimension`` positive parameters; what follows is per parameter, or for all of them."""

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
        """log p(v) up to a constant, of v = exp(log_value), and its gradient in log v."""

    def draw(self, rng: np.random.Generator, size: int, dimension: int) -> Array: ...
    def center(self, dimension: int) -> float | Array: ...


@dataclass(frozen=True, slots=True)
class Gamma:
    """Gamma(shape, rate), mean shape/rate. The paper's experiments: shape 2, rate 10 on the unit
    cube (theory.md#estimation).
    """

    shape: float = 2.0
    rate: float = 10.0

    def __post_init__(self) -> None:
        check_range("the shape of Gamma", self.shape, "(0, ∞)")
        check_range("the rate of Gamma", self.rate, "(0, ∞)")

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
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
        check_range("the location of LogNormal", self.location, "(-∞, ∞)")
        check_range("the scale of LogNormal", self.scale, "(0, ∞)")

    def _location(self, dimension: int) -> float | Array:
        return self.location + (0.5 * math.log(dimension) if self.dimension_scaled else 0.0)

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
        standard = (log_value - self._location(dimension)) / self.scale
        return float(np.sum(-0.5 * standard**2 - log_value)), -standard / self.scale - 1.0

    def draw(self, rng: np.random.Generator, size: int, dimension: int) -> Array:
        return np.exp(self._location(dimension) + self.scale * rng.standard_normal(size))

    def center(self, dimension: int) -> float:
        return math.exp(float(np.mean(self._location(dimension))))


@dataclass(frozen=True, slots=True)
class HalfCauchy:
    """Sparse relevance: the inverse squared lengthscale ρ = 1/v² is half-Cauchy around ``scale``.

    Eriksson and Jankowiak 2021 (SAAS) sample it with a scale that is half-Cauchy itself. At the
    maximum that scale would be 0, all inputs irrelevant; so here it is given.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_range("the scale of HalfCauchy", self.scale, "(0, ∞)")

    def log_density(self, log_value: Array, dimension: int) -> tuple[float, Array]:
        """log p(ρ) up to a constant, of ρ = exp(−2 log_value), and its gradient in log v."""
        squared = (np.exp(-2 * log_value) / self.scale) ** 2
        return -float(np.sum(np.log1p(squared))), 4 * squared / (1 + squared)

    def draw(self, rng: np.random.Generator, size: int, dimension: int) -> Array:
        rho = self.scale * np.tan(np.pi / 2 * rng.uniform(0.01, 0.99, size))
        return np.asarray(rho**-0.5)

    def center(self, dimension: int) -> float:
        return float(self.scale**-0.5)
