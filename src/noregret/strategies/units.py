"""A history in the model's units: offset and scale of the values, noise per point, estimated
hyperparameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.gp import (
    MAP,
    Evidence,
    Fit,
    Kernel,
    Posterior,
    Prior,
    condition,
    fit_map,
    starting_points,
)
from noregret.space import Array
from noregret.trials import History, Info

COARSE = 500  # points on which lengthscales are searched from all starts when there are more


@dataclass(frozen=True, slots=True)
class Compression:
    """z ↦ z above the average, −log(1 − z) below, then back to mean 0 and std 1; once per (mean,
    std) in ``passes``.

    Very bad values no longer set the scale on which good ones differ. Increasing, smooth at 0,
    linear above the average.
    """

    passes: tuple[tuple[float | Array, float | Array], ...] = ()  # arrays: one entry per value

    @staticmethod
    def fitted(z: Array, count: int) -> Compression:
        passes: list[tuple[float | Array, float | Array]] = []
        for _ in range(count):
            z = _bend(z)
            mean, std = standard_units(z)
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
            return self.offset + self.scale * mean, self.scale * std
        low, middle, high = self.compression.inverse(
            np.array([mean - std, mean, mean + std])
        ).tolist()
        return self.offset + self.scale * middle, self.scale * (high - low) / 2

    def noise_in_values(self, noise_var: float) -> float:
        """The std of a noise variance, where values are good: above the average."""
        return float(np.sqrt(noise_var)) * self.scale / float(self.compression.slope(np.ones(1))[0])

    def evidence(self, kernel: Kernel, prior: Prior, noise_prior: Prior) -> Evidence:
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

    def condition(self, kernel: Kernel, lengthscales: Array, noise_var: float) -> Posterior:
        per_point, common = self.known_noise(noise_var)
        return condition(kernel, lengthscales, self.X, self.y, per_point, self.pending, common)


def standard_units(values: Array) -> tuple[float, float]:
    """Mean and standard deviation, safe from overflow; scale 1 where the values do not differ."""
    largest = float(np.max(np.abs(values)))
    if largest == 0:
        return 0.0, 1.0
    scaled = values / largest
    mean, std = float(np.mean(scaled)), float(np.std(scaled))
    if std <= 1e-12:
        return mean * largest, largest if len(values) == 1 else 1e-6 * largest
    return mean * largest, std * largest


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
    scale = 1.0
    if standardise:
        offset, scale = standard_units(y)
    y = (y - offset) / scale
    compression = Compression.fitted(y, compress)
    slope, slope_above = (
        compression.slope(z) for z in (y, np.ones(1))
    )  # of a point to come: as above the average
    common = (
        np.nan
        if noise_std is None
        else (
            (noise_std / scale * float(slope_above[0])) ** 2 if regulariser is None else regulariser
        )
    )
    # told noise R_i goes with λ_i = λ·(R_i/R)², so that R_i²/λ_i is the same for every point:
    # docs/decisions/0005
    unit = scale if noise_std is None or regulariser is None else noise_std / np.sqrt(regulariser)
    told = np.where(np.isnan(told_std), common, (told_std / unit * slope) ** 2)
    y = compression.forward(y)
    stand_ins = 0
    if standardise and len(history.failed):
        stand_ins = len(history.failed)
        X, y = np.vstack([X, history.failed]), np.append(y, np.full(stand_ins, y.min()))
        told = np.append(told, np.full(stand_ins, common))
    return Frame(X, y, told, common, history.pending, offset, scale, stand_ins, compression)


def previous_fit(decisions: tuple[Info, ...]) -> Fit | None:
    """The last estimate recorded in the history: where the next search starts."""
    for info in reversed(decisions):
        if info.get("fitted_lengthscales") is not None:
            return Fit(
                np.array(info["fitted_lengthscales"]),
                float(info["noise_var"]),
                info["searched"],
                info["improved"],
            )
    return None


def estimate(
    framed: Frame,
    kernel: Kernel,
    estimation: MAP | None,
    initial: Array,
    decisions: tuple[Info, ...],
    rng: np.random.Generator,
) -> Fit | None:
    """MAP lengthscales and noise; with fixed lengthscales only the noise, if unknown; None when
    nothing is to estimate.
    """
    rule = estimation or MAP()
    evidence = framed.evidence(kernel, rule.prior, rule.noise_prior)
    if estimation is None and not evidence.estimates_noise:
        return None
    lower, upper = (
        (initial, initial)
        if estimation is None
        else (estimation.truncation * initial, estimation.ceiling * initial)
    )
    previous, n = previous_fit(decisions), len(evidence.y)
    starts = starting_points(evidence, rule, previous, rng)
    if previous is not None and n < rule.patience * previous.searched:
        if n < rule.refresh * previous.improved:
            return previous
        return fit_map(evidence, lower, upper, starts[:1], previous.searched)
    if n > COARSE:  # the search on a part of the data, the estimate on all of them
        part = fit_map(evidence.part(rng.permutation(n)[:COARSE]), lower, upper, starts)
        found = np.log(
            [*part.lengthscales, *([part.noise_var] if evidence.estimates_noise else [])]
        )
        tried = [found] if previous is None else [found, starts[0]]
        starts = np.array(
            [max(tried, key=lambda phi: evidence.log_posterior(phi, jacobian=False)[0])]
        )
    return fit_map(evidence, lower, upper, starts, n)
