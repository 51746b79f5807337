"""Units of the values: those of f over the space, whatever diverges and wherever points pile up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.space import Array, FixedInputs, Space
from noregret.strategies.data import (
    CLOUD,
    ModelData,
    standard_units,
    standardise_robustly,
    voronoi_weights,
    weighted_median,
)
from noregret.trials import History

SQUARE = Space.from_bounds([(0, 1)] * 2)


def history_of(X: Array, y: Array, failed: Array | None = None) -> History:
    none = np.empty((0, X.shape[1]))
    return History(X, y, np.full(len(y), np.nan), none, none if failed is None else failed)


def standardised(X: Array, y: Array, compress: bool = False) -> ModelData:
    return standardise_robustly(history_of(X, y), SQUARE, None, compress=compress)


def hill(X: Array) -> Array:
    return np.asarray(-np.abs(X[:, 0] - 0.3) - X[:, 1] ** 2)


def piled(count: int, noise: float = 0.02) -> tuple[Array, Array]:
    """Thirty points all over the square, then ``count`` more at the top of the hill."""
    rng = np.random.default_rng(5)
    X = np.vstack([rng.random((30, 2)), np.tile([0.3, 0.0], (count, 1))])
    return X, hill(X) + noise * rng.standard_normal(len(X))


# -- weights --


def test_weights_are_the_parts_of_the_space_that_are_nearest() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((9, 2))
    cloud = rng.random((40_000, 2))  # another cloud than the one that is used
    nearest = np.argmin(((cloud[:, None, :] - X) ** 2).sum(axis=2), axis=1)
    found = voronoi_weights(SQUARE, X)
    assert found.sum() == pytest.approx(1.0)
    counted = np.bincount(nearest, minlength=9) / len(cloud)
    np.testing.assert_allclose(found, counted, atol=3 / np.sqrt(CLOUD))


def test_equal_points_share_and_a_pile_weighs_as_much_as_one_point() -> None:
    X = np.array([[0.2, 0.2], [0.8, 0.8]])
    one = voronoi_weights(SQUARE, X)
    pile = voronoi_weights(SQUARE, np.vstack([X, np.tile(X[1], (9, 1))]))
    assert pile[0] == one[0]
    np.testing.assert_allclose(pile[1:], one[1] / 10)


@pytest.mark.parametrize(
    "space",
    [
        nr.Space({"a": nr.Float(0, 1), "c": nr.Choice(["u", "v", "w"]), "n": nr.Int(0, 4)}),
        nr.Candidates([{"a": float(a), "b": b} for a in range(40) for b in "xyz"]),
        nr.Space(
            {"a": nr.Float(0, 1), "b": nr.Float(0, 1)},
            constraints=[nr.Linear({"a": 1, "b": 1}, equals=1)],
        ),
    ],
)
def test_every_space_has_weights(space: Any) -> None:
    rows = space.enumeration()
    X = space.snap(np.random.default_rng(1).random((12, space.dimension)))
    X = X if rows is None else rows[::10]
    found = voronoi_weights(space, X)
    assert found.shape == (len(X),)
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0).all()


def test_what_is_held_at_an_ask_changes_no_units() -> None:
    X = np.random.default_rng(2).random((8, 2))
    space = Space({"a": nr.Float(0, 1), "b": nr.Float(0, 1)})
    held = FixedInputs(space, {"a": 0.9})
    np.testing.assert_array_equal(voronoi_weights(space, X), voronoi_weights(held, X))


def test_the_median_with_equal_weights_is_the_usual_one() -> None:
    values = np.random.default_rng(3).standard_normal(501)
    assert weighted_median(values, np.full(501, 1 / 501)) == pytest.approx(np.median(values))
    heavy = np.append(np.full(500, 0.4 / 500), 0.6)
    assert weighted_median(values, heavy) == pytest.approx(values[-1], abs=0.5)


# -- the fence --

DISASTER = -1e9


@pytest.mark.parametrize("share", [0.02, 0.2, 0.45])
def test_a_loss_that_diverges_in_a_part_of_the_space_does_not_set_the_scale(share: float) -> None:
    rng = np.random.default_rng(6)
    X = rng.random((60, 2))
    good, beyond = hill(X), X[:, 0] > 1 - share
    y = np.where(beyond, DISASTER, good)
    made = standardised(X, y)
    alone = standardised(X[~beyond], good[~beyond])
    assert made.scale < 10 * alone.scale
    # good values keep their differences, in units of which there are more than noise could hide
    top = np.argsort(-y)[:10]
    assert np.ptp(made.y[top]) > 0.1
    np.testing.assert_allclose(made.offset + made.scale * made.y[top], y[top], atol=1e-6)
    assert made.y[beyond].max() < made.y[~beyond].min()  # and bad stays worse than the rest
    assert len(np.unique(made.y[beyond])) == 1
    assert standard_units(y)[1] > 1e6  # the control: standardised without a fence


def test_beyond_half_of_the_space_the_scale_is_the_disaster_s() -> None:
    """The median is bad itself: what is good stands out, and that is all that can be known."""
    X = np.random.default_rng(6).random((60, 2))
    y = np.where(X[:, 0] > 0.3, DISASTER, hill(X))
    assert standardised(X, y).scale > 1e6


@pytest.mark.parametrize("best", [10.0, 1e9])
def test_good_values_have_no_fence(best: float) -> None:
    X = np.random.default_rng(7).random((40, 2))
    y = hill(X)
    y[11] = best
    made = standardised(X, y)
    assert int(np.argmax(made.y)) == 11
    assert made.offset + made.scale * made.y[11] == pytest.approx(best)


def test_one_disaster_leaves_all_other_values_as_they_are() -> None:
    X = np.random.default_rng(3).random((40, 2))
    y = hill(X)
    worse = y.copy()
    worse[20] = DISASTER
    others = np.arange(40) != 20
    made = standardised(X, worse)
    np.testing.assert_allclose(made.offset + made.scale * made.y[others], y[others], atol=1e-9)
    assert made.scale < 2 * standardised(X, y).scale


def test_values_within_the_fence_are_untouched() -> None:
    X = np.random.default_rng(8).random((50, 2))
    made = standardised(X, hill(X))
    np.testing.assert_allclose(made.offset + made.scale * made.y, hill(X), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_units_do_not_depend_on_the_values_size(scale: float) -> None:
    X = np.random.default_rng(9).random((30, 2))
    np.testing.assert_allclose(
        standardised(X, scale * hill(X), compress=True).y,
        standardised(X, hill(X), compress=True).y,
        atol=1e-9,
    )


def test_equal_values_have_a_scale() -> None:
    X = np.random.default_rng(9).random((5, 2))
    for value in (0.0, 3.0, -1e300):
        made = standardised(X, np.full(5, value))
        assert np.all(made.y == 0)
        assert made.scale > 0


# -- arriving --


def test_arriving_does_not_change_the_units() -> None:
    """The control is what counts every value the same: its scale falls."""
    few, many = (standardised(*piled(count)) for count in (2, 200))
    assert many.scale == pytest.approx(few.scale, rel=0.1)
    assert many.offset == pytest.approx(few.offset, abs=0.1 * few.scale)
    plain_few, plain_many = (standard_units(piled(count)[1])[1] for count in (2, 200))
    assert plain_many < 0.75 * plain_few


def test_arriving_does_not_make_outliers_of_all_other_values() -> None:
    X, y = piled(200)
    made = standardised(X, y, compress=True)
    assert len(np.unique(made.y[:30])) == 30  # none is beyond the fence
    median = np.median(y)  # the control: a fence by the values alone
    spread = np.sqrt(2 * np.mean(np.maximum(y - median, 0.0) ** 2))
    assert (y[:30] < median - 4 * spread).sum() > 20


def test_failed_points_count_in_the_variance_alone() -> None:
    X, failed = np.random.default_rng(1).random((8, 2)), np.array([[0.5, 0.5]])
    made = standardise_robustly(history_of(X, hill(X), failed), SQUARE, None, compress=False)
    np.testing.assert_array_equal(made.y, standardised(X, hill(X)).y)
    np.testing.assert_array_equal(made.pending, failed)
