import pytest

from noregret.cli.output import plus_minus, table


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
def test_as_many_digits_as_are_known(mean: float, std: float, expected: str) -> None:
    assert plus_minus(mean, std) == expected


def test_columns_are_aligned() -> None:
    assert table(["name", "value"], [["a", "1"], ["long one", "22.5"]], right=[1]).splitlines() == [
        "name      value",
        "a             1",
        "long one   22.5",
    ]
