"""Units of the values: those of f over the space, however the search piles up its points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.space import Array, Space, hold
from noregret.strategies.compression import standard_units
from noregret.strategies.robust import quantiles, robust_frame, shares
from noregret.strategies.surveys import CLOUD
from noregret.trials import History

SQUARE = Space.from_bounds([(0, 1)] * 2)


def history_of(X: Array, y: Array) -> History:
    none = np.empty((0, X.shape[1]))
    return History(X, y, np.full(len(y), np.nan), none, none)


def hill(X: Array) -> Array:
    return np.asarray(-np.abs(X[:, 0] - 0.3) - X[:, 1] ** 2)


def piled(count: int, noise: float = 0.02) -> tuple[Array, Array]:
    """Thirty points all over the square, then ``count`` more at the top of the hill."""
    rng = np.random.default_rng(5)
    X = np.vstack([rng.random((30, 2)), np.tile([0.3, 0.0], (count, 1))])
    return X, hill(X) + noise * rng.standard_normal(len(X))


def test_shares_are_the_parts_of_the_space_that_are_nearest() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((9, 2))
    counted = np.zeros(9)
    cloud = rng.random((40_000, 2))  # another cloud than the one that is used
    for point in cloud:
        counted[min(range(9), key=lambda i: float(np.sum((X[i] - point) ** 2)))] += 1
    found = shares(SQUARE, X)
    assert found.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found, counted / len(cloud), atol=3 / np.sqrt(CLOUD))


def test_equal_points_share_and_a_pile_weighs_as_much_as_one_point() -> None:
    X = np.array([[0.2, 0.2], [0.8, 0.8]])
    one = shares(SQUARE, X)
    pile = shares(SQUARE, np.vstack([X, np.tile(X[1], (9, 1))]))
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
def test_every_space_has_shares(space: Any) -> None:
    rows = space.enumeration()
    X = space.snap(np.random.default_rng(1).random((12, space.dimension)))
    X = X if rows is None else rows[::10]
    found = shares(space, X)
    assert found.shape == (len(X),)
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0).all()


def test_what_is_held_at_an_ask_changes_no_units() -> None:
    X = np.random.default_rng(2).random((8, 2))
    space = Space({"a": nr.Float(0, 1), "b": nr.Float(0, 1)})
    np.testing.assert_array_equal(shares(space, X), shares(hold(space, {"a": 0.9}), X))


def test_quantiles_with_equal_weights_are_the_usual_ones() -> None:
    values = np.random.default_rng(3).standard_normal(501)
    levels = np.array([0.25, 0.5, 0.75])
    found = quantiles(values, np.full(501, 1 / 501), levels)
    np.testing.assert_allclose(found, np.quantile(values, levels), atol=0.02)


def test_arriving_does_not_change_the_units() -> None:
    """The control is what counts every value the same: its scale falls."""
    few, many = (robust_frame(history_of(*piled(count)), SQUARE, None, 0) for count in (2, 200))
    assert many.scale == pytest.approx(few.scale, rel=0.1)
    assert many.offset == pytest.approx(few.offset, abs=0.1 * few.scale)
    plain_few, plain_many = (standard_units(piled(count)[1])[1] for count in (2, 200))
    assert plain_many < 0.75 * plain_few


def test_arriving_does_not_make_outliers_of_all_other_values() -> None:
    X, y = piled(200)
    framed = robust_frame(history_of(X, y), SQUARE, None, 1)
    assert np.isnan(framed.told).all()  # none is beyond the fence
    assert len(np.unique(framed.y[:30])) == 30
    low, high = np.quantile(y, [0.25, 0.75])  # the control: a fence by the values alone
    assert (y[:30] < low - 3 * (high - low)).sum() > 20


def test_a_search_that_arrived_does_not_look_at_what_it_knows_is_bad() -> None:
    """Its own success used to shrink the units, until nothing but the best place seemed known."""
    rng = np.random.default_rng(0)

    def f(x: Array) -> float:
        return float(np.cos(5 * x[0]) - 0.5 * x[0])

    study = nr.Study([(0, 1)], "maximize", nr.InsuredGPUCB(0.0), 0)
    regrets = []
    for _ in range(50):
        trial = study.ask()
        regrets.append(1.0 - f(trial.params))
        study.tell(trial, f(trial.params) + 0.05 * float(rng.standard_normal()))
    assert max(regrets[15:]) < 0.1
