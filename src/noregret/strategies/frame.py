"""A history in the model's units: offset and scale of the values, noise per point, estimated hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.array import Array
from noregret.gp import Posterior, condition
from noregret.inference.evidence import Evidence
from noregret.inference.map import MAP, Fit, fit_map, starting_points
from noregret.inference.priors import Prior
from noregret.kernels import Kernel
from noregret.trial import History, Info


@dataclass(frozen=True, slots=True)
class Frame:
    """X (n, d), y (n,) = (value − offset)/scale, told (n,) noise variances with NaN where unknown, common noise variance
    or NaN. ``stand_ins`` rows at the end of X, y are failed points, taken as bad as the worst value seen."""

    X: Array
    y: Array
    told: Array
    common: float
    pending: Array
    offset: float
    scale: float
    stand_ins: int

    def evidence(self, kernel: Kernel, prior: Prior, noise_prior: Prior) -> Evidence:
        n = len(self.X) - self.stand_ins
        return Evidence(kernel, self.X[:n], self.y[:n], self.told[:n], prior, noise_prior)

    def known_noise(self, estimated: float) -> tuple[Array, float]:
        """The noise variance of each point and of a point to come."""
        common = self.common if np.isfinite(self.common) else estimated
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


def frame(history: History, *, standardise: bool, offset: float, noise_std: float | None, regulariser: float | None) -> Frame:
    """The data as the model sees them. noise_std None: to be estimated."""
    X, y, told_std = history.X, history.y, history.noise_std
    scale = 1.0
    if standardise:
        offset, scale = standard_units(y)
    common = np.nan if noise_std is None else ((noise_std / scale) ** 2 if regulariser is None else regulariser)
    # told noise R_i goes with λ_i = λ·(R_i/R)², so that R_i²/λ_i is the same for every point: docs/decisions/0005
    unit = scale if noise_std is None or regulariser is None else noise_std / np.sqrt(regulariser)
    told = np.where(np.isnan(told_std), common, (told_std / unit) ** 2)
    y = (y - offset) / scale
    stand_ins = 0
    if standardise and len(history.failed):
        stand_ins = len(history.failed)
        X, y = np.vstack([X, history.failed]), np.append(y, np.full(stand_ins, y.min()))
        told = np.append(told, np.full(stand_ins, common))
    return Frame(X, y, told, common, history.pending, offset, scale, stand_ins)


def previous_fit(decisions: tuple[Info, ...]) -> Fit | None:
    """The last estimate recorded in the history: where the next search starts."""
    for info in reversed(decisions):
        if info.get("fitted_lengthscales") is not None:
            return Fit(np.array(info["fitted_lengthscales"]), float(info["noise_var"]))
    return None


def estimate(
    framed: Frame, kernel: Kernel, estimation: MAP | None, initial: Array, decisions: tuple[Info, ...], rng: np.random.Generator
) -> Fit | None:
    """MAP lengthscales and noise; with fixed lengthscales only the noise, if unknown; None when nothing is to estimate."""
    rule = estimation or MAP()
    evidence = framed.evidence(kernel, rule.prior, rule.noise_prior)
    if estimation is None and not evidence.estimates_noise:
        return None
    lower = initial if estimation is None else estimation.truncation * initial
    return fit_map(evidence, lower, initial, starting_points(evidence, rule, previous_fit(decisions), rng))
