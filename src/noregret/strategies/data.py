"""Values as the default's model sees them: on a scale that neither a disaster nor the search itself
sets.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from noregret.space import Array, SearchSpace
from noregret.strategies.compression import Compression, standard_units
from noregret.strategies.surveys import CLOUD, cloud_of
from noregret.strategies.units import TOLD_STANDARDISED, Frame, noise_var_of, scaled
from noregret.trials import History

FENCE = 4.0  # spreads of the good half below the median: worse values count as this bad


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
) -> Frame:
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
    return Frame(history.X, y, told, common, unknown, offset, scale, 0, compression)
