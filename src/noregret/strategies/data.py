"""Values as a model sees them: offset, scale, compression, and the noise variance per point.

``standardise`` is what a theorem allows: a fixed offset, or mean 0 and std 1 of all values.
``standardise_robustly`` is the default's: neither a disaster nor the search itself sets the scale.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.spatial import KDTree

from noregret.gp import (
    Covariance,
    Evidence,
    Posterior,
    PosteriorMixture,
    Prior,
    averaged,
    condition,
)
from noregret.search import low_discrepancy
from noregret.space import Array, SearchSpace, spread_points
from noregret.trials import History

LARGEST = sys.float_info.max
SMALLEST = 5e-324  # the smallest positive number
SAME = 2e-15  # relative difference below which values differ by rounding alone
# Range of a given noise std in the model's units. Below it the covariance matrix is not positive
# definite in double precision; a noise bound stays one when it is raised.
LEAST_NOISE = 1e-5
TOLD = (LEAST_NOISE, 1e150)
TOLD_STANDARDISED = (LEAST_NOISE, 1e15)
FARTHEST = 1e100  # in the model's units: the squares of larger values would overflow
FENCE = 4.0  # spreads of the good half below the median: worse values count as this bad
CLOUD = 512  # points that stand for the whole space


@dataclass(frozen=True, slots=True)
class Compression:
    """z ↦ z above the average, −log(1 − z) below, then back to mean 0 and std 1; once per (mean,
    std) in ``passes``.

    Very bad values no longer set the scale on which good ones differ. Increasing, smooth at 0,
    linear above the average.
    """

    passes: tuple[tuple[float | Array, float | Array], ...] = ()  # arrays: one entry per value

    @staticmethod
    def fitted(z: Array, count: int, weights: Array | None = None) -> Compression:
        passes: list[tuple[float | Array, float | Array]] = []
        for _ in range(count):
            z = _bend(z)
            mean, std = standard_units(z, weights)
            passes.append((mean, std))
            z = (z - mean) / std
        return Compression(tuple(passes))

    def forward(self, z: Array) -> Array:
        for mean, std in self.passes:
            z = (_bend(z) - mean) / std
        return z

    def slope(self, z: Array) -> Array:
        """d forward/dz: by how much noise shrinks or grows."""
        slope = np.ones_like(z)
        for mean, std in self.passes:
            slope, z = slope / (1 - np.minimum(z, 0.0)) / std, (_bend(z) - mean) / std
        return slope

    def inverse(self, y: Array) -> Array:
        with np.errstate(over="ignore"):  # far below everything seen: −∞ is the right answer
            for mean, std in reversed(self.passes):
                y = mean + std * y
                y = np.where(y < 0, -np.expm1(-np.minimum(y, 0.0)), y)
        return y


def _bend(z: Array) -> Array:
    return np.where(z < 0, -np.log1p(-np.minimum(z, 0.0)), z)


def standard_units(values: Array, weights: Array | None = None) -> tuple[float, float]:
    """Mean and standard deviation, safe from overflow; scale 1 where the values do not differ.
    weights: how much each value counts; None: all the same.
    """
    largest = float(np.max(np.abs(values)))
    if largest == 0:
        return 0.0, 1.0
    scaled = values / largest
    if weights is None:
        mean, std = float(np.mean(scaled)), float(np.std(scaled))
    else:
        mean = float(np.average(scaled, weights=weights))
        std = float(np.sqrt(np.average((scaled - mean) ** 2, weights=weights)))
    if std <= SAME:
        return mean * largest, max(largest if len(values) == 1 else 1e-6 * largest, SMALLEST)
    return mean * largest, max(std * largest, SMALLEST)


@dataclass(frozen=True, slots=True)
class ModelData:
    """X (n, d), y (n,) = (value − offset)/scale, then compressed; told (n,) noise variances with
    NaN where unknown, common noise variance or NaN. ``stand_ins`` rows at the end of X, y are
    failed points, taken as bad as the worst value seen.
    """

    X: Array
    y: Array
    told: Array
    common: float
    pending: Array
    offset: float
    scale: float
    stand_ins: int
    compression: Compression = Compression()

    def in_values(self, mean: float, std: float) -> tuple[float, float]:
        """A prediction in the values' units: median, and half the distance of its one-sigma
        quantiles.
        """
        if not self.compression.passes:
            return number(self.offset + self.scale * mean), number(self.scale * std)
        low, middle, high = self.compression.inverse(
            np.array([mean - std, mean, mean + std])
        ).tolist()
        return number(self.offset + self.scale * middle), number(self.scale * (high - low) / 2)

    def noise_in_values(self, noise_var: float) -> float:
        """The std of a noise variance, where values are good: above the average."""
        return float(np.sqrt(noise_var)) * self.scale / float(self.compression.slope(np.ones(1))[0])

    def evidence(self, kernel: Covariance, prior: Prior, noise_prior: Prior) -> Evidence:
        n = len(self.X) - self.stand_ins
        return Evidence(kernel, self.X[:n], self.y[:n], self.told[:n], prior, noise_prior)

    def known_noise(self, estimated: float) -> tuple[Array, float]:
        """The noise variance of each point and of a point to come: given, or estimated, or as told
        of a typical point if all were told.
        """
        common = self.common if np.isfinite(self.common) else estimated
        if not np.isfinite(common):
            common = float(np.nanmedian(self.told))
        return np.where(np.isnan(self.told), common, self.told), float(common)

    def condition(
        self, kernel: Covariance, lengthscales: Array, noise_var: float, *, kriging: bool = False
    ) -> Posterior:
        per_point, common = self.known_noise(noise_var)
        unknown = self.pending
        return condition(
            kernel, lengthscales, self.X, self.y, per_point, unknown, common, kriging=kriging
        )

    def mixture(
        self, kernel: Covariance, lengthscales: Array, noise_var: float
    ) -> Callable[[], PosteriorMixture]:
        """Computes the mixture around a fitted class when it is called, once."""
        _, common = self.known_noise(noise_var)
        return cache(partial(averaged, kernel, lengthscales, self.X, self.y, self.told, common))

    def fitted_mean(self, posterior: Posterior) -> Array:
        """μ at the evaluated points: K w = y − Λ w."""
        n = posterior.observed
        return np.asarray(self.y - posterior.noise_var[:n] * posterior.weights[:n])

    def recommended_bound(
        self, posterior: Posterior, fitted: Array, beta_sqrt: float
    ) -> float | None:
        """The lower bound at the evaluated point with the best mean, in the values' units: the
        lower end of the certificate at this step.
        """
        mean, std = posterior.predict(self.X[[int(np.argmax(fitted))]])
        lower = self.in_values(float(mean[0] - beta_sqrt * std[0]), 0.0)[0]
        return lower if abs(lower) < LARGEST else None  # a compressed scale has no −∞


def number(value: float) -> float:
    """As a float can hold it: a forecast beyond ±1.8e308 is the last number there is."""
    return min(max(value, -LARGEST), LARGEST)


def unit_for(y: Array, unit: float) -> float:
    """``unit``, raised where values lie more than ``FARTHEST`` of it away from zero."""
    return max(unit, float(np.max(np.abs(y), initial=0.0)) / FARTHEST)


def noise_var_of(noise_std: float, standardised: bool) -> float:
    """The variance of a given noise std, both in the model's units and within their range."""
    least, most = TOLD_STANDARDISED if standardised else TOLD
    return min(max(noise_std, least), most) ** 2


def scaled(y: Array, offset: float, scale: float) -> Array:
    with np.errstate(over="ignore"):
        apart = y - offset
    return apart / scale if np.isfinite(apart).all() else y / scale - offset / scale


def standardise(
    history: History,
    *,
    rescale: bool,
    offset: float,
    noise_std: float | None,
    regulariser: float | None,
) -> ModelData:
    """The data as the model sees them.

    Args:
        history: What was observed.
        rescale: Whether values are rescaled to mean 0 and std 1, which no theorem allows.
        offset: A fixed prior mean in the values' units, used without ``rescale``.
        noise_std: Of every value whose noise was not told; None: to be estimated.
        regulariser: λ of a value with ``noise_std``; None: its variance.
    """
    X, y, told_std = history.X, history.y, history.noise_std
    scale, offset = 1.0, history.sign * offset  # given in the values' sign
    if rescale:
        offset, scale = standard_units(y)
    else:
        scale = unit_for(y, 1.0)
    y = scaled(y, offset, scale)
    common = np.nan  # of a point to come
    if noise_std is not None:
        common = regulariser or noise_var_of(noise_std / scale, rescale)
    # told noise R_i goes with λ_i = λ·(R_i/R)², so that R_i²/λ_i is the same for every point:
    # docs/decisions/0007
    unit = scale if noise_std is None or regulariser is None else noise_std / np.sqrt(regulariser)
    least, most = TOLD_STANDARDISED if rescale else TOLD
    with np.errstate(over="ignore", under="ignore"):
        ratio = np.clip(told_std / unit, least, most)
    told = np.where(np.isnan(told_std), common, ratio**2)
    stand_ins = 0
    if rescale and len(history.failed):
        stand_ins = len(history.failed)
        X, y = np.vstack([X, history.failed]), np.append(y, np.full(stand_ins, y.min()))
        told = np.append(told, np.full(stand_ins, common))
    return ModelData(X, y, told, common, history.pending, offset, scale, stand_ins)


def cloud_of(space: SearchSpace, seed: int) -> Array:
    """Points that stand for the whole space."""
    rng = np.random.default_rng(seed)
    every = space.enumeration()
    if every is None:
        return spread_points(space, low_discrepancy(CLOUD, space.dimension, rng))
    return every[rng.permutation(len(every))[:CLOUD]]


def voronoi_weights(space: SearchSpace, X: Array) -> Array:
    """The part of the space that is nearest to each point: polygonal declustering (Isaaks and
    Srivastava 1989). Equal points share theirs.
    """
    every = space.whole.enumeration()  # without fixed inputs and context
    if every is None:
        cloud = cloud_of(space.whole, 0)
    else:  # drawn, not shuffled: a list may be long, and this is done at every ask
        cloud = every[np.random.default_rng(0).integers(len(every), size=CLOUD)]
    points, row, count = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    nearest = KDTree(points).query(cloud)[1]
    part = np.bincount(nearest, minlength=len(points)) / CLOUD
    return np.asarray((part / count)[row.ravel()])


def weighted_median(values: Array, weights: Array) -> float:
    """The smallest value with half of the weight at or below it. No arithmetic: values may be of
    any size.
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return float(values[order][int(np.searchsorted(below, 0.5 * below[-1]))])


def spread_above(values: Array, weights: Array, middle: float) -> float:
    """Root mean square distance from the middle of the values above it, which have half of the
    weight.
    """
    with np.errstate(over="ignore"):
        above = np.maximum(values - middle, 0.0)
    largest = float(above.max())
    if not 0 < largest < np.inf:
        return largest
    return largest * float(np.sqrt(2 * weights @ (above / largest) ** 2))


def standardise_robustly(
    history: History, space: SearchSpace, noise_std: float | None, *, compress: bool
) -> ModelData:
    """The data as the model sees them. Failed points have no value: they count as points under way
    do, in the variance and not in the mean, so that curiosity alone does not lead there again.

    Median, mean and std are those of f over the space: a value counts for the part of it that is
    nearest (``voronoi_weights``). A search piles its points up at the best place; each counting the
    same, its own success would make of a good value an average one. Values more than FENCE spreads
    of the good half below the median are moved there: a loss that diverges says "bad here", and
    sets neither scale nor noise nor lengthscales. Good values have no fence: they are what is
    looked for.
    """
    weights = voronoi_weights(space, history.X)
    median = weighted_median(history.y, weights)
    spread = spread_above(history.y, weights, median)
    with np.errstate(over="ignore"):
        kept = np.maximum(history.y, median - FENCE * spread) if spread > 0 else history.y
    offset, scale = standard_units(kept, weights)
    z = scaled(kept, offset, scale)
    compression = Compression.fitted(z, int(compress), weights)
    above = float(compression.slope(np.ones(1))[0])  # of a value to come: as above the average
    common = np.nan if noise_std is None else noise_var_of(noise_std / scale * above, True)
    least, most = TOLD_STANDARDISED
    with np.errstate(over="ignore", under="ignore"):
        ratio = np.clip(history.noise_std / scale * compression.slope(z), least, most)
    told = np.where(np.isnan(history.noise_std), common, ratio**2)
    unknown = np.vstack([history.pending, history.failed, history.without_value])
    y = compression.forward(z)
    return ModelData(history.X, y, told, common, unknown, offset, scale, 0, compression)
