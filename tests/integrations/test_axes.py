"""Every axis gives back what it was given, and says what it does not have."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

import noregret as nr
from noregret.errors import SpaceError
from noregret.integrations.axes import Axes, Axis, as_is, listed, multiples, quantiles, ranged

OBJECT = object()


@pytest.mark.parametrize(
    ("axis", "inside", "outside"),
    [
        (
            as_is(nr.Float(0, 1)),
            [0.0, 0.5, 1, np.float64(0.25)],
            [1.5, -1, "0.5", None, True, float("nan")],
        ),
        (as_is(nr.Int(1, 5)), [1, 5, 3.0, np.int64(2)], [0, 6, 2.5, "3", True]),
        (as_is(nr.Choice(["a", None, 1])), ["a", None, 1, 1.0], ["b", True]),
        (listed([1, 10, 100]), [1, 10, 100, 10.0], [5, True, "1"]),
        (listed([True, 1, "x"]), [True, 1, "x"], [False, 2]),
        (listed([(1, 2), OBJECT]), [(1, 2), OBJECT], [(1,), object()]),
        (listed([2.0, 2.0, 3.0]), [2.0, 3.0], [4.0]),
        (ranged(nr.Int, 2, 20, step=3), [2, 5, 20], [3, -1, 23]),
        (ranged(nr.Float, 0.0, 1.0, step=0.1), [0.0, 0.3, 0.1 + 0.2, 1.0], [0.35, 1.1]),
        (multiples(3, 17, 4, log=False), [4, 16], [3, 20, 6]),
        (multiples(0.5, 8, 0.5, log=True), [0.5, 8.0], [0.75, 8.5]),
        (quantiles(scipy.stats.norm(5, 2)), [5.0, 1.0], [50.0]),
        (quantiles(scipy.stats.expon()), [0.001, 3.0], [20.0, 0.0]),
    ],
)
def test_there_and_back(axis: Axis, inside: list[Any], outside: list[Any]) -> None:
    space = nr.Space({"p": axis.parameter, "other": nr.Float(0, 1)})
    for value in inside:
        back = space.decode(space.encode({"p": axis.ours(value), "other": 0.5}))
        assert isinstance(back, dict)
        theirs = axis.theirs(back["p"])
        assert theirs is value or theirs == pytest.approx(value)
    for value in outside:
        with pytest.raises(SpaceError):
            axis.ours(value)


def parameter(values: list[Any]) -> nr.space.Parameter:
    axis = listed(values)
    assert isinstance(axis, Axis)
    return axis.parameter


def test_lists_in_order_are_levels_and_others_are_options() -> None:
    assert parameter([1, 10, 100]) == nr.Choice([1, 10, 100], ordered=True)
    for unordered in ([3, 2, 1], [1, 2], ["a", "b", "c"], [True, False], [1, "a", 2], [1, 2, None]):
        assert parameter(unordered) == nr.Choice(unordered)
    assert parameter([(1,), (2,)]) == nr.Choice(["(1,)", "(2,)"])


def test_axes_together() -> None:
    axes = Axes({"a": as_is(nr.Float(0, 1))}, {"b": 7})
    assert axes.theirs({"a": 0.5}) == {"a": 0.5, "b": 7}
    assert axes.ours({"a": 0.5, "z": 1}) == {"a": 0.5}
    with pytest.raises(SpaceError, match="lacks"):
        axes.ours({"b": 7})
    with pytest.raises(SpaceError, match="nothing to optimise"):
        _ = Axes({}, {"b": 7}).space
