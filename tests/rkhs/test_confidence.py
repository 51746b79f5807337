import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret.errors import ConfigurationError
from noregret.rkhs import confidence

POSITIVE = st.floats(1e-3, 1e3)


@given(POSITIVE, st.floats(0, 100), POSITIVE, st.floats(1e-4, 10), st.floats(1e-6, 0.99))
def test_formulas(B: float, gain: float, R: float, lam: float, delta: float) -> None:
    log = math.log(1 / delta)
    assert confidence.paper(B, gain, R, lam, delta) == pytest.approx(
        B + 4 * R * math.sqrt(gain + 1 + log)
    )
    ay = confidence.abbasi_yadkori(B, gain, noise_bound=R, regulariser=lam, delta=delta)
    assert ay == pytest.approx(B + R / math.sqrt(lam) * math.sqrt(2 * gain + 2 * log))
    mixture = confidence.mixture(B, gain, noise_bound=R, regulariser=lam, delta=delta)
    assert mixture**2 == pytest.approx(B**2 + R**2 / lam * (2 * gain + 2 * log))
    assert mixture <= ay * (1 + 1e-12)  # theory.md#widths
    cg = confidence.chowdhury_gopalan(B, gain, R, lam, delta)
    assert cg == pytest.approx(B + R * math.sqrt(2 * (gain + 1 + log)))
    assert cg >= confidence.abbasi_yadkori(B, gain, noise_bound=R, regulariser=1.0, delta=delta) * (
        1 - 1e-12
    )


def test_the_printed_width_is_implied_only_from_sigma_0354() -> None:
    assert confidence.paper_is_valid(0.36, 0.36**2)
    assert not confidence.paper_is_valid(0.35, 0.35**2)
    assert confidence.paper_is_valid(0.01, 1.0)


@pytest.mark.parametrize(
    "bad",
    [
        {"norm_bound": 0.0},
        {"norm_bound": -1.0},
        {"information_gain": -1.0},
        {"noise_bound": 0.0},
        {"delta": 0.0},
        {"delta": 1.0},
        {"delta": 2.0},
    ],
)
def test_bad_input(bad: dict[str, Any]) -> None:
    good: dict[str, Any] = {
        "norm_bound": 1.0,
        "information_gain": 1.0,
        "noise_bound": 0.1,
        "regulariser": 0.1,
        "delta": 0.1,
    }
    with pytest.raises(ConfigurationError):
        confidence.mixture(**{**good, **bad})
