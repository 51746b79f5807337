import math

import numpy as np
import pytest
from mpmath import mp, mpf

from noregret.gp.kernels import Matern
from noregret.gp.posterior import condition
from noregret.search.acquisition import Acquisition, log_ei, log_h, ucb
from tests import naive


def exact_log_h(u: float) -> float:
    with mp.workdps(60):
        x = mpf(u)
        return float(mp.log(mp.npdf(x) + x * mp.ncdf(x)))


@pytest.mark.parametrize(
    "u",
    [
        -1e6,
        -5000.0,
        -1001.0,
        -999.0,
        -300.0,
        -40.0,
        -10.0,
        -3.0,
        -1.5,
        -1.0,
        -0.999,
        -0.5,
        0.0,
        0.3,
        2.0,
        10.0,
        1e3,
    ],
)
def test_log_h_to_ten_digits_everywhere(u: float) -> None:
    if u <= -5000:  # asymptotically log φ(u) − 2 log|u|, with relative error 3/u² in h
        expected = -0.5 * u * u - 0.5 * math.log(2 * math.pi) - 2 * math.log(-u)
        assert log_h(np.array([u]))[0] == pytest.approx(expected, abs=4 / u**2, rel=1e-12)
    else:
        assert log_h(np.array([u]))[0] == pytest.approx(exact_log_h(u), rel=1e-10, abs=1e-10)


def model() -> tuple[Acquisition, Acquisition]:
    rng = np.random.default_rng(0)
    posterior = condition(
        Matern(2.5), np.array([0.3, 0.6]), rng.random((8, 2)), rng.standard_normal(8), 0.01
    )
    return ucb(posterior, 2.5), log_ei(posterior, 0.7)


@pytest.mark.parametrize("which", [0, 1])
def test_gradients(which: int) -> None:
    acquisition = model()[which]
    A = np.random.default_rng(1).random((6, 2))
    values, gradients = acquisition.gradients(A)
    np.testing.assert_allclose(values, acquisition.values(A), atol=1e-10)
    for row in range(len(A)):
        numeric = naive.numeric_gradient(lambda x: acquisition.values(x[None])[0], A[row])
        np.testing.assert_allclose(gradients[row], numeric, rtol=1e-4, atol=1e-5)


def test_ucb_and_expected_improvement_by_hand() -> None:
    rng = np.random.default_rng(0)
    posterior = condition(
        Matern(2.5), np.array([0.3]), rng.random((5, 1)), rng.standard_normal(5), 0.01
    )
    A = np.array([[0.1], [0.6]])
    mean, std = posterior.predict(A)
    np.testing.assert_allclose(ucb(posterior, 3.0).values(A), mean + 3 * std)
    draws = mean + std * np.random.default_rng(1).standard_normal((400_000, 2))
    np.testing.assert_allclose(
        np.exp(log_ei(posterior, 0.2).values(A)), np.maximum(draws - 0.2, 0).mean(axis=0), rtol=0.02
    )
