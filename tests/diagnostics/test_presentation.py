"""What shell, page and pictures share."""

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import best_so_far, check_count, values_along
from noregret.errors import ConfigurationError
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
