"""A history in the model's units: offset and scale of the values, noise variance per point."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from noregret.gp import Covariance, Evidence, Posterior, Prior, condition
from noregret.space import Array
from noregret.strategies.compression import Compression, standard_units
from noregret.trials import History

LARGEST = sys.float_info.max
# Range of a given noise std in the model's units. Below it the covariance matrix is not positive
# definite in double precision; a noise bound stays one when it is raised.
LEAST_NOISE = 1e-5
TOLD = (LEAST_NOISE, 1e150)
TOLD_STANDARDISED = (LEAST_NOISE, 1e15)
FARTHEST = 1e100  # in the model's units: the squares of larger values would overflow


@dataclass(frozen=True, slots=True)
class Frame:
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


def frame(
    history: History,
    *,
    standardise: bool,
    offset: float,
    noise_std: float | None,
    regulariser: float | None,
    compress: int = 0,
) -> Frame:
    """The data as the model sees them. noise_std None: to be estimated. compress: how often bad
    values are compressed.
    """
    X, y, told_std = history.X, history.y, history.noise_std
    scale, offset = 1.0, history.sign * offset  # given in the values' sign
    if standardise:
        offset, scale = standard_units(y)
    else:
        scale = unit_for(y, 1.0)
    y = scaled(y, offset, scale)
    compression = Compression.fitted(y, compress)
    slope = compression.slope(y)
    common = np.nan  # of a point to come: as above the average
    if noise_std is not None:
        above = float(compression.slope(np.ones(1))[0])
        common = regulariser or noise_var_of(noise_std / scale * above, standardise)
    # told noise R_i goes with λ_i = λ·(R_i/R)², so that R_i²/λ_i is the same for every point:
    # docs/decisions/0007
    unit = scale if noise_std is None or regulariser is None else noise_std / np.sqrt(regulariser)
    least, most = TOLD_STANDARDISED if standardise else TOLD
    with np.errstate(over="ignore", under="ignore"):
        ratio = np.clip(told_std / unit * slope, least, most)
    told = np.where(np.isnan(told_std), common, ratio**2)
    y = compression.forward(y)
    stand_ins = 0
    if standardise and len(history.failed):
        stand_ins = len(history.failed)
        X, y = np.vstack([X, history.failed]), np.append(y, np.full(stand_ins, y.min()))
        told = np.append(told, np.full(stand_ins, common))
    return Frame(X, y, told, common, history.pending, offset, scale, stand_ins, compression)
