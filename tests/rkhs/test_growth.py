import math

import pytest

from noregret.errors import ConfigurationError
from noregret.rkhs.widening import ConstantGrowth, LogGrowth, PowerGrowth, as_growth


def test_built_in_curves() -> None:
    assert LogGrowth()(0) == 1.0  # the printed log t is 0 here
    assert LogGrowth(0.1)(9) == pytest.approx(1 + 0.1 * math.log(10))
    assert PowerGrowth(2.0, 0.5)(9) == 6.0
    assert PowerGrowth(0.1, 0.5)(9) == 1.0
    assert PowerGrowth()(0) == 1.0
    assert ConstantGrowth()(100) == 1.0
    assert as_growth("log") == LogGrowth()


def test_a_callable_is_taken_as_it_is() -> None:
    def curve(t: float) -> float:
        return 1 + t

    assert as_growth(curve) is curve


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        (lambda t: 0.5 + t, "at least 1"),
        (lambda t: 10 - t if t < 5 else 5, "must not fall"),
        (lambda t: float("nan"), "finite"),
        (lambda t: "1", "finite number"),
        ("linear", "built-in ones"),
        (3.0, "built-in ones"),
    ],
)
def test_schedules_that_fall_or_start_below_one_are_refused(curve: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        as_growth(curve)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LogGrowth(0.0),
        lambda: LogGrowth(math.inf),
        lambda: PowerGrowth(-1.0, 0.5),
        lambda: PowerGrowth(1.0, 0.0),
    ],
)
def test_impossible_curves(make: object) -> None:
    with pytest.raises(ConfigurationError):
        make()  # type: ignore[operator]
