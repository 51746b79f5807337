"""The norm lemma, by the exact inner product of theory.md#exact-norm."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret.errors import ConfigurationError
from noregret.gp.kernels import Matern, SquaredExponential, covariance
from noregret.testing.problems import RKHSFunction, bump, rkhs_sample

SE = SquaredExponential()


@given(st.integers(0, 400), st.integers(1, 4))
def test_the_squared_norm_grows_at_most_by_the_volume_ratio(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    theta = rng.uniform(0.1, 1.0, d)
    f = RKHSFunction(SE, theta, rng.random((6, d)), rng.standard_normal(6))
    g = rng.uniform(1.0, 4.0, d)
    ratio = f.norm_at(theta / g) ** 2 / f.norm**2
    assert ratio <= np.prod(g) * (1 + 1e-9)
    assert f.norm_at(theta) == pytest.approx(f.norm)


def test_the_bound_is_nearly_attained_by_a_flat_function_so_the_power_is_half_of_d() -> None:
    """‖f‖²/‖f‖² → g^d, hence ‖f‖ grows like g^{d/2}: the paper's g^d is valid and loose.
    theory.md#norm-lemma
    """
    for d in (1, 2):
        axis = np.linspace(-60.0, 60.0, 241) if d == 1 else np.linspace(-12.0, 12.0, 33)
        centres = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
        f = RKHSFunction(SE, np.ones(d), centres, np.ones(len(centres)))
        ratio = f.norm_at(0.5) ** 2 / f.norm**2
        assert 0.93 * 2**d <= ratio <= 2**d


def test_the_inner_product_formula_against_fourier_integrals() -> None:
    """⟨k_θ(·,z), k_θ(·,z')⟩_θ' = ∫ ŝ_θ(ω)²/ŝ_θ'(ω) e^{iω(z−z')} dω/2π."""
    theta, other, omega = 0.4, 0.3, np.linspace(-80, 80, 400_001)
    f = RKHSFunction(
        SE, np.array([theta]), np.array([[0.1], [0.6], [0.65]]), np.array([1.0, -2.0, 0.5])
    )

    def density(t: float) -> np.ndarray:
        return np.sqrt(2 * np.pi) * t * np.exp(-0.5 * (t * omega) ** 2)

    spectrum = sum(
        a * np.exp(-1j * omega * z) for a, z in zip(f.weights, f.centres[:, 0], strict=True)
    )
    step = omega[1] - omega[0]
    integral = (
        np.sum(np.abs(spectrum) ** 2 * density(theta) ** 2 / density(other)) * step / (2 * np.pi)
    )
    assert f.norm_at(other) ** 2 == pytest.approx(integral, rel=1e-6)


@given(st.integers(0, 200), st.integers(1, 3))
def test_kernel_difference_is_positive_semidefinite(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    X, theta = rng.random((12, d)), rng.uniform(0.2, 1.0, d)
    shorter = theta * rng.uniform(0.3, 1.0, d)
    difference = np.prod(theta / shorter) * covariance(SE, shorter, X, X) - covariance(
        SE, theta, X, X
    )
    assert np.linalg.eigvalsh(difference).min() >= -1e-9


def test_matern_half_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((15, 1))
    difference = 2 * covariance(Matern(0.5), np.array([0.2]), X, X) - covariance(
        Matern(0.5), np.array([0.4]), X, X
    )
    assert np.linalg.eigvalsh(difference).min() >= -1e-9


def test_where_the_formula_ends_it_says_so() -> None:
    with pytest.raises(ConfigurationError, match="√2"):
        bump().norm_at(0.2)
    with pytest.raises(ConfigurationError, match="SquaredExponential only"):
        rkhs_sample(0, kernel=Matern(2.5)).norm_at(0.05)


def test_the_bump_is_the_one_of_spec_10() -> None:
    f = bump()
    assert f.norm == pytest.approx(2.0)
    assert f.maximiser()[0] == pytest.approx(0.206, abs=2e-3)
    grid = np.linspace(0, 1, 2001)
    right = grid[grid > 0.6]
    top = right[np.argmax(f(right[:, None]))]
    assert top == pytest.approx(0.98, abs=0.03)
    assert f.maximum - float(f(np.array([top]))) == pytest.approx(0.25, abs=0.02)


def test_samples_have_their_norm_and_maximum() -> None:
    for d in (1, 2, 3):
        f = rkhs_sample(3, dimension=d, lengthscale=0.2, norm=4.0)
        assert f.norm == pytest.approx(4.0)
        cloud = np.random.default_rng(0).random((50_000, d))
        assert f.maximum >= f(cloud).max() - 1e-9
        assert f.maximum <= 4.0
