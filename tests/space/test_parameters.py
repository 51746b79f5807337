import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret.errors import SpaceError
from noregret.space import Choice, Float, Int

BOUND = st.floats(-1e6, 1e6)


@given(BOUND, BOUND, st.floats(0, 1))
def test_float_round_trip_stays_inside(a: float, b: float, u: float) -> None:
    low, high = min(a, b), max(a, b)
    if not high - low > 1e-9 * max(abs(low), abs(high), 1e-9):
        return
    parameter = Float(low, high)
    value = parameter.decode(np.array([u]))
    assert low <= value <= high
    assert parameter.encode(value)[0] == pytest.approx(u, abs=1e-6)
    assert parameter.decode(np.array([0.0])) == low
    assert parameter.decode(np.array([1.0])) == high


@given(st.floats(1e-9, 1e3), st.floats(1.01, 1e9), st.floats(0, 1))
def test_float_log_scale(low: float, ratio: float, u: float) -> None:
    parameter = Float(low, low * ratio, log=True)
    value = parameter.decode(np.array([u]))
    assert math.log(value / low) == pytest.approx(u * math.log(ratio), abs=1e-9)
    assert parameter.encode(value)[0] == pytest.approx(u, abs=1e-6)


@given(st.integers(-1000, 1000), st.integers(1, 2000), st.booleans(), st.data())
def test_int_round_trip_and_rounding(low: int, span: int, log: bool, data: st.DataObject) -> None:
    if log:
        low = abs(low) + 1
    parameter = Int(low, low + span, log=log)
    value = data.draw(st.integers(low, low + span))
    u = np.array(parameter.encode(value))
    assert parameter.decode(u) == value
    assert isinstance(parameter.decode(u), int)
    np.testing.assert_array_equal(parameter.snap(u[:, None])[0], u)
    other = np.array([[data.draw(st.floats(0, 1))]])
    snapped = parameter.snap(other)
    assert parameter.decode(other[0]) == parameter.decode(
        snapped[0]
    )  # two encodings of one point are one point
    np.testing.assert_array_equal(parameter.snap(snapped), snapped)


def test_choices_are_equally_far_apart() -> None:
    three = Choice(["a", "b", "c"])
    codes = np.array([three.encode(option) for option in three.options])
    distances = [np.linalg.norm(codes[i] - codes[j]) for i in range(3) for j in range(i)]
    assert len(set(distances)) == 1
    assert Choice(["x", "y"]).width == 1
    assert Choice(["only"]).width == 0
    assert three.decode(np.array([0.2, 0.9, 0.3])) == "b"


def test_choice_options_keep_their_types() -> None:
    parameter = Choice([1, "1", None, 2.5])
    for option in parameter.options:
        back = parameter.decode(np.array(parameter.encode(option)))
        assert back == option
        assert type(back) is type(option)
    assert Choice([True, False]).decode(np.array([1.0])) is False
    assert Choice([1, 2]).encode(np.int64(2)) == [1.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Float(1, 1), "low < high"),
        (lambda: Float(2, 1), "low < high"),
        (lambda: Float(0, 1, log=True), "low > 0"),
        (lambda: Float(-1, 1, log=True), "low > 0"),
        (lambda: Float(math.nan, 1), "finite"),
        (lambda: Float(0, math.inf), "finite"),
        (lambda: Float("0", 1), "number"),  # type: ignore[arg-type]
        (lambda: Int(0, 10, log=True), "low > 0"),
        (lambda: Int(0.5, 3), "whole"),  # type: ignore[arg-type]
        (lambda: Int(5, 5), "low < high"),
        (lambda: Choice([]), "at least one"),
        (lambda: Choice("abc"), "list of options"),
        (lambda: Choice(["a", "a"]), "twice"),
        (lambda: Choice([object()]), "string, number"),
    ],
)
def test_impossible_parameters(make: Any, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        make()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Float(0, 1), 1.5),
        (Float(0, 1), "x"),
        (Float(0, 1), math.nan),
        (Float(0, 1), True),
        (Int(0, 5), 2.5),
        (Int(0, 5), 6),
        (Choice(["a", "b"]), "c"),
    ],
    ids=str,
)
def test_values_outside(parameter: Any, value: Any) -> None:
    with pytest.raises(SpaceError):
        parameter.encode(value)


@pytest.mark.parametrize(
    "parameter",
    [
        Float(-2, 3),
        Float(1e-3, 10, log=True),
        Float(0, 1, step=0.1),
        Int(-3, 9),
        Choice(["a", 2, None]),
        Choice([1, 2, 4, 8], ordered=True),
    ],
    ids=str,
)
def test_the_values_of_rows_are_those_of_each_row(parameter: Any) -> None:
    U = np.random.default_rng(0).integers(0, 9, (60, parameter.width)) / 8
    values = parameter.values(U)
    assert values == [parameter.decode(u) for u in U]
    assert {type(value) for value in values} == {type(parameter.decode(u)) for u in U}
