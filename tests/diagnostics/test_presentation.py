"""What shell, page and pictures share."""

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import best_so_far, values_along
from noregret.diagnostics.presentation import format_number, format_table, plus_minus, spans_decades
from noregret.errors import ConfigurationError, check_count
from noregret.trials import Goal


def test_values_along_every_kind_of_parameter() -> None:
    assert values_along(nr.Choice(["b", "a"]), 1) == ["b", "a"]
    assert values_along(nr.Int(3, 6), 4) == [3, 4, 5, 6]
    assert values_along(nr.Int(0, 10**6, step=250_000), 9) == list(range(0, 10**6 + 1, 250_000))
    few = values_along(nr.Int(1, 1000, log=True), 30)
    assert (few[0], few[-1], len(few)) == (1, 1000, len(set(few)))
    assert len(few) < 30  # rounding repeats small numbers
    assert values_along(nr.Float(0, 1), 5) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert values_along(nr.Float(1, 100, log=True), 3) == pytest.approx([1, 10, 100])


@pytest.mark.parametrize(
    ("goal", "best"), [("maximize", [None, 2, 2, 2, 5]), ("minimize", [None, 2, 1, 1, 1])]
)
def test_the_best_so_far_skips_missing_values(goal: Goal, best: list[float | None]) -> None:
    assert best_so_far([None, 2, 1, None, 5], goal) == best


def test_counts() -> None:
    assert check_count("trials", np.int64(3)) == 3
    assert check_count("trials", 0, at_least=0) == 0
    for wrong in (0, -1, 2.0, True, "3", None):
        with pytest.raises(ConfigurationError, match="trials must be a whole number of at least"):
            check_count("trials", wrong)


@pytest.mark.parametrize(
    ("mean", "std", "expected"),
    [
        (61.234, 1.234, "61.2 ± 1.2"),
        (0.0030578, 0.042, "0.003 ± 0.042"),
        (-0.00001, 0.0011, "0.0000 ± 0.0011"),
        (1234.5, 123.4, "1234 ± 123"),
        (5.0, 0.0, "5 ± 0"),
        (5e9, 3e7, "5e+09 ± 3e+07"),
    ],
)
def test_the_mean_has_the_digits_of_its_standard_deviation(
    mean: float, std: float, expected: str
) -> None:
    assert plus_minus(mean, std) == expected


def test_numbers_have_six_digits() -> None:
    assert [format_number(value) for value in (1234.56789, None)] == ["1234.57", ""]
    assert format_number(2 / 3, 3) == "0.667"


def test_columns_are_aligned() -> None:
    rows = [["a", "1"], ["long one", "22.5"]]
    assert format_table(["name", "value"], rows, right=[1]).splitlines() == [
        "name      value",
        "a             1",
        "long one   22.5",
    ]


def test_a_log_scale_suits_positive_values_decades_apart() -> None:
    assert spans_decades([1e-3, 2.0])
    assert not any(spans_decades(values) for values in ([1.0], [0.0, 1e9], [1.0, 900.0]))
