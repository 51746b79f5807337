"""The checks of a setting's range."""

import math
from typing import Any

import numpy as np
import pytest

from noregret.errors import ConfigurationError, check_one_of, check_range


@pytest.mark.parametrize(
    ("value", "interval", "whole"),
    [
        (1, "[1, ∞)", True),
        (np.int64(3), "[1, ∞)", True),
        (0.5, "(0, 1)", False),
        (np.float64(1.0), "(0, 1]", False),
        (math.inf, "[0, ∞]", False),
        (-2.5, "(-∞, ∞)", False),
    ],
)
def test_a_number_in_the_interval_is_accepted(value: Any, interval: str, whole: bool) -> None:
    check_range("x", value, interval, whole=whole)


@pytest.mark.parametrize(
    ("value", "interval", "whole", "message"),
    [
        (0, "(0, ∞)", False, "x must be positive and finite, got 0: why"),
        (math.inf, "(0, ∞)", False, "x must be positive and finite, got inf: why"),
        (math.nan, "[0, ∞]", False, r"x must be in \[0, ∞\], got nan: why"),
        (-math.inf, "(-∞, ∞)", False, "x must be finite, got -inf: why"),
        (1.0, "(0, 1)", False, r"x must be in \(0, 1\), got 1.0: why"),
        (0.0, "(0, 1]", False, r"x must be in \(0, 1\], got 0.0: why"),
        (True, "[0, ∞)", True, r"x must be a whole number in \[0, ∞\), got True: why"),
        (2.0, "[1, ∞)", True, r"x must be a whole number in \[1, ∞\), got 2.0: why"),
        ("2", "[1, ∞)", False, r"x must be in \[1, ∞\), got '2': why"),
        (None, "[1, ∞)", False, r"x must be in \[1, ∞\), got None: why"),
    ],
)
def test_anything_else_is_refused(value: Any, interval: str, whole: bool, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{message}$"):
        check_range("x", value, interval, "why", whole=whole)


def test_a_word_is_one_of_some() -> None:
    check_one_of("x", "a", ("a", "b"))
    with pytest.raises(ConfigurationError, match=r'^x is one of "a", "b", or 1, got \'c\'$'):
        check_one_of("x", "c", ("a", "b"), ", or 1")
