import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret.errors import ConfigurationError
from noregret.gp.kernels import Kernel, Matern, SquaredExponential, covariance, squared_distances
from tests import naive

KERNELS: list[tuple[Kernel, str, float]] = [
    (SquaredExponential(), "se", 0.0),
    (Matern(0.5), "matern", 0.5),
    (Matern(1.5), "matern", 1.5),
    (Matern(2.5), "matern", 2.5),
    (Matern(0.8), "matern", 0.8),
    (Matern(1.2), "matern", 1.2),
    (Matern(4.0), "matern", 4.0),
]


@pytest.mark.parametrize(("kernel", "name", "nu"), KERNELS, ids=str)
def test_covariance_equals_the_textbook(kernel: Kernel, name: str, nu: float) -> None:
    rng = np.random.default_rng(0)
    A, B, theta = rng.random((6, 3)), rng.random((5, 3)), np.array([0.1, 0.5, 2.0])
    A[2] = B[3]  # distance 0 off the diagonal
    np.testing.assert_allclose(
        covariance(kernel, theta, A, B),
        naive.kernel_matrix(name, nu, theta, A, B),
        rtol=1e-10,
        atol=1e-14,
    )


@pytest.mark.parametrize("closed", [0.5, 1.5, 2.5])
def test_closed_forms_meet_the_bessel_form(closed: float) -> None:
    sq = np.linspace(0.0, 9.0, 50)
    np.testing.assert_allclose(Matern(closed).value(sq), Matern(closed + 1e-9).value(sq), atol=1e-7)
    np.testing.assert_allclose(
        Matern(closed).slope(sq[1:]), Matern(closed + 1e-9).slope(sq[1:]), atol=1e-7
    )


@pytest.mark.parametrize(("kernel", "name", "nu"), KERNELS, ids=str)
def test_slope_is_the_derivative(kernel: Kernel, name: str, nu: float) -> None:
    sq = np.geomspace(1e-2, 20.0, 40)
    step = 1e-6 * sq
    numeric = (kernel.value(sq + step) - kernel.value(sq - step)) / (2 * step)
    np.testing.assert_allclose(kernel.slope(sq), numeric, rtol=1e-5, atol=1e-10)


def test_slope_at_zero() -> None:
    zero = np.zeros(1)
    assert SquaredExponential().slope(zero)[0] == -0.5
    assert Matern(4.0).slope(zero)[0] == pytest.approx(-4 / (2 * 3))  # −ν/(2(ν−1))
    assert Matern(0.5).slope(zero)[0] == 0.0  # a kink
    assert Matern(0.8).slope(zero)[0] == 0.0


@given(st.integers(1, 6), st.floats(0.01, 3.0))
def test_equal_points_are_at_distance_zero_exactly(d: int, theta: float) -> None:
    A = np.random.default_rng(d).random((4, d))
    assert np.all(np.diag(squared_distances(A, A, np.full(d, theta))) == 0.0)


@pytest.mark.parametrize("nu", [0, -1, float("nan"), float("inf"), "2.5"])
def test_matern_refuses_a_smoothness_that_is_none(nu: float) -> None:
    with pytest.raises(ConfigurationError, match="smoothness nu"):
        Matern(nu)


def test_capacity_exponents_are_those_of_spec_8() -> None:
    assert SquaredExponential().capacity_exponent(3) == 3
    assert Matern(2.5).capacity_exponent(2, printed=True) == 7
    assert Matern(2.5).capacity_exponent(2) == pytest.approx(2 * 2.5 * 2 / 7)
