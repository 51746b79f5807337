"""A-GP-TS: Thompson sampling (Chowdhury and Gopalan 2017) on a class that widens.

A function is drawn from GP(μ_t, β_t·k_t) of the class in force, and its maximiser is the next
point. JMLR sec. 6 says that the widening "could also be applied to other no-regret algorithms":
this is one. In a list the draw is exact, and the theorem of docs/theory.md#thompson holds. In a box
the draw uses random features, and no theorem is claimed: a draw of the prior, corrected with the
exact kernel so that it agrees with the data (Wilson et al. 2020, "Efficiently sampling functions
from Gaussian process posteriors"):

    f̃(x) = μ(x) + v·(p(x) − k(x, X)(K + Λ)⁻¹(p(X) + e)),   p ~ GP(0, k),  e ~ N(0, Λ)

has mean μ and covariance v²·k_t exactly if p has covariance k. p(x) = √(2/M) Σ w_i cos(ω_iᵀx/θ +
b_i) has it up to the error of M features, ω from the kernel's spectrum: N(0, I) for the squared
exponential, Student's t with 2ν degrees of freedom for Matérn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noregret.errors import ConfigurationError
from noregret.extensions.randomised_gp_ucb import PRACTICAL, OnBase
from noregret.gp import (
    Kernel,
    Matern,
    Posterior,
    SquaredExponential,
    covariance,
    squared_distances,
    stationary,
    value_and_slope,
)
from noregret.rkhs import RadiusBand
from noregret.search import Acquisition
from noregret.space import Array, SearchSpace
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB, Model
from noregret.strategies.rigorous import RadiusGPUCB
from noregret.trials import Decision, Explanation, History, Proposal

EXACT = 1_000  # designs of a list for which the joint draw is exact
FEATURES = 1_024  # random features of a draw in a box; its error falls with their square root


@dataclass(frozen=True, slots=True)
class AdaptiveThompson(OnBase):
    """The maximiser of a function drawn from the posterior of ``base``.

    Args:
        base: the strategy whose class, width, widening and initial points are used; the draw's
            standard deviation is its width times σ.

    Raises:
        ConfigurationError: a base of another kind.
    """

    base: AdaptiveGPUCB | RadiusGPUCB = replace(PRACTICAL, width=1.0)

    @property
    def proved_theorem(self) -> str:
        return (
            f"docs/theory.md#thompson, in a list of at most {EXACT} designs: the regret bound of"
            " its base times √log of their number, with probability over the draws too. In a box"
            " none: functions are then drawn by features, which is not the posterior exactly."
        )

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        base = self.base
        own, rest = rng.spawn(2)
        if isinstance(base, RadiusGPUCB):

            def drawn(shown: RadiusBand) -> Acquisition:
                at = shown.reference
                return thompson(space, shown.posteriors[at], shown.widths[at], own)

            return base.propose_with(space, history, rest, drawn)

        def of_class(model: Model) -> Acquisition:
            return thompson(space, model.posterior, model.beta_sqrt, own)

        return base.propose_with(space, history, rest, of_class, own, None)

    def explain(self, decision: Decision) -> Explanation:
        rule = "The best point of a function drawn from what is believed."
        return replace(self.base.explain(decision), rule=rule)


def thompson(
    space: SearchSpace, posterior: Posterior, width: float, rng: np.random.Generator
) -> Acquisition:
    """One function drawn from GP(μ, width²·k_t): exact in a short list, by features elsewhere."""
    every = space.enumeration()
    if every is None or len(every) > EXACT:
        path = draw_path(posterior, width, rng)
        return Acquisition(path.values, path.gradients)
    sample = draw_at(*posterior.joint(every), width, rng)  # theory.md#thompson

    def values(A: Array) -> Array:
        if A is not every:
            raise AssertionError("a list is searched as a whole")
        return sample

    return Acquisition(values, lambda A: (values(A), np.zeros_like(A)))


@dataclass(frozen=True, slots=True)
class Path:
    """One drawn function, with its values and gradients anywhere."""

    kernel: Kernel
    lengthscales: Array
    X: Array  # (n, d)
    kernel_weights: Array  # (n,): of k(x, X)
    frequencies: Array  # (M, d), in units of 1/θ
    phases: Array  # (M,)
    feature_weights: Array  # (M,)

    def values(self, A: Array) -> Array:
        k = covariance(self.kernel, self.lengthscales, A, self.X)
        return np.asarray(k @ self.kernel_weights + np.cos(self._angles(A)) @ self.feature_weights)

    def gradients(self, A: Array) -> tuple[Array, Array]:
        """Values, and gradients (m, d) in the rows of A."""
        sq = squared_distances(A, self.X, self.lengthscales)
        k, slope = value_and_slope(self.kernel, sq)
        angles = self._angles(A)
        value = k @ self.kernel_weights + np.cos(angles) @ self.feature_weights
        slope = slope * self.kernel_weights
        by_kernel = A * slope.sum(axis=1)[:, None] - slope @ self.X
        by_features = -(np.sin(angles) * self.feature_weights) @ self.frequencies
        return value, 2.0 / self.lengthscales**2 * by_kernel + by_features / self.lengthscales

    def _angles(self, A: Array) -> Array:
        return np.asarray((A / self.lengthscales) @ self.frequencies.T + self.phases)


def draw_path(
    posterior: Posterior, width: float, rng: np.random.Generator, features: int = FEATURES
) -> Path:
    """f̃ ~ GP(μ, width²·k_t), the prior by so many features. Pending points narrow it."""
    d, scale = posterior.X.shape[1], width * np.sqrt(2.0 / features)
    kernel = stationary(posterior.kernel)
    omega = frequencies(kernel, features, d, rng)
    phases = rng.uniform(0.0, 2 * np.pi, features)
    weights = scale * rng.standard_normal(features)
    none = np.zeros(len(posterior.X))
    path = Path(kernel, posterior.lengthscales, posterior.X, none, omega, phases, weights)
    noise = width * np.sqrt(posterior.noise_var) * rng.standard_normal(len(posterior.X))
    drawn = posterior.factor.solve(path.values(posterior.X) + noise)
    correction = posterior.factor.solve(drawn, transposed=True)
    return replace(path, kernel_weights=posterior.weights - correction)  # theory.md#thompson


def frequencies(kernel: Kernel, count: int, dimension: int, rng: np.random.Generator) -> Array:
    """(count, dimension) draws from the kernel's spectrum at lengthscale 1."""
    omega = rng.standard_normal((count, dimension))
    if isinstance(kernel, SquaredExponential):
        return omega
    if isinstance(kernel, Matern):
        degrees = 2 * kernel.nu
        return np.asarray(omega / np.sqrt(rng.chisquare(degrees, (count, 1)) / degrees))
    raise ConfigurationError(
        f"functions cannot be drawn for {kernel!r}: its spectrum is not known here; use"
        " SquaredExponential or Matern"
    )


def draw_at(mean: Array, cov: Array, width: float, rng: np.random.Generator) -> Array:
    """Exact values ~ N(mean, width²·cov) at finitely many points; rounding below 0 is cut off."""
    spectrum, basis = np.linalg.eigh(cov)
    root = np.sqrt(np.maximum(spectrum, 0.0))
    return np.asarray(mean + width * (basis @ (root * rng.standard_normal(len(mean)))))
