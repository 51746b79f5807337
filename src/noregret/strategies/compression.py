"""Standard units, and values below the average compressed: very bad ones set no scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.space import Array

SMALLEST = 5e-324  # the smallest number there is
SAME = 2e-15  # of the largest: values that differ by less differ by rounding alone


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
