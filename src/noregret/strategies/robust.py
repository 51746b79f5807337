"""Values on a scale that one disastrous value does not set."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from noregret.space import Array, SearchSpace
from noregret.strategies.compression import Compression, standard_units
from noregret.strategies.surveys import CLOUD, cloud_of
from noregret.strategies.units import TOLD_STANDARDISED, Frame, noise_var_of, scaled
from noregret.trials import History

FENCE = 3.0  # times the quartiles' distance below the lower one: "far out" (Tukey 1977)
FAR_NOISE = (
    1.0  # noise variance of a value beyond it: it says "bad here", as firmly as the prior does
)


def shares(space: SearchSpace, X: Array) -> Array:
    """The part of the space that is nearest to each point: polygonal declustering (Isaaks and
    Srivastava 1989). Equal points share theirs.
    """
    whole: SearchSpace = getattr(space, "space", space)  # also what is held at an ask, or given
    every = whole.enumeration()
    if every is None:
        cloud = cloud_of(whole, 0)
    else:  # drawn, not shuffled: a list may be long, and this is done at every ask
        cloud = every[np.random.default_rng(0).integers(len(every), size=CLOUD)]
    points, row, count = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    nearest = KDTree(points).query(cloud)[1]
    part = np.bincount(nearest, minlength=len(points)) / CLOUD
    return np.asarray((part / count)[row.ravel()])


def quantiles(values: Array, weights: Array, levels: Array) -> Array:
    """Where that part of the weight lies below, between values by interpolation."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) - weights[order] / 2
    return np.interp(levels, below, values[order])


def robust_frame(
    history: History, space: SearchSpace, noise_std: float | None, compress: int
) -> Frame:
    """The data as the model sees them. Failed points have no value: they count as points under way
    do, in the variance and not in the mean, so that curiosity alone does not lead there again.

    Mean, std and quartiles are those of f over the space: a value counts for the part of it that is
    nearest (``shares``). A search piles its points up at the best place; each counting the same,
    its own success would make of a good value an average one, and of all others outliers.

    Values below the fence Q1 − 3(Q3 − Q1) are moved to it before mean and std are taken, and the
    model sees them with a noise variance of 1 of its own: they set neither the scale, nor the noise
    of the rest, nor lengthscales. Several of them in one place still add up to a bad region. Good
    values have no fence: they are what is looked for.
    """
    weights = shares(space, history.X)
    largest = float(np.max(np.abs(history.y))) or 1.0  # values may be of any size
    low, high = quantiles(history.y / largest, weights, np.array([0.25, 0.75]))
    fence = max(low - FENCE * (high - low), -1.0) * largest
    # more than half of the space has equal values: no spread to judge by
    far = (history.y < fence) & (high > low)
    kept = np.where(far, fence, history.y)
    offset, scale = standard_units(kept, weights)
    z = scaled(kept, offset, scale)
    compression = Compression.fitted(z, compress, weights)
    above = float(compression.slope(np.ones(1))[0])  # of a value to come: as above the average
    common = np.nan if noise_std is None else noise_var_of(noise_std / scale * above, True)
    least, most = TOLD_STANDARDISED
    with np.errstate(over="ignore", under="ignore"):
        ratio = np.clip(history.noise_std / scale * compression.slope(z), least, most)
    told = np.where(np.isnan(history.noise_std), common, ratio**2)
    told = np.where(far, FAR_NOISE, told)
    y = compression.forward(z)
    unknown = np.vstack([history.pending, history.failed, history.without_value])
    return Frame(history.X, y, told, common, unknown, offset, scale, 0, compression)
