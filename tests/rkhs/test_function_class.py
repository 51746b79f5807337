import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret.errors import ConfigurationError
from noregret.rkhs.function_class import FunctionClass, merge, split

WEIGHTS = st.sampled_from([0.0, 1e-6, 0.1, 1.0, 1e6, math.inf])


@given(st.floats(1.0, 1e8), WEIGHTS, st.integers(1, 10))
def test_round_trip(h: float, weight: float, d: int) -> None:
    g, b = split(h, weight, d)
    assert g >= 1
    assert b >= 1
    assert merge(g, b, d) == pytest.approx(h, rel=1e-12)
    if weight not in (0.0, math.inf) and h > 1.001:
        assert (b - 1) / (g**d - 1) == pytest.approx(weight, rel=1e-6)


@pytest.mark.parametrize(
    ("h", "weight", "volume"),
    [(2, 0.1, 1.844289), (2, 1, 1.414214), (10, 0.1, 6.465856), (100, 0.1, 27.441353)],
)
def test_check_values_of_spec_4(h: float, weight: float, volume: float) -> None:
    for d in (1, 3):
        assert split(h, weight, d)[0] ** d == pytest.approx(volume, abs=1e-6)


@given(st.floats(1.0, 1e6), st.integers(1, 6))
def test_ends_and_middle(h: float, d: int) -> None:
    assert split(h, 0.0, d)[1] == 1.0
    assert split(h, 0.0, d)[0] ** d == pytest.approx(h, rel=1e-12)
    assert split(h, math.inf, d) == (1.0, h)
    g, b = split(h, 1.0, d)
    assert g**d == pytest.approx(math.sqrt(h), rel=1e-9)
    assert b == pytest.approx(math.sqrt(h), rel=1e-9)


@given(st.floats(1.0, 1e4), st.floats(1.0, 1e2), WEIGHTS, st.integers(1, 5))
def test_monotone_in_h(h: float, more: float, weight: float, d: int) -> None:
    (g, b), (g2, b2) = split(h, weight, d), split(h * more, weight, d)
    assert g2 >= g * (1 - 1e-12)
    assert b2 >= b * (1 - 1e-12)


def test_widened_paper_and_tight() -> None:
    start = FunctionClass(np.array([1.0, 0.5]), 2.0)
    paper, tight = start.widened(2.0, 3.0, "paper"), start.widened(2.0, 3.0, "tight")
    assert paper.lengthscales.tolist() == tight.lengthscales.tolist() == [0.5, 0.25]
    assert paper.norm_bound == pytest.approx(3 * 2**2 * 2)  # b g^d B_0
    assert tight.norm_bound == pytest.approx(3 * 2 * 2)  # b g^{d/2} B_0
    assert start.at(np.array([0.5, 0.5]), 1.0, "paper").norm_bound == pytest.approx(
        4.0
    )  # G = 2, theory.md#estimation
    assert start.widened(1.0, 1.0).norm_bound == 2.0


@pytest.mark.parametrize(
    ("theta", "norm"),
    [
        ([0.0], 1.0),
        ([-1.0], 1.0),
        ([1.0], 0.0),
        ([1.0], -2.0),
        ([1.0], math.inf),
        ([math.nan], 1.0),
    ],
)
def test_impossible_classes(theta: list[float], norm: float) -> None:
    with pytest.raises(ConfigurationError):
        FunctionClass(np.array(theta), norm)


def test_a_class_never_shrinks() -> None:
    with pytest.raises(ConfigurationError, match="never shrinks"):
        FunctionClass(np.array([1.0]), 1.0).widened(0.5, 1.0)
    with pytest.raises(ConfigurationError, match=r"\[1, ∞\]"):
        split(0.9, 0.1, 1)
    with pytest.raises(ConfigurationError, match="weight"):
        split(2.0, -0.1, 1)
